"""Files of the former format, which NeoSQLite wrote: converted at the first opening, whole or not at all."""

from __future__ import annotations

import multiprocessing
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import neosqlite
import pytest

from chatbot.database import sqlite_file
from chatbot.database.core import Database
from chatbot.database.embedded import EmbeddedBackend
from chatbot.errors import DatabaseError

VECTOR = b"\x27\x00" + bytes(range(8))
OLD: dict[str, list[dict[str, Any]]] = {
    "report_chatting": [
        {"_id": f"d{n}", "document_id": "d", "data": "Text é", "labels": ["a", None], "data_embedding": VECTOR}
        for n in range(300)
    ],
    "file_pieces": [{"_id": "p", "data": b"%PDF\x00"}],
    "meta": [{"_id": 5, "f": 0.1 + 0.2, "big": 2**62, "on": True, "none": None, "when": datetime(2020, 1, 2, 3)}],
}


@pytest.fixture
def old_file(tmp_path: Path) -> Path:
    path = tmp_path / "report-chat.sqlite"
    with closing(neosqlite.Connection(str(path))) as connection:
        for name, rows in OLD.items():
            binary = [{k: neosqlite.Binary(v, 9) if type(v) is bytes else v for k, v in row.items()} for row in rows]
            connection[name].insert_many(binary)
            connection[name].create_index([("document_id", 1)])
    return path


def contents(path: Path) -> dict[str, list[dict[str, Any]]]:
    database = Database(EmbeddedBackend(path))
    found = {name: list(database[name].find()) for name in database.collection_names()}
    database.close()
    return found


def kept(path: Path) -> Path:
    return path.with_name(f"{path.name}.before-conversion")


def test_everything_is_carried_over_and_a_copy_is_kept(old_file: Path) -> None:
    size = old_file.stat().st_size
    assert contents(old_file) == OLD
    assert old_file.stat().st_size <= 1.2 * size
    with closing(neosqlite.Connection(str(kept(old_file)))) as connection:
        assert [row["data"] for row in connection["file_pieces"].find()] == [neosqlite.Binary(b"%PDF\x00", 9)]
    kept(old_file).unlink()
    assert contents(old_file) == OLD
    assert not kept(old_file).exists(), "converted once"


def test_an_interrupted_conversion_never_was(old_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def dies(connection: sqlite3.Connection, table: str) -> Iterator[Any]:
        yield ("half", "{}", None, None, None)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(sqlite_file, "_old_rows", dies)
        with pytest.raises(KeyboardInterrupt):
            contents(old_file)
    assert contents(old_file) == OLD


def test_two_processes_convert_it_once(old_file: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    with spawn.Pool(2) as pool:
        assert pool.map(contents, [old_file, old_file]) == [OLD, OLD]


def test_a_full_disk_is_noticed_before(old_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil._ntuple_diskusage(10**6, 10**6, 1000)  # type: ignore[attr-defined]
    with monkeypatch.context() as patched:
        patched.setattr(shutil, "disk_usage", lambda folder: usage)
        with pytest.raises(DatabaseError, match="Free some space there"):
            contents(old_file)
    assert not kept(old_file).exists()
    assert contents(old_file) == OLD


@pytest.mark.parametrize(
    ("written", "words"),
    [("CREATE TABLE accounts (x)", "database of another program"), ("PRAGMA user_version = 99", "A newer program")],
)
def test_a_file_of_another_program_is_left_alone(tmp_path: Path, written: str, words: str) -> None:
    path = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(written)
    with pytest.raises(DatabaseError, match=words):
        contents(path)
