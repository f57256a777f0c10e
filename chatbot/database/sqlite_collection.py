"""The operations of a collection on a table of SQLite: PyMongo's names and arguments.
An update reads a row, changes it in Python and writes it, in one transaction.
"""

import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple, TypeVar

from ..domain.errors import DatabaseError
from . import sqlite_documents as sql
from .core import BOOKKEEPING_SECONDS, bookkeeping_limit
from .rows import Filter, Json, Projection, Sort

PLACEHOLDERS = ", ".join("?" for _ in sql.COLUMNS)
REPLACEMENTS = ", ".join(f'"{name}" = excluded."{name}"' for name in sql.COLUMNS[1:])
Parameters = Sequence[Any]
Result = TypeVar("Result")


class WriteResult(NamedTuple):
    """PyMongo's result of an update or a deletion."""

    matched_count: int = 0
    upserted_id: Any = None
    deleted_count: int = 0


Updated = tuple[WriteResult, Json | None]


class OpenConnection:
    """A connection, closed when nothing refers to this any more, e.g. when its thread
    ends, or by `close`. `__del__` would not do: objects are collected in no known
    order, and since Python 3.13 a connection that is still open then causes a warning.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.close = weakref.finalize(self, connection.close)
        self.close.atexit = False  # other threads may still be reading


class Writer(OpenConnection):
    """The only connection of this process that writes; threads take turns."""

    def __init__(self, connection: sqlite3.Connection, *, seconds: float) -> None:
        """``seconds``: how long a thread waits for its turn, and for others' writes."""
        super().__init__(connection)
        self._seconds = self._busy_seconds = seconds
        self._lock = threading.Lock()
        self._is_blocked = False
        """Others have written for longer than the last thread waited."""

    @contextmanager
    def turn(self) -> Iterator[sqlite3.Connection]:
        """Wait for the turn. Raises sqlite3.OperationalError: others write for too
        long.
        """
        if not self._lock.acquire(timeout=self._patience()):
            # The thread whose turn it is may itself wait for another process.
            self._is_blocked = True
            busy = sqlite3.OperationalError("database is locked by another thread")
            busy.sqlite_errorcode = sqlite3.SQLITE_BUSY
            raise busy
        try:
            yield self.connection
        finally:
            self._lock.release()

    def _patience(self) -> float:
        """Return how many seconds to wait. What only notes something does not wait at
        all where that was in vain before, so that its notes do not add up.
        """
        limit = bookkeeping_limit()
        if limit is None:
            return self._seconds
        is_small = limit <= BOOKKEEPING_SECONDS
        if self._is_blocked and is_small:
            return 0.0
        return min(limit, self._seconds)

    def _begin(self) -> None:
        seconds = self._patience()
        if seconds != self._busy_seconds:
            self.connection.execute(f"PRAGMA busy_timeout = {int(seconds * 1000)}")
            self._busy_seconds = seconds
        try:
            self.connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            self._is_blocked = True
            raise
        self._is_blocked = False

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        with self.turn() as connection:
            self._begin()
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                # SQLite rolls back by itself where the disk is full.
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise


