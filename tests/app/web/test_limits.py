"""Shares of requests and questions, of two servers over one database."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from flask import Flask

from chatbot.answering.conversation import ChatService
from chatbot.config.settings import Settings
from chatbot.database.repositories import usage as counters
from tests.app.web.conftest import error_of
from tests.app.web.live import application
from tests.app.web.test_access import key_holder


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.override(access="read", requests_per_minute=5)


@pytest.fixture
def other(app: Flask, settings: Settings) -> Iterator[Flask]:
    """A second worker."""
    with application(settings) as made:
        yield made


@pytest.fixture(autouse=True)
def _no_minute_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counters, "MINUTE", 10**9)


def test_a_share_of_requests_holds_for_all_workers(app: Flask, other: Flask) -> None:
    clients = app.test_client(), other.test_client()
    for number in range(5):
        response = clients[number % 2].get("/api/reports")
        assert response.status_code == 200
        assert (
            response.headers["RateLimit-Limit"],
            response.headers["RateLimit-Remaining"],
        ) == ("5", str(4 - number))
        assert response.headers["RateLimit-Policy"] == '"minute";q=5;w=60'
        assert (
            response.headers["RateLimit"]
            == f'"minute";r={4 - number};t={response.headers["RateLimit-Reset"]}'
        )
    for client in clients:
        refused = client.get("/api/reports")
        error_of(refused, 429, "too_many_requests")
        assert (
            refused.headers["Retry-After"] == refused.headers["RateLimit-Reset"] > "0"
        )
        assert refused.headers["RateLimit-Remaining"] == "0"
        assert {
            client.get(path, buffered=True).status_code
            for path in (
                "/",
                "/health",
                "/livez",
                "/ready",
                "/readyz",
                "/static/js/chat/chat.js",
            )
        } == {200}
    elsewhere = {"REMOTE_ADDR": "2001:db8::1"}
    assert (
        clients[0]
        .get("/api/reports", environ_base=elsewhere)
        .headers["RateLimit-Remaining"]
        == "4"
    )
    neighbour = {"REMOTE_ADDR": "2001:db8::2"}  # of the same network: the same customer
    assert (
        clients[1]
        .get("/api/reports", environ_base=neighbour)
        .headers["RateLimit-Remaining"]
        == "3"
    )


def test_a_key_has_its_own_share_and_a_wrong_one_none(app: Flask) -> None:
    for person, most in (
        (key_holder(app, "read"), 5),
        (key_holder(app, "read", requests_per_minute=7), 7),
    ):
        assert person.send("GET", "/api/reports").headers["RateLimit-Limit"] == str(
            most
        )
    client = app.test_client()
    statuses = [
        client.get(
            "/api/reports", headers={"Authorization": "Bearer guess"}
        ).status_code
        for _ in range(4)
    ]
    statuses += [
        client.post("/api/session", json={"key": "guess"}).status_code for _ in range(4)
    ]
    assert statuses == [401] * 5 + [429] * 3


def test_questions_of_one_caller_at_once(
    app: Flask, other: Flask, monkeypatch: pytest.MonkeyPatch
) -> None:
    services = app.extensions["services"]
    for one in (app, other):
        one.extensions["services"].settings = services.settings.override(
            questions_per_caller=1, requests_per_minute=0
        )
    asked, answer = threading.Event(), threading.Event()
    answer_question = ChatService.answer

    def slow(*arguments: Any, **options: Any) -> Any:
        asked.set()
        assert answer.wait(30)
        return answer_question(*arguments, **options)

    monkeypatch.setattr(ChatService, "answer", slow)
    with ThreadPoolExecutor() as pool:
        first = pool.submit(app.test_client().post, "/query", json={"query": "Kenya?"})
        assert asked.wait(30)
        error_of(
            other.test_client().post("/query", json={"query": "Mali?"}),
            429,
            "too_many_requests",
        )
        error_of(
            other.test_client().post("/api/chat", json={"query": "Mali?"}),
            429,
            "too_many_requests",
        )
        answer.set()
    assert first.result().status_code == 200
    assert (
        other.test_client().post("/query", json={"query": "Mali?"}).status_code == 200
    )
