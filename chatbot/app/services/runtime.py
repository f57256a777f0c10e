"""One embedding model, the store of its vectors, and the search and agents that use
both.

`reembed` may change the model of the database while other processes serve. A `Runtime`
never changes: `Services` replaces it whole, and what began with the old one finishes
with it.
"""

import logging
import threading
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from ... import __version__
from ...answering.agents.run import ModeAgent, Resources
from ...answering.agents.understanding import Understanding
from ...answering.figure_tables import FigureTables
from ...config import WARM_CACHE
from ...database.reader import UNKNOWN, Reader, Readers
from ...database.repositories.corpus import StoredEmbedder
from ...domain import QuerySettings, Question
from ...domain.documents import Chunking
from ...domain.errors import ChatbotError, EmbedderMismatchError, EmbeddingError
from ...domain.protocols import Chunker, Embedder, Passages, Reranker, Store
from ...domain.scope import Scope
from ...language.analysis import analyzer
from ...library.chunkers import CHUNKERS
from ...library.control import Retries
from ...library.pipeline import Ingestor
from ...models.caches import AnswerCache, CachedEmbedder, WarmCache
from ...models.embed import EMBEDDERS
from ...models.rerank import RERANKERS
from ...questions.follow_ups import FollowUps
from ...search.compression import Compressor
from ...search.indicators import Glossary, IndicatorIndex
from ...search.ordering import Refiner
from ...search.pipeline import Retriever
from ...search.relevance import Bounds, relevance_bounds
from ...search.spelling import Spelling
from ...stores import STORES
from ...stores.atlas.indexes import SearchTarget, index_plans
from .lazy import close_lazy, lazy
from .once import close
from .preparing import prepare_database
from .storage import Storage

if TYPE_CHECKING:
    from . import Answering

log = logging.getLogger(__name__)
HEADING_WEIGHT = 1.5
"""Weight of headings near the question beside the fused score."""
FOR_CHUNKINGS = 16
"""Ingestors that are kept: a request may name any chunk size, and each ingestor holds a
chunker.
"""

KEPT_LIMITS = 64
"""Limits of callers for which what is derived from the reports is kept."""


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
        readers: Readers,
        stored: StoredEmbedder | None,
        *,
        adopt: bool = False,
    ) -> None:
        self.stored = stored
        self._slot = stored.slot if stored else ""
        self.storage = self._storage = storage
        self.answering = self._answering = answering
        self._readers = readers
        self._adopt = adopt
        self._settings = storage.settings
        self._lock = threading.RLock()
        self._rerankers: dict[str, Reranker] = {}
        self.ingestor = lru_cache(FOR_CHUNKINGS)(self._ingestor)
        self._limited = lru_cache(KEPT_LIMITS)(self._within)

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
        prepare_database(self._storage)
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
    def everything(self) -> "SearchServices":
        """Searches and answers for callers without a limit, for the command line and
        for work in the background.
        """
        return SearchServices(self, self._readers.everything())

    def within(self, limit: Scope) -> "SearchServices":
        """Return what searches and answers for callers with this limit, an empty one =
        everything. Few limits exist: what is derived from the reports inside is kept
        for each.
        """
        if not limit:
            return self.everything
        return self._limited(Scope(limit.conditions, limit.collections))

    def _within(self, limit: Scope) -> "SearchServices":
        return SearchServices(self, self._readers.within(limit))

    @property
    def indicators(self) -> IndicatorIndex:
        return self.everything.indicators

    @property
    def retriever(self) -> Retriever:
        return self.everything.retriever

    @property
    def resources(self) -> Resources:
        return self.everything.resources

    @property
    def agent(self) -> ModeAgent:
        return self.everything.agent

    @property
    def understanding(self) -> Understanding:
        return self.everything.understanding

    @lazy
    def heading_embedder(self) -> Embedder:
        """Compares questions with headings: the built-in model where a vector of the
        passages' has its price.
        """
        if self.embedder.local:
            return self.embedder
        settings = self._settings.override(embedding_dimensions=None)
        minilm = EMBEDDERS.builder("minilm")(
            settings, model=EMBEDDERS.default_model("minilm")
        )
        return CachedEmbedder(minilm, self.warm_cache)

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

    def bounds(self, settings: QuerySettings) -> Bounds:
        """Asked at each question: `calibrate` may have run in another process."""
        setting, model_id = settings.relevance_floor, self.embedder.model_id
        stored = (
            self._storage.facts.calibration(model_id) if setting == "auto" else None
        )
        return relevance_bounds(setting, model_id, stored)

    def library_key(self) -> str | None:
        """Return a key that changes with the library; None while it is being
        changed.
        """
        storage = self._storage
        position = storage.changes.key()
        if position is None:
            return None
        # Reports of other programs are looked at later than their rows are counted.
        return f"{position}:{storage.documents.older_key()}"

    def generation(self, question: Question) -> str | None:
        """Return what changes with the program, the whole library, models and settings;
        None while the library is being changed.
        """
        return self.generation_within(question, self.library_key())

    def generation_within(self, question: Question, library: str | None) -> str | None:
        """Return the same with the key of a ``library`` as some callers see it."""
        if library is None:
            return None
        chat_model = self._answering.chat_model
        models = f"{self.embedder.model_id}:{chat_model.model_id}"
        bounds = self.bounds(question.settings or self.resources.settings)
        return f"{__version__}:{library}:{models}:{self._settings.fingerprint}:{bounds}"

    def close(self) -> None:
        close_lazy(self, "store", "embedder")


