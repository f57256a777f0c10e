"""The facts every process must agree on, and calibrations."""

from dataclasses import replace

import pytest

from chatbot.app.services import Services
from chatbot.database.core import Database
from chatbot.database.repositories.corpus import (
    ABANDONED_SECONDS,
    CorpusFacts,
    StoredEmbedder,
)
from chatbot.domain.documents import Calibration, ErrorRates


@pytest.fixture
def facts(services: Services) -> CorpusFacts:
    return services.storage.facts


def test_the_first_write_decides_the_embedder(facts: CorpusFacts) -> None:
    """R-A5: the database remembers its embedder."""
    assert facts.embedder() is None
    first = StoredEmbedder("minilm", "m", "minilm:m", 384)
    facts.remember_embedder(first)
    facts.remember_embedder(StoredEmbedder("openai", "x", "openai:x", 1536))
    assert facts.embedder() == first


def test_a_lease_of_before_the_clock_was_set_back_is_not_waited_for(
    services: Services, facts: CorpusFacts
) -> None:
    facts.acquire_lease("work", "dead", 60)
    later = services.storage.database.now() + 3600
    services.storage.database["meta"].update_one(
        {"_id": "lease:work"}, {"$set": {"until": later}}
    )
    assert facts.acquire_lease("work", "b", 60) is True
    assert facts.acquire_lease("work", "c", 60) is False


def test_only_the_owner_gives_a_lease_back(facts: CorpusFacts) -> None:
    facts.acquire_lease("work", "a", 60)
    facts.release_lease("work", "b")
    assert facts.acquire_lease("work", "b", 60) is False
    facts.release_lease("work", "a")
    assert facts.acquire_lease("work", "b", 60) is True


def test_a_lease_that_ended_frees_no_other_one(facts: CorpusFacts) -> None:
    """A killed process leaves one behind: with it every lease of the embedded database
    was free for all.
    """
    assert facts.acquire_lease("left behind", "dead", -1) is True
    assert facts.acquire_lease("y", "me", 60) is True
    assert facts.acquire_lease("x", "another", 60) is True
    assert facts.acquire_lease("x", "me", 60) is False
    assert facts.acquire_lease("x", "third", 60) is False
    assert facts.acquire_lease("left behind", "third", 60) is True


def test_leases_of_dead_processes_are_forgotten(
    services: Services, facts: CorpusFacts
) -> None:
    facts.acquire_lease("long dead", "dead", -2 * ABANDONED_SECONDS)
    facts.acquire_lease("just dead", "dead", -1)
    facts.acquire_lease("alive", "another", 60)
    facts.acquire_lease("mine", "me", 60)
    facts.release_lease("mine", "me")
    services.retention.purge_expired()
    left = [
        row["_id"]
        for row in services.storage.database["meta"].find()
        if row["_id"].startswith("lease:")
    ]
    assert sorted(left) == ["lease:alive", "lease:just dead"]


FOUND = Calibration(
    "openai:some/model.v1",
    0.6,
    0.7,
    "measured",
    "mine",
    "2026-01-02",
    {"answerable": 30},
    (ErrorRates(0.5, 0.0, 1.0, 0.0, 0.9), ErrorRates(0.6, 0.1, 0.2, 0.3, 0.4)),
)


def test_a_calibration_comes_back_from_another_worker_and_the_latest_counts(
    database: Database,
) -> None:
    CorpusFacts(database).put_calibration(FOUND)
    assert CorpusFacts(database).calibration(FOUND.model_id) == FOUND
    facts = CorpusFacts(database)
    facts.put_calibration(FOUND)
    facts.put_calibration(replace(FOUND, floor=0.65, errors=()))
    found = facts.calibration(FOUND.model_id)
    assert found is not None
    assert (found.floor, found.errors) == (0.65, ())
    assert facts.calibration("openai:some/model") is None
