"""The composition root: builds every concrete object from the settings, and closes what
it opened.
"""

import threading
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from ...answering.agents import AGENTS, CHOOSES, DEFAULT
from ...answering.conversation import ChatService, Condenser, UsageAccounting
from ...config.settings import Settings
from ...config.settings_types import PRESETS, query_time
from ...database.core import Database
from ...database.reader import Reader, Readers
from ...database.repositories.caches import refresh
from ...domain import Document
from ...domain.cancellation import Cancellation
from ...domain.chat import Budget
from ...domain.errors import (
    InvalidRequestError,
    SettingsError,
    UnknownNameError,
)
from ...domain.protocols import ChatModel, Quoter
from ...domain.scope import Scope
from ...extras import answer, enabled, load
from ...language.analysis import analyzer
from ...library.loaders.isolation import ATTACHMENT_LIMITS, UPLOAD_LIMITS, LoaderPool
from ...library.loaders.ocr import INSTALLED
from ...library.sources import document_id
from ...models.chat import CHAT_MODELS, ManagedChatModel
from ...models.chat.extractive import ExtractiveChatModel
from ...models.embed import EMBEDDERS
from ...models.rerank import RERANKERS
from ...search import RETRIEVAL_METHODS
from ...search.indicators import Glossary
from ...search.ranking import fusion_named
from ...stores import STORES
from .lazy import close_lazy, lazy
from .library import Ingesting
from .people import People
from .retention import Retention
from .runtime import Runtime
from .storage import open_storage

ATTACHMENT_READERS, ATTACHMENT_PAGES = 2, 3
"""Processes of all workers that read attachments, and pictures that are read of one."""
AFTER_BUDGET_SECONDS = 60.0
"""A question that takes this much longer than its budget counts as ended: its process
died.
"""


