"""The embedded database under threads and processes: nothing lost, nothing left open,
errors in our own words.
"""

import gc
import multiprocessing
import os
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from chatbot.config.settings import Settings
from chatbot.database import open_database
from chatbot.database.core import Database, bookkeeping
from chatbot.database.embedded import EmbeddedDatabase
from chatbot.domain.errors import DatabaseError
from tests.data import cases

CASES = cases(__file__)
PROCESSES, THREADS, ROUNDS = 3, 8, 8


@pytest.fixture
def database(settings: Settings) -> Iterator[Database]:
    opened = open_database(settings)
    yield opened
    opened.close()


def write_a_lot(data_dir: str, process: int) -> None:
    """What one of several processes does: count, append, upsert its own rows and rows
    that all share.
    """
    database = open_database(Settings(data_dir=Path(data_dir)))

    def work(thread: int) -> None:
        for number in range(ROUNDS):
            name = f"{process}-{thread}-{number}"
            counter = database["counters"].find_one_and_update(
                {"_id": "all"},
                {
                    "$inc": {"count": 1},
                    "$push": {"names": {"$each": [name], "$slice": -10_000}},
                },
                upsert=True,
            )
            assert counter is not None
            database["rows"].replace_many(
                [{"_id": name, "n": number}, {"_id": f"shared-{number}", "by": name}]
            )

    with ThreadPoolExecutor(THREADS) as pool:
        for done in [pool.submit(work, thread) for thread in range(THREADS)]:
            done.result()
    database.close()


