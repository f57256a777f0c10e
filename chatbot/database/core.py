"""`Database` and `Collection`, the interface of the rest of the product; and walking
through a collection.

The walk takes bounded steps and holds only ids. A server limits the time of each call,
so no call walks through everything; and SQLite finds rows by ids fast, but not rows
after an id.
"""

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeVar

from ..domain import Vector
from ..domain.errors import DatabaseError
from .failures import SOON, sqlite_failure
from .rows import Filter, Projection, Sort, encode_payload

if TYPE_CHECKING:
    from pymongo.change_stream import ChangeStream

    from .changes import State

T = TypeVar("T")
Json = dict[str, Any]
INDEX_BUILD_MS = 60_000
"""Time limit for building an index, which takes longer than any other call."""
UNLIMITED_MS = 20 * 86_400_000
"""Stands for no time limit: 20 days. MongoDB's `maxTimeMS` ends at 24."""
NO_CHANGE_STREAMS = "no_change_streams"
LOST_STREAM = "lost_token"
"""Reasons: the server is no replica set; a stream of changes cannot be resumed."""
GROUP_MS = 600_000
"""Time limit for grouping all rows of a collection, which no request waits for."""
Group = tuple[Json, int]
"""A row that stands for others, and the number of them, itself included."""
BATCH = 500
"""Ids of one call: a $in of so many is fast on every database."""
MAX_ROWS_AT_ONCE = 100
"""Rows that are read before the first is given. The first batch of a server has one
more, so that reading these takes one round trip.
"""
GUARDED = {
    "documents": "catalog",
    "figures": "figures",
    "figure_versions": "figures",
    "figure_changes": "figures",
    "text_changes": "figures",
    "glossary": "glossary",
    "country_groups": "glossary",
    "files": "originals",
    "file_pieces": "originals",
}
"""Collections that are only written through `changes.Changes`, and the kind of change
that writes each. The collections of passages are guarded too (`Database.guard`).
"""
IdKey = tuple[str, str]
"""Type and text of an id. A collection may have ids of several types, and only ids of
one type can be compared.
"""


class CommandError(DatabaseError):
    """The server refused a command. Stores read ``server_message`` to explain it."""

    def __init__(
        self,
        server_message: str,
        server_code: int | None,
        *,
        remedy: str = "",
        retry_after: int | None = None,
        reason: str = "",
    ) -> None:
        super().__init__(
            f"The database refused a command: {server_message}",
            remedy=remedy,
            retry_after=retry_after,
            reason=reason,
        )
        self.server_message = server_message
        self.server_code = server_code


class RequestTime:
    """The time in which at least one call of a request to a server was under way. Calls
    that overlap count once, and time between calls, of a model for example, does not
    count. Thread-safe.
    """

    def __init__(self, began: float) -> None:
        self.began = began
        self._lock = threading.Lock()
        self._waited = 0.0
        self._open = 0
        self._since = began

    def left(self, limit: float, now: float) -> float:
        """Return the seconds until the request has waited for ``limit`` seconds."""
        with self._lock:
            waited = self._waited
            if self._open:
                waited += now - self._since
            return limit - waited

    def begin_call(self, now: float) -> None:
        with self._lock:
            if not self._open:
                self._since = now
            self._open += 1

    def end_call(self, now: float) -> None:
        with self._lock:
            self._open -= 1
            if not self._open:
                self._waited += now - self._since


_request: ContextVar[RequestTime | None] = ContextVar("database_request", default=None)
"""A context variable, because PyMongo's signatures have no place for it."""
current_request = _request.get


def begin_request() -> None:
    """Let the following calls in this context share one time limit."""
    _request.set(RequestTime(time.monotonic()))


def end_request() -> None:
    _request.set(None)


BOOKKEEPING_SECONDS = 1.0
"""Time limit of a call that only notes something."""
_bookkeeping: ContextVar[float | None] = ContextVar("bookkeeping", default=None)
bookkeeping_limit = _bookkeeping.get
_is_write: ContextVar[bool] = ContextVar("is_write", default=False)
is_write = _is_write.get


@contextmanager
def bookkeeping(seconds: float = BOOKKEEPING_SECONDS) -> Iterator[None]:
    """Give each call inside at most so many seconds, which do not count in the time
    limit of the request: what only notes something takes no time from the answer.
    """
    token = _bookkeeping.set(seconds)
    try:
        yield
    finally:
        _bookkeeping.reset(token)


