"""A snapshot saves reading the passages again, and never shows anything that the
database does not hold.
"""

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from chatbot.config.settings import Settings
from chatbot.database import changes, open_database
from chatbot.database.core import Database
from chatbot.domain import Chunk, Match, Scope
from chatbot.domain.documents import Matrix
from chatbot.domain.scope import Values
from chatbot.stores import faiss as faiss_store
from chatbot.stores.faiss import FaissStore, build, index
from chatbot.stores.faiss.index import Segment
from chatbot.stores.faiss.rows import Rows, read_rows
from chatbot.stores.faiss.snapshot import (
    CURRENT,
    STRAY_SECONDS,
    Snapshot,
    write_snapshot,
)
from chatbot.stores.faiss.vectors import Clusters
from tests.fakes.vectors import vectors
from tests.rows import outside

DIMENSIONS = 8
ROWS = 300


@pytest.fixture(autouse=True)
def small_snapshots(monkeypatch: pytest.MonkeyPatch) -> None:
    """A constant, not behaviour: a test has hundreds of rows where a deployment has
    thousands.
    """
    monkeypatch.setattr(faiss_store, "SNAPSHOT_ROWS", 50)


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return open_database(Settings(data_dir=tmp_path))


def open_store(
    tmp_path: Path, database: Database, *, dimensions: int = DIMENSIONS
) -> FaissStore:
    changes = database.changes
    return build(
        settings=Settings(data_dir=tmp_path),
        database=database,
        changes=changes,
        dimensions=dimensions,
    )


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
    return tmp_path / "index"


def add_report(store: FaissStore) -> None:
    """So many passages that a snapshot is written."""
    store.upsert(
        [Chunk(f"new-v-{n:05d}", "new", "n", "t", "novelty") for n in range(60)],
        vectors(60, seed=3),
    )
    store.count(Scope())
    store.close()


def answers(store: FaissStore) -> list[list[Match]]:
    scope = Scope.of({"country_name": Values(("C1",)), "year": Values((2001, 2003))})
    question = vectors(1, seed=9)[0]
    return [
        store.vector_search(question, top_k=20, scope=Scope()),
        store.vector_search(question, top_k=20, scope=scope),
        store.keyword_search("word7 shared", top_k=20, scope=Scope()),
        store.keyword_search("shared", top_k=20, scope=scope),
        store.vector_search(question, top_k=20, scope=scope.within(["chatbot_data"])),
        store.vector_search(
            question, top_k=20, scope=scope.within(["report_chatting"])
        ),
    ]


