"""The one table of failures: every row is complete, and no code means two things."""

import sqlite3
from collections import Counter

import pytest

from chatbot.database.embedded import explain
from chatbot.database.failures import read_rows
from chatbot.domain.errors import DiskFullError, read_table

TABLE = read_table("chatbot.database", "failures")
BACKENDS = [name for name in TABLE if name != "kind"]
ROWS = [
    pytest.param(backend, name, id=f"{backend} {name}")
    for backend in BACKENDS
    for name in read_rows(backend)
]


@pytest.mark.parametrize(("backend", "name"), ROWS)
def test_a_failure_known_by_a_code_has_a_kind_that_says_when_to_try_again(
    backend: str, name: str
) -> None:
    row = read_rows(backend)[name]
    assert row.message
    if not row.codes and row.words is None:
        return
    local = {"building", "no_database", "table_missing", "extension_missing"}
    assert row.kind in TABLE["kind"] or row.name in local
    assert row.remedy


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_code_means_one_thing(backend: str) -> None:
    counts = Counter(code for row in read_rows(backend).values() for code in row.codes)
    assert [code for code, count in counts.items() if count > 1] == []


def failed(code: int, text: str = "no") -> sqlite3.OperationalError:
    error = sqlite3.OperationalError(text)
    error.sqlite_errorcode = code
    return error


READONLY_DBMOVED, IOERR_WRITE, BUSY_SNAPSHOT, UNIQUE = 1032, 778, 517, 2067


@pytest.mark.parametrize(
    ("code", "reason", "retry_after"),
    [
        (sqlite3.SQLITE_FULL, "full", 60),
        (sqlite3.SQLITE_BUSY, "conflict", 2),
        (BUSY_SNAPSHOT, "conflict", 2),
        (sqlite3.SQLITE_READONLY, "read_only", 30),
        (READONLY_DBMOVED, "read_only", 30),
        (IOERR_WRITE, "away", 5),
        (UNIQUE, "duplicate", None),
        (sqlite3.SQLITE_CORRUPT, "broken", None),
    ],
)
def test_each_result_code_of_the_file_has_a_kind(
    code: int, reason: str, retry_after: int | None
) -> None:
    found = explain(failed(code), "report-chat.sqlite")
    assert (found.reason, found.retry_after) == (reason, retry_after)
    assert found.remedy
    assert isinstance(found, DiskFullError) == (reason == "full")


def test_a_message_with_the_word_full_is_no_full_disk() -> None:
    found = explain(failed(sqlite3.SQLITE_ERROR, "no such column: fullname"), "x")
    assert found.reason == "refused"
