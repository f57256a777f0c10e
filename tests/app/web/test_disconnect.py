"""A client that goes: its question is stopped, whichever server serves it and whatever it is waiting for."""

from __future__ import annotations

import http.client
import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from pathlib import Path

import pytest

from chatbot.answering.conversation import Saved
from chatbot.app.services import Services
from chatbot.app.web import streaming
from chatbot.app.web.streaming import ClientGoneError, EventStream
from chatbot.domain import Event, StepEvent, TokenEvent
from chatbot.domain.cancellation import Cancellation
from chatbot.domain.errors import ChatModelError
from tests.answering.agents.limits import ASKED, stalls
from tests.app.cli.processes import PATIENCE, address, get, started
from tests.fakes.openai_server import CHAT, FakeOpenAI
from tests.fakes.scripted_model import ScriptedModel

HANG = 60.0
"""Seconds, at most, that a question here waits for being cancelled."""


class Asked:
    """A question that says what it is told to, and then waits until it is cancelled."""

    def __init__(self, *said: Event) -> None:
        self.waits = threading.Event()
        self.over = threading.Event()
        self.cancelled = False
        self._said = said

    def __call__(self, cancel: Cancellation) -> Iterator[Event | Saved]:
        yield from self._said
        self.waits.set()
        self.cancelled = cancel.wait(HANG)
        self.over.set()

    def is_cancelled(self) -> bool:
        return self.over.wait(HANG) and self.cancelled


class TestGoing:
    """What is under way is cancelled at once, in the thread that answers or in the one that waits."""

    @pytest.fixture(autouse=True)
    def _nothing_else_ends_a_wait(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(streaming, "HOLD_SECONDS", 60.0)

    @pytest.mark.parametrize("how", [EventStream.open, EventStream.whole])
    @pytest.mark.parametrize("said", [(), (StepEvent("plan", ""),)], ids=["nothing yet", "a step"])
    def test_before_anything_is_sent(self, how: Callable[[EventStream], object], said: tuple[Event, ...]) -> None:
        asked, client = Asked(*said), Cancellation()
        threading.Thread(target=lambda: asked.waits.wait(HANG) and client.cancel()).start()
        with pytest.raises(ClientGoneError):
            how(EventStream(asked, client))
        assert asked.is_cancelled()

    def test_in_the_middle_of_a_stream(self) -> None:
        asked, client = Asked(TokenEvent("half")), Cancellation()
        sent = iter(EventStream(asked, client).open())
        assert "half" in next(sent)
        client.cancel()
        assert list(sent) == []
        assert asked.is_cancelled()

    def test_who_stops_listening_has_gone(self) -> None:
        """All that other servers tell: they stop iterating."""
        asked = Asked(TokenEvent("half"))
        sent = iter(EventStream(asked, Cancellation()).open())
        next(sent)
        sent.close()
        assert asked.is_cancelled()

    def test_an_error_that_the_going_makes_is_not_the_answer(self) -> None:
        client = Cancellation()

        def events(cancel: Cancellation) -> Iterator[Event | Saved]:
            client.cancel()
            raise ChatModelError("It was broken off.")
            yield

        with pytest.raises(ClientGoneError):
            EventStream(events, client).whole()


class TestWhole:
    @pytest.mark.parametrize("how", [EventStream.open, EventStream.whole])
    def test_it_works_in_the_context_of_the_request(self, how: Callable[[EventStream], object]) -> None:
        """The time limits of its database calls are kept there."""
        here = ContextVar("here", default="nowhere")
        seen: list[str] = []

        def events(cancel: Cancellation) -> Iterator[Event | Saved]:
            seen.append(here.get())
            raise ChatModelError("It is down.")
            yield

        token = here.set("in the request")
        with pytest.raises(ChatModelError, match="It is down"):
            how(EventStream(events, Cancellation()))
        here.reset(token)
        assert seen == ["in the request"]

    def test_a_step_is_no_answer(self) -> None:
        with pytest.raises(AssertionError, match="ends with its answer"):
            EventStream(lambda _: iter([StepEvent("plan", "")]), Cancellation()).whole()


@pytest.mark.usefixtures("kenya", "mali")
@pytest.mark.skipif(sys.platform == "win32", reason="gunicorn does not run on Windows")
class TestSeveralProcesses:
    @pytest.fixture
    def url(self, server: FakeOpenAI, services: Services) -> Iterator[str]:
        """gunicorn with two workers, over the reports that are already there."""
        folder = Path(services.settings.data_dir)
        environment = {
            **os.environ, **server.as_environment, "DATA_DIR": str(folder), "PORT": "0", "WEB_CONCURRENCY": "2",
            "HOME": str(folder.parent),  # gunicorn leaves a socket there
            "EMBEDDING_PROVIDER": "hashing", "SAMPLE_DATA": "off", "SUMMARIES": "off", "CACHE_SECONDS": "0",
            "PYTHONUNBUFFERED": "1",
        }  # fmt: skip
        with started(environment, "-m", "gunicorn", "app:app") as process:
            url = address(process.stderr)
            assert get(f"{url}/ready")[0] == 200
            yield url
            process.terminate()
            _, err = process.communicate(timeout=PATIENCE)
        lines = [json.loads(line) for line in err.splitlines() if line.startswith("{")]
        assert {"/query", "/api/chat"} <= {line["path"] for line in lines}
        assert all(line["request_id"] for line in lines)

    def test_who_goes_stops_the_model_and_who_stays_is_answered(
        self, url: str, server: FakeOpenAI, services: Services
    ) -> None:
        for path in ("/query", "/api/chat", "/mcp", "/mcp?progress"):
            model = stalls("plan")
            server.always(CHAT, model)
            connection = posted(url, path)
            server.wait_until(lambda model=model: model.stages == ["plan"], PATIENCE)
            planning = server.received(CHAT)[-1]
            assert not planning.finished.wait(0.5), "nobody has gone yet"
            connection.close()
            assert planning.finished.wait(10.0)
            assert planning.disconnected_at is not None
        assert services.storage.database["messages"].count({}) == 0

        server.always(CHAT, ScriptedModel())
        connection = posted(url, "/api/chat")
        response = connection.getresponse()
        text = response.read().decode()
        connection.close()
        assert response.status == 200, text
        assert json.loads(text.rpartition("data: ")[2])["response"].startswith("The reports say so [1]")
        for _ in range(4):  # whichever worker is asked
            assert 'report_chat_answers_total{mode="deep",outcome="answered"} 1.0' in get(f"{url}/metrics")[1]


def posted(url: str, path: str) -> http.client.HTTPConnection:
    """A question that has been sent; nothing of the response is read."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=60)
    body: dict[str, object] = {"query": ASKED, "mode": "deep"}
    if path.startswith("/mcp"):
        call = {"name": "ask", "arguments": {"question": ASKED, "mode": "deep"}}
        call |= {"_meta": {"progressToken": 1}} if "progress" in path else {}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
    return connection