class Reads:
    """What was read from the database: None for everything, else the ids of
    passages.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.made: list[set[str] | None] = []

        def noted(
            store: FaissStore, term_ids: Any, queries: Sequence[Any] = ({},)
        ) -> Rows | None:
            named = [query["_id"]["$in"] for query in queries if query]
            self.made.append(set(chain(*named)) if named or not queries else None)
            return read_rows(store, term_ids, queries)

        monkeypatch.setattr(faiss_store, "read_rows", noted)


def test_answers_from_a_snapshot_are_those_of_the_database(
    tmp_path: Path, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = saved(tmp_path, database)
    reads = Reads(monkeypatch)
    from_snapshot = answers(open_store(tmp_path, database))
    assert reads.made == []
    shutil.rmtree(path)

    assert from_snapshot == answers(open_store(tmp_path, database))
    assert reads.made == [None]
    assert from_snapshot[1] == from_snapshot[-2]
    assert from_snapshot[1]
    assert from_snapshot[-1] == []


def test_what_changed_since_the_snapshot_is_seen(
    tmp_path: Path, database: Database
) -> None:
    saved(tmp_path, database)
    writer = open_store(tmp_path / "other", database)
    writer.delete_document("d000")
    writer.upsert(
        [Chunk("new-v-00000", "new", "n", "t", "novelty")], vectors(1, seed=3)
    )
    reader = open_store(tmp_path, database)

    assert reader.count(Scope()) == ROWS - 10 + 1
    assert [
        match.chunk_id
        for match in reader.keyword_search("novelty", top_k=5, scope=Scope())
    ] == ["new-v-00000"]
    assert reader.keyword_search("word7", top_k=5, scope=Scope()) == []


def test_a_snapshot_of_another_corpus_is_ignored(
    tmp_path: Path, database: Database
) -> None:
    path = saved(tmp_path, database)
    other = tmp_path / "other"
    other_database = open_database(Settings(data_dir=other))
    other_database["meta"].insert_one({"_id": "something"})
    shutil.copytree(path, other / "index")

    assert open_store(other, other_database).count(Scope()) == 0


@pytest.mark.sampled(3)
@pytest.mark.parametrize("damage", [b"", b"not a header\n", None])
@pytest.mark.parametrize("of", ["current", "header.json", "vectors.npy"])
def test_a_damaged_snapshot_is_as_good_as_none_and_is_made_again(
    tmp_path: Path,
    database: Database,
    damage: bytes | None,
    of: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    folder = saved(tmp_path, database)
    path = folder / CURRENT if of == "current" else next(folder.glob(f"*/{of}"))
    path.write_bytes(
        path.read_bytes()[: path.stat().st_size // 2] if damage is None else damage
    )
    store = open_store(tmp_path, database)

    assert store.count(Scope()) == ROWS
    assert "snapshot" in caplog.text
    store.close()
    caplog.clear()
    assert open_store(tmp_path, database).count(Scope()) == ROWS
    assert not caplog.text


def test_a_change_writes_only_what_is_new(tmp_path: Path, database: Database) -> None:
    folder = saved(tmp_path, database)
    before = {
        path.name: path.stat().st_mtime_ns
        for path in folder.iterdir()
        if path.name != CURRENT
    }
    store = open_store(tmp_path, database)
    store.delete_document("d001")
    add_report(store)
    after = {
        path.name: path.stat().st_mtime_ns
        for path in folder.iterdir()
        if path.name != CURRENT
    }
    reader = open_store(tmp_path, database)

    assert before.items() <= after.items()
    assert len(after) == len(before) + 1
    assert reader.count(Scope()) == ROWS - 10 + 60
    assert reader.keyword_search("word17", top_k=5, scope=Scope()) == []


def test_files_that_nothing_names_are_deleted_when_they_are_old(
    tmp_path: Path, database: Database
) -> None:
    folder = saved(tmp_path, database)
    for name, age in (("old", STRAY_SECONDS + 60), ("young", 60)):
        (folder / name).write_bytes(b"half of a snapshot")  # of an interrupted write
        os.utime(folder / name, (time.time() - age,) * 2)
    add_report(open_store(tmp_path, database))

    assert not (folder / "old").exists()
    assert (folder / "young").exists()


def test_a_reader_far_behind_reads_only_what_differs(
    tmp_path: Path, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "MAX_CLOSED_ENTRIES", 2)
    reader = open_store(tmp_path, database)
    fill(reader)
    assert reader.count(Scope()) == ROWS
    writer = open_store(tmp_path / "other", database)
    for number in range(3):
        writer.upsert(
            [Chunk(f"new{number}-v-00000", f"new{number}", "n", "t", "novelty")],
            vectors(1, seed=number),
        )
    writer.delete_document("d004")
    reads = Reads(monkeypatch)

    assert reader.count(Scope()) == ROWS + 3 - 10
    writer.upsert(
        [Chunk("new0-v-00001", "new0", "n", "t", "novelty")], vectors(1, seed=4)
    )
    assert len(reader.keyword_search("novelty", top_k=5, scope=Scope())) == 4
    assert reads.made == [
        {f"new{number}-v-00000" for number in range(3)},
        {"new0-v-00001"},
    ]


def test_a_reader_far_behind_takes_a_newer_snapshot(
    tmp_path: Path, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "MAX_CLOSED_ENTRIES", 2)
    reader = open_store(tmp_path, database)
    assert reader.count(Scope()) == 0
    writer = open_store(tmp_path, database)
    for number in range(4):
        writer.upsert(
            [
                Chunk(f"d{number}-v-{n:05d}", f"d{number}", "n", "t", "x")
                for n in range(60)
            ],
            vectors(60),
        )
        writer.count(Scope())
        writer.close()
    reads = Reads(monkeypatch)

    assert reader.count(Scope()) == 240
    assert reads.made == []


WINDOWS = pytest.mark.skipif(
    sys.platform == "win32", reason="one process serves on Windows"
)


@WINDOWS
def test_one_of_several_processes_that_begin_at_once_builds_the_index(
    tmp_path: Path, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(open_store(tmp_path, database))
    begun, go_on = threading.Event(), threading.Event()

    def slow(folder: Path, key: Sequence[Any], made: Snapshot) -> tuple[Segment, ...]:
        begun.set()
        assert go_on.wait(30)
        return write_snapshot(folder, key, made)

    monkeypatch.setattr(faiss_store, "write_snapshot", slow)
    reads = Reads(monkeypatch)
    first, second = open_store(tmp_path, database), open_store(tmp_path, database)
    wanted = answers(
        first
    )  # nobody waits for the snapshot in the process that makes it
    assert begun.wait(30)
    with ThreadPoolExecutor() as pool:
        found = pool.submit(answers, second)
        assert wait([found], timeout=0.5).not_done
        go_on.set()
        assert found.result(30) == wanted
    assert reads.made == [None]
    first.close()


@pytest.mark.slow
@WINDOWS
def test_one_that_dies_while_it_builds_keeps_nobody_waiting(
    tmp_path: Path, database: Database
) -> None:
    fill(open_store(tmp_path, database))
    builds = (
        "import pathlib, sys, time; from chatbot.stores.faiss.snapshot import "
        "one_builder\n"
    )
    builds += (
        "with one_builder(pathlib.Path(sys.argv[1])): print('begun', flush=True); "
        "time.sleep(60)"
    )
    command = [sys.executable, "-c", builds, str(tmp_path / "index")]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other,
        ThreadPoolExecutor() as pool,
    ):
        assert other.stdout is not None
        assert other.stdout.readline() == "begun\n"
        found = pool.submit(open_store(tmp_path, database).count, Scope())
        assert wait([found], timeout=0.5).not_done
        other.kill()
        assert found.result(30) == ROWS


def test_after_a_change_of_everything_all_is_read(
    tmp_path: Path, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved(tmp_path, database)
    reader = open_store(tmp_path, database)
    reader.count(Scope())
    outside(database, "chatbot_data").update_each(
        [("d000-v-00000", {"$set": {"data": "mended"}})]
    )
    database.changes.announce(None, "passages", in_place=True)
    reads = Reads(monkeypatch)

    assert len(reader.keyword_search("mended", top_k=5, scope=Scope())) == 1
    reader.close()
    assert (
        len(
            open_store(tmp_path, database).keyword_search(
                "mended", top_k=5, scope=Scope()
            )
        )
        == 1
    )
    assert reads.made == [None]


def test_clusters_are_made_beside_the_searches(
    tmp_path: Path, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until they are there the search is exact; what is deleted meanwhile stays
    deleted; the snapshot has them.
    """
    monkeypatch.setattr(index, "APPROXIMATE_ROWS", 100)
    begun, go_on = threading.Event(), threading.Event()
    build_clusters = Clusters.build

    def slow(rows: Matrix) -> Clusters | None:
        begun.set()
        assert go_on.wait(30)
        return build_clusters(rows)

    monkeypatch.setattr(Clusters, "build", slow)
    store = open_store(tmp_path, database)
    fill(store)
    question = vectors(1, seed=9)[0]
    exact = store.vector_search(question, top_k=5, scope=Scope())
    assert begun.wait(30)
    assert store.vector_search(question, top_k=5, scope=Scope()) == exact
    store.delete_document(exact[0].chunk_id[:4])
    left = store.vector_search(question, top_k=5, scope=Scope())
    go_on.set()
    store.close()

    assert exact[0] not in left
    assert store.count(Scope()) == ROWS - 10
    assert exact[0] not in store.vector_search(question, top_k=5, scope=Scope())
    assert list((tmp_path / "index").glob("*/clusters.npy"))
