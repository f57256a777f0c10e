"""One embedding model, the store of its vectors, and what cuts and embeds reports for
it.

`reembed` may change the model of the database while other processes serve. A `Runtime`
never changes: `Runtimes` replaces it whole, and what began with the old one finishes
with it.
"""

import logging
import threading
from contextlib import ExitStack
from dataclasses import replace
from functools import lru_cache, partial

from ...config import WARM_CACHE
from ...database.repositories.caches import refresh
from ...database.repositories.corpus import StoredEmbedder
from ...domain import QuerySettings
from ...domain.documents import Chunking
from ...domain.errors import (
    ChatbotError,
    EmbedderMismatchError,
    EmbeddingError,
    MissingPackageError,
    SettingsError,
)
from ...domain.protocols import Chunker, Embedder, Store, model_in_store
from ...extras import with_extras
from ...library.chunkers import CHUNKERS
from ...library.control import Retries
from ...library.pipeline import Ingestor
from ...models.caches import CachedEmbedder, WarmCache
from ...models.embed import EMBEDDERS
from ...search.relevance import Bounds, relevance_bounds
from ...stores import STORES
from ...stores.atlas.indexes import SearchTarget, auto_embedding_model, index_plans
from .once import Once, close
from .preparing import prepare_database
from .storage import Storage

log = logging.getLogger(__name__)
MAX_KEPT_INGESTORS = 16
"""A request may name any chunk size, and each ingestor holds a chunker."""
AFTER_BUDGET_SECONDS = 60.0
"""A question that takes this much longer than its budget counts as ended: its process
died.
"""
CHAT_ONLY_FAULTS = ("unknown_model", "refused")
"""What a server that embeds no texts answers to one."""


