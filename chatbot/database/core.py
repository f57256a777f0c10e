"""`Database` and `Collection`: what the rest of the product sees of a database; and walking through a collection.

The walk is in bounded steps. Only ids are held at once. A server's time limit is for one call, so no call walks
through everything; and SQLite finds rows by ids fast, but not rows after an id.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from ..errors import DatabaseError
from ..schema import Vector

Json = dict[str, Any]
INDEX_BUILD_MS = 60_000
"""An index of a large collection takes longer than any other call may."""
NO_CHANGE_STREAMS, TOKEN_LOST = 40573, {136, 260, 280, 286}
"""A server that is no replica set; and CappedPositionLost, InvalidResumeToken, ChangeStreamFatalError and
ChangeStreamHistoryLost: there is no going on from where one was (error_codes.yml)."""
EXPIRES, LONGEST_EXPIRY = "expires", 10 * 365 * 86_400.0


class CommandError(DatabaseError):
    """The server understood and refused a command. Stores look at ``server_message`` to say what it means."""

    def __init__(self, server_message: str, server_code: int | None, *, retry_after: int | None = None) -> None:
        super().__init__(f"The database refused a command: {server_message}", retry_after=retry_after)
        self.server_message = server_message
        self.server_code = server_code


class ChangeStream(Protocol):
    """The part of PyMongo's change streams that is used."""

    alive: bool
    resume_token: Any

    def try_next(self) -> Json | None:
        """The next change; None where there is none within a moment."""


class Backend(Protocol):
    """A driver. `mongo.py` and `embedded.py` are the two."""

    embedded: bool

    def raw(self, name: str) -> Any:
        """The driver's collection object, valid in the calling thread."""

    def translate_errors(self) -> AbstractContextManager[None]:
        """Turns the driver's exceptions into DatabaseError."""

    def deadline(self, milliseconds: int | None) -> AbstractContextManager[None]:
        """A time limit of one call, in place of the usual one; None leaves that one."""

    def for_search(self, raw: Any) -> Any:
        """The driver's collection object for what only the search engine beside the server answers."""

    def replace_many(self, raw: Any, documents: Sequence[Json]) -> None:
        """Upsert whole documents by ``_id``."""

    def update_each(self, raw: Any, updates: Sequence[tuple[Any, Json]]) -> None:
        """Apply one update to each document, by ``_id``."""

    def watch(self, names: Sequence[str], after: Any) -> AbstractContextManager[ChangeStream]:
        """See `Database.watch`."""

    def collection_names(self) -> list[str]:
        """The collections that exist, in no order."""

    def empty_log(self) -> None:
        """See `Database.empty_log`."""

    def encode_vector(self, vector: Vector) -> Any:
        """A vector in the form this database stores it; `decode_vector` reads it back."""

    def ping(self) -> str:
        """What answers, in a few words. Raises DatabaseError when nothing does."""

    def free_bytes(self, *, tidy: bool = False) -> int | None:
        """See `Database.free_bytes`."""

    def close(self) -> None:
        """Close all connections."""


