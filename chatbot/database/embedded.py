"""The embedded database of a fresh machine: one SQLite file, read by a connection per thread, written by one."""

from __future__ import annotations

import logging
import os
import shutil
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from ..errors import DatabaseError, DiskFullError
from ..schema import Vector
from .core import Json
from .rows import encode_payload
from .sqlite_collection import SqliteCollection, Writer

log = logging.getLogger(__name__)
FORMAT = 1
"""SQLite's user_version of a file that is ready."""
PAGE_BYTES = 16_384
"""Page size of a new file: a passage with its vector takes 3 to 5 KB, and SQLite lets no two rows share the rest of a
page that is too small for both."""
BUSY_SECONDS = 10.0
"""How long a writer waits for the writes of others before it fails."""
LOG_PAGES = 128
"""Pages of the write-ahead log before it goes into the file: 2 MB of a new one. SQLite's thousand would be 16 MB."""
STATEMENTS = 256
"""Prepared statements that a connection keeps."""
CLOSE_SECONDS = 5.0
PAUSE = 0.02


class _Handle:
    """One thread's connection, closed when the thread ends or the database is closed."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.close = _closed_with(self, connection)


def _closed_with(owner: object, connection: sqlite3.Connection) -> Callable[[], object]:
    """Closes it, at the latest when nobody has ``owner`` any more.

    Not by ``__del__``: of what is collected together nobody knows what goes first, and since Python 3.13 a connection
    that is still open then is warned of.
    """
    end = weakref.finalize(owner, connection.close)
    end.atexit = False  # threads that are left may be reading
    return end


class EmbeddedBackend:
    """A connection per thread reads while another one writes: nobody waits to read."""

    embedded = True

    def __init__(self, path: Path, *, busy_seconds: float = BUSY_SECONDS) -> None:
        self._path = path
        self._busy_seconds = busy_seconds
        self._local = threading.local()
        self._handles: weakref.WeakSet[_Handle] = weakref.WeakSet()
        self._writer: Writer | None = None
        self._close_writer: Callable[[], object] = lambda: None
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

    def raw(self, name: str) -> SqliteCollection:
        """The collection, read over the calling thread's own connection."""
        return SqliteCollection(name, self._reader(), self._get_writer)

    def _reader(self) -> sqlite3.Connection:
        handle: _Handle | None = getattr(self._local, "handle", None)
        if handle is None:
            with self._lock:
                handle = self._local.handle = _Handle(self._open())
                self._handles.add(handle)
        return handle.connection

    def _get_writer(self) -> Writer:
        with self._lock:
            if self._writer is None:
                connection = self._open()
                self._writer = Writer(connection, seconds=self._busy_seconds)
                self._close_writer = _closed_with(self, connection)
            return self._writer

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._path,
            timeout=self._busy_seconds,
            isolation_level=None,
            check_same_thread=False,  # used by one thread at a time, but closed by another one
            cached_statements=STATEMENTS,
        )
        try:
            if connection.execute("PRAGMA user_version").fetchone()[0] != FORMAT:
                _require_not_cut(self._path)
                self._make_ready()
            connection.execute("PRAGMA secure_delete = ON")  # what is deleted is overwritten
            connection.execute("PRAGMA synchronous = NORMAL")  # with a write-ahead log nothing can be left half written
            connection.execute(f"PRAGMA wal_autocheckpoint = {LOG_PAGES}")
        except BaseException:
            connection.close()
            raise
        return connection

    def _make_ready(self) -> None:
        """Bring a new file to FORMAT.

        Raises:
            sqlite3.Error: the file is not an SQLite file, or cannot be written.
            DatabaseError: another program or a newer version wrote it.
        """
        with closing(sqlite3.connect(self._path, timeout=self._busy_seconds, isolation_level=None)) as connection:
            deadline = monotonic() + self._busy_seconds
            while True:  # SQLite does not wait for a process that is switching the file to WAL, but refuses at once
                try:
                    connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
                    connection.execute("PRAGMA journal_mode = WAL")
                    break
                except sqlite3.OperationalError as error:
                    if "locked" not in str(error) or monotonic() > deadline:
                        raise
                    sleep(PAUSE)
            connection.execute("BEGIN IMMEDIATE")
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            tables = connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' LIMIT 1").fetchone()
            problem = remedy = ""
            if version > FORMAT:
                problem = f"A newer version of report-chat wrote {self._path.name}."
                remedy = "Update report-chat, or use another DATA_DIR."
            elif version < FORMAT and tables:
                problem = f"{self._path.name} is not a database of this program, or of a version before 0.5."
                remedy = "Use another DATA_DIR."
            if problem:
                log.error("Not opened: %s", self._path)  # The path is for operators only: clients see the message.
                raise DatabaseError(problem, remedy=remedy)
            connection.execute(f"PRAGMA user_version = {FORMAT}")
            connection.execute("COMMIT")

    @contextmanager
    def translate_errors(self) -> Iterator[None]:
        """SQLite's, of any call; each is counted, so that `close` can wait for it."""
        with self._idle:
            self._idle.wait_for(lambda: not self._closing)
            self._active += 1
        try:
            yield
        except sqlite3.Error as error:
            remedy, again = _advice(error)
            # Where it lies is for whoever runs it: the message goes to strangers, too.
            log.warning("The embedded database %s failed: %s", self._path, error)
            message = f"The embedded database {self._path.name} failed: {error}."
            if "full" in str(error):
                raise DiskFullError(message) from error
            raise DatabaseError(message, remedy=remedy, retry_after=again) from error
        finally:
            with self._idle:
                self._active -= 1
                self._idle.notify_all()

    def deadline(self, milliseconds: int | None) -> AbstractContextManager[None]:
        """No limit of its own: SQLite's waits are bounded by BUSY_SECONDS."""
        return nullcontext()

    def for_search(self, raw: Any) -> Any:
        """The collection as it is: nothing here searches beside it."""
        return raw

    def empty_log(self) -> None:
        """Write what is in the write-ahead log to the file, and cut it off, unless somebody is reading in it."""
        with self._get_writer().turn() as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def replace_many(self, raw: SqliteCollection, documents: Sequence[Json]) -> None:
        """Upsert whole documents by ``_id``, in one transaction."""
        raw.replace_many(documents)

    def update_each(self, raw: SqliteCollection, updates: Sequence[tuple[Any, Json]]) -> None:
        """Apply one update to each document by ``_id``, in one transaction."""
        raw.update_each(updates)

    def watch(self, names: Sequence[str], after: Any) -> Any:
        """Raises NotImplementedError: SQLite tells nobody of changes."""
        raise NotImplementedError

    def collection_names(self) -> list[str]:
        """The collections that exist, in no order."""
        names = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB 'sqlite_*'"
        return [name for (name,) in self._reader().execute(names)]

    def encode_vector(self, vector: Vector) -> bytes:
        """A vector as the bytes of BSON's float32 vector, without its subtype."""
        return encode_payload(vector)

    def ping(self) -> str:
        """Reads from the file, and asks whether it may be written: no answer is possible on a disk that the system has
        made read-only. Where it lies nobody is told.
        """
        with self.translate_errors():
            self.raw("meta").find_one({"_id": "ping"})
            if not all(os.access(path, os.W_OK) for path in (self._path, self._path.parent)):
                raise sqlite3.OperationalError("it cannot be written")
        return f"embedded database {self._path.name}"

    def free_bytes(self, *, tidy: bool = False) -> int:
        """Free bytes on the file's disk and inside of the file, which SQLite fills first. ``tidy``: cut the log
        first.
        """
        with self.translate_errors():
            if tidy:
                with closing(sqlite3.connect(self._path, timeout=1)) as other, suppress(sqlite3.OperationalError):
                    other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            reader = self._reader()
            pages, size = (reader.execute(f"PRAGMA {of}").fetchone()[0] for of in ("freelist_count", "page_size"))
        return shutil.disk_usage(self._path.parent).free + int(pages * size)

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
                self._close_writer()
                self._local, self._writer = threading.local(), None
            self._closing = False
            self._idle.notify_all()


def _require_not_cut(path: Path) -> None:
    """Raises DatabaseError where the file is empty, and what was made of its passages stands beside it."""
    indexes = (found for found in path.parent.glob("index*") if found.is_dir() and any(found.iterdir()))
    if path.stat().st_size == 0 and (index := next(indexes, None)) is not None:
        raise DatabaseError(
            f"The embedded database {path.name} is empty, but the index of its passages ({index.name}) is not.",
            remedy=f"Restore it from a copy; to begin anew, delete the folder {index.name}, too.",
        )


def _advice(error: sqlite3.Error) -> tuple[str, int | None]:
    """What to do about it, and after how many seconds trying again may help."""
    if "locked" in str(error):
        return "Another process is writing; try again.", 2
    if isinstance(error, sqlite3.IntegrityError):
        return "The id is taken: choose another one.", None
    return "Check the disk and the file's rights.", None
