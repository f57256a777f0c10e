"""`Database` and `Collection`: what the rest of the product sees of a database."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from ..errors import DatabaseError
from ..schema import Vector

Json = dict[str, Any]
INDEX_BUILD_MS = 60_000
"""An index of a large collection takes longer than any other call may."""


class CommandError(DatabaseError):
    """The server understood and refused a command. Stores look at ``server_message`` to say what it means."""

    def __init__(self, server_message: str, server_code: int | None, *, retry_after: int | None = None) -> None:
        super().__init__(f"The database refused a command: {server_message}", retry_after=retry_after)
        self.server_message = server_message
        self.server_code = server_code


class Backend(Protocol):
    """A driver. `mongo.py` and `embedded.py` are the two."""

    embedded: bool

    def raw(self, name: str) -> Any:
        """The driver's collection object, valid in the calling thread."""

    def translated(self) -> AbstractContextManager[None]:
        """Turns the driver's exceptions into DatabaseError."""

    def deadline(self, milliseconds: int | None) -> AbstractContextManager[None]:
        """A time limit of one call, in place of the usual one; None leaves that one."""

    def replace_many(self, raw: Any, documents: Sequence[Json]) -> None:
        """Upsert whole documents by ``_id``."""

    def update_each(self, raw: Any, updates: Sequence[tuple[Any, Json]]) -> None:
        """One update for each ``_id``."""

    def collection_names(self) -> list[str]: ...

    def encode_vector(self, vector: Vector) -> Any: ...

    def ping(self) -> str: ...

    def close(self) -> None: ...


class Collection:
    """The PyMongo operations the product uses. Names and arguments are PyMongo's."""

    def __init__(self, name: str, backend: Backend) -> None:
        self.name = name
        self._backend = backend

    def _run(self, call: Callable[[Any], Any], *, milliseconds: int | None = None) -> Any:
        with self._backend.translated(), self._backend.deadline(milliseconds):
            return call(self._backend.raw(self.name))

    def find(
        self,
        filter: Mapping[str, Any] | None = None,
        projection: Mapping[str, int] | None = None,
        *,
        sort: Sequence[tuple[str, int]] | None = None,
        limit: int = 0,
    ) -> Iterator[Json]:
        """Documents one by one; only what is iterated is read."""
        with self._backend.translated():
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
        found: Json | None = self._run(lambda raw: raw.find_one(dict(filter), dict(projection) if projection else None))
        return found

    def insert_one(self, document: Json) -> None:
        self._run(lambda raw: raw.insert_one(document))

    def replace_many(self, documents: Sequence[Json]) -> None:
        """Upsert whole documents by ``_id``."""
        if documents:
            self._run(lambda raw: self._backend.replace_many(raw, documents))

    def update_each(self, updates: Sequence[tuple[Any, Json]]) -> None:
        """One update for each ``_id``, in one round trip; an id that is gone is left out."""
        if updates:
            self._run(lambda raw: self._backend.update_each(raw, updates))

    def update_one(self, filter: Mapping[str, Any], update: Json, *, upsert: bool = False) -> int:
        """How many documents matched (or were inserted)."""
        result = self._run(lambda raw: raw.update_one(dict(filter), update, upsert=upsert))
        return int(result.matched_count) + (1 if result.upserted_id is not None else 0)

    def find_one_and_update(self, filter: Mapping[str, Any], update: Json, *, upsert: bool = False) -> Json | None:
        """Atomically update; returns the document as it is afterwards."""
        found: Json | None = self._run(
            lambda raw: raw.find_one_and_update(dict(filter), update, upsert=upsert, return_document=True)
        )
        return found

    def delete_many(self, filter: Mapping[str, Any]) -> int:
        return int(self._run(lambda raw: raw.delete_many(dict(filter))).deleted_count)

    def count(self, filter: Mapping[str, Any]) -> int:
        return int(self._run(lambda raw: raw.count_documents(dict(filter))))

    def estimated_count(self) -> int:
        return int(self._run(lambda raw: raw.estimated_document_count()))

    def write_marker(self) -> int:
        """A number that betrays writes which bypass the change log, where that costs nothing to know.

        On a server other programs may write, and its estimated count is metadata. The embedded file is written by
        this product alone, and counting there scans the table.
        """
        return 0 if self._backend.embedded else self.estimated_count()

    def distinct(self, field: str) -> list[Any]:
        return list(self._run(lambda raw: raw.distinct(field)))

    def aggregate(self, pipeline: Sequence[Json], *, max_time_ms: int | None = None) -> list[Json]:
        """Run a pipeline; ``max_time_ms`` bounds it on the server and the whole call here."""
        options = {} if max_time_ms is None else {"maxTimeMS": max_time_ms}
        with self._backend.translated(), self._backend.deadline(max_time_ms):
            return list(self._backend.raw(self.name).aggregate(list(pipeline), **options))

    def create_index(self, fields: str | Sequence[tuple[str, int]], *, unique: bool = False) -> None:
        """An ordinary index; creating one that exists does nothing."""
        keys = fields if isinstance(fields, str) else list(fields)
        self._run(lambda raw: raw.create_index(keys, unique=unique), milliseconds=INDEX_BUILD_MS)

    def search_indexes(self, name: str | None = None) -> list[Json]:
        """The collection's search indexes (or the one called ``name``), as `$listSearchIndexes` describes them."""
        return [dict(found) for found in self._run_search(lambda raw: list(raw.list_search_indexes(name)))]

    def create_search_index(self, name: str, *, kind: str, definition: Json) -> None:
        """Ask for a search index; ``kind`` is vectorSearch or search. The server builds it later, on its own."""
        self._run_search(lambda raw: raw.create_search_index({"name": name, "type": kind, "definition": definition}))

    def update_search_index(self, name: str, definition: Json) -> None:
        """Ask for another definition; the old one serves until the new one is built."""
        self._run_search(lambda raw: raw.update_search_index(name, definition))

    def drop_search_index(self, name: str) -> None:
        self._run_search(lambda raw: raw.drop_search_index(name))

    def _run_search(self, call: Callable[[Any], Any]) -> Any:
        if self._backend.embedded:
            raise DatabaseError(
                "The embedded database has no search indexes: its search runs in this process.",
                remedy="Set MONGODB_URI to a MongoDB with a search engine, or leave VECTOR_SEARCH on auto.",
            )
        return self._run(call)


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
        with self._backend.translated(), self._backend.deadline(None):
            return sorted(self._backend.collection_names())

    def encode_vector(self, vector: Vector) -> Any:
        """A vector in the form this database stores it; `decode_vector` reads it back."""
        return self._backend.encode_vector(vector)

    def ping(self) -> str:
        """What answers, in a few words. Raises DatabaseError when nothing does."""
        return self._backend.ping()

    def close(self) -> None:
        self._backend.close()