class Collection:
    """The PyMongo operations the product uses. Names and arguments are PyMongo's."""

    def __init__(self, name: str, backend: Backend) -> None:
        self.name = name
        self._backend = backend

    @contextmanager
    def _driver(self, milliseconds: int | None = None) -> Iterator[Any]:
        """The driver's collection, for one call of at most so many milliseconds; the driver's errors become
        DatabaseError.
        """
        with self._backend.translate_errors(), self._backend.deadline(milliseconds):
            yield self._backend.raw(self.name)

    def find(
        self,
        filter: Mapping[str, Any] | None = None,
        projection: Mapping[str, int] | None = None,
        *,
        sort: Sequence[tuple[str, int]] | None = None,
        limit: int = 0,
    ) -> Iterator[Json]:
        """Documents one by one; only what is iterated is read."""
        with self._backend.translate_errors():
            raw = self._backend.raw(self.name)
            options: Json = {"limit": limit}
            if sort:
                options["sort"] = list(sort)
            found = iter(raw.find(dict(filter or {}), dict(projection) if projection else None, **options))
            with self._backend.deadline(None):  # of the first batch; the driver limits each further one
                first = next(found, None)
            if first is not None:
                yield first
                yield from found

    def find_one(self, filter: Mapping[str, Any], projection: Mapping[str, int] | None = None) -> Json | None:
        """The first that matches, None where none does."""
        with self._driver() as raw:
            found: Json | None = raw.find_one(dict(filter), dict(projection) if projection else None)
        return found

    def insert_one(self, document: Json) -> None:
        """Insert a document. Raises DatabaseError, also where its ``_id`` is taken."""
        with self._driver() as raw:
            raw.insert_one(document)

    def replace_many(self, documents: Sequence[Json]) -> None:
        """Upsert whole documents by ``_id``."""
        if documents:
            with self._driver() as raw:
                self._backend.replace_many(raw, documents)

    def update_each(self, updates: Sequence[tuple[Any, Json]]) -> None:
        """Apply one update to each document by ``_id``, in one round trip; ids that are gone are left out."""
        if updates:
            with self._driver() as raw:
                self._backend.update_each(raw, updates)

    def update_one(self, filter: Mapping[str, Any], update: Json, *, upsert: bool = False) -> int:
        """How many documents matched (or were inserted)."""
        with self._driver() as raw:
            result = raw.update_one(dict(filter), update, upsert=upsert)
        return int(result.matched_count) + (1 if result.upserted_id is not None else 0)

    def find_one_and_update(self, filter: Mapping[str, Any], update: Json, *, upsert: bool = False) -> Json | None:
        """Atomically update; returns the document as it is afterwards."""
        with self._driver() as raw:
            found: Json | None = raw.find_one_and_update(dict(filter), update, upsert=upsert, return_document=True)
        return found

    def delete_many(self, filter: Mapping[str, Any]) -> int:
        """Delete all documents that match; returns how many there were."""
        with self._driver() as raw:
            return int(raw.delete_many(dict(filter)).deleted_count)

    def count(self, filter: Mapping[str, Any]) -> int:
        """How many documents match. Exact, so it looks at every one of them."""
        with self._driver() as raw:
            return int(raw.count_documents(dict(filter)))

    def estimated_count(self) -> int:
        """The number of documents by the collection's metadata: fast, and maybe off on a sharded server."""
        with self._driver() as raw:
            return int(raw.estimated_document_count())

    def write_marker(self) -> int:
        """A number that betrays writes which bypass the change log, where that costs nothing to know.

        On a server other programs may write, and its estimated count is metadata. The embedded file is written by
        this product alone, and counting there scans the table.
        """
        return 0 if self._backend.embedded else self.estimated_count()

    def distinct(self, field: str) -> list[Any]:
        """The different values of a field, in no order."""
        with self._driver() as raw:
            return list(raw.distinct(field))

    def search(self, pipeline: Sequence[Json], *, max_time_ms: int | None = None) -> list[Json]:
        """Run a pipeline of the search engine; ``max_time_ms`` bounds it on the server and the whole call here."""
        options = {} if max_time_ms is None else {"maxTimeMS": max_time_ms}
        with self._search_driver(max_time_ms) as raw:
            return list(self._backend.for_search(raw).aggregate(list(pipeline), **options))

    def explain(self, pipeline: Sequence[Json]) -> Json:
        """What the server says of a pipeline of the search engine that it runs."""
        with self._search_driver() as raw:
            asked = {"aggregate": self.name, "pipeline": list(pipeline), "cursor": {}}
            found = raw.database.command({"explain": asked, "verbosity": "executionStats"})
        return dict(found)

    def expiry(self, seconds: float) -> Json:
        """A field for a row that the server may delete after ``seconds``; SQLite deletes nothing by itself."""
        if self._backend.embedded:
            return {}
        return {EXPIRES: datetime.now(UTC) + timedelta(seconds=min(seconds, LONGEST_EXPIRY))}

    def create_expiry_index(self) -> None:
        """Create the index by which the server deletes rows whose `expiry` is over."""
        if not self._backend.embedded:
            with self._driver(INDEX_BUILD_MS) as raw:
                raw.create_index(EXPIRES, expireAfterSeconds=0)

    def create_index(self, fields: str | Sequence[tuple[str, int]]) -> None:
        """An ordinary index; creating one that exists does nothing."""
        keys = fields if isinstance(fields, str) else list(fields)
        with self._driver(INDEX_BUILD_MS) as raw:
            raw.create_index(keys)

    def search_indexes(self, name: str | None = None) -> list[Json]:
        """The collection's search indexes (or the one called ``name``), as `$listSearchIndexes` describes them."""
        with self._search_driver() as raw:
            return [dict(found) for found in self._backend.for_search(raw).list_search_indexes(name)]

    def create_search_index(self, name: str, *, kind: str, definition: Json) -> None:
        """Ask for a search index; ``kind`` is vectorSearch or search. The server builds it later, on its own."""
        with self._search_driver() as raw:
            raw.create_search_index({"name": name, "type": kind, "definition": definition})

    def update_search_index(self, name: str, definition: Json) -> None:
        """Ask for another definition; the old one serves until the new one is built."""
        with self._search_driver() as raw:
            raw.update_search_index(name, definition)

    def drop_search_index(self, name: str) -> None:
        """Ask the server to drop it, which takes it a while."""
        with self._search_driver() as raw:
            raw.drop_search_index(name)

    def _search_driver(self, milliseconds: int | None = None) -> AbstractContextManager[Any]:
        if self._backend.embedded:
            raise DatabaseError(
                "The embedded database has no search indexes: its search runs in this process.",
                remedy="Set MONGODB_URI to a MongoDB with a search engine, or leave VECTOR_SEARCH on auto.",
            )
        return self._driver(milliseconds)


