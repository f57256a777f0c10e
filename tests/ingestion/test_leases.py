"""One piece of work, one process at a time."""

from __future__ import annotations

import threading
import time

import pytest

from chatbot.cancellation import Cancellation
from chatbot.errors import CancelledError, DatabaseError, StoppedError
from chatbot.ingestion import leases
from chatbot.ingestion.leases import held
from chatbot.ingestion.watch import Watch
from chatbot.repositories.changes import CorpusFacts
from chatbot.services import Services
from tests.ingestion.helpers import running


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "LEASE_SECONDS", 0.6)
    monkeypatch.setattr(leases, "POLL_SECONDS", 0.02)


def rows(services: Services) -> list[str]:
    return [row["_id"] for row in services.database["meta"].find() if str(row["_id"]).startswith("lease:")]


@pytest.mark.usefixtures("quick")
def test_work_under_one_lease_never_overlaps(services: Services) -> None:
    inside, most = [0], [0]
    lock = threading.Lock()

    def work() -> None:
        for _ in range(3):
            with held(services.facts, "x", Watch()):
                with lock:
                    inside[0] += 1
                    most[0] = max(most[0], inside[0])
                time.sleep(0.01)
                with lock:
                    inside[0] -= 1

    with running(work, work, work) as errors:
        pass
    assert (errors, most[0], rows(services)) == ([], 1, [])


def test_another_lease_does_not_wait(services: Services) -> None:
    with held(services.facts, "x", Watch()), held(services.facts, "y", Watch()):
        assert len(rows(services)) == 2
    assert rows(services) == []


def test_a_lease_is_given_back_when_the_work_fails(services: Services) -> None:
    with pytest.raises(ValueError, match="oops"), held(services.facts, "x", Watch()):
        raise ValueError("oops")
    assert rows(services) == []


@pytest.mark.usefixtures("quick")
def test_a_lease_is_kept_for_as_long_as_the_work_takes(services: Services) -> None:
    with held(services.facts, "x", Watch()) as watch:
        time.sleep(1.0)
        assert services.facts.acquire_lease("x", "somebody else", 1) is False
        watch.check()


@pytest.mark.usefixtures("quick")
def test_who_waits_is_told_so_and_goes_on_when_the_owner_is_dead(services: Services) -> None:
    services.facts.acquire_lease("x", "dead", 0.3)
    said: list[str] = []
    started = time.monotonic()
    with held(services.facts, "x", Watch(waiting=said.append)):
        assert time.monotonic() - started >= 0.15
    assert set(said) == {"Another worker has this report in hand.", ""}


@pytest.mark.usefixtures("quick")
def test_waiting_can_be_cancelled(services: Services) -> None:
    services.facts.acquire_lease("x", "another", 60)
    cancel = Cancellation()
    watch = Watch(cancel=cancel, waiting=lambda reason: cancel.cancel())
    with pytest.raises(CancelledError), held(services.facts, "x", watch):
        pytest.fail("it is another's")
    assert services.facts.acquire_lease("x", "another", 60) is True, "it is still the other's"


@pytest.mark.usefixtures("quick")
def test_work_whose_lease_went_to_another_is_stopped_not_taken_back(services: Services) -> None:
    """This process slept, a laptop's lid was closed: what it began is in another's hands now."""
    with held(services.facts, "x", Watch()) as watch:
        taken = {"owner": "another", "until": time.time() + 60}
        services.database["meta"].update_one({"_id": "lease:x"}, {"$set": taken})
        deadline = time.monotonic() + 5
        while not watch.cancel.cancelled:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        with pytest.raises(StoppedError):
            watch.check()
    assert services.facts.acquire_lease("x", "another", 60) is True, "it was not given back in the other's name"


class FailingOnce(CorpusFacts):
    failures = 0

    def acquire_lease(self, name: str, owner: str, seconds: float) -> bool:
        if self.failures:
            self.failures -= 1
            raise DatabaseError("Gone.", retry_after=1)
        return super().acquire_lease(name, owner, seconds)


@pytest.mark.usefixtures("quick")
def test_a_database_that_is_gone_for_a_moment_does_not_lose_the_lease(services: Services) -> None:
    facts = FailingOnce(services.database)
    with held(facts, "x", Watch()) as watch:
        facts.failures = 1
        time.sleep(0.7)
        assert facts.failures == 0
        watch.check()
        assert services.facts.acquire_lease("x", "somebody else", 1) is False
