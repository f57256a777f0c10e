"""Leases between machines whose clocks differ: nobody's work is taken from it, and what
a dead process left is taken over in time.
"""

import time

import pytest

from chatbot.database.core import Database
from chatbot.database.repositories.corpus import CorpusFacts

TIME = time.time
CLOCKS = pytest.mark.parametrize("seconds", [60.0, -60.0], ids=["ahead", "behind"])


class Machine:
    """Lets what follows run on a machine whose clock differs by so many seconds."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch

    def switch(self, seconds: float) -> None:
        self._monkeypatch.setattr(time, "time", lambda: TIME() + seconds)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(monkeypatch)


@CLOCKS
def test_a_lease_holds_against_a_machine_with_another_clock(
    database: Database, machine: Machine, seconds: float
) -> None:
    machine.switch(seconds)
    assert CorpusFacts(database).acquire_lease("document:a", "other", 30)
    machine.switch(0.0)
    assert not CorpusFacts(database).acquire_lease("document:a", "mine", 30)
    machine.switch(seconds)
    assert CorpusFacts(database).acquire_lease("document:a", "other", 30), "renewed"


@CLOCKS
def test_a_dead_owner_is_followed_when_its_lease_ends(
    database: Database, machine: Machine, seconds: float
) -> None:
    machine.switch(seconds)
    assert CorpusFacts(database).acquire_lease("document:a", "dead", 0.2)
    machine.switch(0.0)
    time.sleep(0.25)
    assert CorpusFacts(database).acquire_lease("document:a", "mine", 30)


def test_of_many_that_want_a_new_lease_one_gets_it(database: Database) -> None:
    facts = CorpusFacts(database)
    owners = [f"owner {n}" for n in range(5)]
    assert [facts.acquire_lease("x", owner, 30) for owner in owners].count(True) == 1