@pytest.mark.slow
@pytest.mark.nightly
def test_processes_with_threads_lose_no_write(
    settings: Settings, database: Database
) -> None:
    """Any worker can serve any request."""
    spawn = multiprocessing.get_context("spawn")
    workers = [
        spawn.Process(target=write_a_lot, args=(str(settings.data_dir), n))
        for n in range(PROCESSES)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(120)
    assert [worker.exitcode for worker in workers] == [0] * PROCESSES
    names = {
        f"{p}-{t}-{n}"
        for p in range(PROCESSES)
        for t in range(THREADS)
        for n in range(ROUNDS)
    }
    counter = database["counters"].find_one({"_id": "all"})
    assert counter is not None
    assert counter["count"] == len(names)
    assert sorted(counter["names"]) == sorted(names)
    stored = [row["_id"] for row in database["rows"].find({}, {"_id": 1})]
    assert len(stored) == len(set(stored))
    assert set(stored) == names | {f"shared-{n}" for n in range(ROUNDS)}


def test_a_write_is_seen_by_every_other_thread_at_once(database: Database) -> None:
    database["rows"].replace_many([{"_id": "a", "n": 1}])
    with ThreadPoolExecutor(1) as other:
        assert other.submit(
            lambda: database["rows"].find_one({"_id": "a"})
        ).result() == {"_id": "a", "n": 1}
        database["rows"].replace_many([{"_id": "a", "n": 2}])
        assert other.submit(
            lambda: database["rows"].find_one({"_id": "a"})
        ).result() == {"_id": "a", "n": 2}


def open_files(path: Path) -> int:
    """How often this process holds the database file open."""
    links = (Path("/proc/self/fd") / name for name in os.listdir("/proc/self/fd"))  # noqa: PTH208
    return sum(link.exists() and link.resolve() == path.resolve() for link in links)


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc")
def test_a_thread_leaves_nothing_of_its_write_to_the_next(
    database: Database, request: pytest.FixtureRequest
) -> None:
    """A cursor that ended behind the writer's lock reset what another thread was
    running (SQLITE_MISUSE).
    """
    request.addfinalizer(partial(sys.setswitchinterval, sys.getswitchinterval()))
    sys.setswitchinterval(1e-6)

    def write(number: int) -> None:
        for turn in range(1500):
            database["pieces"].replace_many(
                [{"_id": f"{turn % 20}", "data": b"x" * 1000}]
            )

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    assert database["pieces"].count({}) == 20


def test_connections_of_ended_threads_are_closed(settings: Settings) -> None:
    """SQLite keeps a closed file's descriptor for the next connection, so what must not
    happen is growth.
    """
    database = open_database(settings)
    path = settings.data_dir / "report-chat.sqlite"
    database["rows"].find_one({})
    assert open_files(path) >= 1
    for _ in range(20):
        barrier = threading.Barrier(4)
        use = lambda barrier=barrier: (database["rows"].find_one({}), barrier.wait(60))  # noqa: E731  # all open at once
        threads = [threading.Thread(target=use) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    gc.collect()
    assert open_files(path) <= 2 * 5
    database.close()
    assert open_files(path) == 0


def test_connections_are_closed_with_what_nobody_has_any_more(
    settings: Settings,
) -> None:
    """Though nobody closed it; Python 3.13 warns of a connection that is left open."""
    database = open_database(settings)
    database["rows"].insert_one({"_id": "a"})
    backend = database
    assert isinstance(backend, EmbeddedDatabase)
    opened = [backend._get_writer().connection, backend._reader()]
    del database, backend
    gc.collect()
    for connection in opened:
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            connection.execute("SELECT 1")


def test_a_locked_file_is_a_busy_database(
    settings: Settings, database: Database
) -> None:
    """Another process that writes for longer than the wait: an error that says so, and
    when to try again.
    """
    database["rows"].insert_one({"_id": "a"})
    hurried = EmbeddedDatabase(
        settings.data_dir / "report-chat.sqlite", busy_seconds=0.05
    )
    other = sqlite3.connect(
        settings.data_dir / "report-chat.sqlite", isolation_level=None
    )
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(DatabaseError) as raised:
        hurried["rows"].replace_many([{"_id": "b"}])
    assert hurried["rows"].count({}) == 1, "reading does not wait"
    other.execute("ROLLBACK")
    other.close()
    hurried.close()
    assert "locked" in raised.value.message
    assert "Another process is writing; try again." in raised.value.message
    assert raised.value.retry_after == 2
    database["rows"].replace_many([{"_id": "b"}])
    assert database["rows"].count({}) == 2


def test_notes_wait_once_for_another_process(
    settings: Settings, database: Database
) -> None:
    """While it writes, the second note of a request does not wait again; afterwards
    notes are taken at once.
    """
    path = settings.data_dir / "report-chat.sqlite"
    database["rows"].insert_one({"_id": "a"})
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        seconds = []
        for _ in range(2):
            began = time.monotonic()
            with pytest.raises(DatabaseError), bookkeeping(0.4):
                database["rows"].replace_many([{"_id": "b"}])
            seconds.append(time.monotonic() - began)
        other.execute("ROLLBACK")
    assert 0.3 < seconds[0] < 5
    assert seconds[1] < 0.3
    with bookkeeping():
        database["rows"].replace_many([{"_id": "b"}])
    assert database["rows"].count({}) == 2


def test_a_full_disk_takes_nothing_halfway(
    settings: Settings, database: Database
) -> None:
    rows, backend = database["rows"], database
    assert isinstance(backend, EmbeddedDatabase)
    rows.insert_one({"_id": "a"})
    writer = backend._get_writer().connection
    writer.execute("PRAGMA max_page_count = 20")
    with pytest.raises(DatabaseError, match=r"full.*Free some space"):
        rows.replace_many([{"_id": n, "data": "x" * 10_000} for n in range(100)])
    writer.execute("PRAGMA max_page_count = 100000")
    rows.insert_one({"_id": "b"})
    assert [row["_id"] for row in rows.find()] == ["a", "b"]


def test_a_file_that_is_no_database_is_named(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    """Its path in the log alone: the message goes to strangers, too."""
    settings.data_dir.mkdir()
    (settings.data_dir / "report-chat.sqlite").write_bytes(b"this is not SQLite" * 100)
    database = open_database(settings)
    with pytest.raises(
        DatabaseError, match=r"report-chat\.sqlite is damaged: .*Check the disk"
    ) as raised:
        database["rows"].find_one({})
    assert raised.value.retry_after is None
    assert str(settings.data_dir) not in raised.value.message
    assert str(settings.data_dir) in caplog.text
    database.close()


def test_a_damaged_page_inside_of_a_long_row_is_found(settings: Settings) -> None:
    """SQLite looks only at what begins a row, and has no checksums for the rest."""
    database = open_database(settings)
    database["rows"].insert_one({"_id": "a", "text": "tea " * 10_000})
    database.check_pages()
    database.close()
    file = settings.data_dir / "report-chat.sqlite"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = file.read_bytes()
    inside = content.rindex(b"tea " * 1_000)
    file.write_bytes(content[:inside] + b"\0" * 4 + content[inside + 4 :])
    database = open_database(settings)
    with pytest.raises(DatabaseError, match=r"a row of rows cannot be read.*backup"):
        database.check_pages()
    database.close()


def test_a_folder_that_cannot_be_made_is_named_with_the_setting(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    with pytest.raises(DatabaseError, match="Set DATA_DIR to a folder") as raised:
        open_database(Settings(data_dir=tmp_path / "file" / "data"))
    assert str(tmp_path / "file" / "data") in raised.value.message


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_a_clear_error(settings: Settings) -> None:
    settings.data_dir.mkdir(mode=0o500)
    database = open_database(settings)
    with pytest.raises(
        DatabaseError, match="Check the disk and the file's permissions"
    ):
        database["rows"].insert_one({"_id": "a"})
    database.close()


def test_a_file_that_became_read_only_does_not_answer_well(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = open_database(settings)
    # Not where it lies: whoever asks `/ready` would learn the name of a user of this
    # machine.
    assert database.ping() == "embedded database report-chat.sqlite"
    with monkeypatch.context() as patched:
        patched.setattr(
            os,
            "access",
            lambda path, mode: Path(path).suffix != ".sqlite" or mode != os.W_OK,
        )
        with pytest.raises(
            DatabaseError,
            match=r"it cannot be written.*Check the disk and the file's permissions",
        ):
            database.ping()
    assert database.ping()
    database.close()


def test_every_operation_translates_the_drivers_errors(settings: Settings) -> None:
    (settings.data_dir / "report-chat.sqlite").mkdir(parents=True)
    database = open_database(settings)
    operations: tuple[Callable[[], object], ...] = (
        lambda: list(database["rows"].find({})),
        lambda: database["rows"].insert_one({"_id": "a"}),
        lambda: database["rows"].count({}),
        database.ping,
    )
    for operation in operations:
        with pytest.raises(DatabaseError, match="unable to open database file"):
            operation()
    database.close()


def test_closing_waits_for_what_is_under_way(tmp_path: Path) -> None:
    """A connection that is closed while another thread uses it takes the process with
    it. It can be used again.
    """
    database = EmbeddedDatabase(tmp_path / "x.sqlite")
    ended = threading.Event()
    written = [0] * 4

    def write(place: int) -> None:
        while not ended.is_set():
            database[f"c{written[place] % 50}"].insert_one(
                {"_id": f"{place}-{written[place]}"}
            )
            written[place] += 1

    threads = [threading.Thread(target=write, args=(place,)) for place in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(5):
        time.sleep(0.1)
        database.close()
    ended.set()
    for thread in threads:
        thread.join()
    assert sum(database[f"c{n}"].count({}) for n in range(50)) == sum(written) > 0
    database.close()


@pytest.mark.parametrize(
    ("written", "words"), CASES["a file of another program is left alone"]
)
def test_a_file_of_another_program_is_left_alone(
    tmp_path: Path, written: str, words: str
) -> None:
    path = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(written)
    database = EmbeddedDatabase(path)
    with pytest.raises(DatabaseError, match=words):
        database.collection_names()


def test_the_pages_of_a_large_write_wait_in_memory_for_its_end(tmp_path: Path) -> None:
    path = tmp_path / "wide.sqlite"
    database = EmbeddedDatabase(path)
    with database.transaction():
        for start in range(0, 10_000, 1_000):
            numbers = range(start, start + 1_000)
            # Ids in no order: each write changes pages of the whole index.
            ids = [f"{number * 7919 % 10_000:04d}" * 60 for number in numbers]
            database["rows"].replace_many([{"_id": id} for id in ids])
        log = path.with_name(f"{path.name}-wal").stat().st_size
    database.empty_log()
    assert log < path.stat().st_size / 2
    database.close()
