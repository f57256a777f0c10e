"""What was answered to requests that come again, in each database."""

from __future__ import annotations

import pytest

from chatbot.database.core import Database
from chatbot.errors import ConflictError, KeyReusedError
from chatbot.repositories import once
from chatbot.repositories.once import OnceRepository

ANSWER = {"status": 200, "body": "{}", "headers": {"Location": "/there"}}


@pytest.fixture
def kept(database: Database) -> OnceRepository:
    return OnceRepository(database)


def test_the_same_request_is_done_once(kept: OnceRepository) -> None:
    assert kept.begin("me", "k", "request") is None
    kept.end("me", "k", ANSWER)
    assert kept.begin("me", "k", "request") == ANSWER
    assert kept.begin("another", "k", "request") is None
    with pytest.raises(KeyReusedError):
        kept.begin("me", "k", "another request")


def test_what_failed_may_be_sent_otherwise(kept: OnceRepository) -> None:
    assert kept.begin("me", "k", "request") is None
    kept.end("me", "k", None)
    assert kept.begin("me", "k", "another request") is None


def test_one_that_is_being_done_is_a_conflict_until_its_process_is_given_up(
    kept: OnceRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert kept.begin("me", "k", "request") is None
    with pytest.raises(ConflictError):
        kept.begin("me", "k", "request")
    now = once.time.time()
    monkeypatch.setattr(once.time, "time", lambda: now + once.RUNNING_SECONDS + 1)
    assert kept.begin("me", "k", "request") is None
    kept.end("me", "k", ANSWER)
    monkeypatch.setattr(once.time, "time", lambda: now + once.KEPT_SECONDS + 1)
    assert kept.begin("me", "k", "another request") is None


def test_of_each_owner_the_last_ones_are_kept(kept: OnceRepository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(once, "MOST_KEPT", 2)
    for key in "abc":
        assert kept.begin("me", key, "request") is None
        kept.end("me", key, ANSWER)
    assert kept.begin("me", "c", "request") == ANSWER
    assert kept.begin("me", "a", "request") is None
