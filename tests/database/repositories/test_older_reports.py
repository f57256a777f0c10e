"""Reports of other programs, which the database groups in the background."""

import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import pytest

from chatbot.database.changes import PASSAGES
from chatbot.database.core import Group, begin_request, end_request
from chatbot.database.mongo import MongoDatabase
from chatbot.database.repositories.caches import BackgroundRead
from chatbot.database.repositories.documents import OlderReports
from chatbot.domain.errors import DatabaseError
from tests.fakes.mongomock_search import SearchClient
from tests.library.helpers import until

ROWS = 90


class GatedDatabase(MongoDatabase):
    """Groupings wait until the gate is open; they are counted."""

    def __init__(self) -> None:
        super().__init__(SearchClient(), "test")
        self.gate = threading.Event()
        self.groupings = 0

    def group(
        self, raw: Any, filter: dict[str, Any], by: Sequence[str], first: Sequence[str]
    ) -> list[Group]:
        self.groupings += 1
        assert self.gate.wait(30)
        return super().group(raw, filter, by, first)


@pytest.fixture
def database() -> GatedDatabase:
    return GatedDatabase()


def reports(database: GatedDatabase) -> OlderReports:
    return OlderReports(
        database, collections=["rows"], filter_fields=["country_name", "year"]
    )


def row(number: int, name: str) -> dict[str, Any]:
    return {"_id": number, "document_name": name, "year": "2023", "data": "text"}


def test_questions_are_answered_from_the_last_look_while_another_program_inserts(
    database: GatedDatabase,
) -> None:
    database["rows"].replace_many([row(n, f"Old {n % 3}") for n in range(ROWS)])
    database.gate.set()
    older = reports(database)
    before = older.records()
    assert sorted(one.name for one in before.values()) == ["Old 0", "Old 1", "Old 2"]
    assert {one.chunks for one in before.values()} == {30}
    assert {one.metadata["year"] for one in before.values()} == {2023}
    database.gate.clear()
    database["rows"].insert_one(row(ROWS, "New"))
    until(lambda: older.records() is before and database.groupings == 2)
    for number in range(ROWS + 1, ROWS + 20):
        database["rows"].insert_one(row(number, "New"))
        assert older.records() is before
    assert database.groupings == 2
    database.gate.set()
    until(lambda: "New" in {one.name for one in older.records().values()})
    until(lambda: max(one.chunks for one in older.records().values()) == 30)
    # An unchanged state is the same object, so that no index is built again.
    assert older.records() is older.records()


def test_a_deleted_report_is_gone_at_once_although_the_look_takes_long(
    database: GatedDatabase,
) -> None:
    database["rows"].replace_many([row(1, "Kept"), row(2, "Gone")])
    database.gate.set()
    older, changes = reports(database), database.changes
    ids = {one.name: id for id, one in older.records().items()}
    database.gate.clear()
    database["rows"].delete_many({"document_name": "Gone"})
    changes.announce([ids["Gone"]], PASSAGES)
    assert {one.name for one in older.records().values()} == {"Kept"}
    changes.announce([ids["Kept"]], PASSAGES, in_place=True)
    assert {one.name for one in older.records().values()} == {"Kept"}
    database.gate.set()


def test_the_first_request_waits_a_bounded_time_and_a_start_until_the_look_ends(
    database: GatedDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chatbot.database.repositories.caches.FIRST_WAIT_SECONDS", 0.05)
    database["rows"].insert_one(row(1, "Old"))
    older = reports(database)
    begin_request()
    try:
        assert older.records() == {}
    finally:
        end_request()
    threading.Timer(0.2, database.gate.set).start()
    assert [one.name for one in older.records().values()] == ["Old"]


def test_a_read_that_takes_long_is_repeated_after_many_times_its_duration() -> None:
    began: list[float] = []

    def read() -> int:
        began.append(time.monotonic())
        time.sleep(0.05)
        return len(began)

    background = BackgroundRead(read, 0)
    assert background.latest(outdated=False) == (1, 1)
    deadline = time.monotonic() + 0.6
    while time.monotonic() < deadline:
        assert background.latest(outdated=True) == (1, 1)
        time.sleep(0.01)
    until(lambda: background.latest(outdated=False) == (2, 2))
    assert began[1] - began[0] >= 1.0


def test_a_failed_read_is_an_error_only_until_one_has_succeeded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("chatbot.database.repositories.caches.RETRY_SECONDS", 0.01)
    failing = [True]

    def read() -> int:
        if failing[0]:
            raise DatabaseError("It does not answer.")
        return 7

    background = BackgroundRead(read, 0)
    with pytest.raises(DatabaseError, match="does not answer"):
        background.latest(outdated=False)
    failing[0] = False
    time.sleep(0.02)
    until(lambda: background.latest(outdated=False)[1] == 7)
    failing[0] = True
    for _ in range(3):
        assert background.latest(outdated=True)[1] == 7
        time.sleep(0.02)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_bug_in_a_read_is_an_error_and_the_next_read_is_made() -> None:
    results: list[int] = []

    def read() -> int:
        results.append(len(results))
        return 10 // results[-1]  # the first one fails

    background = BackgroundRead(read, 0)

    def is_read() -> bool:
        with suppress(DatabaseError):
            return background.latest(outdated=True)[1] == 10
        return False

    with pytest.raises(DatabaseError):
        background.latest(outdated=True)
    until(is_read)
