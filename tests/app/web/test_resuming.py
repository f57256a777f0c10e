"""An answer that outlives its connection: resumed by another process over the same
database, stopped from there.
"""

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from flask import Flask

from chatbot.app.services import Services
from chatbot.app.web import streaming
from chatbot.config.settings import Settings
from chatbot.domain import TokenEvent
from tests.app.web.conftest import QUESTION, error_of
from tests.app.web.live import Connection, Event, application, served
from tests.fakes.openai_server import FakeOpenAI, Reply

pytestmark = pytest.mark.usefixtures("kenya")
PIECES = ["It ", "is ", "2.09% ", "[1]."]


@pytest.fixture
def settings(
    settings: Settings, server: FakeOpenAI, request: pytest.FixtureRequest
) -> Settings:
    """The parameter of a test: the seconds for which an answer can be resumed."""
    seconds = getattr(request, "param", 30)
    return settings.override(
        **server.as_settings, model_timeout=120.0, resume_seconds=seconds
    )


@pytest.fixture
def cookie(app: Flask) -> dict[str, str]:
    """Of one visitor, whom every process knows."""
    header = app.test_client().get("/").headers["Set-Cookie"]
    return {"Cookie": header.partition(";")[0]}


@pytest.fixture
def other(settings: Settings) -> Iterator[Flask]:
    """A second worker."""
    with application(settings) as created:
        yield created


def begun(connection: Connection) -> tuple[Event, Iterator[Event]]:
    events = connection.events()
    first = next(event for event in events if event.name != ":")
    assert first.name == "begun"
    return first, events


def until(name: str, events: Iterator[Event]) -> Event:
    return next(event for event in events if event.name == name)


def asked(port: int, cookie: dict[str, str], **fields: Any) -> Connection:
    return Connection(
        port, "/api/chat", {"query": QUESTION, "resume": True, **fields}, **cookie
    )


def text_of(events: list[Event]) -> str:
    return "".join(event.data["text"] for event in events if event.name == "token")


def test_it_goes_on_and_is_told_again_by_another_process(
    port: int, other: Flask, cookie: dict[str, str], server: FakeOpenAI
) -> None:
    server.chat(Reply(PIECES, silent_after=1.0))
    with asked(port, cookie) as connection:
        first, events = begun(connection)
        until("token", events)
    path = f"/api/messages/{first.data['message_id']}/stream"
    with served(other) as second, Connection(second, path, None, **cookie) as resumed:
        told = [event for event in resumed.events() if event.name != ":"]
    assert (told[0].data, told[-1].name) == (first.data, "done")
    assert told[-1].data["response"] == "It is 2.09% [1]."
    assert {name: told[-1].data[name] for name in first.data} == first.data
    assert text_of(told) == "".join(PIECES)
    assert {"sources", "step"} < {event.name for event in told}
    both = f"/api/conversations/{first.data['conversation_id']}"
    messages = (
        other.test_client(use_cookies=False)
        .get(both, headers=cookie)
        .get_json()["messages"]
    )
    assert [message["state"] for message in messages] == ["", ""]

    def is_told_at_once() -> bool:  # once the process that asked has finished, too
        with Connection(port, path, None, **cookie) as late:
            return [event.name for event in late.events()] == ["begun", "done"]

    server.wait_until(is_told_at_once)


def test_what_is_known_is_not_told_again(
    port: int, cookie: dict[str, str], server: FakeOpenAI
) -> None:
    server.chat(Reply(PIECES, silent_after=2.0))
    with asked(port, cookie) as connection:
        first, _ = begun(connection)
        path = f"/api/messages/{first.data['message_id']}/stream"
        with Connection(port, path, None, **cookie) as resumed:
            until("token", resumed.events())  # as often as it takes until some are kept
        with Connection(
            port, path, None, **cookie, **{"Last-Event-ID": "4"}
        ) as resumed:
            told = [event for event in resumed.events() if event.name != ":"]
    assert text_of(told) == "is 2.09% [1]."
    with Connection(port, path, None, **cookie, **{"Last-Event-ID": "x"}) as wrong:
        assert wrong.response.status == 400