class Database(ABC):
    """Collections by name. Thread-safe. `mongo.py` and `embedded.py` implement it."""

    embedded: bool
    """True for the SQLite file, False for a MongoDB server."""
    call_seconds = 5.0
    """Time limit of one call."""

    def __init__(self) -> None:
        from .changes import Changes  # it is made of collections

        self.reads: dict[str, Callable[[], Any]] = {}
        """Reads of every request by their names in `caches.cached`; if one is missing,
        all are read at once.
        """
        self._guarded = set(GUARDED)
        self.changes: Changes = Changes(self)

    def guard(self, names: Iterable[str]) -> None:
        """Let these collections of passages be written through `changes` alone."""
        self._guarded |= set(names)

    def state(self) -> "State":
        """Return the state of everything that answers are made of (`Changes`)."""
        return self.changes.state()

    def at_once(self, calls: Sequence[Callable[[], T]]) -> list[T]:
        """Return what independent calls return. The round trips to a server overlap.
        Calls may use this method themselves.
        """
        return [call() for call in calls]

    mapped: "Mapping[str, Collection]" = MappingProxyType({})
    """Collections of other programs, by name (`ForeignRows.adapt`)."""
    prefix = ""
    """Before the names of our own collections."""

    def __getitem__(self, name: str) -> "Collection":
        if name in self.mapped:
            return self.mapped[name]
        if name in self._guarded:
            return GuardedCollection(name, self)
        return Collection(name, self)

    def transaction(self) -> AbstractContextManager[Callable[[], int]]:
        """Make the block one transaction of the SQLite file, in which its thread reads
        what it writes. Inside of another one it joins that. Yields a function that
        counts the rows that were changed so far.
        """
        raise NotImplementedError  # a server has entries instead: see `changes`

    @abstractmethod
    def raw(self, name: str) -> Any:
        """Return the driver's collection object for the calling thread."""

    @abstractmethod
    def translate_errors(self) -> AbstractContextManager[None]:
        """Raise the driver's exceptions as DatabaseError."""

    def deadline(self, milliseconds: int | None) -> AbstractContextManager[None]:
        """Limit the time of one call; None = the usual limit. A file limits its waits
        itself.
        """
        return nullcontext()

    def build_progress(self, name: str) -> str:
        """Return in a few words how far the index builds of a collection are."""
        return "building"

    def options_overruled(self) -> list[str]:
        """Return the options of the database's address that are not followed:
        ``name=value``.
        """
        return []

    def for_search(self, raw: Any) -> Any:
        """Return the driver's collection object for queries of the search engine."""
        return raw

    def replace_many(self, raw: Any, documents: Sequence[Json]) -> int:
        return int(raw.replace_many(documents))

    def update_each(self, raw: Any, updates: Sequence[tuple[Any, Json]]) -> None:
        raw.update_each(updates)

    def group(
        self, raw: Any, filter: Json, by: Sequence[str], first: Sequence[str]
    ) -> "list[Group]":
        groups: list[Group] = raw.group(filter, by, first)
        return groups

    @abstractmethod
    def collection_names(self) -> list[str]:
        """Return the names of the existing collections, sorted."""

    def watch(
        self, names: Sequence[str], after: Any = None
    ) -> "AbstractContextManager[ChangeStream[Json]]":
        """Follow in-place changes of these collections by any program, from now or
        after a ``resume_token``. Raises CommandError: with the reason NO_CHANGE_STREAMS
        where the server has none; with LOST_STREAM, also during iteration.
        """
        raise NotImplementedError  # only this program changes a file

    def encode_vector(self, vector: Vector) -> Any:
        """Return a vector in its stored form; `rows.decode_vector` reads it."""
        return encode_payload(vector)

    @abstractmethod
    def now(self) -> float:
        """Return the time by the database's clock, in seconds since 1970. Machines
        whose own clocks differ agree on it, so leases are compared with it. Raises
        DatabaseError.
        """

    @abstractmethod
    def ping(self) -> str:
        """Return what answers, in a few words. Raises DatabaseError."""

    def empty_log(self) -> None:  # noqa: B027  # a server maintains its own
        """Remove deleted data from a file's log of changes."""

    @abstractmethod
    def check_pages(self) -> None:
        """Read every page of an embedded file. Raises DatabaseError: one is damaged."""

    def free_bytes(self, *, tidy: bool = False) -> int | None:
        """Return the free space for writes; None on a server. ``tidy``: truncate the
        log first.
        """
        return None

    @abstractmethod
    def close(self) -> None:
        """Close all connections."""


class ForeignRows(Protocol):
    """What the core asks about collections of passages that another program wrote, and
    that are only read.
    """

    def adapt(self, database: Database) -> None:
        """Set `mapped` and `prefix` of a database that has such collections."""

    def remedy(self, rows: Sequence[Json]) -> str:
        """Return how a collection with such rows can be read."""


