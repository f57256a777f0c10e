"""The composition root: builds every concrete object from the settings, and closes what it opened."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from ...config.settings import Settings
from ...database.core import Database
from ...database.repositories.caches import refresh
from ...language import analyzer
from ...models.embed import EMBEDDERS
from ...models.rerank import RERANKERS
from ...search import RETRIEVAL_METHODS
from ...search.ranking import fusion_named
from ...stores import STORES
from .answering import Answering
from .ingesting import Ingesting
from .runtime import Runtime
from .storage import Retention, Storage

__all__ = ["Runtime", "Services"]


class Services:
    """Everything one process needs, each part built on first use and then kept. Use as a context manager."""

    def __init__(self, settings: Settings, *, database: Database | None = None) -> None:
        """``database`` stands in for the one that the settings name; it is closed with the rest."""
        self.settings = settings
        self.storage = Storage(settings, database=database)
        self.answering = Answering(self)
        self.ingesting = Ingesting(self)
        self.retention = Retention(self.storage)
        self._lock = threading.RLock()
        self._runtime: Runtime | None = None
        self._has_served = False
        """Whether the database had an embedding model before: another one then replaces it."""
        self._holders: set[object] = set()
        self._replaced: list[tuple[Runtime, set[object]]] = []

    @property
    def runtime(self) -> Runtime:
        """The runtime of the embedding model that the database has now.

        Reads one small document: `reembed` in another process may have changed the model. Take everything that a
        request needs from one runtime, so that it fits together. Another thread closes a runtime that was replaced:
        use it inside `hold` where several threads work.
        """
        stored = self.storage.facts.embedder()
        with self._lock:
            if self._runtime is None or not self._runtime.serves(stored):
                refresh(self.storage.database)  # another thread may have seen a later answer
                stored = self.storage.facts.embedder()
            if self._runtime is None:
                self._runtime = Runtime(self.storage, self.answering, stored)
            elif not self._runtime.serves(stored):
                self._replaced.append((self._runtime, set(self._holders)))
                self._runtime = Runtime(self.storage, self.answering, stored, adopt=self._has_served)
                self._close_replaced()
            self._has_served = self._has_served or stored is not None
            return self._runtime

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Keep what this block takes from `runtime` open until it ends: a request, a question, an ingestion.

        A runtime that was replaced is closed when the last block ends that began before.
        """
        holder = object()
        with self._lock:
            self._holders.add(holder)
        try:
            yield
        finally:
            with self._lock:
                self._holders.discard(holder)
                for _, holders in self._replaced:
                    holders.discard(holder)
                self._close_replaced()

    def _close_replaced(self) -> None:
        for runtime, holders in list(self._replaced):
            if not holders:
                self._replaced.remove((runtime, holders))
                runtime.close()

    def check(self) -> None:
        """Build what a question needs, so that a wrong setting stops the start and not the first question.

        Raises:
            SettingsError, UnknownNameError, EmbedderMismatchError: a setting is wrong. Most are found without the
                database.
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
        _ = runtime.agent
        self.ingesting.check()
        if (verify := getattr(runtime.embedder.uncached, "verify", None)) is not None:
            verify()

    def prepare(self) -> None:
        """Make the database ready to be written and searched. Raises DatabaseError, SettingsError."""
        _ = self.runtime.writable_store

    def close(self) -> None:
        """Close what was opened, dependants first; the parts can be used again and open anew."""
        with self._lock:
            runtimes = [*(old for old, _ in self._replaced), *([self._runtime] if self._runtime else [])]
            self._replaced, self._runtime = [], None
        for runtime in runtimes:
            runtime.close()
        self.ingesting.close()
        self.answering.close()
        self.storage.close()

    def __enter__(self) -> Services:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
