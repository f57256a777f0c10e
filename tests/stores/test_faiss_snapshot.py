"""A snapshot saves reading the passages again, and never shows anything that the database does not hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from chatbot.database import open_database
from chatbot.database.core import Database
from chatbot.repositories.corpus import CorpusChanges
from chatbot.schema import Chunk, Match, Scope, Values
from chatbot.settings import Settings
from chatbot.stores.faiss import store as faiss_store
from chatbot.stores.faiss.store import FaissStore, build
from tests.fakes.vectors import vectors

DIMENSIONS = 8
ROWS = 300


@pytest.fixture(autouse=True)
def small_snapshots(monkeypatch: pytest.MonkeyPatch) -> None:
    """A constant, not behaviour: a test has hundreds of rows where a deployment has thousands."""
    monkeypatch.setattr(faiss_store, "SNAPSHOT_ROWS", 50)


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return open_database(Settings(data_dir=tmp_path))


def open_store(tmp_path: Path, database: Database, *, dimensions: int = DIMENSIONS) -> FaissStore:
    changes = CorpusChanges(database)
    return build(settings=Settings(data_dir=tmp_path), database=database, changes=changes, dimensions=dimensions)


def fill(store: FaissStore, rows: int = ROWS) -> None:
    chunks = [
        Chunk(
            id=f"d{row // 10:03d}-v-{row % 10:05d}",
            document_id=f"d{row // 10:03d}",
            document_name="n",
            title="t",
            text=f"word{row} shared",
            metadata={"country_name": f"C{row % 3}", "year": 2000 + row % 5},
        )
        for row in range(rows)
    ]
    store.upsert(chunks, vectors(rows))


def saved(tmp_path: Path, database: Database) -> Path:
    """A filled store that has written its snapshot and is closed."""
    store = open_store(tmp_path, database)
    fill(store)
    store.count(Scope())
    store.close()
    return tmp_path / "index.npz"


def answers(store: FaissStore) -> list[list[Match]]:
    scope = Scope.of({"country_name": Values(("C1",)), "year": Values((2001, 2003))})
    question = vectors(1, seed=9)[0]
    return [
        store.vector_search(question, top_k=20, scope=Scope()),
        store.vector_search(question, top_k=20, scope=scope),
        store.keyword_search("word7 shared", top_k=20, scope=Scope()),
        store.keyword_search("shared", top_k=20, scope=scope),
        store.vector_search(question, top_k=20, scope=scope.within(["chatbot_data"])),
        store.vector_search(question, top_k=20, scope=scope.within(["report_chatting"])),
    ]


def test_answers_from_a_snapshot_are_those_of_the_database(tmp_path: Path, database: Database) -> None:
    path = saved(tmp_path, database)
    from_snapshot = answers(open_store(tmp_path, database))
    path.unlink()

    assert from_snapshot == answers(open_store(tmp_path, database))
    assert from_snapshot[1] == from_snapshot[-2]
    assert from_snapshot[1]
    assert from_snapshot[-1] == []


def test_a_snapshot_is_really_used(tmp_path: Path, database: Database) -> None:
    """Rows taken away behind the change log's back are still found: nobody read the collection again."""
    saved(tmp_path, database)
    database["chatbot_data"].delete_many({"document_id": "d000"})

    assert open_store(tmp_path, database).count(Scope()) == ROWS


def test_what_changed_since_the_snapshot_is_seen(tmp_path: Path, database: Database) -> None:
    saved(tmp_path, database)
    writer = open_store(tmp_path / "other", database)
    writer.delete_document("d000")
    writer.upsert([Chunk("new-v-00000", "new", "n", "t", "novelty")], vectors(1, seed=3))
    reader = open_store(tmp_path, database)

    assert reader.count(Scope()) == ROWS - 10 + 1
    assert [match.chunk_id for match in reader.keyword_search("novelty", top_k=5, scope=Scope())] == ["new-v-00000"]
    assert reader.keyword_search("word7", top_k=5, scope=Scope()) == []


def test_a_snapshot_of_another_corpus_is_ignored(tmp_path: Path, database: Database) -> None:
    path = saved(tmp_path, database)
    other = tmp_path / "other"
    other_database = open_database(Settings(data_dir=other))
    (other / "index.npz").write_bytes(path.read_bytes())

    assert open_store(other, other_database).count(Scope()) == 0


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04 not a zip", None])
def test_a_damaged_snapshot_is_as_good_as_none(
    tmp_path: Path, database: Database, damage: bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    path = saved(tmp_path, database)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2] if damage is None else damage)

    assert open_store(tmp_path, database).count(Scope()) == ROWS
    assert "snapshot" in caplog.text


def test_an_interrupted_write_leaves_the_old_snapshot(tmp_path: Path, database: Database) -> None:
    path = saved(tmp_path, database)
    (tmp_path / "index.npz.1.tmp").write_bytes(b"half")

    assert open_store(tmp_path, database).count(Scope()) == ROWS
    assert path.is_file()
