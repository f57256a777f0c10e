"""The composition root: builds every concrete object from the settings, and closes what it opened."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from .agents import AGENTS, NEED_LANGUAGE_MODEL
from .agents.understanding import Understanding
from .caches.responses import CachedChatModel
from .cancellation import Cancellation
from .chat_models import CHAT_MODELS, FREE
from .chat_models.extractive import ExtractiveChatModel
from .chat_models.metered import MeteredChatModel
from .chunkers import CHUNKERS
from .conversation.books import Books
from .conversation.condense import Condenser
from .conversation.follow_up import FollowUps
from .conversation.ledger import Prices
from .conversation.service import ChatService
from .database import Database, open_database
from .embedders import EMBEDDERS, LOCAL
from .engine import Engine, choose_engine, index_plans
from .errors import InvalidRequestError, UnknownNameError
from .ingestion.editor import Editor
from .ingestion.jobs import IngestionWorker
from .ingestion.overrides import check_collection, check_overrides
from .ingestion.pipeline import Ingestor
from .ingestion.service import IngestionService
from .ingestion.sources import document_id
from .ingestion.summary import EXTRACTIVE, NONE, ModelSummary, Summary
from .lazy import Lazy
from .loaders.isolated import IsolatedLoader
from .migration.schema import migrate
from .model_bound import SAMPLE_DATA, WARM_CACHE, ModelBound
from .originals import Originals
from .presets import CHUNKING, PRESETS, query_time
from .protocols import Agent, ChatModel, Chunker, Embedder, Quoter, Store
from .repositories.caches import CacheRepository
from .repositories.changes import CorpusChanges, CorpusFacts, StoredEmbedder
from .repositories.conversations import ConversationRepository
from .repositories.documents import DocumentRepository
from .repositories.files import FileRepository
from .repositories.ingestions import IngestionRepository
from .repositories.older_reports import OlderReports
from .repositories.usage import UsageRepository, seconds_to_reset
from .rerankers import RERANKERS
from .rerankers.reranker import Reranker
from .retrieval import RETRIEVAL_METHODS
from .retrieval.collections import KnowledgeCollection, knowledge_collections
from .retrieval.fusion import fusion_named
from .retrieval.method import RetrievalMethod
from .retrieval.pipeline import Retriever
from .retrieval.scope import ScopeResolver
from .schema import Budget, Document, DocumentRecord, Loaded
from .settings import Settings
from .stores import STORES
from .stores.search_indexes import IndexPlan, ensure_ordinary_indexes
from .text import analyzer

__all__ = ["SAMPLE_DATA", "WARM_CACHE", "Services"]
RETIRED_SECONDS = 600.0
"""How long the objects of an embedding model that was replaced stay open for the requests that began with them."""


class Services(Lazy):
    """Everything one process needs, each built on first use and then kept. Use as a context manager."""

    def __init__(self, settings: Settings, *, database: Database | None = None) -> None:
        """``database`` stands in for the one that the settings name; it is closed with the rest."""
        super().__init__(database=database)
        self.settings = settings
        self._bound: ModelBound | None = None
        self._retired: list[tuple[float, ModelBound]] = []

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
        return self._once("documents", self._build_documents)

    def _build_documents(self) -> DocumentRepository:
        fields = self.settings.filter_fields
        older = OlderReports(self.database, collections=self.chunk_collections, filter_fields=fields)
        return DocumentRepository(self.database, fields, older)

    @property
    def chunk_collections(self) -> tuple[str, ...]:
        """The collections of passages: the general one, that of the reports, the others."""
        return self.settings.chunk_collections

    @property
    def collections(self) -> tuple[KnowledgeCollection, ...]:
        """The same with their descriptions, each once."""
        return knowledge_collections(self.chunk_collections, dict(self.settings.collections))

    @property
    def conversations(self) -> ConversationRepository:
        return self._once("conversations", lambda: ConversationRepository(self.database))

    @property
    def scopes(self) -> ScopeResolver:
        fields = self.settings.filter_fields
        return self._once("scopes", lambda: ScopeResolver(self.documents, fields, self.chunk_collections))

    @property
    def model_bound(self) -> ModelBound:
        """What hangs on the embedding model, for the model the database has now.

        Asks the database, one small document: `reembed` in another process may have changed the model. Take what a
        request needs from one answer, so that it fits together; a request under way keeps what it has.
        """
        stored = self.facts.embedder()
        with self._lock:
            if self._bound is None or not self._bound.serves(stored):
                stored = self.facts.embedder()  # asked again: another thread may have seen a later answer
            if self._bound is None or not self._bound.serves(stored):
                self._bound = self._replace_bound(stored)
            self._close_retired(older_than=RETIRED_SECONDS)
            return self._bound

    def _replace_bound(self, stored: StoredEmbedder | None) -> ModelBound:
        if self._bound is None:
            return ModelBound(self, stored)
        self._retired.append((time.monotonic(), self._bound))
        return ModelBound(self, stored, adopt=self._bound.knows_its_model)

    def _close_retired(self, older_than: float) -> None:
        while self._retired and time.monotonic() - self._retired[0][0] >= older_than:
            self._retired.pop(0)[1].close()

    @property
    def embedder(self) -> Embedder:
        """Raises EmbedderMismatchError: the settings name another model than the database has."""
        return self.model_bound.embedder

    def remember_embedder(self) -> None:
        """Store which model this database is written with; called before the first passage is."""
        self.model_bound.remember_embedder()

    @property
    def engine(self) -> Engine:
        """Which vector search serves this database; asked of the server once."""
        return self._once("engine", lambda: choose_engine(self.settings, self.database))

    @property
    def store(self) -> Store:
        return self.model_bound.store

    @property
    def index_plans(self) -> list[IndexPlan]:
        """The search indexes that MongoDB's engine needs for the vectors in use."""
        stored = self.facts.embedder()
        slot = stored.slot if stored else ""
        return index_plans(self.settings, dimensions=self.embedder.dimensions, slot=slot)

    @property
    def chat_model(self) -> ChatModel:
        """The one that remembers what it said."""
        return self._once("chat_model", self._build_chat_model)

    def _build_chat_model(self) -> ChatModel:
        settings, model = self.settings, self.uncached_model
        if model.model_id in FREE:
            return model
        parameters = (settings.temperature, float(settings.max_answer_tokens))
        return CachedChatModel(model, self.cache, parameters=parameters)

    @property
    def uncached_model(self) -> ChatModel:
        """The same, for who wants a new answer."""
        return self._once("uncached_model", self._build_uncached_model)

    def _build_uncached_model(self) -> ChatModel:
        settings = self.settings
        default = "openai" if settings.openai_api_key else "extractive"
        provider, _, model = (settings.chat_model or default).partition(":")
        built = CHAT_MODELS.builder(CHAT_MODELS.check(provider, field="CHAT_MODEL"))(settings, model=model)
        if provider in FREE:
            return built
        return MeteredChatModel(built, self.usage, limit=settings.daily_token_limit, reset=seconds_to_reset)

    @property
    def has_language_model(self) -> bool:
        """False where answers are quotations, or those of a test double: nothing can be planned or written then."""
        return self.chat_model.model_id not in FREE

    @property
    def quoter(self) -> Quoter:
        return self._once("quoter", lambda: ExtractiveChatModel(self.settings.language))

    @property
    def cache(self) -> CacheRepository:
        settings = self.settings
        return self._once(
            "cache",
            lambda: CacheRepository(self.database, seconds=settings.cache_seconds, entries=settings.cache_entries),
        )

    @property
    def usage(self) -> UsageRepository:
        return self._once("usage", lambda: UsageRepository(self.database))

    def query_settings(self, preset: str) -> Settings:
        """The settings of one question: with the query-time figures of a preset, "" = as they are.

        Raises:
            UnknownNameError: no such preset.
        """
        if not preset:
            return self.settings
        if preset not in PRESETS:
            raise UnknownNameError.among("preset", "preset", preset, PRESETS)
        return self._once(f"settings:{preset}", lambda: self.settings.override(**query_time(preset)))

    def retrieval_method(self, name: str, preset: str = "") -> RetrievalMethod:
        """Raises UnknownNameError."""
        RETRIEVAL_METHODS.check(name, field="retrieval_method")
        settings = self.query_settings(preset)
        return self._once(f"method:{name}:{preset}", lambda: RETRIEVAL_METHODS.builder(name)(settings))

    def reranker(self, preset: str = "") -> Reranker | None:
        """The one that the settings name, None for none. Raises UnknownNameError, MissingPackageError."""
        name = RERANKERS.check(self.query_settings(preset).reranker, field="RERANKER")
        if name == "none":
            return None
        return self._once(
            f"reranker:{name}",
            lambda: RERANKERS.builder(name)(chat_model=lambda: self.chat_model, language=self.settings.language),
        )

    @property
    def retriever(self) -> Retriever:
        return self.model_bound.retriever_for("")

    def agent(self, mode: str, preset: str = "") -> Agent:
        """Raises UnknownNameError."""
        AGENTS.check(mode, field="mode")
        return self.model_bound.agent(mode, preset)

    def check_mode(self, mode: str | None, preset: str = "") -> str:
        """The mode of a question: as asked for, else as the preset or the settings say.

        Raises:
            UnknownNameError: no such mode, or no language model for it.
        """
        mode = AGENTS.check(mode or self.query_settings(preset).mode, field="mode")
        if mode in NEED_LANGUAGE_MODEL and not self.has_language_model:
            valid = [name for name in AGENTS.names() if name not in NEED_LANGUAGE_MODEL]
            message = (
                f"{mode!r} needs a language model: set OPENAI_API_KEY, or CHAT_MODEL and OPENAI_BASE_URL. "
                f"Without one: {', '.join(valid)}."
            )
            raise UnknownNameError.for_field("mode", message, valid)
        return mode

    def agent_modes(self) -> list[tuple[str, bool, str]]:
        """Each mode, whether it can be used here, and why not."""
        needs = "needs a language model"
        usable = {name: name not in NEED_LANGUAGE_MODEL or self.has_language_model for name in AGENTS.names()}
        return [(name, can, "" if can else needs) for name, can in usable.items()]

    def budget(self, asked: Mapping[str, Any]) -> Budget:
        """What one question may cost: as the settings allow, or less. Raises InvalidRequestError."""
        most = {name: getattr(self.settings, f"budget_{name}") for name in ("calls", "tokens", "seconds")}
        for name, value in asked.items():
            if not 1 <= value <= most[name]:
                raise InvalidRequestError.for_field(f"budget.{name}", f"must be from 1 to {most[name]:g}.")
        return Budget(**{**most, **asked})

    @property
    def chat(self) -> ChatService:
        return self._once("chat", self._build_chat)

    def _build_chat(self) -> ChatService:
        words = analyzer(self.settings.language)
        follow_ups = FollowUps(words, self.documents)
        return ChatService(
            conversations=self.conversations,
            agents=self.agent,
            condenser=Condenser(follow_ups=follow_ups, chat_model=self.chat_model, analyzer=words),
            understanding=Understanding(
                catalog=self.documents,
                chat_model=self.chat_model,
                uncached_model=self.uncached_model,
                on_empty=self.settings.on_empty,
            ),
            books=Books(
                prices=Prices(self.settings.model_prices, free=FREE | LOCAL),
                chat_model_id=self.chat_model.model_id,
                embedder_id=lambda: self.embedder.model_id,
                days=self.usage,
                conversations=self.conversations,
            ),
        )

    @property
    def ingestor(self) -> Ingestor:
        return self.model_bound.ingestor

    def ingestor_for(self, overrides: Mapping[str, Any]) -> Ingestor:
        """Cuts as ``overrides`` say, else as the settings do. Raises UnknownNameError, InvalidRequestError."""
        return self.model_bound.ingestor_for(overrides)

    def check_overrides(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """What a person says of a report, checked, also against each other and against the settings.

        Raises:
            InvalidRequestError, UnknownNameError: a field that cannot be; nothing was read or written yet.
        """
        checked = check_overrides(
            values,
            countries=self.documents.values("country_name"),
            strategies=lambda name: CHUNKERS.check(name, field="chunk_strategy"),
        )
        if not checked.keys().isdisjoint(CHUNKING):
            self.ingestor_for(checked)
        check_collection(checked.get("collection"), self.chunk_collections)
        return checked

    @property
    def ingestion(self) -> IngestionService:
        """Files to searchable documents."""
        return self._once("ingestion", self._build_ingestion)

    def _build_ingestion(self) -> IngestionService:
        return IngestionService(
            documents=self.documents,
            ingestors=self.ingestor_for,
            load=self.load,
            leases=self.facts,
            summary=self.summary,
        )

    def load(self, path: Path, cancel: Cancellation) -> Loaded:
        """Read one file, in a process of its own where its format asks for that. Raises LoadError."""
        return self._once("loader", lambda: IsolatedLoader(time_limit=self.settings.load_timeout)).load(
            path, cancel=cancel
        )

    def attached(self, path: Path, name: str, cancel: Cancellation) -> Document:
        """A file for one question; it is not stored. Raises LoadError, CancelledError."""
        # A reader of its own: nobody who asks waits for a long ingestion.
        loader = self._once("attachment_loader", lambda: IsolatedLoader(time_limit=self.settings.model_timeout))
        loaded = loader.load(path, cancel=cancel)
        identity = f"attachment-{document_id(name)}"
        return Document(identity, name, loaded.title, name, {}, loaded.sections, pages=loaded.pages)

    @property
    def summary(self) -> Summary:
        """How a report is summarised when it is ingested."""
        kind = self.settings.summaries
        if kind == "auto":
            kind = "model" if self.settings.openai_api_key else "extractive"
        if kind == "model":
            return Summary("model", ModelSummary(self.chat_model, input_tokens=self.settings.context_tokens))
        return EXTRACTIVE if kind == "extractive" else NONE

    @property
    def sample_summary(self) -> Summary:
        """No model reads the sample reports: a first start makes no calls."""
        return NONE if self.settings.summaries == "off" else EXTRACTIVE

    def delete_document(self, record: DocumentRecord) -> None:
        """Remove a report, its passages and its original; a sample report does not come back at the next start."""
        if record.sample:
            self.facts.dismiss_sample(record.id)
        self.ingestor.delete(record.id)
        self.originals.tidy()

    @property
    def editor(self) -> Editor:
        """Changes what is said of a report."""
        bound = self.model_bound
        return Editor(store=bound.store, writer=bound.ingestor.writer, documents=self.documents, leases=self.facts)

    @property
    def files(self) -> FileRepository:
        return self._once("files", lambda: FileRepository(self.database))

    @property
    def ingestions(self) -> IngestionRepository:
        return self._once("ingestions", lambda: IngestionRepository(self.database))

    @property
    def originals(self) -> Originals:
        """The files that documents were made of."""
        return self._once(
            "originals",
            lambda: Originals(files=self.files, jobs=self.ingestions, documents=self.documents, settings=self.settings),
        )

    @property
    def worker(self) -> IngestionWorker:
        """Works through the queued ingestions; whoever serves runs it."""
        return self._once(
            "worker",
            lambda: IngestionWorker(
                self.ingestions,
                service=lambda: self.ingestion,
                fetch=self.originals.fetch,
                tidy=self.originals.tidy,
            ),
        )

    @property
    def chunker(self) -> Chunker:
        return self.model_bound.chunker

    def prepare(self) -> None:
        """Bring the schema up to date, and create the ordinary indexes that look-ups need; existing ones stay.

        Raises:
            DatabaseError: it does not answer.
            SettingsError: a newer program wrote it.
        """
        migrate(self.database)
        settings = self.settings
        # The embedded database filters in the in-process index, so there these would only slow down writing.
        fields = () if self.database.embedded else settings.filter_fields
        ensure_ordinary_indexes(self.database, self.chunk_collections, fields)
        self.conversations.ensure_indexes()
        self.ingestions.ensure_indexes()
        self.store.prepare()

    def check(self) -> None:
        """Build what a question needs, so that a wrong setting stops the start and not the first question.

        Raises:
            SettingsError, UnknownNameError, EmbedderMismatchError: a setting is wrong; found without the database
                as far as that goes.
            DatabaseError: it does not answer.
        """
        settings = self.settings
        analyzer(settings.language)
        RETRIEVAL_METHODS.check(settings.retrieval_method, field="RETRIEVAL_METHOD")
        fusion_named(settings.fusion)
        self.reranker()
        STORES.check(settings.vector_search, field="VECTOR_SEARCH", also=("auto",))
        if settings.embedding_provider is not None:
            EMBEDDERS.check(settings.embedding_provider, field="EMBEDDING_PROVIDER")
        _ = self.chat_model
        self.agent(self.check_mode(None))
        if (verify := getattr(self.model_bound.embedder.uncached, "verify", None)) is not None:
            verify()

    def close(self) -> None:
        with self._lock:
            self._close_retired(older_than=0)
            if self._bound is not None:
                self._bound.close()
                self._bound = None
            self._close_built("loader", "attachment_loader", "chat_model", "database")

    def __enter__(self) -> Services:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
