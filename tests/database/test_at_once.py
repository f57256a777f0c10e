"""Calls at once in the pool of a MongoDB: nobody waits for a free thread of it, so any
number of readers finishes.
"""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from chatbot.database import mongo
from chatbot.database.mongo import MAX_THREADS, MongoDatabase
from chatbot.database.repositories.caches import request_cache
from chatbot.database.repositories.documents import DocumentRepository, OlderReports
from chatbot.domain.errors import DatabaseError
from tests.fakes.mongomock_search import SearchClient

READERS = 2 * MAX_THREADS
PATIENT = 30.0
"""Seconds until a test gives up on a thread."""


@pytest.fixture
def database() -> Iterator[MongoDatabase]:
    opened = MongoDatabase(SearchClient(), "at_once")
    yield opened
    opened.close()


def in_threads(count: int, work: object) -> float:
    """Run it in so many threads at once; return the seconds until all are done."""
    began = time.monotonic()
    barrier = threading.Barrier(count)

    def run() -> None:
        barrier.wait(PATIENT)
        work()  # type: ignore[operator]

    pool = ThreadPoolExecutor(count)
    running = [pool.submit(run) for _ in range(count)]
    try:
        for one in running:
            one.result(PATIENT)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    return time.monotonic() - began


def test_calls_at_once_that_call_at_once_themselves_all_end(
    database: MongoDatabase,
) -> None:
    def inner() -> int:
        time.sleep(0.01)
        return 1

    def outer() -> int:
        return sum(database.at_once([inner] * 3))

    def work() -> None:
        assert database.at_once([outer] * 3) == [3, 3, 3]

    assert in_threads(READERS, work) < PATIENT


def test_many_readers_of_the_library_at_once_all_end(database: MongoDatabase) -> None:
    """Each reads, in the pool, what itself reads several things at once."""
    older = OlderReports(database, collections=["a", "b"], filter_fields=["year"])
    documents = DocumentRepository(database, ["year"], older)

    @request_cache()
    def work() -> None:
        time.sleep(0.001)
        assert documents.all() == []

    assert in_threads(READERS, work) < PATIENT


def test_the_results_come_in_the_order_of_the_calls(database: MongoDatabase) -> None:
    def late(seconds: float) -> float:
        time.sleep(seconds)
        return seconds

    waits = (0.0, 0.06, 0.0, 0.03)
    assert database.at_once([lambda n=n: late(n) for n in waits]) == list(waits)


def test_a_call_that_never_ends_is_not_waited_for_without_limit(
    database: MongoDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mongo, "TASK_CALLS", 0.02)
    ended, begun = threading.Event(), threading.Event()

    def never() -> None:
        begun.set()
        ended.wait(PATIENT)

    with pytest.raises(DatabaseError, match="too slow"):
        database.at_once([lambda: begun.wait(PATIENT), never])
    ended.set()
