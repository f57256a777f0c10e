"""The embedding model in use and the store of its vectors: as stored, as set, or as `reembed` has left it.

`reembed` may change the model while other processes serve. `Vectors` never change with it: `CurrentVectors` makes
new ones, and a request that is under way finishes with those it began with.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from ..caches.vectors import CachedEmbedder, StoredVectors, WarmCache
from ..embedders import EMBEDDERS
from ..errors import ChatbotError, EmbedderMismatchError
from ..protocols import Embedder, Store
from ..repositories.corpus import StoredEmbedder
from ..repositories.request_cache import refresh
from ..shipped import WARM_CACHE
from ..stores import STORES
from ..stores.atlas.definitions import SearchTarget, index_plans
from .lifetime import close, close_lazy, lazy
from .storage import Storage

log = logging.getLogger(__name__)
RETIRED_SECONDS = 600.0
"""How long the objects of an embedding model that was replaced stay open for the requests that began with them."""


class Vectors:
    """One embedding model and the store that holds its vectors. ``stored`` is what the database says of its embedder.

    ``adopt``: the stored model wins over EMBEDDING_PROVIDER and EMBEDDING_MODEL, because it was changed while this
    process served. At a start a contradiction is an error instead.
    """

    def __init__(self, storage: Storage, stored: StoredEmbedder | None, *, adopt: bool = False) -> None:
        self._storage = storage
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
        embedder = Vectors.embedder.built(self) if self._stored is None else None
        return embedder is not None and stored.same_vectors(embedder.model_id, embedder.dimensions, slot="")

    def require_current(self) -> None:
        """Call it before writing passages: the first ones decide which model this database is written with.

        Raises:
            EmbedderMismatchError: the database has another embedder by now; do not write with this one.
        """
        stored = self._storage.facts.embedder()
        if stored is None:
            self.remember_embedder()
            stored = self._storage.facts.embedder()
        if not self.serves(stored):
            assert stored is not None
            raise EmbedderMismatchError(
                f"The database's embedding model is {stored.model_id} now; this was embedded with "
                f"{self.embedder.model_id} and cannot be added. Ingest it again, with the new model."
            )

    @lazy
    def embedder(self) -> CachedEmbedder:
        """The database's embedder, else the configured one.

        Raises:
            EmbedderMismatchError: EMBEDDING_PROVIDER or EMBEDDING_MODEL names another one than the database has.
        """
        provider, model = self._embedder_name()
        embedder = EMBEDDERS.builder(provider)(self._storage.settings, model=model)
        try:
            self._require_stored(embedder)
            return CachedEmbedder(embedder, self.warm_cache, kept=StoredVectors(self._storage.cache))
        except ChatbotError:
            close(embedder)  # its connection is open where the endpoint was asked for the dimensions
            raise

    def _require_stored(self, embedder: Embedder) -> None:
        """Raises EmbedderMismatchError: this is not the model that the database was written with."""
        stored = self._stored
        if stored is not None and not stored.same_vectors(embedder.model_id, embedder.dimensions, slot=stored.slot):
            raise EmbedderMismatchError(
                f"The database was written with {stored.model_id} ({stored.dimensions} dimensions), but "
                f"{embedder.model_id} ({embedder.dimensions}) is configured. Unset EMBEDDING_PROVIDER and "
                "EMBEDDING_MODEL to keep the database's model; to change it, run: python -m chatbot reembed."
            )

    @lazy
    def warm_cache(self) -> WarmCache:
        """The vectors of the sample reports that ship with the program."""
        return WarmCache(WARM_CACHE)

    def _embedder_name(self) -> tuple[str, str]:
        """Provider and model: as set, else as stored (a key set later changes only the chat model), else by key."""
        settings, stored = self._storage.settings, self._stored
        if stored is not None and self._adopt:
            if settings.embedding_provider or settings.embedding_model:
                log.warning("Searching with %s now. Unset EMBEDDING_PROVIDER and _MODEL.", stored.model_id)
            return stored.provider, stored.model
        if settings.embedding_provider is None and stored is not None:
            return stored.provider, settings.embedding_model or stored.model
        provider = settings.embedding_provider or ("openai" if settings.openai_api_key else "minilm")
        EMBEDDERS.check(provider, field="EMBEDDING_PROVIDER")
        return provider, settings.embedding_model or EMBEDDERS.default_model(provider)

    def remember_embedder(self) -> None:
        """Store which model this database is written with; called before the first passage is."""
        provider, model = self._embedder_name()
        embedder = self.embedder
        self._storage.facts.remember_embedder(StoredEmbedder(provider, model, embedder.model_id, embedder.dimensions))

    @lazy
    def store(self) -> Store:
        """The store of the passages. Raises UnknownNameError, MissingPackageError, SettingsError."""
        storage = self._storage
        return STORES.builder(storage.engine.store)(
            settings=storage.settings,
            database=storage.database,
            changes=storage.changes,
            dimensions=self.embedder.dimensions,
            slot=self._stored.slot if self._stored else "",
        )

    def close(self) -> None:
        """Close the store and the embedder where they were opened."""
        close_lazy(self, "store", "embedder")


class CurrentVectors:
    """Asks the database for its model, and keeps what hangs on it as long as that is the one."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._lock = threading.RLock()
        self._vectors: Vectors | None = None
        self._retired: list[tuple[float, Vectors]] = []
        self._when_closed: list[Callable[[Vectors], None]] = []

    def when_closed(self, forget: Callable[[Vectors], None]) -> None:
        """``forget`` is called with vectors that were closed: whoever keeps what was built on them lets go of it."""
        self._when_closed.append(forget)

    def current(self) -> Vectors:
        """Those of the model the database has now.

        Asks the database, one small document: `reembed` in another process may have changed the model. Take what a
        request needs from one answer, so that it fits together; a request under way keeps what it has.
        """
        stored = self._storage.facts.embedder()
        with self._lock:
            if self._vectors is None or not self._vectors.serves(stored):
                refresh(self._storage.database)  # another thread may have seen a later answer
                stored = self._storage.facts.embedder()
            if self._vectors is None or not self._vectors.serves(stored):
                self._vectors = self._replace(stored)
            self._close_retired(older_than=RETIRED_SECONDS)
            return self._vectors

    def _replace(self, stored: StoredEmbedder | None) -> Vectors:
        if self._vectors is None:
            return Vectors(self._storage, stored)
        self._retired.append((time.monotonic(), self._vectors))
        return Vectors(self._storage, stored, adopt=self._vectors.knows_its_model)

    def _close_retired(self, older_than: float) -> None:
        while self._retired and time.monotonic() - self._retired[0][0] >= older_than:
            self._close(self._retired.pop(0)[1])

    def _close(self, vectors: Vectors) -> None:
        for forget in self._when_closed:
            forget(vectors)
        vectors.close()

    @property
    def embedder(self) -> CachedEmbedder:
        """Raises EmbedderMismatchError: the settings name another model than the database has."""
        return self.current().embedder

    @property
    def store(self) -> Store:
        """The store that is searched now: another one, once passages are embedded with another model."""
        return self.current().store

    @property
    def index_plans(self) -> list[SearchTarget]:
        """The search indexes that MongoDB's engine needs for the vectors in use."""
        stored = self._storage.facts.embedder()
        slot = stored.slot if stored else ""
        return index_plans(self._storage.settings, {slot: self.embedder.dimensions})

    def close(self) -> None:
        """Close what is open, also for requests that began with a model that was replaced."""
        with self._lock:
            self._close_retired(older_than=0)
            if self._vectors is not None:
                self._close(self._vectors)
                self._vectors = None