def test_stopping_it_elsewhere_ends_it_and_keeps_what_was_said(
    port: int, other: Flask, cookie: dict[str, str], server: FakeOpenAI
) -> None:
    server.chat(Reply(PIECES[:2], silent_after=60.0))
    client = other.test_client(use_cookies=False)
    with asked(port, cookie) as connection:
        first, events = begun(connection)
        until("token", events)
        until("token", events)
        stop = f"/api/messages/{first.data['message_id']}/stop"
        error_of(client.post(stop), 404, "not_found")
        assert client.post(stop, headers=cookie).status_code == 204
        assert not [event for event in events if event.name in {"done", "error"}]
    opened = client.get(
        f"/api/conversations/{first.data['conversation_id']}", headers=cookie
    ).get_json()
    question, answer = opened["messages"]
    assert (question["content"], answer["content"], answer["state"]) == (
        QUESTION,
        "It is ",
        "stopped",
    )
    error_of(
        client.get(f"/api/messages/{answer['message_id']}/stream", headers=cookie),
        409,
        "cancelled",
    )
    # What was not answered was never said to a model.
    with asked(port, cookie, conversation_id=first.data["conversation_id"]) as again:
        until("done", again.events())
    assert QUESTION not in [
        message["content"] for message in server.requests[-1].body["messages"][1:-1]
    ]


@pytest.mark.parametrize("settings", [1], indirect=True)
def test_an_answer_that_nobody_waits_for_ends(
    app: Flask, port: int, cookie: dict[str, str], server: FakeOpenAI
) -> None:
    server.chat(Reply(PIECES, silent_after=60.0))
    with asked(port, cookie) as connection:
        first, events = begun(connection)
        until("token", events)
    with Connection(
        port, f"/api/messages/{first.data['message_id']}/stream", None, **cookie
    ) as waiting:
        listened = waiting.events()
        until("token", listened)
    ended(app, first.data["message_id"])


def ended(app: Flask, message_id: str) -> None:
    active = app.extensions["active_streams"]
    for _ in range(200):
        if message_id not in active.answers:
            return
        threading.Event().wait(0.05)
    pytest.fail("it goes on")


def test_one_whose_process_has_gone_is_told_to_be_lost(
    app: Flask, cookie: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "LOST_SECONDS", 0.3)
    client = app.test_client(use_cookies=False)
    owner = client.get("/api/session", headers=cookie).get_json()["owner"]
    repository = app.extensions["services"].storage.conversations
    lost = repository.begin(None, {"role": "user", "content": QUESTION}, owner)
    said = client.get(
        f"/api/messages/{lost.message_id}/stream", headers=cookie
    ).get_data(as_text=True)
    assert "event: error" in said
    assert streaming.LOST in said
    opened = client.get(
        f"/api/conversations/{lost.conversation_id}", headers=cookie
    ).get_json()
    assert [message["state"] for message in opened["messages"]] == ["failed", "failed"]


def test_who_is_nobody_resumes_an_answer_by_its_id(
    app: Flask, port: int, cookie: dict[str, str]
) -> None:
    with asked(port, {}) as connection:
        events = list(connection.events())
    assert events[0].name == "begun"
    assert events[-1].name == "done"
    client = app.test_client(use_cookies=False)
    message = events[0].data["message_id"]
    again = client.get(f"/api/messages/{message}/stream")
    assert "event: done" in again.get_data(as_text=True)


def test_who_attaches_something_has_no_answer_to_come_back_to(app: Flask) -> None:
    client = app.test_client(use_cookies=False)
    error_of(client.post("/query", json={"query": QUESTION, "resume": True}), 400)
    attached = {"attachments": [{"text": "A note."}]}
    error_of(
        client.post("/api/chat", json={"query": QUESTION, "resume": True, **attached}),
        400,
    )


def test_what_is_being_written_at_its_end_is_removed_too(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stayed for good, and who resumed the answer was told its second half as the
    whole.
    """
    unfinished = services.storage.unfinished
    kept = services.storage.conversations.begin(
        None, {"role": "user", "content": QUESTION}, "visitor:a"
    )
    client = streaming.Connection()
    streams = streaming.ActiveStreams(
        services, lambda run: threading.Thread(target=run, daemon=True).start()
    )
    answer = streaming.ResumableStream(kept, streams, lambda cancel: iter(()), client)
    keep, ending = unfinished.keep, threading.Thread(target=streams.end, args=(answer,))

    def late(*events: Any) -> None:
        ending.start()
        ending.join(0.5)
        keep(*events)

    monkeypatch.setattr(unfinished, "keep", late)
    answer.number(TokenEvent("It "), "event: token\n\n")
    patience = time.monotonic() + 10.0
    while ending.ident is None and time.monotonic() < patience:
        time.sleep(0.02)
    ending.join(10.0)
    time.sleep(0.1)  # until the late ones would be there
    assert unfinished.events(kept.message_id, 0) == []
