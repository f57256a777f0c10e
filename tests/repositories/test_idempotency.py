"""What was answered to requests that come again, in each database."""

from __future__ import annotations

import pytest

from chatbot.database.core import Database
from chatbot.errors import ConflictError, KeyReusedError
from chatbot.repositories import idempotency
from chatbot.repositories.idempotency import IdempotencyRepository

ANSWER = {"status": 200, "body": "{}", "headers": {"Location": "/there"}}


@pytest.fixture
def kept(database: Database) -> IdempotencyRepository:
    return IdempotencyRepository(database)


def test_the_same_request_is_done_once(kept: IdempotencyRepository) -> None:
    assert kept.begin("me", "k", "request") is None
    kept.end("me", "k", ANSWER)
    assert kept.begin("me", "k", "request") == ANSWER
    assert kept.begin("another", "k", "request") is None
    with pytest.raises(KeyReusedError):
        kept.begin("me", "k", "another request")


def test_what_failed_may_be_sent_otherwise(kept: IdempotencyRepository) -> None:
    assert kept.begin("me", "k", "request") is None
    kept.end("me", "k", None)
    assert kept.begin("me", "k", "another request") is None


def test_one_that_is_being_done_is_a_conflict_until_its_process_is_given_up(
    kept: IdempotencyRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert kept.begin("me", "k", "request") is None
    with pytest.raises(ConflictError):
        kept.begin("me", "k", "request")
    now = idempotency.time.time()
    monkeypatch.setattr(idempotency.time, "time", lambda: now + idempotency.RUNNING_SECONDS + 1)
    assert kept.begin("me", "k", "request") is None
    kept.end("me", "k", ANSWER)
    monkeypatch.setattr(idempotency.time, "time", lambda: now + idempotency.KEPT_SECONDS + 1)
    assert kept.begin("me", "k", "another request") is None


def test_of_each_owner_the_last_ones_are_kept(kept: IdempotencyRepository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idempotency, "MOST_KEPT", 2)
    for key in "abc":
        assert kept.begin("me", key, "request") is None
        kept.end("me", key, ANSWER)
    assert kept.begin("me", "c", "request") == ANSWER
    assert kept.begin("me", "a", "request") is None
