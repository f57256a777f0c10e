"""The schema version and its steps."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from chatbot.app.factory import create_app
from chatbot.app.schema import migrate, newest, require_known, set_version
from chatbot.app.services import Services, build
from chatbot.config.settings import Settings
from chatbot.database.core import Database
from chatbot.database.embedded import EmbeddedDatabase
from chatbot.database.repositories.corpus import CorpusFacts
from chatbot.domain.errors import DatabaseError, SettingsError


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = EmbeddedDatabase(tmp_path / "a.sqlite")
    yield opened
    opened.close()


def test_each_step_runs_once_and_in_order(database: Database) -> None:
    ran: list[int] = []
    steps = (lambda _: ran.append(2), lambda _: ran.append(3))
    assert migrate(database, steps) == [2, 3]
    assert migrate(database, steps) == []
    assert ran == [2, 3]
    assert require_known(database) == 3


def test_a_step_that_failed_runs_again(database: Database) -> None:
    outcomes = iter([DatabaseError("down"), None])

    def step(_: Database) -> None:
        if error := next(outcomes):
            raise error

    with pytest.raises(DatabaseError, match="down"):
        migrate(database, [step])
    assert require_known(database) == 1
    assert migrate(database, [step]) == [2]


def test_one_process_at_a_time(database: Database) -> None:
    facts = CorpusFacts(database)
    assert facts.acquire_lease("migration", "another", 60)

    def finish() -> None:
        set_version(database, newest())
        facts.release_lease("migration", "another")

    ending = threading.Timer(0.3, finish)
    ending.start()
    assert migrate(database) == []
    assert not ending.is_alive(), "it waited for the other one"
    ending.join()


def test_the_stored_embedder_gets_its_slot(database: Database) -> None:
    database["meta"].insert_one(
        {
            "_id": "embedder",
            "provider": "hashing",
            "model": "8",
            "model_id": "hashing:8",
            "dimensions": 8,
        }
    )
    migrate(database)
    stored = database["meta"].find_one({"_id": "embedder"})
    assert stored is not None
    assert stored["slot"] == ""


def test_rows_of_removed_features_are_deleted(database: Database) -> None:
    database["batches"].insert_one({"_id": "b", "owner": "anna", "taken_at": 0.0})
    database["batch_items"].insert_one(
        {"_id": "b-1", "batch_id": "b", "request": "What is private?"}
    )
    job = {"_id": "j", "created_at": "2026", "owner": ""}
    database["ingestions"].insert_one(
        {**job, "callback_url": "https://x", "call_at": 0.0, "calls": 1, "call": "c"}
    )
    migrate(database)
    assert (database["batches"].count({}), database["batch_items"].count({})) == (0, 0)
    assert database["ingestions"].find_one({"_id": "j"}) == job


def test_the_start_brings_the_schema_up_to_date(services: Services) -> None:
    services.prepare()
    assert require_known(services.storage.database) == newest()


def test_a_newer_database_stops_the_start(settings: Settings) -> None:
    with build(settings) as services:
        set_version(services.storage.database, newest() + 1)
    with pytest.raises(
        SettingsError,
        match=rf"schema version {newest() + 1}, this program knows .* {newest()}",
    ):
        create_app(settings)
