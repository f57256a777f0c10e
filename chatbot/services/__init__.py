"""The composition root: builds every concrete object from the settings, and closes what it opened."""

from __future__ import annotations

from types import TracebackType

from ..embedders import EMBEDDERS
from ..retrieval import RETRIEVAL_METHODS
from ..retrieval.fusion import fusion_named
from ..stores import STORES
from ..text import analyzer
from .asking import Asking
from .ingesting import Ingesting

__all__ = ["Services"]


class Services(Asking, Ingesting):
    """Everything one process needs, each built on first use and then kept. Use as a context manager."""

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