class Runtime:
    """The embedder and the store of its vectors, each built when it is first used.

    ``stored``: the embedding model of the database, None if it has none yet. ``adopt``:
    the stored model wins over EMBEDDING_PROVIDER and EMBEDDING_MODEL, because it
    changed while this process served. At a start a contradiction is an error instead.
    """

    def __init__(
        self, storage: Storage, stored: StoredEmbedder | None, *, adopt: bool = False
    ) -> None:
        self.storage = storage
        self.stored = stored
        self.ingestor = lru_cache(MAX_KEPT_INGESTORS)(self._ingestor)
        self._settings = storage.settings
        self._embedders = with_extras(EMBEDDERS, storage.settings)
        self._slot = stored.slot if stored else ""
        self._adopt = adopt
        self._warm_cache = WarmCache(WARM_CACHE)
        self._closing = ExitStack()
        self._embedder = Once(self._build_embedder, self._closing)
        self._default_embedder = Once(self._choose_embedder)
        self._built_in_embedder = Once(self._build_built_in_embedder)
        self._store = Once(self._build_store, self._closing)
        self._writable_store = Once(self._prepare_store)

    def serves(self, stored: StoredEmbedder | None) -> bool:
        """Return whether this runtime can search a database whose embedder is
        ``stored``.
        """
        if stored is None or stored == self.stored:
            return True
        embedder = self._embedder.peek()
        if embedder is None or self.stored is not None:
            return False
        return stored.same_vectors(embedder.model_id, embedder.dimensions, slot="")

    def close(self) -> None:
        """Close the store and the embedder."""
        self._closing.close()

    # The embedding model

    @property
    def embedder(self) -> CachedEmbedder:
        """The database's embedder, else the configured one. Raises
        EmbedderMismatchError: EMBEDDING_PROVIDER or EMBEDDING_MODEL names another one
        than the database has.
        """
        return self._embedder.get()

    @property
    def text_embedder(self) -> CachedEmbedder:
        """Compares texts that are in no store: the passages' model, or the built-in one
        where that runs in the store.
        """
        if model_in_store(self.embedder):
            return self._built_in_embedder.get()
        return self.embedder

    @property
    def heading_embedder(self) -> Embedder:
        """Compares questions with headings: the built-in model where a vector of the
        passages' has its price.
        """
        if self.embedder.local:
            return self.embedder
        return self._built_in_embedder.get()

    def remember_embedder(self) -> None:
        """Store the model of this database, before its first passage."""
        provider, model = self._embedder_name()
        embedder = self.embedder
        self.storage.facts.remember_embedder(
            StoredEmbedder(provider, model, embedder.model_id, embedder.dimensions)
        )

    def require_current(self) -> None:
        """Call this before writing passages: the first ones decide the model of the
        database. Raises EmbedderMismatchError: the database has another embedder now;
        do not write with this one.
        """
        stored = self.storage.facts.embedder()
        if stored is None:
            self.remember_embedder()
            stored = self.storage.facts.embedder()
        if not self.serves(stored):
            assert stored is not None
            raise EmbedderMismatchError(
                f"The database's embedding model is {stored.model_id} now; this "
                "was embedded with "
                f"{self.embedder.model_id} and cannot be added. Ingest it again, "
                "with the new model."
            )

    def bounds(self, settings: QuerySettings) -> Bounds:
        """Return the scores that passages need. Asked at each question: `calibrate` may
        have run in another process.
        """
        floor = settings.relevance_floor
        model_id = self.embedder.model_id
        stored = None
        if floor == "auto":
            stored = self.storage.facts.calibration(model_id)
        return relevance_bounds(floor, model_id, stored)

    def _build_embedder(self) -> CachedEmbedder:
        provider, model = self._embedder_name()
        settings = self._settings
        stored = self.stored
        is_stored = stored is not None and (provider, model) == (
            stored.provider,
            stored.model,
        )
        keeps_length = self._adopt or settings.embedding_dimensions is None
        if stored is not None and is_stored and keeps_length:
            settings = settings.override(embedding_dimensions=stored.shortened)
        embedder = self._embedders.builder(provider)(settings, model=model)
        try:
            if stored is not None:
                _require_same_vectors(embedder, stored)
            return CachedEmbedder(embedder, self._warm_cache, cache=self.storage.cache)
        except ChatbotError:
            # Its connection is open where the endpoint was asked for the dimensions.
            close(embedder)
            raise

    def _build_built_in_embedder(self) -> CachedEmbedder:
        """Return the built-in model, or where it is not installed one that compares
        words alone.
        """
        settings = self._settings.override(embedding_dimensions=None)
        name = "minilm"
        try:
            model = EMBEDDERS.default_model(name)
        except MissingPackageError as error:
            log.warning(
                "Headings and attached files are compared by their words alone: the "
                "built-in embedding model is not installed. %s",
                error.remedy,
            )
            name = "hashing"
            model = EMBEDDERS.default_model(name)
        built_in = EMBEDDERS.builder(name)(settings, model=model)
        return CachedEmbedder(built_in, self._warm_cache)

    def _embedder_name(self) -> tuple[str, str]:
        """Provider and model: as set, else as stored (a key set later changes only the
        chat model), else by key.
        """
        settings = self._settings
        stored = self.stored
        if stored is not None and self._adopt:
            if settings.embedding_provider or settings.embedding_model:
                log.warning(
                    "Searching with %s now. Unset EMBEDDING_PROVIDER and _MODEL.",
                    stored.model_id,
                )
            return stored.provider, stored.model
        if settings.embedding_provider is None and stored is not None:
            return stored.provider, settings.embedding_model or stored.model
        if settings.embedding_provider is None:
            provider, model = self._default_embedder.get()
            return provider, settings.embedding_model or model
        provider = settings.embedding_provider
        self._embedders.check(provider, field="EMBEDDING_PROVIDER")
        model = settings.embedding_model or self._embedders.default_model(provider)
        return provider, model

    def _choose_embedder(self) -> tuple[str, str]:
        """Return provider and model where no provider is set: those of an index of
        another program that embeds its texts, else the provider's default model.
        """
        storage = self.storage
        if storage.database.mapped and storage.engine.traits.embeds:
            model = auto_embedding_model(storage.database)
            if model:
                return "atlas", model
        provider = self._choose_provider()
        return provider, self._embedders.default_model(provider)

    def _choose_provider(self) -> str:
        """Return the provider where none is set: openai with a key, unless that is for
        a server which only chats, else minilm.
        """
        settings = self._settings
        if settings.openai_api_key is None:
            return "minilm"
        chosen = (
            settings.embedding_model,
            settings.embedding_api_key,
            settings.embedding_base_url,
            settings.embedding_dimensions,
        )
        if settings.openai_base_url is None or any(chosen):
            return "openai"
        model = self._embedders.default_model("openai")
        embedder = self._embedders.builder("openai")(settings, model=model)
        try:
            embedder.embed_query("text")
        except EmbedderMismatchError:
            return "openai"
        except EmbeddingError as error:
            if error.reason not in CHAT_ONLY_FAULTS:
                return "openai"
            log.warning(
                "The server at OPENAI_BASE_URL has no embedding model %s: the built-in "
                "one is used. Set EMBEDDING_PROVIDER to use another.",
                model,
            )
            return "minilm"
        finally:
            close(embedder)
        return "openai"

    # The passages

    @property
    def store(self) -> Store:
        """The store of the passages. Raises UnknownNameError, MissingPackageError,
        SettingsError.
        """
        return self._store.get()

    @property
    def writable_store(self) -> Store:
        """The store, prepared for writing, as is the database. Raises DatabaseError,
        SettingsError.
        """
        return self._writable_store.get()

    @property
    def index_plans(self) -> list[SearchTarget]:
        """The search indexes that the store needs."""
        embedder = self.embedder
        return index_plans(
            self._settings,
            {self._slot: embedder.dimensions},
            model=model_in_store(embedder),
            database=self.storage.database,
        )

    def _build_store(self) -> Store:
        storage = self.storage
        embedder = self.embedder
        engine = storage.engine
        build = with_extras(STORES, self._settings).builder(engine.store)
        embedding_model = model_in_store(embedder)
        if embedding_model:
            if not engine.traits.embeds:
                raise SettingsError(
                    f"{embedder.model_id} runs in MongoDB's search engine, but the "
                    f"vector search is {engine.store} ({engine.detail}). Set "
                    "EMBEDDING_PROVIDER to another one, or MONGODB_URI to a server "
                    "with a search engine."
                )
            build = partial(build, embedding_model=embedding_model)
        return build(
            settings=self._settings,
            database=storage.database,
            changes=storage.changes,
            dimensions=embedder.dimensions,
            slot=self._slot,
            passages=storage.documents.passages,
        )

    def _prepare_store(self) -> Store:
        prepare_database(self.storage)
        store = self.store
        store.prepare()
        return store

    # Ingesting

    def chunker(self, chunking: Chunking) -> Chunker:
        """Build what splits reports for this embedding model. Raises UnknownNameError,
        InvalidRequestError.
        """
        is_shipped = self._warm_cache.model_id == self.embedder.model_id
        build = CHUNKERS.builder(chunking.strategy)
        return build(
            self.embedder,
            chunk_size=chunking.size,
            chunk_overlap=chunking.overlap,
            known=self._warm_cache if is_shipped else (),
        )

    def _ingestor(self, chunking: Chunking) -> Ingestor:
        chunker = self.chunker(chunking)
        storage = self.storage
        # Without the model: `reembed` changes the vectors of all passages, which is no
        # change of the reports.
        key = (chunking.strategy, chunking.size, chunking.overlap, chunking.unit)
        return Ingestor(
            store=self.writable_store,
            embedder=self.embedder,
            chunker=chunker,
            chunking=replace(chunking, used=chunker.longest),
            documents=storage.documents,
            glossary=storage.glossary,
            figures=storage.figures,
            collections=self._settings.chunk_collections,
            settings_key=":".join(map(str, key)),
            require_current=self.require_current,
            retries=Retries(),
        )


