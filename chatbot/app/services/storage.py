"""The database, its repositories, and the deletion of what has expired; properties that
are built on first use.
"""

import logging
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from ... import __version__
from ...config.settings import Settings
from ...database import open_database
from ...database.changes import Changes
from ...database.core import Database
from ...database.layouts import LAYOUTS, guess_layout, map_collections
from ...database.ordinary_indexes import (
    OrdinaryIndex,
    create_missing,
    indexes_of_repositories,
)
from ...database.repositories.access import AuditLog, KeyRepository
from ...database.repositories.answers import FeedbackRepository, UnfinishedRepository
from ...database.repositories.caches import CacheRepository
from ...database.repositories.conversations import ConversationRepository
from ...database.repositories.corpus import CorpusFacts, ForeignChanges
from ...database.repositories.documents import DocumentRepository, OlderReports
from ...database.repositories.figures import FigureRepository, GlossaryRepository
from ...database.repositories.files import FileRepository
from ...database.repositories.release import ServingRelease
from ...database.repositories.usage import Counters, UsageRepository
from ...database.rows import EMBEDDING_FIELD, TEXT_FIELD, WITHOUT_EMBEDDING
from ...domain.errors import DependencyError, ReadOnlyError, SettingsError
from ...jobs.queue import IngestionQueue
from ...search.scope import KnowledgeCollection, ScopeResolver
from ...stores import Engine, choose_engine
from ...stores.atlas.indexes import VECTOR_INDEX, is_own_index
from ...stores.chunks import is_retired, ordinary_indexes
from ..schema import migrate

log = logging.getLogger(__name__)
CACHE_ENTRIES = 2500
"""Answers that are kept, and as many completions, and vectors of questions; the oldest
go first.
"""
PURGE_SECONDS = 3600.0
UNDO_SECONDS = 3600.0
"""The time in which the owner can restore a deleted conversation."""
AUDIT_DAYS = 365
"""Age at which entries of the audit log are deleted."""
FIRST_PURGE_SECONDS = 60.0
"""Pause after a start, which is busy enough."""
LOOKED_AT = 20
"""Rows of a collection that say whose it is."""
T = TypeVar("T")


class lazy(cached_property[T]):  # noqa: N801  # used like `property`
    """A property that is built once, on first use, also with several threads, and kept.
    A build that raises is tried again at the next use. Objects must not build each
    other in a circle.
    """

    if not TYPE_CHECKING:

        def __get__(self, instance: object | None, owner: type) -> Any:
            if instance is None:
                return self
            # Once built, Python finds the value in the instance before it asks here:
            # the lock costs first uses only.
            kept = vars(instance)
            with kept.setdefault("_building", threading.RLock()):
                if self.attrname not in kept:
                    kept[self.attrname] = self.func(instance)
                return kept[self.attrname]


def close_lazy(instance: object, *names: str) -> None:
    """Close these lazy properties in order, if they were built and can be closed; then
    forget all lazy properties.
    """
    for name in names:
        close(vars(instance).get(name))
    for name, value in list(vars(type(instance)).items()):
        if isinstance(value, lazy):
            vars(instance).pop(name, None)


def close(one: object) -> None:
    """Close an object if it can be closed: most adapters hold nothing open."""
    if close_it := getattr(one, "close", None):
        close_it()


def _on_database(repository: Callable[[Database], T]) -> lazy[T]:
    return lazy(lambda storage: repository(storage.database))


