"""One embedding model, the store of its vectors, and the search and agents that use
both.

`reembed` may change the model of the database while other processes serve. A `Runtime`
never changes: `Services` replaces it whole, and what began with the old one finishes
with it.
"""

import logging
import threading
from dataclasses import replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from ... import __version__
from ...answering.agents.run import ModeAgent, Resources
from ...answering.agents.understanding import Understanding
from ...answering.figure_tables import FigureTables
from ...config import WARM_CACHE
from ...database.repositories.corpus import StoredEmbedder
from ...domain import QuerySettings, Question
from ...domain.documents import Chunking
from ...domain.errors import ChatbotError, EmbedderMismatchError
from ...domain.protocols import Chunker, Embedder, Reranker, Store
from ...language.analysis import analyzer
from ...library.chunkers import CHUNKERS
from ...library.control import Retries
from ...library.pipeline import Ingestor
from ...models.caches import AnswerCache, CachedEmbedder, WarmCache
from ...models.embed import EMBEDDERS
from ...models.rerank import RERANKERS
from ...search.compression import Compressor
from ...search.indicators import IndicatorIndex
from ...search.ordering import Refiner
from ...search.pipeline import Retriever
from ...search.relevance import Bounds, relevance_bounds
from ...search.spelling import Spelling
from ...stores import STORES
from ...stores.atlas.indexes import SearchTarget, index_plans
from .storage import Storage, close, close_lazy, lazy

if TYPE_CHECKING:
    from . import Answering

log = logging.getLogger(__name__)
HEADING_WEIGHT = 1.5
"""Weight of headings near the question beside the fused score."""
FOR_CHUNKINGS = 16
"""Ingestors that are kept: a request may name any chunk size, and each ingestor holds a
chunker.
"""


