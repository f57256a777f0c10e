"""NeoSQLite: PyMongo's API on one SQLite file. The embedded database of a fresh machine."""

from __future__ import annotations

import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import neosqlite

from ..errors import DatabaseError
from ..schema import Vector
from ..schema.collections import GRIDFS
from .core import Json
from .rows import VECTOR_SUBTYPE, encode_payload

BUSY_SECONDS = 10.0
"""How long a writer waits for another process's write before it fails."""
OPEN_PAUSE = 0.02


class _Handle:
    """One thread's connection, closed when the thread ends or the database is closed."""

    def __init__(self, path: Path) -> None:
        # A connection is used by its own thread only, but may have to be closed by another one.
        self.connection = _open(path)

    def close(self) -> None:
        if connection := getattr(self, "connection", None):  # not there where opening failed
            connection.close()

    __del__ = close


def _open(path: Path) -> Any:
    """Setting a new file to WAL does not wait for others that do the same: SQLite refuses at once, so we wait."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            return neosqlite.Connection(str(path), timeout=BUSY_SECONDS, check_same_thread=False)
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(OPEN_PAUSE)


class _Atomic:
    """A collection whose writes are transactions.

    NeoSQLite reads, updates and reads again in three statements: two writers at once got the same counter, both
    held one lease, or met in an upsert's insert.
    """

    WRITES = frozenset({"bulk_write", "delete_many", "find_one_and_update", "insert_many", "insert_one", "update_one"})

    def __init__(self, connection: Any, name: str) -> None:
        self._database = connection.db
        self._collection = connection[name]

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._collection, name)
        return partial(self._write, method) if name in self.WRITES else method

    def _write(self, method: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            found = method(*arguments, **options)
        except BaseException:
            self._database.rollback()
            raise
        self._database.commit()
        return found


CLOSE_SECONDS = 5.0


class EmbeddedBackend:
    """One connection per thread: a shared one raises under concurrency (measured)."""

    embedded = True

    def __init__(self, path: Path) -> None:
        self._path = path
        self._local = threading.local()
        self._handles: weakref.WeakSet[_Handle] = weakref.WeakSet()
        self._lock = threading.Lock()
        self._idle = threading.Condition()
        self._active = 0
        self._closing = False
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DatabaseError(
                f"The data folder {path.parent} cannot be created: {error.strerror}.",
                remedy="Set DATA_DIR to a folder this user may write to.",
            ) from error

    def raw(self, name: str) -> Any:
        """Raises DatabaseError: a name that NeoSQLite would take for GridFS."""
        if name.endswith(GRIDFS):
            raise DatabaseError(
                f"The embedded database cannot have a collection {name!r}.",
                remedy=f"Choose a name that does not end in {' or '.join(GRIDFS)}.",
            )
        return _Atomic(self._connection(), name)

    def _connection(self) -> Any:
        handle = getattr(self._local, "handle", None)
        if handle is None:
            with self._lock:
                handle = self._local.handle = _Handle(self._path)
                self._handles.add(handle)
        return handle.connection

    @contextmanager
    def translate_errors(self) -> Iterator[None]:
        """SQLite's, of any call; each is counted, so that `close` can wait for it."""
        with self._idle:
            self._idle.wait_for(lambda: not self._closing)
            self._active += 1
        try:
            yield
        except sqlite3.Error as error:
            busy = "locked" in str(error)
            raise DatabaseError(
                f"The embedded database {self._path} failed: {error}.",
                remedy="Another process is writing; try again." if busy else "Check the disk and the file's rights.",
                retry_after=2 if busy else None,
            ) from error
        finally:
            with self._idle:
                self._active -= 1
                self._idle.notify_all()

    def deadline(self, milliseconds: int | None) -> AbstractContextManager[None]:
        """None: SQLite's waits are bounded by BUSY_SECONDS."""
        return nullcontext()

    def for_search(self, raw: Any) -> Any:
        """As it is: nothing searches beside it."""
        return raw

    def replace_many(self, raw: Any, documents: Sequence[Json]) -> None:
        """New ones are inserted, which is three times as fast here as upserting them."""
        documents = [  # NeoSQLite inserts bytes, but does not replace them
            {name: neosqlite.Binary(value) if type(value) is bytes else value for name, value in document.items()}
            for document in documents
        ]
        ids = [document["_id"] for document in documents]
        known = {row["_id"] for row in raw.find({"_id": {"$in": ids}}, {"_id": 1})}
        new = [document for document in documents if document["_id"] not in known]
        try:
            if new:
                raw.insert_many(new)
        except sqlite3.IntegrityError:
            known.update(ids)  # another process wrote one of them just now: upsert them all
        requests = [neosqlite.ReplaceOne({"_id": d["_id"]}, d, upsert=True) for d in documents if d["_id"] in known]
        if requests:
            raw.bulk_write(requests, ordered=False)

    def update_each(self, raw: Any, updates: Sequence[tuple[Any, Json]]) -> None:
        """In one transaction."""
        raw.bulk_write([neosqlite.UpdateOne({"_id": id}, update) for id, update in updates], ordered=False)

    def watch(self, names: Sequence[str], after: Any) -> Any:
        """Nobody else writes the file."""
        raise NotImplementedError

    def collection_names(self) -> list[str]:
        """In no order."""
        return [str(name) for name in self._connection().list_collection_names()]

    def encode_vector(self, vector: Vector) -> Any:
        """A blob marked with BSON's subtype 9."""
        return neosqlite.Binary(encode_payload(vector), VECTOR_SUBTYPE)

    def ping(self) -> str:
        """Reads from the file."""
        with self.translate_errors():
            self.raw("meta").find_one({"_id": "ping"})
        return f"embedded database {self._path}"

    def close(self) -> None:
        """Calls under way are waited for: SQLite crashes where a connection is closed while another thread uses it.

        May be used again afterwards.
        """
        with self._idle:
            self._closing = True
            self._idle.wait_for(lambda: self._active == 0, timeout=CLOSE_SECONDS)
            with self._lock:
                for handle in list(self._handles):
                    handle.close()
                self._local = threading.local()
            self._closing = False
            self._idle.notify_all()
