"""The composition root: builds every concrete object from the settings, and closes what it opened."""

from __future__ import annotations

from types import TracebackType

from ..database.core import Database
from ..embedders import EMBEDDERS
from ..retrieval import RETRIEVAL_METHODS
from ..retrieval.hybrid import fusion_named
from ..settings import Settings
from ..stores import STORES
from ..text import analyzer
from .answering import Answering
from .forgetting import Forgetting
from .ingesting import Ingesting
from .models import Models
from .storage import Storage
from .vectors import CurrentVectors

__all__ = ["Services"]


class Services:
    """Everything one process needs, each part built on first use and then kept. Use as a context manager."""

    def __init__(self, settings: Settings, *, database: Database | None = None) -> None:
        """``database`` stands in for the one that the settings name; it is closed with the rest."""
        self.settings = settings
        self.storage = Storage(settings, database=database)
        self.vectors = CurrentVectors(self.storage)
        self.models = Models(self.storage, self.vectors)
        self.answering = Answering(self.storage, self.models, self.vectors)
        self.ingesting = Ingesting(self.storage, self.models, self.vectors)
        self.forgetting = Forgetting(self.storage)

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
        self.models.reranker()
        STORES.check(settings.vector_search, field="VECTOR_SEARCH", also=("auto",))
        if settings.embedding_provider is not None:
            EMBEDDERS.check(settings.embedding_provider, field="EMBEDDING_PROVIDER")
        self.answering.agent(self.answering.check_mode(None))
        self.ingesting.check()
        if (verify := getattr(self.vectors.embedder.uncached, "verify", None)) is not None:
            verify()

    def prepare(self) -> None:
        """Make the database ready to be written and searched. Raises DatabaseError, SettingsError."""
        self.storage.prepare()
        self.vectors.store.prepare()

    def close(self) -> None:
        """Close what was opened, dependants first; the parts can be used again and open anew."""
        for part in (self.vectors, self.ingesting, self.answering, self.models, self.storage):
            part.close()

    def __enter__(self) -> Services:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
