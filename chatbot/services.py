"""The composition root: builds every concrete object from the settings, and closes what it opened."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar, cast

from .agents import AGENTS
from .caches.warm import WarmCache
from .chat_models import CHAT_MODELS
from .chunkers import CHUNKERS
from .conversation.service import ChatService
from .database import Database, open_database
from .embedders import DEFAULT_MODELS, EMBEDDERS
from .embedders.cached import CachedEmbedder
from .errors import EmbedderMismatchError
from .ingestion.pipeline import Ingestor
from .protocols import Agent, ChatModel, Chunker, Embedder, Store
from .repositories.changes import CorpusChanges, CorpusFacts, StoredEmbedder
from .repositories.conversations import ConversationRepository
from .repositories.documents import DocumentRepository
from .retrieval import RETRIEVAL_METHODS
from .retrieval.calibration import relevance_floor
from .retrieval.method import RetrievalMethod
from .retrieval.pipeline import Retriever, ThresholdSettings
from .retrieval.scope import ScopeResolver
from .settings import Settings
from .stores import STORES
from .stores.search_indexes import ensure_ordinary_indexes

T = TypeVar("T")
SAMPLE_DATA = Path(__file__).parent.parent / "sample_data"
WARM_CACHE = SAMPLE_DATA / "embeddings.npz"


class Services:
    """Everything one process needs, each built on first use and then kept. Use as a context manager."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._built: dict[str, Any] = {}
        self._lock = threading.RLock()

    def _once(self, name: str, build: Callable[[], T]) -> T:
        with self._lock:
            if name not in self._built:
                self._built[name] = build()
            return cast(T, self._built[name])

    @property
    def database(self) -> Database:
        return self._once("database", lambda: open_database(self.settings))

    @property
    def facts(self) -> CorpusFacts:
        return self._once("facts", lambda: CorpusFacts(self.database))

    @property
    def changes(self) -> CorpusChanges:
        return self._once("changes", lambda: CorpusChanges(self.database))

    @property
    def documents(self) -> DocumentRepository:
        return self._once("documents", lambda: DocumentRepository(self.database, self.settings.filter_fields))

    @property
    def conversations(self) -> ConversationRepository:
        return self._once("conversations", lambda: ConversationRepository(self.database))

    @property
    def scopes(self) -> ScopeResolver:
        return self._once("scopes", lambda: ScopeResolver(self.documents, self.settings.filter_fields))

    @property
    def embedder(self) -> Embedder:
        """The database's embedder, else the configured one.

        Raises:
            EmbedderMismatchError: EMBEDDING_PROVIDER or EMBEDDING_MODEL names another one than the database has.
        """
        return self._once("embedder", self._build_embedder)

    def _build_embedder(self) -> Embedder:
        provider, model = self._embedder_name()
        embedder = EMBEDDERS.builder(provider)(self.settings, model=model)
        stored = self.facts.embedder()
        if stored is not None and (embedder.model_id, embedder.dimensions) != (stored.model_id, stored.dimensions):
            raise EmbedderMismatchError(
                f"The database was written with {stored.model_id} ({stored.dimensions} dimensions), but "
                f"{embedder.model_id} ({embedder.dimensions}) is configured. Unset EMBEDDING_PROVIDER and "
                "EMBEDDING_MODEL to keep the database's model, or use another database (DATA_DIR, MONGODB_DB)."
            )
        return CachedEmbedder(embedder, WarmCache(WARM_CACHE))

    def _embedder_name(self) -> tuple[str, str]:
        """Provider and model: as set, else as stored (a key set later changes only the chat model), else by key."""
        settings, stored = self.settings, self.facts.embedder()
        if settings.embedding_provider is None and stored is not None:
            return stored.provider, settings.embedding_model or stored.model
        provider = settings.embedding_provider or ("openai" if settings.openai_api_key else "minilm")
        EMBEDDERS.check(provider, field="EMBEDDING_PROVIDER")
        return provider, settings.embedding_model or DEFAULT_MODELS[provider]

    def remember_embedder(self) -> None:
        """Store which model this database is written with; called before the first passage is."""
        provider, model = self._embedder_name()
        embedder = self.embedder
        self.facts.remember_embedder(StoredEmbedder(provider, model, embedder.model_id, embedder.dimensions))

    @property
    def vector_search_name(self) -> str:
        """What VECTOR_SEARCH means here: auto is $vectorSearch on a MongoDB server, in-process FAISS otherwise."""
        if self.settings.vector_search != "auto":
            return STORES.check(self.settings.vector_search, field="VECTOR_SEARCH")
        return "faiss" if self.database.embedded else "atlas"

    @property
    def store(self) -> Store:
        return self._once("store", self._build_store)

    def _build_store(self) -> Store:
        return STORES.builder(self.vector_search_name)(
            settings=self.settings,
            database=self.database,
            changes=self.changes,
            dimensions=self.embedder.dimensions,
        )

    @property
    def chat_model(self) -> ChatModel:
        return self._once("chat_model", self._build_chat_model)

    def _build_chat_model(self) -> ChatModel:
        default = "openai" if self.settings.openai_api_key else "extractive"
        provider, _, model = (self.settings.chat_model or default).partition(":")
        return CHAT_MODELS.builder(CHAT_MODELS.check(provider, field="CHAT_MODEL"))(self.settings, model=model)

    def retrieval_method(self, name: str) -> RetrievalMethod:
        """Raises UnknownNameError."""
        RETRIEVAL_METHODS.check(name, field="retrieval_method")
        return self._once(f"method:{name}", lambda: RETRIEVAL_METHODS.builder(name)(self.settings))

    @property
    def retriever(self) -> Retriever:
        return self._once("retriever", self._build_retriever)

    def _build_retriever(self) -> Retriever:
        settings = self.settings
        return Retriever(
            store=self.store,
            embedder=self.embedder,
            methods=self.retrieval_method,
            threshold=ThresholdSettings(settings.threshold_start, settings.threshold_step, settings.threshold_floor),
        )

    def agent(self, mode: str) -> Agent:
        """Raises UnknownNameError."""
        AGENTS.check(mode, field="mode")
        return self._once(f"agent:{mode}", lambda: self._build_agent(mode))

    def _build_agent(self, mode: str) -> Agent:
        settings = self.settings
        return AGENTS.builder(mode)(
            retriever=self.retriever,
            store=self.store,
            catalog=self.documents,
            chat_model=self.chat_model,
            context_tokens=settings.context_tokens,
            context_margin=settings.context_margin,
            relevance_floor=relevance_floor(settings.relevance_floor, self.embedder.model_id),
            on_empty=settings.on_empty,
        )

    @property
    def chat(self) -> ChatService:
        return self._once("chat", lambda: ChatService(conversations=self.conversations, agents=self.agent))

    @property
    def ingestor(self) -> Ingestor:
        return self._once("ingestor", self._build_ingestor)

    @property
    def chunker(self) -> Chunker:
        return self._once(
            "chunker", lambda: CHUNKERS.builder("sections")(self.embedder, chunk_size=self.settings.chunk_size)
        )

    def _build_ingestor(self) -> Ingestor:
        settings = self.settings
        self.prepare()
        self.remember_embedder()
        return Ingestor(
            store=self.store,
            embedder=self.embedder,
            chunker=self.chunker,
            documents=self.documents,
            collections=(settings.mongodb_collection, settings.report_collection),
            settings_key=f"sections:{settings.chunk_size}:{self.embedder.model_id}",
        )

    def prepare(self) -> None:
        """Create the ordinary indexes that look-ups need; existing ones stay."""
        settings = self.settings
        # The embedded database filters in the in-process index, so there these would only slow down writing.
        fields = () if self.database.embedded else settings.filter_fields
        ensure_ordinary_indexes(self.database, (settings.mongodb_collection, settings.report_collection), fields)
        self.conversations.ensure_indexes()

    def check(self) -> None:
        """Build what a question needs, so that a wrong setting stops the start and not the first question."""
        self.retrieval_method(self.settings.retrieval_method)
        self.agent("direct")

    def close(self) -> None:
        with self._lock:
            if "store" in self._built:
                self.store.close()
            if "database" in self._built:
                self.database.close()
            self._built.clear()

    def __enter__(self) -> Services:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
