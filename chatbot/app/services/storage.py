"""The database and its repositories."""

from contextlib import ExitStack
from dataclasses import dataclass

from ... import __version__
from ...config.settings import Settings
from ...database import open_database
from ...database.changes import Changes
from ...database.core import Database, ForeignRows
from ...database.repositories.access import AuditLog, KeyRepository, SessionRepository
from ...database.repositories.answers import FeedbackRepository, UnfinishedRepository
from ...database.repositories.briefs import BriefRepository
from ...database.repositories.caches import CacheRepository
from ...database.repositories.conversations import ConversationRepository
from ...database.repositories.corpus import CorpusFacts, ForeignChanges
from ...database.repositories.documents import DocumentRepository, OlderReports
from ...database.repositories.figures import FigureRepository, GlossaryRepository
from ...database.repositories.files import FileRepository
from ...database.repositories.groups import GroupRepository
from ...database.repositories.release import ServingRelease
from ...database.repositories.uploads import UploadRepository
from ...database.repositories.usage import Counters, UsageRepository
from ...domain import Scope
from ...domain.errors import ReadOnlyError
from ...extras import with_extras
from ...jobs.queue import IngestionQueue
from ...library.derived import default_glossary
from ...search.scope import KnowledgeCollection, ScopeResolver
from ...stores import STORES, Engine, choose_engine
from .once import Once

MAX_CACHE_ENTRIES = 2500
"""Answers that are kept, and as many completions, and vectors of questions; the oldest
go first.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """The database and its repositories. None of them asks the database before it is
    used.
    """

    settings: Settings
    database: Database
    audit: AuditLog
    briefs: BriefRepository
    cache: CacheRepository
    """The three cache levels (R-B10), bounded in time and number."""
    conversations: ConversationRepository
    counters: Counters
    documents: DocumentRepository
    facts: CorpusFacts
    feedback: FeedbackRepository
    figures: FigureRepository
    files: FileRepository
    glossary: GlossaryRepository
    groups: GroupRepository
    ingestions: IngestionQueue
    keys: KeyRepository
    release: ServingRelease
    sessions: SessionRepository
    scopes: ScopeResolver
    """Turns what a request names into a `Scope` of what is there."""
    unfinished: UnfinishedRepository
    uploads: UploadRepository
    usage: UsageRepository
    late_engine: Once[Engine]
    late_cookie_secret: Once[bytes]
    late_foreign_changes: Once[ForeignChanges | None]
    foreign_rows: ForeignRows | None
    """Reads the rows of other programs; None where an extra does not."""

    @property
    def changes(self) -> Changes:
        """The one place where the library is changed."""
        return self.database.changes

    @property
    def engine(self) -> Engine:
        """The vector search of this database; the server is asked once. Raises
        UnknownNameError, SettingsError, DatabaseError, SearchEngineError.
        """
        return self.late_engine.get()

    @property
    def cookie_secret(self) -> bytes:
        """The secret that the cookies of those without a key are signed with:
        SECRET_KEY, or the database's own.
        """
        return self.late_cookie_secret.get()

    @property
    def foreign_changes(self) -> ForeignChanges | None:
        """Changes by other programs; None if no other program writes passages or
        nothing here depends on them.
        """
        return self.late_foreign_changes.get()

    @property
    def collections(self) -> tuple[KnowledgeCollection, ...]:
        """The collections of passages with their descriptions: the general one, that of
        the reports, the others.
        """
        descriptions = dict(self.settings.collections)
        return tuple(
            KnowledgeCollection(name, descriptions.get(name, ""))
            for name in dict.fromkeys(self.settings.chunk_collections)
        )

    def require_writable(self) -> None:
        """Raises ReadOnlyError: the passages belong to another program."""
        if not self.settings.schema:
            return
        schema = ",".join(self.settings.schema)
        raise ReadOnlyError(
            f"The passages belong to another program (SCHEMA={schema}): they are only "
            "read."
        )


def open_storage(
    settings: Settings,
    closing: ExitStack,
    database: Database | None = None,
    foreign_rows: ForeignRows | None = None,
) -> Storage:
    """Open the database of the settings, or take ``database``; ``closing`` closes it.
    ``foreign_rows`` reads the rows of other programs. Raises SettingsError,
    DatabaseError: it cannot be opened as the settings say.
    """
    if database is None:
        database = open_database(settings)
    closing.callback(database.close)
    fields = settings.filter_fields
    collections = settings.chunk_collections
    if foreign_rows is not None:
        foreign_rows.adapt(database)
    database.guard(collections)
    older = OlderReports(database, collections=collections, filter_fields=fields)
    documents = DocumentRepository(database, fields, older)
    keys = KeyRepository(database)
    stores = with_extras(STORES, settings)
    files = FileRepository(database, quota=settings.upload_quota_mb)
    engine = Once(lambda: choose_engine(settings, database, stores))
    conversations = ConversationRepository(database)
    return Storage(
        settings=settings,
        database=database,
        audit=AuditLog(database),
        briefs=BriefRepository(database, conversations),
        cache=CacheRepository(
            database, seconds=settings.cache_seconds, entries=MAX_CACHE_ENTRIES
        ),
        conversations=conversations,
        counters=Counters(database),
        documents=documents,
        facts=CorpusFacts(database),
        feedback=FeedbackRepository(database),
        figures=FigureRepository(
            database, fields, documents.visible, lambda scope: _ids(documents, scope)
        ),
        files=files,
        glossary=GlossaryRepository(database, default_glossary),
        groups=GroupRepository(database),
        ingestions=IngestionQueue(database),
        keys=keys,
        release=ServingRelease(database, __version__),
        sessions=SessionRepository(database),
        scopes=ScopeResolver(documents, fields, collections),
        unfinished=UnfinishedRepository(database),
        uploads=UploadRepository(database, files),
        usage=UsageRepository(database),
        late_engine=engine,
        late_cookie_secret=Once(lambda: _cookie_secret(settings, keys)),
        late_foreign_changes=Once(
            lambda: _foreign_changes(settings, database, engine.get())
        ),
        foreign_rows=foreign_rows,
    )


def _ids(documents: DocumentRepository, scope: Scope) -> list[str]:
    return [record.id for record in documents.all(scope)]


def _cookie_secret(settings: Settings, keys: KeyRepository) -> bytes:
    key = settings.secret_key
    if key is None:
        return keys.signing_secret()
    return key.get_secret_value().encode()


def _foreign_changes(
    settings: Settings, database: Database, engine: Engine
) -> ForeignChanges | None:
    traits = engine.traits
    if database.embedded or not traits.in_database:
        return None
    if traits.has_search_indexes and not settings.schema:
        return None  # the engine follows its own collections
    return ForeignChanges(database, settings.chunk_collections)
