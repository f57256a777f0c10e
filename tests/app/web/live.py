"""The application on a real socket, served as `serve` does it, and a client that reads
events as they come.
"""

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from flask import Flask

from chatbot.app.factory import close_app, create_app
from chatbot.app.web.server import Server, listen
from chatbot.config.settings import Settings
from chatbot.database.core import Database


@dataclass
class Event:
    """A server-sent event, or a comment line (``name`` is then ":"), and when it
    came.
    """

    name: str
    data: Any
    at: float


@contextmanager
def application(
    settings: Settings, *, database: Database | None = None
) -> Iterator[Flask]:
    """Closed at the end."""
    made = create_app(settings, database=database)
    yield made
    close_app(made)


@contextmanager
def served(app: Flask) -> Iterator[int]:
    """The port. Closed with the server are its connections."""
    with running(app) as (_, port):
        yield port


@pytest.fixture(scope="module")
def address(app: Flask) -> Iterator[str]:
    """Where the fixture ``app`` of a module that imports this one is served."""
    with served(app) as port:
        yield f"http://127.0.0.1:{port}"


@contextmanager
def running(app: Flask) -> Iterator[tuple[Server, int]]:
    """The server itself, and its port."""
    listening = listen("127.0.0.1", 0)
    server = Server(app, app.extensions["services"].settings)
    thread = threading.Thread(target=server.run, args=([listening],), name="server")
    thread.start()
    try:
        yield server, listening.getsockname()[1]
    finally:
        server.should_exit = server.force_exit = True
        thread.join(30)
        assert not thread.is_alive()


class Connection:
    """One POST of JSON, or a GET without. Use as a context manager: leaving it closes
    the connection, read or not.
    """

    def __init__(
        self, port: int, path: str, body: dict[str, Any] | None, **headers: str
    ) -> None:
        self._http = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.began = time.monotonic()
        method, text = ("GET", None) if body is None else ("POST", json.dumps(body))
        self._http.request(
            method, path, text, {"Content-Type": "application/json", **headers}
        )
        self._socket: socket.socket | None = self._http.sock

    def __enter__(self) -> "Connection":
        self.response = self._http.getresponse()
        return self

    def __exit__(self, *error: object) -> None:
        self.response.close()
        self._http.close()

    def json(self) -> Any:
        return json.loads(self.response.read())

    def events(self) -> Iterator[Event]:
        """Until the stream ends."""
        name, data = "", ""
        while line := self.response.readline().decode():
            if line.startswith(":"):
                yield Event(":", line[1:].strip(), time.monotonic() - self.began)
            elif line.startswith("event: "):
                name = line.removeprefix("event: ").strip()
            elif line.startswith("data: "):
                data += line.removeprefix("data: ").rstrip("\n")
            elif line == "\n" and name:
                yield Event(name, json.loads(data), time.monotonic() - self.began)
                name, data = "", ""


def ask(port: int, **fields: Any) -> list[Event]:
    """All events of one question."""
    with Connection(port, "/api/chat", fields) as connection:
        assert connection.response.status == 200, connection.response.read()
        return list(connection.events())
