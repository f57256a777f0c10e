"""Waiting for a dependency that says "not now", and being interrupted meanwhile (R-B3)."""

from __future__ import annotations

import threading
import time

import pytest

from chatbot.errors import CancelledError, DependencyError, EmbeddingError, LoadError, StoppedError
from chatbot.ingestion import watch as watching
from chatbot.ingestion.watch import IMPATIENT, Patience, Watch


class Work:
    """Fails some times, then succeeds."""

    def __init__(self, failures: int, error: Exception) -> None:
        self.calls = 0
        self._failures = failures
        self._error = error

    def __call__(self) -> str:
        self.calls += 1
        if self.calls <= self._failures:
            raise self._error
        return "done"


@pytest.fixture
def sleeps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    found: list[float] = []
    monkeypatch.setattr(watching, "_sleep", lambda seconds, watch: found.append(seconds))
    return found


def test_back_off_doubles_with_jitter_up_to_a_bound(sleeps: list[float]) -> None:
    work = Work(7, EmbeddingError("Busy.", retry_after=0))
    assert Patience().run(work, Watch()) == "done"
    longest = [2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]
    assert all(most / 2 <= seconds <= most for seconds, most in zip(sleeps, longest, strict=True))
    again: list[float] = []
    for _ in range(5):
        sleeps.clear()
        Patience().run(Work(1, EmbeddingError("Busy.", retry_after=0)), Watch())
        again += sleeps
    assert len(set(again)) > 1, "without jitter all workers come back at once"


def test_what_the_service_asks_for_is_waited(sleeps: list[float]) -> None:
    said: list[str] = []
    Patience().run(Work(1, EmbeddingError("Busy.", retry_after=45)), Watch(waiting=said.append))
    assert sleeps == [45.0]
    assert said == ["Busy. Trying again in 45 s."]


@pytest.mark.parametrize(
    ("patience", "error", "calls"),
    [
        (Patience(tries=3), EmbeddingError("Busy.", retry_after=1), 3),
        (Patience(), EmbeddingError("The key is wrong."), 1),
        (Patience(), LoadError("Damaged."), 1),
        (IMPATIENT, EmbeddingError("Busy.", retry_after=1), 1),
    ],
    ids=["out of patience", "no use", "another error", "impatient"],
)
def test_what_is_raised_and_when(sleeps: list[float], patience: Patience, error: Exception, calls: int) -> None:
    work = Work(100, error)
    with pytest.raises(type(error)) as raised:
        patience.run(work, Watch())
    assert raised.value is error
    assert (work.calls, len(sleeps)) == (calls, calls - 1)


@pytest.mark.parametrize(("stopping", "expected"), [(False, CancelledError), (True, StoppedError)])
def test_a_cancellation_wakes_who_waits(stopping: bool, expected: type[CancelledError]) -> None:
    work = Work(100, DependencyError("Busy.", retry_after=60))
    watch = Watch(stopping=lambda: stopping)
    threading.Timer(0.1, watch.cancel.cancel).start()
    started = time.monotonic()
    with pytest.raises(CancelledError) as raised:
        Patience().run(work, watch)
    assert type(raised.value) is expected
    assert (work.calls, time.monotonic() - started < 10) == (1, True)


def test_nothing_is_tried_after_a_cancellation() -> None:
    work, watch = Work(0, LoadError("")), Watch()
    watch.check()
    watch.cancel.cancel()
    with pytest.raises(CancelledError):
        Patience().run(work, watch)
    assert work.calls == 0