def _require_same_vectors(embedder: Embedder, stored: StoredEmbedder) -> None:
    """Raises EmbedderMismatchError: the database was written with another model."""
    if stored.same_vectors(embedder.model_id, embedder.dimensions, slot=stored.slot):
        return
    raise EmbedderMismatchError(
        f"The database was written with {stored.model_id} "
        f"({stored.dimensions} dimensions), but "
        f"{embedder.model_id} ({embedder.dimensions}) is configured. "
        "Unset EMBEDDING_PROVIDER, EMBEDDING_MODEL and EMBEDDING_DIMENSIONS to keep "
        "the database's model; to change it, run: python -m chatbot reembed."
    )


class Runtimes:
    """Gives the runtime of the embedding model that the database has now; `reembed` in
    another process may change it. A runtime that was replaced stays open for as long as
    a question may take.
    """

    def __init__(self, storage: Storage, closing: ExitStack) -> None:
        self._storage = storage
        self._lock = threading.RLock()
        self._current: Runtime | None = None
        self._has_served = False
        """True if the database had an embedding model before, which another one then
        replaces.
        """
        self._replaced: list[tuple[Runtime, threading.Timer]] = []
        closing.callback(self._close)

    def current(self) -> Runtime:
        """Return the runtime of now. Take everything that a request needs from one
        runtime, so that it fits together. Raises DatabaseError.
        """
        storage = self._storage
        stored = storage.facts.embedder()
        with self._lock:
            current = self._current
            if current is None or not current.serves(stored):
                # Another thread may have seen a later answer.
                refresh(storage.database)
                stored = storage.facts.embedder()
            if current is None:
                current = self._current = Runtime(storage, stored)
            elif not current.serves(stored):
                self._retire(current)
                adopt = self._has_served
                current = self._current = Runtime(storage, stored, adopt=adopt)
            self._has_served = self._has_served or stored is not None
            return current

    def _retire(self, runtime: Runtime) -> None:
        """Close a runtime when the last question that began with it must have ended."""
        seconds = self._storage.settings.budget_seconds + AFTER_BUDGET_SECONDS
        closing = threading.Timer(seconds, runtime.close)
        closing.daemon = True
        closing.start()
        self._replaced.append((runtime, closing))

    def _close(self) -> None:
        with self._lock:
            replaced = self._replaced
            current = self._current
            self._replaced = []
            self._current = None
        for runtime, closing in replaced:
            closing.cancel()
            runtime.close()
        if current is not None:
            current.close()