class Runtime:
    """Each part is built on first use. ``stored``: the embedding model of the database,
    None if it has none yet.

    ``adopt``: the stored model wins over EMBEDDING_PROVIDER and EMBEDDING_MODEL,
    because it changed while this process served. At a start a contradiction is an error
    instead.
    """

    def __init__(
        self,
        storage: Storage,
        answering: "Answering",
        stored: StoredEmbedder | None,
        *,
        adopt: bool = False,
    ) -> None:
        self.stored = stored
        self._slot = stored.slot if stored else ""
        self._storage = storage
        self._answering = answering
        self._adopt = adopt
        self._settings = storage.settings
        self._lock = threading.RLock()
        self._rerankers: dict[str, Reranker] = {}
        self.ingestor = lru_cache(FOR_CHUNKINGS)(self._ingestor)

    def serves(self, stored: StoredEmbedder | None) -> bool:
        """Return whether this runtime can search a database whose embedder is
        ``stored``.
        """
        if stored is None or stored == self.stored:
            return True
        embedder: CachedEmbedder | None = (
            vars(self).get("embedder") if self.stored is None else None
        )
        return embedder is not None and stored.same_vectors(
            embedder.model_id, embedder.dimensions, slot=""
        )

    # The embedding model

    @lazy
    def embedder(self) -> CachedEmbedder:
        """The database's embedder, else the configured one. Raises
        EmbedderMismatchError: EMBEDDING_PROVIDER or EMBEDDING_MODEL names another one
        than the database has.
        """
        provider, model = self._embedder_name()
        settings, stored = self._settings, self.stored
        keeps_length = self._adopt or settings.embedding_dimensions is None
        if (
            stored is not None
            and keeps_length
            and (provider, model) == (stored.provider, stored.model)
        ):
            settings = settings.override(embedding_dimensions=stored.shortened)
        embedder = EMBEDDERS.builder(provider)(settings, model=model)
        try:
            if stored is not None and not stored.same_vectors(
                embedder.model_id, embedder.dimensions, slot=stored.slot
            ):
                raise EmbedderMismatchError(
                    f"The database was written with {stored.model_id} "
                    f"({stored.dimensions} dimensions), but "
                    f"{embedder.model_id} ({embedder.dimensions}) is configured. "
                    "Unset EMBEDDING_PROVIDER, "
                    "EMBEDDING_MODEL and EMBEDDING_DIMENSIONS to keep the "
                    "database's model; to change it, run: "
                    "python -m chatbot reembed."
                )
            return CachedEmbedder(embedder, self.warm_cache, cache=self._storage.cache)
        except ChatbotError:
            close(
                embedder
            )  # its connection is open where the endpoint was asked for the dimensions
            raise

    @lazy
    def warm_cache(self) -> WarmCache:
        return WarmCache(WARM_CACHE)

    def _embedder_name(self) -> tuple[str, str]:
        """Provider and model: as set, else as stored (a key set later changes only the
        chat model), else by key.
        """
        settings, stored = self._settings, self.stored
        if stored is not None and self._adopt:
            if settings.embedding_provider or settings.embedding_model:
                log.warning(
                    "Searching with %s now. Unset EMBEDDING_PROVIDER and _MODEL.",
                    stored.model_id,
                )
            return stored.provider, stored.model
        if settings.embedding_provider is None and stored is not None:
            return stored.provider, settings.embedding_model or stored.model
        provider = settings.embedding_provider or (
            "openai" if settings.openai_api_key else "minilm"
        )
        EMBEDDERS.check(provider, field="EMBEDDING_PROVIDER")
        return provider, settings.embedding_model or EMBEDDERS.default_model(provider)

    def remember_embedder(self) -> None:
        """Store the model of this database, before its first passage."""
        provider, model = self._embedder_name()
        embedder = self.embedder
        self._storage.facts.remember_embedder(
            StoredEmbedder(provider, model, embedder.model_id, embedder.dimensions)
        )

    def require_current(self) -> None:
        """Call this before writing passages: the first ones decide the model of the
        database. Raises EmbedderMismatchError: the database has another embedder now;
        do not write with this one.
        """
        stored = self._storage.facts.embedder()
        if stored is None:
            self.remember_embedder()
            stored = self._storage.facts.embedder()
        if not self.serves(stored):
            assert stored is not None
            raise EmbedderMismatchError(
                f"The database's embedding model is {stored.model_id} now; this "
                "was embedded with "
                f"{self.embedder.model_id} and cannot be added. Ingest it again, "
                "with the new model."
            )

    # The passages

    @lazy
    def store(self) -> Store:
        """The store of the passages. Raises UnknownNameError, MissingPackageError,
        SettingsError.
        """
        storage = self._storage
        return STORES.builder(storage.engine.store)(
            settings=self._settings,
            database=storage.database,
            changes=storage.changes,
            dimensions=self.embedder.dimensions,
            slot=self._slot,
            passages=storage.documents.passages,
        )

    @lazy
    def writable_store(self) -> Store:
        """The store, prepared for writing, as is the database. Raises DatabaseError,
        SettingsError.
        """
        self._storage.prepare()
        self.store.prepare()
        return self.store

    @property
    def index_plans(self) -> list[SearchTarget]:
        sizes = {self._slot: self.embedder.dimensions}
        return index_plans(self._settings, sizes, database=self._storage.database)

    # Ingesting

    def chunker(self, chunking: Chunking) -> Chunker:
        """Build what splits reports for this embedding model. Raises UnknownNameError,
        InvalidRequestError.
        """
        embedded = (
            self.warm_cache
            if self.warm_cache.model_id == self.embedder.model_id
            else ()
        )
        build = CHUNKERS.builder(chunking.strategy)
        return build(
            self.embedder,
            chunk_size=chunking.size,
            chunk_overlap=chunking.overlap,
            known=embedded,
        )

    def _ingestor(self, chunking: Chunking) -> Ingestor:
        chunker = self.chunker(chunking)
        # Without the model: `reembed` changes the vectors of all passages, which is no
        # change of the reports.
        key = (chunking.strategy, chunking.size, chunking.overlap, chunking.unit)
        return Ingestor(
            store=self.writable_store,
            embedder=self.embedder,
            chunker=chunker,
            chunking=replace(chunking, used=chunker.longest),
            documents=self._storage.documents,
            glossary=self._storage.glossary,
            figures=self._storage.figures,
            collections=self._settings.chunk_collections,
            settings_key=":".join(map(str, key)),
            require_current=self.require_current,
            retries=Retries(),
        )

    # Searching and answering

    @lazy
    def indicators(self) -> IndicatorIndex:
        """Says which heading a question means; by the built-in model where a vector of
        the passages' has its price.
        """
        embedder: Embedder = self.embedder
        if not embedder.local:
            settings = self._settings.override(embedding_dimensions=None)
            minilm = EMBEDDERS.builder("minilm")(
                settings, model=EMBEDDERS.default_model("minilm")
            )
            embedder = CachedEmbedder(minilm, self.warm_cache)
        return IndicatorIndex(
            embedder, analyzer(self._settings.language), self._storage.glossary.entries
        )

    @lazy
    def retriever(self) -> Retriever:
        settings, embedder, documents = (
            self._settings,
            self.embedder,
            self._storage.documents,
        )
        indicators = self.indicators if embedder.local else None
        refiner = Refiner(
            documents,
            indicators,
            weight=HEADING_WEIGHT,
            language=settings.language,
            collections=settings.chunk_collections,
        )
        return Retriever(
            store=self.store,
            embedder=embedder,
            settings=QuerySettings.of(settings),
            visible=documents.visible,
            known=partial(documents.visible, again=False),
            reranker=self.reranker,
            refiner=refiner,
        )

    def reranker(self, name: str) -> Reranker | None:
        """Return the reranker of that name, None for none. Raises UnknownNameError,
        MissingPackageError.
        """
        if RERANKERS.check(name, field="RERANKER") == "none":
            return None
        with self._lock:  # one of each: a cross-encoder is large
            if name not in self._rerankers:
                self._rerankers[name] = RERANKERS.builder(name)(
                    chat_model=lambda: self._answering.small_chat_model,
                    language=self._settings.language,
                    store=lambda: self.store,
                )
            return self._rerankers[name]

    @lazy
    def compressor(self) -> Compressor:
        """Searches the attachments of one question (R-A1)."""
        settings, embedder = self._settings, self.embedder
        size, overlap = (
            settings.attachment_chunk_size,
            settings.attachment_chunk_overlap,
        )
        chunker = CHUNKERS.builder("recursive")(
            embedder, chunk_size=size, chunk_overlap=overlap, known=()
        )
        words, least = analyzer(settings.language), settings.similarity_threshold
        return Compressor(
            embedder=embedder.uncached,
            chunker=chunker,
            analyzer=words,
            least_cosine=least,
        )

    @lazy
    def resources(self) -> Resources:
        settings, storage = self._settings, self._storage
        return Resources(
            retriever=self.retriever,
            compressor=self.compressor,
            store=self.store,
            catalog=storage.documents,
            chat_model=self._answering.chat_model,
            small_chat_model=self._answering.small_chat_model,
            quoter=self._answering.quoter,
            embedder=self.embedder,
            analyzer=analyzer(settings.language),
            language=settings.language,
            collections=storage.collections,
            glossary=storage.glossary.entries,
            spelling=Spelling(storage.glossary.entries, storage.figures.indicators),
            bounds=self._bounds,
            settings=QuerySettings.of(settings),
            tables=FigureTables(
                storage.figures, self.indicators, analyzer(settings.language).terms
            ),
        )

    def _bounds(self, settings: QuerySettings) -> Bounds:
        """Asked at each question: `calibrate` may have run in another process."""
        setting, model_id = settings.relevance_floor, self.embedder.model_id
        stored = (
            self._storage.facts.calibration(model_id) if setting == "auto" else None
        )
        return relevance_bounds(setting, model_id, stored)

    @lazy
    def agent(self) -> ModeAgent:
        return ModeAgent(
            self.resources, AnswerCache(self._storage.cache, self._generation)
        )

    @lazy
    def understanding(self) -> Understanding:
        """The agent, behind the reading of each question."""
        return Understanding(self.agent, self.resources, self._answering.glossary)

    def _generation(self, question: Question) -> str | None:
        """Changes with the program, the library, models and settings; None while the
        library is being changed.
        """
        storage, chat_model = self._storage, self._answering.chat_model
        position = storage.changes.key()
        if position is None:
            return None
        # Reports of other programs are looked at later than their rows are counted.
        position += f":{storage.documents.older_key()}"
        models = f"{self.embedder.model_id}:{chat_model.model_id}"
        bounds = self._bounds(question.settings or self.resources.settings)
        return (
            f"{__version__}:{position}:{models}:{self._settings.fingerprint}:{bounds}"
        )

    def close(self) -> None:
        close_lazy(self, "store", "embedder")
