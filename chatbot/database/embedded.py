"""The embedded database of a fresh machine: one SQLite file, with a reading connection
per thread and one writer.
"""

import logging
import os
import shutil
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from ..domain.errors import DatabaseError
from .core import Database
from .failures import SOON, sqlite_failure
from .sqlite_collection import OpenConnection, SqliteCollection, Writer
from .sqlite_documents import TABLES_OF_ROWS, row_that_cannot_be_read

log = logging.getLogger(__name__)
FORMAT = 1
"""SQLite's user_version of a prepared file."""
PAGE_BYTES = 16_384
"""Page size of a new file: a passage with its vector takes 3 to 5 KB, and SQLite lets
no two rows share the rest of a page that is too small for both.
"""
BUSY_SECONDS = 10.0
"""Seconds that a writer waits for other writers before it fails."""
MAX_LOG_PAGES = 128
"""Pages of the write-ahead log before it is written to the file: 2 MB of a new one.
SQLite's 1,000 would be 16 MB.
"""
NOW = "SELECT (julianday('now') - 2440587.5) * 86400.0"
"""The time in seconds since 1970, whose Julian day is 2440587.5."""
SYNCHRONOUS = "NORMAL"
"""When SQLite waits for the disk; with a write-ahead log this is safe."""


class EmbeddedDatabase(Database):
    """A connection per thread reads while another one writes, so readers never wait."""

    embedded = True

    def __init__(self, path: Path, *, busy_seconds: float = BUSY_SECONDS) -> None:
        super().__init__()
        self._path = path
        self._busy_seconds = busy_seconds
        self._local = threading.local()
        self._connections: weakref.WeakSet[OpenConnection] = weakref.WeakSet()
        self._writer: Writer | None = None
        self._lock = threading.Lock()
        self._idle = threading.Condition()
        self._active = 0
        self._closing = False
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise sqlite_failure(
                "no_folder", folder=path.parent, problem=error.strerror
            ) from error

    def raw(self, name: str) -> SqliteCollection:
        transaction = self._transaction()
        if transaction is not None:
            return SqliteCollection(
                name, transaction, self._get_writer, in_transaction=True
            )
        return SqliteCollection(name, self._reader(), self._get_writer)

    def _transaction(self) -> sqlite3.Connection | None:
        """Return the connection of the calling thread's transaction."""
        connection: sqlite3.Connection | None = getattr(
            self._local, "transaction", None
        )
        return connection

    @contextmanager
    def transaction(self) -> Iterator[Callable[[], int]]:
        running = self._transaction()
        if running is not None:
            yield lambda: running.total_changes
            return
        local = self._local
        with self.translate_errors(), self._get_writer().transaction() as connection:
            local.transaction = connection
            try:
                yield lambda: connection.total_changes
            finally:
                local.transaction = None

    def _reader(self) -> sqlite3.Connection:
        reader: OpenConnection | None = getattr(self._local, "reader", None)
        if reader is None:
            with self._lock:
                reader = OpenConnection(self._open())
                self._local.reader = reader
                self._connections.add(reader)
        return reader.connection

    def _get_writer(self) -> Writer:
        with self._lock:
            if self._writer is None:
                connection = self._open()
                # Pages that a large write changes again and again wait in memory, as
                # many as the log may have: SQLite's 2 MB are written ten times over.
                connection.execute(f"PRAGMA cache_size = {8 * MAX_LOG_PAGES}")
                self._writer = Writer(connection, seconds=self._busy_seconds)
                self._connections.add(self._writer)
            return self._writer

    def _open(self) -> sqlite3.Connection:
        """Return a new connection; the first one makes the file."""
        # Conversations and the secret of the cookies are in it. SQLite gives its other
        # files the same permissions. A file that exists is never opened here: closing
        # it would release the locks that SQLite holds on it.
        with suppress(OSError):  # it exists; or SQLite itself will say what is wrong
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        with suppress(OSError):  # it belongs to somebody else
            if self._path.stat().st_mode & 0o077:
                self._path.chmod(0o600)
        connection = sqlite3.connect(
            self._path,
            timeout=self._busy_seconds,
            isolation_level=None,
            # One thread at a time uses it, but another one may close it.
            check_same_thread=False,
            # The repositories and the stores have more texts than Python's 128.
            cached_statements=256,
        )
        try:
            if connection.execute("PRAGMA user_version").fetchone()[0] != FORMAT:
                self._prepare_file()
            # Deleted data is overwritten.
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute(f"PRAGMA synchronous = {SYNCHRONOUS}")
            connection.execute(f"PRAGMA wal_autocheckpoint = {MAX_LOG_PAGES}")
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare_file(self) -> None:
        """Bring a new file to FORMAT. Raises sqlite3.Error: the file is not an SQLite
        file, or cannot be written; DatabaseError: the file was emptied, or another
        program or a newer version wrote it.
        """
        name = self._path.name
        if self._path.stat().st_size == 0:
            # An index that has something was built from a file that was not empty.
            for index in self._path.parent.glob("index*"):
                if index.is_dir() and any(index.iterdir()):
                    raise sqlite_failure("emptied", name=name, index=index.name)
        with closing(
            sqlite3.connect(
                self._path, timeout=self._busy_seconds, isolation_level=None
            )
        ) as connection:
            self._switch_to_log(connection)
            connection.execute("BEGIN IMMEDIATE")
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            has_tables = connection.execute(
                "SELECT 1 FROM sqlite_master WHERE type = 'table' LIMIT 1"
            ).fetchone()
            if version > FORMAT or (version < FORMAT and has_tables):
                # Clients see the message, without the folder.
                log.error("Not opened: %s", self._path)
                if version > FORMAT:
                    raise sqlite_failure("newer", name=name)
                raise sqlite_failure("not_ours", name=name)
            connection.execute(f"PRAGMA user_version = {FORMAT}")
            connection.execute("COMMIT")

    def _switch_to_log(self, connection: sqlite3.Connection) -> None:
        """Let SQLite write a write-ahead log. It does not wait while another process
        does this, but refuses at once.
        """
        deadline = time.monotonic() + self._busy_seconds
        while True:
            try:
                connection.execute(f"PRAGMA synchronous = {SYNCHRONOUS}")
                connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
                connection.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.02)

    @contextmanager
    def translate_errors(self) -> Iterator[None]:
        """Raise SQLite's errors as DatabaseError, and count the call, so that `close`
        can wait for it.
        """
        in_transaction = self._transaction() is not None
        with self._idle:
            # `close` waits for a transaction that is running, with all its calls.
            self._idle.wait_for(lambda: in_transaction or not self._closing)
            self._active += 1
        try:
            yield
        except sqlite3.Error as error:
            # Clients do not see the folder.
            log.warning("The embedded database %s failed: %s", self._path, error)
            raise explain(error, self._path.name) from error
        finally:
            with self._idle:
                self._active -= 1
                self._idle.notify_all()

    def empty_log(self) -> None:
        """Write the write-ahead log to the file and truncate it, unless somebody is
        reading it.
        """
        with self.translate_errors(), self._get_writer().turn() as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def collection_names(self) -> list[str]:
        names = (
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB "
            "'sqlite_*' ORDER BY name"
        )
        with self.translate_errors():
            return [name for (name,) in self._reader().execute(names)]

    def now(self) -> float:
        """Return the clock of SQLite: that of the machine that has the file."""
        with self.translate_errors():
            (seconds,) = self._reader().execute(NOW).fetchone()
        return float(seconds)

    def ping(self) -> str:
        """Read from the file and check that it can be written, as on a disk that became
        read-only nothing works.
        """
        with self.translate_errors():
            self.raw("meta").find_one({"_id": "ping"})
            for path in (self._path, self._path.parent):
                if not os.access(path, os.W_OK):
                    raise sqlite_failure(
                        "read_only",
                        name=self._path.name,
                        problem="it cannot be written",
                    )
        return f"embedded database {self._path.name}"

    def check_pages(self) -> None:
        with self.translate_errors():
            require_whole_pages(self._reader(), self._path.name)

    def free_bytes(self, *, tidy: bool = False) -> int:
        """Return the free bytes on the disk and inside the file. ``tidy``: truncate the
        log first.
        """
        with self.translate_errors():
            if tidy:
                # A connection of its own, as the writer's may be waited for long.
                with (
                    closing(sqlite3.connect(self._path, timeout=1)) as connection,
                    suppress(sqlite3.OperationalError),
                ):
                    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            reader = self._reader()
            (free_pages,) = reader.execute("PRAGMA freelist_count").fetchone()
            (page_bytes,) = reader.execute("PRAGMA page_size").fetchone()
        free_on_disk = shutil.disk_usage(self._path.parent).free
        return free_on_disk + int(free_pages * page_bytes)

    def close(self) -> None:
        """Wait for running calls, then close: SQLite crashes where another thread uses
        a connection that is closed. The database can be used again afterwards.
        """
        with self._idle:
            self._closing = True
            # A call that hangs does not keep the process for longer.
            self._idle.wait_for(lambda: self._active == 0, timeout=5.0)
            with self._lock:
                for connection in list(self._connections):
                    connection.close()
                self._local = threading.local()
                self._writer = None
            self._closing = False
            self._idle.notify_all()


def require_whole_pages(connection: sqlite3.Connection, name: str) -> None:
    """Raise DatabaseError, which calls the file ``name``: a page is damaged."""
    (problem, *_) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if problem != "ok":
        raise sqlite_failure("broken", name=name, problem=" ".join(problem.split()))
    # SQLite keeps no checksums: the rest of a long row may be anything.
    for (table,) in connection.execute(TABLES_OF_ROWS).fetchall():
        if connection.execute(row_that_cannot_be_read(table)).fetchone():
            problem = f"a row of {table} cannot be read"
            raise sqlite_failure("broken", name=name, problem=problem)


def explain(error: sqlite3.Error, name: str) -> DatabaseError:
    """Return what happened in the file ``name``, what helps and when to retry."""
    code = getattr(error, "sqlite_errorcode", None)
    row = None
    if code is not None:
        # The last byte of an extended code is that of its kind.
        row = sqlite_failure.find(code, code & 0xFF)
    if row is None:
        return DatabaseError(
            f"The embedded database {name} failed: {error}.",
            remedy="Check the disk and the file's permissions.",
            retry_after=SOON,
        )
    return sqlite_failure(row.name, name=name, problem=error)