class Database:
    """Collections by name. Thread-safe; closed by the services that opened it."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def __getitem__(self, name: str) -> Collection:
        return Collection(name, self._backend)

    @property
    def embedded(self) -> bool:
        """True for the SQLite file, False for a MongoDB server."""
        return self._backend.embedded

    def collection_names(self) -> list[str]:
        """The collections that exist, sorted."""
        with self._backend.translate_errors(), self._backend.deadline(None):
            return sorted(self._backend.collection_names())

    @contextmanager
    def watch(self, names: Sequence[str], after: Any = None) -> Iterator[ChangeStream]:
        """Changes of rows of these collections in place, by any program: from now on, or after a ``resume_token``.

        Raises:
            CommandError: NO_CHANGE_STREAMS where the server has none; one of TOKEN_LOST, also while it is read.
        """
        with self._backend.translate_errors(), self._backend.watch(names, after) as stream:
            yield stream

    def encode_vector(self, vector: Vector) -> Any:
        """A vector in the form this database stores it; `decode_vector` reads it back."""
        return self._backend.encode_vector(vector)

    def empty_log(self) -> None:
        """After something was deleted that is to be nowhere: a file's log of changes still has it."""
        with self._backend.translate_errors():
            self._backend.empty_log()

    def ping(self) -> str:
        """What answers, in a few words. Raises DatabaseError when nothing does."""
        return self._backend.ping()

    def free_bytes(self, *, tidy: bool = False) -> int | None:
        """What may still be written; None where that is a server's affair. ``tidy``: after giving back what it can."""
        return self._backend.free_bytes(tidy=tidy)

    def close(self) -> None:
        """Close all connections."""
        self._backend.close()


BATCH = 500
Place = tuple[str, str]
"""The type and value of an id: a collection may have ids of several types, and only those of one type can be
compared.
"""


def place(id: Any) -> Place:
    """Sorts ids by type, then by their text."""
    return type(id).__name__, str(id)


def id_batches(collection: Collection, *, after: Place | None = None, size: int = BATCH) -> Iterator[list[Any]]:
    """Every id that exists now, in the order of `place`, in lists of at most ``size``."""
    ids = [row["_id"] for row in collection.find({}, {"_id": 1}, sort=[("_id", 1)])]
    ids = sorted((id for id in ids if after is None or place(id) > after), key=place)
    for start in range(0, len(ids), size):
        yield ids[start : start + size]


def rows_of(
    collection: Collection,
    ids: Sequence[Any],
    filter: Mapping[str, Any] | None = None,
    projection: Mapping[str, int] | None = None,
) -> list[Json]:
    """The rows of these ids that exist and match, in the order of ``ids``."""
    found = {row["_id"]: row for row in collection.find({"_id": {"$in": list(ids)}, **(filter or {})}, projection)}
    return [found[id] for id in ids if id in found]