class Storage:
    """The database, opened when it is first needed, and its repositories."""

    def __init__(self, settings: Settings, *, database: Database | None = None) -> None:
        """``database`` stands in for the one that the settings name; it is closed with
        the rest.
        """
        self.settings = settings
        if database is not None:
            self._adapt(database)
            vars(self)["database"] = database

    @lazy
    def database(self) -> Database:
        """Raises SettingsError, DatabaseError: it cannot be opened as the settings
        say.
        """
        database = open_database(self.settings)
        self._adapt(database)
        return database

    def _adapt(self, database: Database) -> None:
        map_collections(
            database,
            self.settings.schema,
            collections=self.settings.chunk_collections,
            filter_fields=self.settings.filter_fields,
        )
        database.guard(self.settings.chunk_collections)

    facts = _on_database(CorpusFacts)

    @property
    def changes(self) -> Changes:
        """The one place where the library is changed."""
        return self.database.changes

    @lazy
    def foreign_changes(self) -> ForeignChanges | None:
        """Changes by other programs; None if no other program writes passages or
        nothing here depends on them.
        """
        traits = self.engine.traits
        followed = (
            not traits.has_search_indexes or self.settings.schema
        )  # the engine follows its own collections
        if self.database.embedded or not followed or not traits.in_database:
            return None
        return ForeignChanges(self.database, self.settings.chunk_collections)

    @lazy
    def documents(self) -> DocumentRepository:
        fields = self.settings.filter_fields
        older = OlderReports(
            self.database,
            collections=self.settings.chunk_collections,
            filter_fields=fields,
        )
        return DocumentRepository(self.database, fields, older)

    @property
    def collections(self) -> tuple[KnowledgeCollection, ...]:
        """The collections of passages with their descriptions: the general one, that of
        the reports, the others.
        """
        names, descriptions = (
            self.settings.chunk_collections,
            dict(self.settings.collections),
        )
        return tuple(
            KnowledgeCollection(name, descriptions.get(name, ""))
            for name in dict.fromkeys(names)
        )

    @lazy
    def scopes(self) -> ScopeResolver:
        """Turns what a request names into a `Scope` of what is there."""
        return ScopeResolver(
            self.documents, self.settings.filter_fields, self.settings.chunk_collections
        )

    @lazy
    def figures(self) -> FigureRepository:
        reports, fields = self.documents, self.settings.filter_fields
        return FigureRepository(
            self.database,
            fields,
            reports.visible,
            lambda scope: [one.id for one in reports.all(scope)],
        )

    conversations = _on_database(ConversationRepository)
    feedback = _on_database(FeedbackRepository)
    unfinished = _on_database(UnfinishedRepository)

    @lazy
    def cache(self) -> CacheRepository:
        """The three cache levels (R-B10), bounded in time and number."""
        return CacheRepository(
            self.database, seconds=self.settings.cache_seconds, entries=CACHE_ENTRIES
        )

    glossary = _on_database(GlossaryRepository)

    @lazy
    def release(self) -> ServingRelease:
        return ServingRelease(self.database, __version__)

    usage = _on_database(UsageRepository)
    keys = _on_database(KeyRepository)
    audit = _on_database(AuditLog)
    counters = _on_database(Counters)

    @lazy
    def cookie_secret(self) -> bytes:
        """The secret that the cookies of those without a key are signed with:
        SECRET_KEY, or the database's own.
        """
        key = self.settings.secret_key
        return key.get_secret_value().encode() if key else self.keys.signing_secret()

    @lazy
    def files(self) -> FileRepository:
        return FileRepository(self.database, quota=self.settings.upload_quota_mb)

    ingestions = _on_database(IngestionQueue)

    @lazy
    def engine(self) -> Engine:
        """The vector search of this database; the server is asked once."""
        return choose_engine(self.settings, self.database)

    def require_writable(self) -> None:
        """Raises ReadOnlyError: the passages belong to another program."""
        if self.settings.schema:
            schema = ",".join(self.settings.schema)
            raise ReadOnlyError(
                f"The passages belong to another program (SCHEMA={schema}): they "
                "are only read."
            )

    def require_own(self) -> None:
        """Raises SettingsError: a collection of passages, or its search index, was made
        by another program.
        """
        for name in (
            ()
            if self.database.embedded or self.settings.schema
            else self.settings.chunk_collections
        ):
            collection = self.database[name]
            rows = list(collection.find({}, WITHOUT_EMBEDDING, limit=LOOKED_AT))
            problem = "none of its rows has the fields of this program"
            foreign = bool(rows) and not any(
                TEXT_FIELD in row or is_retired(row) for row in rows
            )
            if not foreign and self.engine.traits.has_search_indexes:
                foreign = not all(
                    map(is_own_index, collection.search_indexes(VECTOR_INDEX))
                )
                problem = f"its search index {VECTOR_INDEX!r} has no {EMBEDDING_FIELD}"
            if foreign:
                schema = (
                    guess_layout(rows)
                    or f"{' or '.join(LAYOUTS)}, or text=FIELD,embedding=FIELD"
                )
                raise SettingsError(
                    f"The collection {name!r} belongs to another program: "
                    f"{problem}. Nothing was changed. To read it "
                    f"in place, set SCHEMA={schema}. To leave it alone, set "
                    "MONGODB_COLLECTION and REPORT_COLLECTION "
                    "to other names. See docs/mongodb.md."
                )

    def prepare(self) -> None:
        """Bring the schema up to date, and create the ordinary indexes that look-ups
        need, but those of large collections, which a command builds; none with
        INDEXES=never. Raises DatabaseError: it does not answer; SettingsError: a newer
        program wrote it, or another its passages.
        """
        self.require_own()
        migrate(self.database)
        if self.settings.indexes == "never":
            return
        left = create_missing(self.database, self.ordinary_indexes)
        if left:
            log.warning(
                "Indexes are missing, so look-ups are slow: %s. Build them: "
                "python -m chatbot index create",
                ", ".join(map(str, left)),
            )

    @property
    def ordinary_indexes(self) -> list[OrdinaryIndex]:
        """The ordinary indexes that look-ups need."""
        # The embedded database filters in the in-process index, so there these would
        # only slow down writing.
        fields = () if self.database.embedded else self.settings.filter_fields
        writable = [
            name
            for name in self.settings.chunk_collections
            if not self.database[name].read_only
        ]
        return [*ordinary_indexes(writable, fields), *indexes_of_repositories()]

    def delete_conversations(
        self, *, owner: str | None = None, before: str = "", deleted_before: str = ""
    ) -> int:
        """Delete the conversations of an owner (None = of all), or those of them
        without a message since ``before``.

        ``deleted_before``: those that their owner deleted before then. Both are ISO
        times. Shared links go with their conversation, and so do cached answers, which
        repeat questions. Returns how many conversations went.
        """
        gone = self.conversations.purge(
            owner=owner, before=before, deleted_before=deleted_before
        )
        if gone:
            self.cache.forget_answers()
            self.database.empty_log()
        return gone

    def purge_expired(self) -> None:
        """Delete what KEEP_CONVERSATIONS_DAYS, AUDIT_DAYS and CACHE_SECONDS no longer
        keep, and old deletions. Raises DependencyError: the database does not answer.
        """
        settings, now = self.settings, datetime.now(UTC)
        self.delete_conversations(
            deleted_before=_iso(now - timedelta(seconds=UNDO_SECONDS))
        )
        if (days := settings.keep_conversations_days) is not None:
            self.delete_conversations(before=_iso(now - timedelta(days=days)))
        self.audit.prune(AUDIT_DAYS)
        self.cache.prune()
        self.counters.prune()
        self.facts.prune_leases()

    def purge_regularly(
        self, stop: threading.Event, also: Callable[[], None] = lambda: None
    ) -> None:
        """Call `purge_expired` and ``also`` each hour until ``stop`` is set."""
        wait = FIRST_PURGE_SECONDS
        while not stop.wait(wait):
            wait = PURGE_SECONDS
            try:
                self.purge_expired()
                also()
            except DependencyError as error:
                log.warning("What has expired was not deleted: %s", error.message)

    def close(self) -> None:
        close_lazy(self, "database")


def _iso(time: datetime) -> str:
    return time.isoformat(timespec="milliseconds")
