"""The server under slow clients: they hold no thread, and neither does a stream; and
what the application is handed.
"""

import io
import json
import socket
import time
from contextlib import ExitStack, suppress
from typing import Any
from urllib.request import urlopen

import pytest
from flask import Flask, Response, request

from chatbot.app.services import Services
from chatbot.app.web import front, server
from chatbot.app.web.admission import Admission
from chatbot.app.web.front import GoneError, environ_of, read_body, start
from chatbot.config.settings import Settings
from tests.app.web.conftest import QUESTION
from tests.app.web.live import Connection, running, served
from tests.conftest import run_async
from tests.fakes.openai_server import CHAT, FakeOpenAI, Reply

MANY = 12
"""More than the threads of these tests, which are two."""


@pytest.fixture
def settings(
    settings: Settings, server: FakeOpenAI, request: pytest.FixtureRequest
) -> Settings:
    """A test may change some by a parameter."""
    changed = getattr(request, "param", {})
    return settings.override(**server.as_settings, model_timeout=120.0, **changed)


def raw(port: int, text: str) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=30)
    with suppress(ConnectionError):  # the server may have had enough
        connection.sendall(text.encode())
    return connection


@pytest.mark.usefixtures("kenya")
def test_slow_clients_and_open_streams_keep_nobody_waiting(
    port: int, server: FakeOpenAI
) -> None:
    server.chat(*[Reply(["half"], silent_after=60.0)] * MANY)
    head = "POST /query HTTP/1.1\r\nHost: localhost\r\n"
    with ExitStack() as held:
        for number in range(MANY):
            stream = held.enter_context(
                Connection(port, "/api/chat", {"query": f"{QUESTION} {number}"})
            )
            assert next(event for event in stream.events() if event.name == "token")
            held.enter_context(raw(port, head))
            held.enter_context(
                raw(
                    port,
                    (
                        f"{head}Content-Type: application/json\r\nContent-Length: "
                        f"90\r\n\r\n{{"
                    ),
                )
            )
        began = time.monotonic()
        with urlopen(f"http://127.0.0.1:{port}/health", timeout=10) as response:
            assert json.load(response) == {"status": "ok"}
        assert time.monotonic() - began < 2.0
        with Connection(port, "/query", {"query": QUESTION}) as connection:
            assert connection.response.status == 200
            assert connection.json()["message_id"]
    for count in range(1, MANY + 1):
        assert server.wait_for(CHAT, count).finished.wait(15.0)


@pytest.mark.usefixtures("kenya")
@pytest.mark.parametrize("settings", [{"questions": 1}], indirect=True)
@pytest.mark.parametrize("path", ["/query", "/api/chat"])
def test_more_questions_than_set_are_refused_at_once_and_not_for_long(
    app: Flask, server: FakeOpenAI, path: str
) -> None:
    server.chat(Reply(["half"], silent_after=60.0), Reply(["whole"]))
    check_refused_at_once(app, server, path, {"query": QUESTION})


def check_refused_at_once(
    app: Flask, server: FakeOpenAI, path: str, body: dict[str, Any]
) -> None:
    with served(app) as port:
        with Connection(port, "/api/chat", {"query": QUESTION}) as stream:
            assert next(event for event in stream.events() if event.name == "token")
            with Connection(port, path, body) as refused:
                assert (
                    refused.response.status,
                    refused.response.headers["Retry-After"],
                ) == (503, "5")
                assert "QUESTIONS" in refused.json()["error"]["message"]

        def is_answered() -> bool:
            with Connection(port, path, body) as again:
                return again.response.status == 200

        server.wait_until(is_answered, 15.0)


@pytest.mark.parametrize(
    "sent",
    [
        "",
        "GET /health HTTP/1.1\r\nHost: x\r\n",
        "POST /query HTTP/1.1\r\nX: " + "y" * 70_000,
    ],
)
def test_a_connection_without_a_request_ends(
    port: int, monkeypatch: pytest.MonkeyPatch, sent: str
) -> None:
    monkeypatch.setattr(server, "IDLE_SECONDS", 1.0)
    with raw(port, sent) as connection:
        answer = b"-"
        while answer:
            try:
                answer = connection.recv(1000)
            except ConnectionResetError:
                break
        assert not answer