class SqliteCollection:
    """One table, which the first write creates. ``reader`` is the calling thread's
    connection; ``in_transaction``: it is in one, which writes belong to.
    """

    def __init__(
        self,
        name: str,
        reader: sqlite3.Connection,
        writer: Callable[[], Writer],
        *,
        in_transaction: bool = False,
    ) -> None:
        self._table = sql.quoted(name)
        self._name = name
        self._reader = reader
        self._writer = writer
        self._in_transaction = in_transaction
        self._insert = (
            f"INSERT INTO {self._table} ({sql.ALL_COLUMNS}) VALUES ({PLACEHOLDERS})"
        )

    def find(
        self,
        filter: Filter,
        projection: Projection | None = None,
        *,
        sort: Sort = (),
        limit: int = 0,
    ) -> Iterator[Json]:
        """Yield documents as they were when this was called."""
        columns, read = sql.projected(projection)
        condition, values = sql.where(filter)
        text = f"SELECT {columns} FROM {self._table} WHERE {condition}{_order(sort)}"
        if limit:
            text += " LIMIT ?"
            values = [*values, limit]
        rows = self._read(text, values)  # now, not at the first document
        return (read(row) for row in rows)

    def _read(self, text: str, values: Parameters = ()) -> Iterator[Any]:
        try:
            rows = self._reader.execute(text, values)
        except sqlite3.OperationalError as error:
            if not _no_table(error):
                raise
            return iter(())
        if self._in_transaction:  # read to the end while this thread has the connection
            return iter(rows.fetchall())
        return rows

    def find_one(
        self, filter: Filter, projection: Projection | None = None
    ) -> Json | None:
        return next(self.find(filter, projection, limit=1), None)

    def count_documents(self, filter: Filter) -> int:
        condition, values = sql.where(filter)
        text = f"SELECT count(*) FROM {self._table} WHERE {condition}"
        row = next(self._read(text, values), None)
        if row is None:  # the table does not exist
            return 0
        return int(row[0])

    def estimated_document_count(self) -> int:
        return self.count_documents({})

    def distinct(self, name: str, filter: Filter) -> list[Any]:
        """Return the values of a field among the matches, without None."""
        condition, values = sql.where(filter)
        text = (
            f"SELECT DISTINCT {sql.field(name).value} FROM {self._table} WHERE "
            f"{condition}"
        )
        return [value for (value,) in self._read(text, values) if value is not None]

    def group(
        self, filter: Filter, by: Sequence[str], first: Sequence[str]
    ) -> list[tuple[Json, int]]:
        """Group the matches; the groups are in the order of their first rows."""
        columns, read = sql.projected(dict.fromkeys((*by, *first), 1) | {"_id": 0})
        condition, values = sql.where(filter)
        keys = ", ".join(sql.field(name).value for name in by)
        # Beside a single min(), the other columns are those of its row:
        # sqlite.org/lang_select.html#bareagg.
        text = (
            f"SELECT {columns}, count(*), min(rowid) FROM {self._table} "
            f"WHERE {condition} GROUP BY {keys} ORDER BY min(rowid)"
        )
        return [(read(row[:-2]), row[-2]) for row in self._read(text, values)]

    def insert_one(self, document: Json) -> None:
        self._write(lambda db: db.execute(self._insert, sql.to_row(document)).rowcount)

    def replace_many(self, documents: Sequence[Json]) -> int:
        """Upsert documents; return how many there were before."""
        rows = [sql.to_row(document) for document in documents]
        add = f"{self._insert} ON CONFLICT (_id) DO NOTHING"
        put = f"{self._insert} ON CONFLICT (_id) DO UPDATE SET {REPLACEMENTS}"

        def run(db: sqlite3.Connection) -> int:
            # Nearly always all are new, so that nothing else is done.
            existing = len(rows) - db.executemany(add, rows).rowcount
            if existing:
                db.executemany(put, rows)
            return existing

        return self._write(run)

    def update_one(
        self, filter: Filter, update: sql.Update, *, upsert: bool = False
    ) -> WriteResult:
        return self._update(filter, update, upsert=upsert)[0]

    def find_one_and_update(
        self,
        filter: Filter,
        update: sql.Update,
        *,
        upsert: bool,
        return_document: Literal[True],
        sort: Sort = (),
    ) -> Json | None:
        """Update the first match and return the new document. The previous document is
        not available.
        """
        return self._update(filter, update, upsert=upsert, sort=sort)[1]

    def _update(
        self, filter: Filter, update: sql.Update, *, upsert: bool, sort: Sort = ()
    ) -> Updated:
        """Update the first match, or insert one; return also the new document."""
        sql.check_update(update)
        if upsert and set(filter) != {"_id"}:
            raise DatabaseError("The embedded database upserts by the _id alone.")
        condition = sql.where(filter)

        def run(db: sqlite3.Connection) -> Updated:
            document = self._change(db, condition, update, sort)
            if document is None and upsert:
                document = sql.apply({"_id": filter["_id"]}, update, inserting=True)
                db.execute(self._insert, sql.to_row(document))
                return WriteResult(0, document["_id"]), document
            return WriteResult(int(document is not None)), document

        return self._write(run)

    def _change(
        self,
        db: sqlite3.Connection,
        condition: sql.Sql,
        update: sql.Update,
        sort: Sort = (),
    ) -> Json | None:
        """Update the first match; return the new document, None where there is none."""
        text, values = condition
        row = db.execute(
            f"SELECT rowid, {sql.ALL_COLUMNS} FROM {self._table} "
            f"WHERE {text}{_order(sort)} LIMIT 1",
            values,
        ).fetchone()
        if row is None:
            return None
        rowid, *columns = row
        document = sql.apply(sql.to_document(columns), update)
        db.execute(
            f"UPDATE {self._table} SET ({sql.ALL_COLUMNS}) = ({PLACEHOLDERS}) "
            "WHERE rowid = ?",
            [*sql.to_row(document), rowid],
        )
        return document

    def update_each(self, updates: Sequence[tuple[Any, sql.Update]]) -> None:
        for _, update in updates:
            sql.check_update(update)

        def run(db: sqlite3.Connection) -> None:
            for id, update in updates:
                self._change(db, ("_id = ?", [id]), update)

        self._write(run)

    def update_many(self, filter: Filter, update: sql.Update) -> WriteResult:
        sql.check_update(update)
        condition, values = sql.where(filter)
        text = f"SELECT _id FROM {self._table} WHERE {condition}"

        def run(db: sqlite3.Connection) -> int:
            ids = db.execute(text, values).fetchall()
            for id in ids:
                self._change(db, ("_id = ?", id), update)
            return len(ids)

        return WriteResult(matched_count=self._write(run))

    def delete_many(self, filter: Filter) -> WriteResult:
        condition, values = sql.where(filter)
        text = f"DELETE FROM {self._table} WHERE {condition}"
        deleted = self._write(lambda db: db.execute(text, values).rowcount)
        return WriteResult(deleted_count=deleted)

    def create_index(self, keys: str | Sort) -> None:
        names = [keys] if isinstance(keys, str) else [name for name, _ in keys]
        index = sql.quoted(f"{self._name} by {', '.join(names)}")
        values = ", ".join(sql.field(name).value for name in names)
        text = f"CREATE INDEX IF NOT EXISTS {index} ON {self._table} ({values})"
        self._write(lambda db: db.execute(text).rowcount)

    def _write(self, run: Callable[[sqlite3.Connection], Result]) -> Result:
        """Run it in a transaction. ``run`` returns no cursor: one that is freed outside
        of the lock resets a statement that another thread is running by then
        (SQLITE_MISUSE).
        """
        if self._in_transaction:
            try:
                return run(self._reader)
            except sqlite3.OperationalError as error:
                if not _no_table(error):
                    raise
            self._create_table(self._reader)
            return run(self._reader)
        writer = self._writer()
        try:
            with writer.transaction() as connection:
                return run(connection)
        except sqlite3.OperationalError as error:
            if not _no_table(error):
                raise
        with writer.transaction() as connection:
            self._create_table(connection)
            return run(connection)

    def _create_table(self, connection: sqlite3.Connection) -> None:
        connection.execute(f"CREATE TABLE IF NOT EXISTS {self._table} ({sql.LAYOUT})")


def _order(sort: Sort) -> str:
    """Return the ORDER BY clause of a sort, "" where it names no field."""
    if not sort:
        return ""
    terms = []
    for name, direction in sort:
        order = "DESC" if direction < 0 else "ASC"
        terms.append(f"{sql.field(name).value} {order}")
    return f" ORDER BY {', '.join(terms)}"


def _no_table(error: sqlite3.OperationalError) -> bool:
    return str(error).startswith("no such table")
