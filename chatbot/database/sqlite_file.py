"""The embedded database's file: recognised by its format's number, made ready, converted from NeoSQLite's format.

Up to version 0.4 NeoSQLite wrote the file. It is converted in one transaction, so that an interrupted conversion never
was and a second process waits for the first; a copy of what it was stays beside it.
"""

from __future__ import annotations

import base64
import json
import logging
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from ..errors import DatabaseError
from .sqlite_document import COLUMNS, LAYOUT, Row, quoted, to_row

FORMAT = 1
"""SQLite's user_version of a file that is ready; 0 = new, or NeoSQLite's."""
KEPT = ".before-conversion"
SPACE = 3
"""What a conversion may need on the disk, in sizes of the file: the copy, the log, the file as it grows."""
WAIT_SECONDS = 600.0
"""How long to wait for another process that converts the file."""
PAUSE = 0.02
PAGE_BYTES = 16_384
"""Of a new file: a passage with its vector takes 3 to 5 KB, and SQLite lets no two rows share what is left of a page
that is too small for both."""
OLD_LAYOUT = {"id", "_id", "data"}
log = logging.getLogger(__name__)


def make_ready(path: Path) -> None:
    """Bring a new file, or one of NeoSQLite's, to FORMAT.

    Raises:
        sqlite3.Error: it is none of SQLite's, or cannot be written.
        DatabaseError: a newer or another program wrote it, or there is no room for a conversion.
    """
    with closing(sqlite3.connect(path, timeout=WAIT_SECONDS, isolation_level=None)) as connection:
        _keep_a_log(connection)
        connection.execute("BEGIN IMMEDIATE")
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version > FORMAT:
            raise _refused(path, f"A newer program wrote {path.name}.", "Update this one, or use another DATA_DIR.")
        if version < FORMAT:
            _convert(connection, path)
            connection.execute(f"PRAGMA user_version = {FORMAT}")
        connection.execute("COMMIT")
        connection.executescript("PRAGMA incremental_vacuum")  # NeoSQLite's files give free pages back when told


def _keep_a_log(connection: sqlite3.Connection) -> None:
    """SQLite does not wait for others that set a new file to a write-ahead log, but refuses at once: so we wait."""
    deadline = monotonic() + WAIT_SECONDS
    while True:
        try:
            connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or monotonic() > deadline:
                raise
            sleep(PAUSE)


def _convert(connection: sqlite3.Connection, path: Path) -> None:
    found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB 'sqlite_*'")
    tables = [str(name) for (name,) in found]
    old = [name for name in tables if _columns(connection, name) >= OLD_LAYOUT]
    if not tables:
        return
    if not old:
        raise _refused(path, f"{path.name} is a database of another program.", "Use another DATA_DIR.")
    kept = _keep_copy(path)
    log.warning("Converting %s to the format of this version; what it was is kept as %s.", path, kept.name)
    for name in tables:
        if name in old:
            _convert_table(connection, name)
        else:
            connection.execute(f"DROP TABLE {quoted(name)}")  # NeoSQLite's own notes


def _refused(path: Path, why: str, remedy: str) -> DatabaseError:
    """Says the file's name; where it lies is in the log alone."""
    log.error("Not opened: %s", path)
    return DatabaseError(why, remedy=remedy)


def _columns(connection: sqlite3.Connection, table: str) -> set[str]:
    return {row[1] for row in connection.execute(f"PRAGMA table_info({quoted(table)})")}


def _keep_copy(path: Path) -> Path:
    """A copy as of now, complete where it has its name. The caller holds the lock for writing."""
    needed, free = SPACE * path.stat().st_size, shutil.disk_usage(path.parent).free
    if free < needed:
        left = f"needs {needed / 1e6:.0f} MB on its disk, which has {free / 1e6:.0f} MB left"
        remedy = "Free some space there, or set DATA_DIR to another disk."
        raise _refused(path, f"The conversion of {path.name} {left}.", remedy)
    kept = path.with_name(path.name + KEPT)
    part = kept.with_name(kept.name + ".part")
    part.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(part)) as target:
        source.backup(target)
        target.execute("PRAGMA journal_mode = DELETE")  # one file, without a log beside it
    part.replace(kept)
    return kept


def _convert_table(connection: sqlite3.Connection, name: str) -> None:
    table, old = quoted(name), quoted(f"NeoSQLite's {name}")
    connection.execute(f"ALTER TABLE {table} RENAME TO {old}")
    connection.execute(f"CREATE TABLE {table} ({LAYOUT})")
    connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(COLUMNS))})", _old_rows(connection, old))
    connection.execute(f"DROP TABLE {old}")


def _old_rows(connection: sqlite3.Connection, table: str) -> Iterator[Row]:
    text = "CASE typeof(data) WHEN 'blob' THEN json(data) ELSE data END"  # SQLite 3.45 and newer: JSONB
    for id, found in connection.execute(f"SELECT _id, {text} FROM {table} ORDER BY id"):
        yield to_row({"_id": id, **json.loads(found, object_hook=_old_value)})


def _old_value(found: dict[str, Any]) -> Any:
    if "__neosqlite_binary__" in found:
        return base64.b64decode(found["data"])
    return datetime.fromisoformat(found["$date"]) if set(found) == {"$date"} else found
