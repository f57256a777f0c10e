"""Trying again, waiting, cancelling, and one worker at a time."""

import threading
import time

import pytest

from chatbot.app.services import Services
from chatbot.database.repositories.corpus import CorpusFacts
from chatbot.domain.cancellation import Cancellation
from chatbot.domain.errors import (
    CancelledError,
    DatabaseError,
    DependencyError,
    EmbeddingError,
    LoadError,
    StoppedError,
)
from chatbot.library import control as watching
from chatbot.library.control import NO_RETRIES, JobControl, Retries, lease


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
    monkeypatch.setattr(
        Cancellation, "wait", lambda cancel, seconds: found.append(seconds)
    )
    return found


def test_back_off_doubles_with_jitter_up_to_a_bound(sleeps: list[float]) -> None:
    work = Work(7, EmbeddingError("Busy.", retry_after=0))
    assert Retries().run(work, JobControl()) == "done"
    longest = [2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]
    assert all(
        most / 2 <= seconds <= most
        for seconds, most in zip(sleeps, longest, strict=True)
    )
    again: list[float] = []
    for _ in range(5):
        sleeps.clear()
        Retries().run(Work(1, EmbeddingError("Busy.", retry_after=0)), JobControl())
        again += sleeps
    assert len(set(again)) > 1, "without jitter all workers come back at once"


def test_what_the_service_asks_for_is_waited(sleeps: list[float]) -> None:
    said: list[str] = []
    Retries().run(
        Work(1, EmbeddingError("Busy.", retry_after=45)),
        JobControl(waiting=said.append),
    )
    assert sleeps == [45.0]
    assert said == ["Busy. Trying again in 45 s."]


@pytest.mark.parametrize(
    ("retries", "error", "calls"),
    [
        (Retries(tries=3), EmbeddingError("Busy.", retry_after=1), 3),
        (Retries(), EmbeddingError("The key is wrong."), 1),
        (Retries(), LoadError("Damaged."), 1),
        (NO_RETRIES, EmbeddingError("Busy.", retry_after=1), 1),
    ],
    ids=["no more tries", "no use", "another error", "no retries"],
)
def test_what_is_raised_and_when(
    sleeps: list[float], retries: Retries, error: Exception, calls: int
) -> None:
    work = Work(100, error)
    with pytest.raises(type(error)) as raised:
        retries.run(work, JobControl())
    assert raised.value is error
    assert (work.calls, len(sleeps)) == (calls, calls - 1)


@pytest.mark.parametrize(
    ("stopping", "expected"), [(False, CancelledError), (True, StoppedError)]
)
def test_a_cancellation_wakes_who_waits(
    stopping: bool, expected: type[CancelledError]
) -> None:
    work = Work(100, DependencyError("Busy.", retry_after=60))
    control = JobControl(stopping=lambda: stopping)
    threading.Timer(0.1, control.cancel.cancel).start()
    started = time.monotonic()
    with pytest.raises(CancelledError) as raised:
        Retries().run(work, control)
    assert type(raised.value) is expected
    assert (work.calls, time.monotonic() - started < 30) == (1, True)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "LEASE_SECONDS", 0.6)
    monkeypatch.setattr(watching, "POLL_SECONDS", 0.02)


def rows(services: Services) -> list[str]:
    return [
        row["_id"]
        for row in services.storage.database["meta"].find()
        if str(row["_id"]).startswith("lease:")
    ]


@pytest.mark.usefixtures("quick")
def test_who_waits_is_told_so_and_goes_on_when_the_owner_is_dead(
    services: Services,
) -> None:
    services.storage.facts.acquire_lease("x", "dead", 0.3)
    said: list[str] = []
    started = time.monotonic()
    with lease(services.storage.facts, "x", JobControl(waiting=said.append)):
        assert time.monotonic() - started >= 0.15
    assert set(said) == {"Another worker is reading this report.", ""}


@pytest.mark.usefixtures("quick")
def test_waiting_can_be_cancelled(services: Services) -> None:
    services.storage.facts.acquire_lease("x", "another", 60)
    cancel = Cancellation()
    control = JobControl(cancel=cancel, waiting=lambda reason: cancel.cancel())
    with pytest.raises(CancelledError), lease(services.storage.facts, "x", control):
        pytest.fail("it is another's")
    assert services.storage.facts.acquire_lease("x", "another", 60) is True, (
        "it is still the other's"
    )


@pytest.mark.usefixtures("quick")
def test_work_whose_lease_went_to_another_is_stopped_not_taken_back(
    services: Services,
) -> None:
    """This process slept, a laptop's lid was closed: what it began is in another's
    hands now.
    """
    with lease(services.storage.facts, "x", JobControl()) as control:
        taken = {"owner": "another", "until": time.time() + 60}
        services.storage.database["meta"].update_one(
            {"_id": "lease:x"}, {"$set": taken}
        )
        deadline = time.monotonic() + 30
        while not control.cancel.cancelled:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        with pytest.raises(StoppedError):
            control.check()
    assert services.storage.facts.acquire_lease("x", "another", 60) is True, (
        "it was given back in another's name"
    )


class FailingOnce(CorpusFacts):
    failures = 0

    def acquire_lease(self, name: str, owner: str, seconds: float) -> bool:
        if self.failures:
            self.failures -= 1
            raise DatabaseError("Gone.", retry_after=1)
        return super().acquire_lease(name, owner, seconds)


@pytest.mark.usefixtures("quick")
def test_a_database_that_is_gone_for_a_moment_does_not_lose_the_lease(
    services: Services,
) -> None:
    facts = FailingOnce(services.storage.database)
    with lease(facts, "x", JobControl()) as control:
        facts.failures = 1
        time.sleep(0.7)
        assert facts.failures == 0
        control.check()
        assert services.storage.facts.acquire_lease("x", "somebody else", 1) is False