@pytest.mark.parametrize(
    "head",
    [
        "GET /health HTTP/1.1\nHost: localhost\n\n",
        "GET /health HTTP/1.1\r\nHost: localhost\nX-Next: GET\r\n\r\n",
        "GET /health HTTP/1.1\r\nHost: localhost\r\n\n",
        "\nGET /health HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ],
)
def test_a_line_feed_alone_ends_no_line_of_a_head(port: int, head: str) -> None:
    """Where a proxy reads it otherwise, a request could hide in another's header."""
    with raw(port, head) as client:
        assert client.recv(100).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize(
    ("length", "status"),
    [(9, 408), (1_000_001, 413)],
    ids=["does not come", "too large"],
)
def test_a_body_is_not_waited_for(
    port: int, monkeypatch: pytest.MonkeyPatch, length: int, status: int
) -> None:
    monkeypatch.setattr(front, "BODY_SECONDS", 0.3)
    head = (
        "POST /query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    )
    with raw(
        port, f"{head}Content-Length: {length}\r\n\r\n{'{' if status == 408 else ''}"
    ) as connection:
        assert connection.recv(1000).startswith(f"HTTP/1.1 {status} ".encode())


def test_a_file_comes_in_pieces_and_whole(app: Flask, services: Services) -> None:
    pieces = [bytes([number]) * 300_000 for number in range(5)]
    app.add_url_rule(
        "/large",
        view_func=lambda: Response(iter(pieces), mimetype="application/octet-stream"),
    )
    with served(app) as port, urlopen(f"http://127.0.0.1:{port}/large") as response:
        assert response.read() == b"".join(pieces)
        with Connection(port, "/static/img/favicon.svg", None) as file:
            assert len(file.response.headers.get_all("date")) == 1


def test_requests_on_one_connection_keep_apart(app: Flask) -> None:
    app.add_url_rule(
        "/echo",
        view_func=lambda: request.get_data() or "nothing",
        methods=["GET", "POST"],
    )
    with (
        served(app) as port,
        raw(
            port, "POST /echo HTTP/1.1\r\nHost: [::1]\r\nContent-Length: 3\r\n\r\none"
        ) as connection,
    ):
        connection.sendall(b"GET /echo HTTP/1.1\r\nHost: [::1]\r\n\r\n")
        connection.sendall(
            b"POST /echo HTTP/1.1\r\nHost: [::1]\r\nTransfer-Encoding: chunked\r\n"
            b"\r\n3\r\ntwo\r\n0\r\n\r\n"
        )
        text = b""
        while not text.endswith(b"two"):
            text += connection.recv(10_000) or pytest.fail(f"closed after {text!r}")
    assert [part for part in (b"one", b"nothing", b"two") if part in text] == [
        b"one",
        b"nothing",
        b"two",
    ]


def test_nothing_that_is_written_waits_for_the_client_to_confirm_what_was_before(
    app: Flask,
) -> None:
    """Nagle's algorithm: 40 ms for each response on a kept connection, and for each
    word of a stream.
    """
    with (
        running(app) as (own, port),
        raw(port, "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n") as connection,
    ):
        assert connection.recv(1000)
        (open_one,) = own.server_state.connections
        accepted = open_one.transport.get_extra_info("socket")  # type: ignore[union-attr]
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
def test_health_is_answered_as_by_the_application(app: Flask, method: str) -> None:
    with (
        served(app) as port,
        raw(
            port,
            f"{method} /health HTTP/1.1\r\nHost: [::1]\r\nConnection: close\r\n\r\n",
        ) as connection,
    ):
        head, _, body = b"".join(iter(lambda: connection.recv(10_000), b"")).partition(
            b"\r\n\r\n"
        )
    own = app.test_client().open("/health", method=method)
    assert head.startswith(f"HTTP/1.1 {own.status_code} ".encode())
    if method != "POST":
        assert (body, b"nosniff" in head) == (own.get_data(), True)


SCOPE = {
    "type": "http",
    "http_version": "1.1",
    "method": "GET",
    "scheme": "http",
    "path": "/d/é",
    "query_string": b"q=%C3%A9",
    "server": ("127.0.0.1", 80),
    "client": ("10.0.0.1", 5),
    "headers": [
        (b"host", b"x"),
        (b"content-type", b"a/b"),
        (b"accept", b"c"),
        (b"accept", b"d"),
        (b"x_real", b"no"),
    ],
}
BODY = io.BytesIO()


def test_the_environ_is_what_wsgi_says() -> None:
    environ = environ_of(SCOPE, BODY, 7)
    assert environ["PATH_INFO"].encode("latin-1").decode() == "/d/é"
    assert (
        environ["QUERY_STRING"],
        environ["REMOTE_ADDR"],
        environ["CONTENT_LENGTH"],
    ) == ("q=%C3%A9", "10.0.0.1", "7")
    assert (environ["CONTENT_TYPE"], environ["HTTP_ACCEPT"], environ["HTTP_HOST"]) == (
        "a/b",
        "c,d",
        "x",
    )
    assert "HTTP_X_REAL" not in environ, "an underscore is another name than a hyphen"


def test_who_goes_within_a_body_is_gone() -> None:
    async def receive() -> dict[str, str]:
        return {"type": "http.disconnect"}

    with pytest.raises(GoneError):
        run_async(
            read_body(
                SCOPE, receive, BODY, Admission(), admit=run_async, take=BODY.write
            )
        )


def test_a_response_is_closed_once() -> None:
    class Body(io.BytesIO):
        closings = 0

        def close(self) -> None:
            self.closings += 1

    body = Body(b"text")

    def app(environ, start_response):
        start_response("200 OK", [("Content-Length", "4")])
        return body

    assert (start(app, {})[2], body.closings) == (b"text", 1)
