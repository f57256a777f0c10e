"""The embedding model of a database: as stored, as set, as a reembed has left it."""

from __future__ import annotations

import logging

from ..caches.embeddings import StoredVectors
from ..caches.warm import WarmCache
from ..embedders import DEFAULT_MODELS, EMBEDDERS, LOCAL
from ..embedders.cached import CachedEmbedder
from ..errors import EmbedderMismatchError
from ..lazy import Lazy
from ..protocols import Embedder
from ..repositories.changes import StoredEmbedder
from ..shipped import WARM_CACHE
from .models import Models

log = logging.getLogger(__name__)


class Embedding(Lazy):
    """``stored`` is what the database says of its embedder.

    ``adopt``: the stored model wins over EMBEDDING_PROVIDER and EMBEDDING_MODEL, because it was changed while this
    process served. At a start a contradiction is an error instead.
    """

    def __init__(self, models: Models, stored: StoredEmbedder | None, *, adopt: bool = False) -> None:
        super().__init__()
        self._models = models
        self._stored = stored
        self._adopt = adopt

    @property
    def knows_its_model(self) -> bool:
        """False while the database is new and has no model yet."""
        return self._stored is not None

    def serves(self, stored: StoredEmbedder | None) -> bool:
        """Whether this is still the way to search a database whose embedder is ``stored``."""
        if stored is None or stored == self._stored:
            return True
        embedder: Embedder | None = self._built.get("embedder") if self._stored is None else None
        return embedder is not None and stored.same_vectors(embedder.model_id, embedder.dimensions, slot="")

    def require_current(self) -> None:
        """Call it before writing passages: the first ones decide which model this database is written with.

        Raises:
            EmbedderMismatchError: the database has another embedder by now; do not write with this one.
        """
        stored = self._models.facts.embedder()
        if stored is None:
            self.remember_embedder()
            stored = self._models.facts.embedder()
        if not self.serves(stored):
            assert stored is not None
            raise EmbedderMismatchError(
                f"The database's embedding model is {stored.model_id} now; this was embedded with "
                f"{self.embedder.model_id} and cannot be added. Ingest it again, with the new model."
            )

    @property
    def embedder(self) -> CachedEmbedder:
        """The database's embedder, else the configured one.

        Raises:
            EmbedderMismatchError: EMBEDDING_PROVIDER or EMBEDDING_MODEL names another one than the database has.
        """
        return self._once("embedder", self._build_embedder)

    def _build_embedder(self) -> CachedEmbedder:
        provider, model = self._embedder_name()
        embedder = EMBEDDERS.builder(provider)(self._models.settings, model=model)
        stored = self._stored
        if stored is not None and not stored.same_vectors(embedder.model_id, embedder.dimensions, slot=stored.slot):
            raise EmbedderMismatchError(
                f"The database was written with {stored.model_id} ({stored.dimensions} dimensions), but "
                f"{embedder.model_id} ({embedder.dimensions}) is configured. Unset EMBEDDING_PROVIDER and "
                "EMBEDDING_MODEL to keep the database's model; to change it, run: python -m chatbot reembed."
            )
        kept = StoredVectors(self._models.cache)
        return CachedEmbedder(embedder, self.warm_cache, kept=kept, keep_documents=provider not in LOCAL)

    @property
    def warm_cache(self) -> WarmCache:
        return self._once("warm_cache", lambda: WarmCache(WARM_CACHE))

    def _embedder_name(self) -> tuple[str, str]:
        """Provider and model: as set, else as stored (a key set later changes only the chat model), else by key."""
        settings, stored = self._models.settings, self._stored
        if stored is not None and self._adopt:
            if settings.embedding_provider or settings.embedding_model:
                log.warning("Searching with %s now. Unset EMBEDDING_PROVIDER and _MODEL.", stored.model_id)
            return stored.provider, stored.model
        if settings.embedding_provider is None and stored is not None:
            return stored.provider, settings.embedding_model or stored.model
        provider = settings.embedding_provider or ("openai" if settings.openai_api_key else "minilm")
        EMBEDDERS.check(provider, field="EMBEDDING_PROVIDER")
        return provider, settings.embedding_model or DEFAULT_MODELS[provider]

    def remember_embedder(self) -> None:
        """Store which model this database is written with; called before the first passage is."""
        provider, model = self._embedder_name()
        embedder = self.embedder
        self._models.facts.remember_embedder(StoredEmbedder(provider, model, embedder.model_id, embedder.dimensions))