class SearchServices:
    """Searching and answering for the callers of one reader. Each part is built on
    first use, from what the reader gives.
    """

    def __init__(self, runtime: Runtime, reader: Reader) -> None:
        self.reader = reader
        self._runtime = runtime
        self._storage = runtime.storage
        self._answering = runtime.answering
        self._settings = runtime.storage.settings

    @lazy
    def indicators(self) -> IndicatorIndex:
        """Says which heading a question means."""
        return IndicatorIndex(
            self._runtime.heading_embedder,
            analyzer(self._settings.language),
            self.reader.glossary,
        )

    @lazy
    def _passages(self) -> Passages:
        """The passages inside, as they are embedded in this runtime."""
        return self.reader.of_store(self._runtime.store)

    @lazy
    def glossary(self) -> Glossary:
        reader = self.reader
        return Glossary(reader.glossary, reader.documents, lambda: self._passages)

    @lazy
    def retriever(self) -> Retriever:
        settings, embedder = self._settings, self._runtime.embedder
        documents = self._storage.documents
        refiner = Refiner(
            self.reader.documents,
            self.indicators if embedder.local else None,
            weight=HEADING_WEIGHT,
            language=settings.language,
            collections=settings.chunk_collections,
        )
        return Retriever(
            store=self._passages,
            embedder=embedder,
            settings=QuerySettings.of(settings),
            visible=documents.visible,
            known=partial(documents.visible, again=False),
            reranker=self._runtime.reranker,
            refiner=refiner,
        )

    @lazy
    def resources(self) -> Resources:
        settings, reader, answering = self._settings, self.reader, self._answering
        return Resources(
            retriever=self.retriever,
            compressor=self._runtime.compressor,
            store=self._passages,
            catalog=reader.documents,
            chat_model=answering.chat_model,
            small_chat_model=answering.small_chat_model,
            quoter=answering.quoter,
            embedder=self._runtime.embedder,
            analyzer=analyzer(settings.language),
            language=settings.language,
            collections=tuple(
                one for one in self._storage.collections if reader.limit.holds(one.name)
            ),
            glossary=reader.glossary,
            spelling=Spelling(reader.glossary, reader.figures.indicators),
            bounds=self._runtime.bounds,
            settings=QuerySettings.of(settings),
            tables=FigureTables(
                reader.figures, self.indicators, analyzer(settings.language).terms
            ),
        )

    @lazy
    def follow_ups(self) -> FollowUps:
        words = analyzer(self._settings.language)
        return FollowUps(words, self.reader.documents, self._names_a_thing)

    def _names_a_thing(self, words: str, headings: Sequence[str]) -> bool:
        """Return whether words name a heading of the reports; False if the embedder
        fails, to carry the topic on.
        """
        indicators = self.reader.figures.indicators()
        beside = headings[0] if headings else ""
        try:
            return self.indicators.names_one(words, indicators, beside)
        except EmbeddingError:
            return False

    @lazy
    def agent(self) -> ModeAgent:
        cache = AnswerCache(self._storage.cache, self._generation)
        return ModeAgent(self.resources, cache)

    def _generation(self, question: Question) -> str | None:
        """Answers are cached until what the reader gives has changed."""
        library = self.reader.key() if self.reader.limit else UNKNOWN
        if library == UNKNOWN:
            library = self._runtime.library_key()
        return self._runtime.generation_within(question, library)

    @lazy
    def understanding(self) -> Understanding:
        """The agent, behind the reading of each question."""
        return Understanding(self.agent, self.resources, self.glossary)