class Collection:
    """The PyMongo operations that are used. Names and arguments are PyMongo's."""

    read_only = False

    def __init__(self, name: str, database: Database) -> None:
        self.name = name
        self._database = database

    @property
    def embedded(self) -> bool:
        return self._database.embedded

    @contextmanager
    def _driver(self, milliseconds: int | None = None) -> Iterator[Any]:
        """Return the driver's collection, for one call of at most so many
        milliseconds.
        """
        with self._database.translate_errors(), self._database.deadline(milliseconds):
            yield self._database.raw(self.name)

    @contextmanager
    def _write_driver(self) -> Iterator[Any]:
        """Return the driver's collection for one write. One that hangs, because too few
        members confirm it, does not say that nobody can be read.
        """
        token = _is_write.set(True)
        try:
            with self._driver() as raw:
                yield raw
        finally:
            _is_write.reset(token)

    def find(
        self,
        filter: Filter | None = None,
        projection: Projection | None = None,
        *,
        sort: Sort = (),
        limit: int = 0,
    ) -> Iterator[Json]:
        """Yield documents, which are read a few at a time."""
        options: Json = {"limit": limit}
        if sort:
            options["sort"] = list(sort)
        with self._database.translate_errors():
            raw = self._database.raw(self.name)
            found = raw.find(dict(filter or {}), _plain(projection), **options)
            documents = iter(found)
            # The driver limits the time of each further batch.
            with self._database.deadline(None):
                batch = list(islice(documents, MAX_ROWS_AT_ONCE))
            while batch:
                yield from batch
                batch = list(islice(documents, MAX_ROWS_AT_ONCE))

    def find_one(
        self, filter: Filter, projection: Projection | None = None
    ) -> Json | None:
        with self._driver() as raw:
            document: Json | None = raw.find_one(dict(filter), _plain(projection))
        return document

    def insert_one(self, document: Json) -> None:
        """Insert a document. Raises DatabaseError, also where its ``_id`` exists."""
        with self._write_driver() as raw:
            raw.insert_one(document)

    def replace_many(self, documents: Sequence[Json]) -> int:
        """Upsert whole documents by ``_id``, in one round trip; return how many there
        were before.
        """
        if not documents:
            return 0
        with self._write_driver() as raw:
            return self._database.replace_many(raw, documents)

    def update_each(self, updates: Sequence[tuple[Any, Json]]) -> None:
        """Apply one update to each document by ``_id``, in one round trip; missing ids
        are skipped.
        """
        if updates:
            with self._write_driver() as raw:
                self._database.update_each(raw, updates)

    def update_one(self, filter: Filter, update: Json, *, upsert: bool = False) -> int:
        """Update the first match; return how many documents matched or were
        inserted.
        """
        with self._write_driver() as raw:
            result = raw.update_one(dict(filter), update, upsert=upsert)
        if result.upserted_id is not None:
            return 1
        return int(result.matched_count)

    def update_many(self, filter: Filter, update: Json) -> int:
        """Apply one update to all matches; return how many matched."""
        with self._driver() as raw:
            return int(raw.update_many(dict(filter), update).matched_count)

    def find_one_and_update(
        self, filter: Filter, update: Json, *, upsert: bool = False, sort: Sort = ()
    ) -> Json | None:
        """Update the first match, in the order of ``sort``, atomically and return the
        new document.
        """
        options: Json = {}
        if sort:
            options["sort"] = list(sort)
        with self._write_driver() as raw:
            document: Json | None = raw.find_one_and_update(
                dict(filter), update, upsert=upsert, return_document=True, **options
            )
        return document

    def ensure(self, id: str, fields: Json) -> Json:
        """Return the row with this id; make it with these fields, in one atomic call,
        where there is none. A row that exists is not written, so nothing is lost where
        only reading works.
        """
        row = self.find_one({"_id": id})
        if row is None:
            row = self.find_one_and_update(
                {"_id": id}, {"$setOnInsert": fields}, upsert=True
            )
        if row is None:
            raise DatabaseError(
                f"The database has not kept the row {id!r} of {self.name!r}.",
                remedy="Try again.",
                retry_after=SOON,
            )
        return row

    def delete_many(self, filter: Filter) -> int:
        """Delete all matches and return how many."""
        with self._write_driver() as raw:
            return int(raw.delete_many(dict(filter)).deleted_count)

    def count(self, filter: Filter) -> int:
        """Count the matches exactly, by looking at each of them."""
        with self._driver() as raw:
            return int(raw.count_documents(dict(filter)))

    def estimated_count(self) -> int:
        """Return the number of documents from metadata: fast, and possibly inexact on a
        sharded server.
        """
        with self._driver() as raw:
            return int(raw.estimated_document_count())

    def distinct(self, field: str, filter: Filter | None = None) -> list[Any]:
        """Return the different values of a field among the matches, unordered."""
        with self._driver() as raw:
            return list(raw.distinct(field, dict(filter or {})))

    def group(
        self, filter: Filter, by: Sequence[str], first: Sequence[str] = ()
    ) -> list[Group]:
        """Group the matches by the fields ``by``, in the database. Return a row of each
        group with these fields and those of ``first``, and the number of its rows; the
        groups in the order of their first rows. Takes up to GROUP_MS.
        """
        with self._driver(GROUP_MS) as raw:
            return self._database.group(raw, dict(filter), by, first)

    def create_index(self, fields: str | Sort, *, is_limited: bool = True) -> None:
        """Create an ordinary index, unless it exists. Not ``is_limited``: wait for a
        build as long as it takes.
        """
        milliseconds = INDEX_BUILD_MS if is_limited else UNLIMITED_MS
        keys = fields if isinstance(fields, str) else list(fields)
        with self._driver(milliseconds) as raw:
            raw.create_index(keys)

    def indexes(self) -> list[tuple[tuple[str, int], ...]]:
        """Return the fields of each ordinary index of a server, also of those that are
        being built; none where there is no such collection.
        """
        with self._driver() as raw:
            return [tuple(index["key"].items()) for index in raw.list_indexes()]

    def search(
        self, pipeline: Sequence[Json], *, max_time_ms: int | None = None
    ) -> list[Json]:
        """Run a pipeline of the search engine; ``max_time_ms`` limits it on the server
        and the whole call here.
        """
        options = {}
        if max_time_ms is not None:
            options["maxTimeMS"] = max_time_ms
        with self._search_driver(max_time_ms) as raw:
            collection = self._database.for_search(raw)
            return list(collection.aggregate(list(pipeline), **options))

    def search_indexes(self, name: str | None = None) -> list[Json]:
        """Return the search indexes (or the one with this ``name``) as
        `$listSearchIndexes` describes them.
        """
        with self._search_driver() as raw:
            indexes = self._database.for_search(raw).list_search_indexes(name)
            return [dict(index) for index in indexes]

    def create_search_index(self, name: str, *, kind: str, definition: Json) -> None:
        """Request a search index, which the server builds later; ``kind`` is
        vectorSearch or search.
        """
        with self._search_driver() as raw:
            raw.create_search_index(
                {"name": name, "type": kind, "definition": definition}
            )

    def update_search_index(self, name: str, definition: Json) -> None:
        """Request a new definition; the old one serves until the new one is built."""
        with self._search_driver() as raw:
            raw.update_search_index(name, definition)

    def drop_search_index(self, name: str) -> None:
        """Request the removal of a search index, which takes the server a while."""
        with self._search_driver() as raw:
            raw.drop_search_index(name)

    def _search_driver(
        self, milliseconds: int | None = None
    ) -> AbstractContextManager[Any]:
        if self._database.embedded:
            raise sqlite_failure("no_search")
        return self._driver(milliseconds)


