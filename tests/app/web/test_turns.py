"""Callers with a key go before those without."""

import socket
import threading
import time
from collections.abc import Iterator

import pytest
from flask import Flask

from chatbot.app.web import turns as turns_module
from chatbot.app.web.turns import QUESTION, Turns
from chatbot.config.settings import Settings
from chatbot.domain.errors import TooManyRequestsError
from chatbot.domain.turns import current_turn, give_way


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.override(host="0.0.0.0", access="read")


@pytest.fixture
def turns(app: Flask, monkeypatch: pytest.MonkeyPatch) -> Iterator[Turns]:
    """Those of a request, with little patience."""
    monkeypatch.setattr(turns_module, "WAIT_SECONDS", 0.5)
    monkeypatch.setattr(turns_module, "_POLL_SECONDS", 0.05)
    monkeypatch.setattr(turns_module, "PAUSE_SECONDS", 0.0)
    with app.test_request_context():
        yield Turns()


def test_strangers_wait_while_a_caller_with_a_key_does(turns: Turns) -> None:
    keyed = turns.begin_keyed()
    with pytest.raises(TooManyRequestsError) as refused:
        turns.begin(QUESTION, "a")
    assert refused.value.retry_after == 10
    keyed.end()
    turns.begin(QUESTION, "a").end()


def test_strangers_wait_for_the_next_request_with_a_key(
    turns: Turns, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns_module, "PAUSE_SECONDS", 0.2)
    turns.begin_keyed().end()
    before = time.monotonic()
    turns.begin(QUESTION, "a").end()
    assert 0.15 < time.monotonic() - before < 0.45


def test_a_question_of_a_stranger_gives_way_between_its_steps(turns: Turns) -> None:
    current_turn.set(turns.begin(QUESTION, "a"))
    give_way()
    keyed = turns.begin_keyed()
    threading.Timer(0.2, keyed.end).start()
    before = time.monotonic()
    give_way()
    assert 0.15 < time.monotonic() - before < 0.45


def test_a_caller_with_a_key_waits_for_no_stranger(turns: Turns) -> None:
    turns.begin(QUESTION, "a")
    current_turn.set(turns.begin_keyed())
    before = time.monotonic()
    give_way()
    assert time.monotonic() - before < 0.1


def test_the_caller_with_the_fewest_turns_is_next(
    app: Flask, turns: Turns, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns_module, "WAIT_SECONDS", 10.0)
    running = turns.begin(QUESTION, "busy")
    monkeypatch.setitem(
        turns_module._LIMITS, QUESTION, {"value": 2, "why": "two at a time"}
    )
    keyed = turns.begin_keyed()
    order: list[str] = []

    def wait(account: str) -> None:
        with app.test_request_context():
            turns.begin(QUESTION, account)
            order.append(account)

    waiting = []
    for account in ("busy", "new"):
        waiting.append(threading.Thread(target=wait, args=(account,)))
        waiting[-1].start()
        time.sleep(0.1)
    keyed.end()
    waiting[1].join(5)
    assert order == ["new"]
    running.end()
    waiting[0].join(5)
    assert order == ["new", "busy"]


def test_a_body_of_tiny_pieces_is_refused(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
        client.sendall(
            b"POST /query HTTP/1.1\r\nHost: localhost\r\n"
            b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        client.sendall(b"1\r\n \r\n" * 1_000)
        assert b" 400 " in client.recv(1_000).split(b"\r\n")[0]
