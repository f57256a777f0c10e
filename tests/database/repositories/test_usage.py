"""Shares that all workers count together, on every kind of database."""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from chatbot.database.core import Database
from chatbot.database.repositories.usage import Counters
from chatbot.domain.errors import TooManyRequestsError


def test_requests_of_a_minute_are_counted_whoever_counts(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1_000_000_000 // 60 * 60 + 15.0
    monkeypatch.setattr(time, "time", lambda: now)
    one, other = Counters(database), Counters(database)
    with ThreadPoolExecutor(8) as pool:
        counts = list(
            pool.map(lambda n: (one, other)[n % 2].request("key:a"), range(40))
        )
    assert sorted(count for count, _ in counts) == list(range(1, 41))
    assert {reset for _, reset in counts} == {45}
    assert one.request("key:b") == (1, 45)
    now += 45
    assert other.request("key:a") == (1, 60)
    now += 600
    assert one.prune() == 3


def test_questions_at_once(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = Counters(database), Counters(database)
    with ExitStack() as open_ones:
        for counters in (one, other):
            open_ones.enter_context(counters.question("a", most=2, seconds=60))
        for _ in range(2):
            with (
                pytest.raises(TooManyRequestsError),
                one.question("a", most=2, seconds=60),
            ):
                pass
        with other.question("b", most=2, seconds=60):
            pass
    with one.question("a", most=1, seconds=60):
        later = time.time() + 61  # its process died: its place is free again
        monkeypatch.setattr(time, "time", lambda: later)
        with other.question("a", most=1, seconds=60):
            pass