class GuardedCollection(Collection):
    """A collection that is read here. It is written through `changes.Changes` alone, so
    that every change is announced: its writing methods raise RuntimeError.
    """

    def _refuse(self, *arguments: object, **options: object) -> NoReturn:
        raise RuntimeError(
            f"{self.name!r} is only written through database.changes.of(...)."
        )

    insert_one = _refuse
    replace_many = _refuse
    update_each = _refuse
    update_many = _refuse
    update_one = _refuse
    find_one_and_update = _refuse
    ensure = _refuse
    delete_many = _refuse


def _plain(projection: Projection | None) -> Json | None:
    """Return a projection as drivers take it: an empty one would mean only the id."""
    if not projection:
        return None
    return dict(projection)


def id_key(id: Any) -> IdKey:
    """Return the sort key of an id."""
    return type(id).__name__, str(id)


def id_batches(
    collection: Collection, *, after: IdKey | None = None, size: int = BATCH
) -> Iterator[list[Any]]:
    """Yield all ids that exist now, in the order of `id_key`, in lists of at most
    ``size``.
    """
    ids = [row["_id"] for row in collection.find({}, {"_id": 1}, sort=[("_id", 1)])]
    if after is not None:
        ids = [id for id in ids if id_key(id) > after]
    ids.sort(key=id_key)
    for start in range(0, len(ids), size):
        yield ids[start : start + size]


def rows_of(
    collection: Collection,
    ids: Sequence[Any],
    filter: Filter | None = None,
    projection: Projection | None = None,
) -> list[Json]:
    """Return the rows with these ids that exist and match, in the order of ``ids``."""
    condition = {"_id": {"$in": list(ids)}, **(filter or {})}
    rows = {row["_id"]: row for row in collection.find(condition, projection)}
    return [rows[id] for id in ids if id in rows]