class Services:
    """Everything one process needs, each part built on first use and then kept. Use as
    a context manager.
    """

    def __init__(self, settings: Settings, *, database: Database | None = None) -> None:
        """``database`` stands in for the one that the settings name; it is closed with
        the rest.
        """
        self.settings = settings
        self.extras = enabled(settings)
        self._closing = ExitStack()
        foreign_rows = answer(self.extras, "rows", settings)
        self.storage = open_storage(settings, self._closing, database, foreign_rows)
        self.retention = Retention(self.storage)
        self.answering = Answering(self)
        self.ingesting = Ingesting(self)
        self.people: People | None = answer(self.extras, "people", self)
        self._lock = threading.RLock()
        self._runtime: Runtime | None = None
        self._has_served = False
        """True if the database had an embedding model before, which another one then
        replaces.
        """
        self._replaced: list[tuple[Runtime, threading.Timer]] = []

    @property
    def runtime(self) -> Runtime:
        """The runtime of the embedding model that the database has now; `reembed` in
        another process may change it. Take everything that a request needs from one
        runtime, so that it fits together. A runtime that was replaced stays open for as
        long as a question may take.
        """
        stored = self.storage.facts.embedder()
        with self._lock:
            if self._runtime is None or not self._runtime.serves(stored):
                refresh(
                    self.storage.database
                )  # another thread may have seen a later answer
                stored = self.storage.facts.embedder()
            if self._runtime is None:
                self._runtime = Runtime(
                    self.storage, self.answering, self.readers, stored
                )
            elif not self._runtime.serves(stored):
                closing = threading.Timer(
                    self.settings.budget_seconds + AFTER_BUDGET_SECONDS,
                    self._runtime.close,
                )
                closing.daemon = True
                closing.start()
                self._replaced.append((self._runtime, closing))
                self._runtime = Runtime(
                    self.storage,
                    self.answering,
                    self.readers,
                    stored,
                    adopt=self._has_served,
                )
            self._has_served = self._has_served or stored is not None
            return self._runtime

    def check(self) -> None:
        """Build what a question needs, so that a wrong setting stops the start. Raises
        SettingsError, UnknownNameError, EmbedderMismatchError: a setting is wrong;
        DatabaseError: the database does not answer.
        """
        settings = self.settings
        analyzer(settings.language)
        RETRIEVAL_METHODS.check(settings.retrieval_method, field="RETRIEVAL_METHOD")
        fusion_named(settings.fusion)
        RERANKERS.check(settings.reranker, field="RERANKER")
        STORES.check(settings.vector_search, field="VECTOR_SEARCH", also=("auto",))
        if settings.embedding_provider is not None:
            EMBEDDERS.check(settings.embedding_provider, field="EMBEDDING_PROVIDER")
        self.answering.check_mode(None)
        runtime = self.runtime
        runtime.reranker(settings.reranker)
        _ = runtime.understanding
        self.ingesting.check()
        for extra in self.extras:
            for reference in extra.verify:
                load(reference)(self)
        if (verify := getattr(runtime.embedder.uncached, "verify", None)) is not None:
            verify()

    def reader(self, limit: Scope) -> Reader:
        """Return what callers with this limit may see; an empty one = everything."""
        return self.readers.within(limit)

    @lazy
    def readers(self) -> Readers:
        storage = self.storage
        return Readers(
            storage.documents,
            storage.figures,
            storage.glossary.entries,
            lambda: self.runtime.store,
        )

    def prepare(self) -> None:
        """Make the database ready to be written and searched. Raises DatabaseError,
        SettingsError.
        """
        _ = self.runtime.writable_store

    def close(self) -> None:
        """Close what was opened, dependants first."""
        with self._lock:
            replaced, runtime = self._replaced, self._runtime
            self._replaced, self._runtime = [], None
        for old, closing in replaced:
            closing.cancel()
            old.close()
        if runtime is not None:
            runtime.close()
        self.ingesting.close()
        self.answering.close()
        self._closing.close()
        close_lazy(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class Answering:
    """The answering side, for the web, MCP and the command line. Independent of the
    embedding model.
    """

    def __init__(self, services: Services) -> None:
        self.settings = services.settings
        self._services = services
        self._storage = services.storage

    @lazy
    def chat_model(self) -> ChatModel:
        """The model that writes answers. Raises SettingsError, UnknownNameError,
        MissingPackageError.
        """
        default = "openai" if self.settings.openai_api_key else "extractive"
        return self._built(self.settings.chat_model or default, "CHAT_MODEL")

    @lazy
    def small_chat_model(self) -> ChatModel:
        """The model that plans, completes follow-ups, judges, summarises (seed 001's
        tiers). Raises as `chat_model`.
        """
        if self.settings.chat_model_small is None:
            return self.chat_model
        small = self._built(self.settings.chat_model_small, "CHAT_MODEL_SMALL")
        if not (small.is_language_model and self.chat_model.is_language_model):
            raise SettingsError(
                "CHAT_MODEL_SMALL and CHAT_MODEL must both be language models, or "
                "the first not set."
            )
        return small

    def _built(self, name: str, field: str) -> ChatModel:
        settings, storage = self.settings, self._storage
        provider, _, model = name.partition(":")
        built = CHAT_MODELS.builder(CHAT_MODELS.check(provider, field=field))(
            settings, model=model, embedder=lambda: self._services.runtime.embedder
        )
        if not built.is_language_model:
            return built
        return ManagedChatModel(
            built,
            settings,
            cache=storage.cache,
            usage=storage.usage,
            counters=storage.counters,
        )

    @lazy
    def quoter(self) -> Quoter:
        """The reranker that chooses the sentences to quote if no model writes."""
        return ExtractiveChatModel(self.settings.language)

    def settings_with(self, preset: str) -> Settings:
        """Return the settings with the query-time figures of a preset; "" = as they
        are. Raises UnknownNameError.
        """
        if not preset:
            return self.settings
        if preset not in PRESETS:
            raise UnknownNameError.among("preset", "preset", preset, PRESETS)
        return self.settings.override(**query_time(preset))

    def check_mode(self, mode: str | None, preset: str = "") -> str:
        """Return the mode of a question: the one it names, else that of the preset or
        the settings. Raises UnknownNameError: no such mode, or no language model for
        it.
        """
        field = "mode" if mode or preset else "MODE"
        mode = AGENTS.check(mode or self.default_mode(preset), field=field)
        if (
            self.chat_model.is_language_model
            or not AGENTS.module(mode).build.needs_language_model
        ):
            return mode
        valid = [name for name, usable in self.modes().items() if usable]
        message = (
            f"{mode!r} needs a language model: set OPENAI_API_KEY, or CHAT_MODEL "
            "and OPENAI_BASE_URL. "
            f"Without one: {', '.join(valid)}."
        )
        raise UnknownNameError.for_field(field, message, valid)

    def default_mode(self, preset: str = "") -> str:
        """Return the mode of a question that names none; without a setting, `auto` if
        choosing makes no call.
        """
        return self.settings_with(preset).mode or (
            DEFAULT if self.chat_model.is_language_model else CHOOSES
        )

    def modes(self) -> dict[str, bool]:
        """Return whether each mode can be used here: some need a language model."""
        has_model = self.chat_model.is_language_model
        return {
            name: has_model or not AGENTS.module(name).build.needs_language_model
            for name in AGENTS.names()
        }

    def budget(self, limits: Mapping[str, Any]) -> Budget:
        """Return what one question may cost: as the settings allow, or less. Raises
        InvalidRequestError.
        """
        settings = self.settings
        most = {
            "calls": settings.budget_calls,
            "tokens": settings.budget_tokens,
            "seconds": settings.budget_seconds,
        }
        for name, value in limits.items():
            if not 1 <= value <= most[name]:
                raise InvalidRequestError.for_field(
                    f"budget.{name}", f"must be from 1 to {most[name]:g}."
                )
        return Budget(**{**most, **limits})

    @lazy
    def _attachment_loader(self) -> LoaderPool:
        """Readers of its own: no question waits for a long ingestion or for another
        question's attachment.
        """
        limits, pages = (
            ATTACHMENT_LIMITS,
            min(self.settings.ocr_pages, ATTACHMENT_PAGES),
        )
        if INSTALLED and pages:  # its models need more memory than any other attachment
            limits = replace(limits, memory=UPLOAD_LIMITS.memory, ocr_pages=pages)
        folder = self.settings.data_dir / "readers" / "attachments"
        return LoaderPool(
            ATTACHMENT_READERS,
            time_limit=self.settings.model_timeout,
            limits=limits,
            folder=folder,
        )

    def attached(
        self, path: Path, name: str, cancel: Cancellation, caller: str = ""
    ) -> Document:
        """Read a file for one question; it is not stored. Raises LoadError,
        CancelledError.
        """
        loaded = self._attachment_loader.load(path, cancel=cancel, caller=caller)
        identity = f"attachment-{document_id(name)}"
        return Document(
            identity, name, loaded.title, name, {}, loaded.sections, pages=loaded.pages
        )

    @property
    def glossary(self) -> Glossary:
        """The glossary as callers without a limit see it."""
        return self._services.runtime.everything.glossary

    @lazy
    def chat(self) -> ChatService:
        words, storage = analyzer(self.settings.language), self._storage

        def condenser(limit: Scope) -> Condenser:
            return Condenser(
                follow_ups=self._services.runtime.within(limit).follow_ups,
                chat_model=self.small_chat_model,
                analyzer=words,
            )

        accounting = UsageAccounting(
            prices=self.settings.model_prices,
            chat_model=self.chat_model,
            small_chat_model=self.small_chat_model,
            embedder=lambda: self._services.runtime.embedder,
            days=storage.usage,
            conversations=storage.conversations,
        )
        return ChatService(
            conversations=storage.conversations,
            agent=lambda limit: self._services.runtime.within(limit).understanding,
            condenser=condenser,
            accounting=accounting,
        )

    def close(self) -> None:
        close_lazy(self, "_attachment_loader", "chat_model", "small_chat_model")
