"""Backups of the embedded database in one file, and their restoration, also from the
file of any older release.
"""

import base64
import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

from ..domain.errors import DatabaseError, InvalidRequestError
from .embedded import EmbeddedDatabase, explain, require_whole_pages
from .sqlite_documents import COLUMNS, LAYOUT, Row, quoted, to_row

OLDER_COLUMNS = ["id", "_id", "data"]
"""Of each table of NeoSQLite, which wrote the file up to release 0.4."""
TABLES = "SELECT name FROM sqlite_master WHERE type = 'table'"


def back_up(source: Path, target: Path) -> None:
    """Copy the database into a new file, also while a server writes it. Raises
    DatabaseError: a page of it is damaged; InvalidRequestError: the file exists.
    """
    if not source.is_file():
        raise InvalidRequestError(f"There is no database at {source}.")
    if target.exists():
        raise InvalidRequestError(f"{target} exists, and a backup replaces no file.")
    part = target.with_name(f"{target.name}.part")
    try:
        _copy(source, part)
        part.replace(target)
    except sqlite3.Error as error:
        raise explain(error, source.name) from error
    finally:
        part.unlink(missing_ok=True)


def restore(source: Path, target: Path) -> Path | None:
    """Put a backup, or the file of an older release, in the place of the database;
    return where the former database is kept. Raises DatabaseError: a page is damaged,
    or a process uses the database; InvalidRequestError: there is no such file.
    """
    if not source.is_file():
        raise InvalidRequestError(f"There is no file {source}.")
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    part = target.with_name(f"{target.name}.part")
    former = None
    try:
        if _is_older(source):
            _convert(source, part)
        else:
            _copy(source, part)
        # Writers and readers do not wait for each other.
        with closing(sqlite3.connect(part)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
        if target.exists():
            _require_alone(target)
            former = target.with_name(f"{target.name}.{datetime.now():%Y%m%d-%H%M%S}")
            target.replace(former)
        part.replace(target)
    except sqlite3.Error as error:
        raise explain(error, source.name) from error
    finally:
        part.unlink(missing_ok=True)
    return former


def _copy(source: Path, part: Path) -> None:
    part.unlink(missing_ok=True)
    os.close(os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    with (
        closing(sqlite3.connect(source)) as read,
        closing(sqlite3.connect(part)) as written,
    ):
        read.backup(written)
        require_whole_pages(written, source.name)
        written.execute("PRAGMA journal_mode = DELETE")  # one file, no log beside it


def _require_alone(target: Path) -> None:
    """Raises DatabaseError: another process has the database open."""
    mode = "wal"
    try:
        with closing(sqlite3.connect(target, timeout=1.0)) as connection:
            (mode,) = connection.execute("PRAGMA journal_mode = DELETE").fetchone()
    except sqlite3.OperationalError:
        pass  # locked
    except sqlite3.DatabaseError:
        return  # it is damaged, which may be why it is replaced
    if mode == "wal":
        raise DatabaseError(
            f"A process uses {target.name}.",
            remedy="Stop the server and other commands first.",
        )


def _is_older(source: Path) -> bool:
    with closing(sqlite3.connect(source)) as read:
        (version,) = read.execute("PRAGMA user_version").fetchone()
        return version == 0 and bool(_older_tables(read))


def _older_tables(read: sqlite3.Connection) -> list[str]:
    names = [str(name) for (name,) in read.execute(TABLES)]
    tables = []
    for name in names:
        columns = [row[1] for row in read.execute(f"PRAGMA table_info({quoted(name)})")]
        if columns == OLDER_COLUMNS:
            tables.append(name)
    return tables


def _convert(source: Path, part: Path) -> None:
    """Write the rows of a file of NeoSQLite into a new database."""
    part.unlink(missing_ok=True)
    with closing(EmbeddedDatabase(part)) as database:
        database.ping()
    marks = ", ".join("?" for _ in COLUMNS)
    with (
        closing(sqlite3.connect(source)) as read,
        closing(sqlite3.connect(part)) as written,
    ):
        for name in _older_tables(read):
            table = quoted(name)
            written.execute(f"DROP TABLE IF EXISTS {table}")
            written.execute(f"CREATE TABLE {table} ({LAYOUT})")
            rows = _older_rows(read, table)
            written.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
        written.commit()


def _older_rows(read: sqlite3.Connection, table: str) -> Iterator[Row]:
    # Since SQLite 3.45 NeoSQLite wrote JSONB.
    text = "CASE typeof(data) WHEN 'blob' THEN json(data) ELSE data END"
    for id, fields in read.execute(f"SELECT _id, {text} FROM {table} ORDER BY id"):
        yield to_row({**json.loads(fields, object_hook=_older_value), "_id": id})


def _older_value(value: dict[str, Any]) -> Any:
    if "__neosqlite_binary__" in value:
        return base64.b64decode(value["data"])
    if set(value) == {"$date"}:
        return datetime.fromisoformat(value["$date"])
    return value
