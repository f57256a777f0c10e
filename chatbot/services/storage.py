"""The database and what is kept in it."""

from __future__ import annotations

from ..database import Database, open_database
from ..engine import Engine, choose_engine
from ..lazy import Lazy
from ..migration.schema import migrate
from ..repositories.caches import CacheRepository
from ..repositories.changes import CorpusChanges, CorpusFacts
from ..repositories.conversations import ConversationRepository
from ..repositories.documents import DocumentRepository
from ..repositories.files import FileRepository
from ..repositories.ingestions import IngestionRepository
from ..repositories.older_reports import OlderReports
from ..repositories.usage import UsageRepository
from ..retrieval.collections import KnowledgeCollection, knowledge_collections
from ..retrieval.scope import ScopeResolver
from ..settings import Settings
from ..stores.search_indexes import ensure_ordinary_indexes


class Storage(Lazy):
    """The database and its repositories; `Services` closes it."""

    def __init__(self, settings: Settings, *, database: Database | None = None) -> None:
        """``database`` stands in for the one that the settings name; it is closed with the rest."""
        super().__init__(database=database)
        self.settings = settings

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
    def engine(self) -> Engine:
        """Which vector search serves this database; asked of the server once."""
        return self._once("engine", lambda: choose_engine(self.settings, self.database))

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

    @property
    def files(self) -> FileRepository:
        return self._once("files", lambda: FileRepository(self.database))

    @property
    def ingestions(self) -> IngestionRepository:
        return self._once("ingestions", lambda: IngestionRepository(self.database))

    def prepare_database(self) -> None:
        """Bring the schema up to date, and create the ordinary indexes that look-ups need; existing ones stay.

        Raises:
            DatabaseError: it does not answer.
            SettingsError: a newer program wrote it.
        """
        migrate(self.database)
        # The embedded database filters in the in-process index, so there these would only slow down writing.
        fields = () if self.database.embedded else self.settings.filter_fields
        ensure_ordinary_indexes(self.database, self.chunk_collections, fields)
        self.conversations.ensure_indexes()
        self.ingestions.ensure_indexes()
