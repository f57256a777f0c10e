"""The application on a real socket, served as `serve` does it, and a client that reads events as they come."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from flask import Flask

from chatbot.cli.operation import http_server


@dataclass
class Event:
    """A server-sent event, or a comment line (``name`` is then ":"), and when it came."""

    name: str
    data: Any
    at: float


@contextmanager
def served(app: Flask, *, threads: int = 4) -> Iterator[int]:
    """The port. Closed with the server are its connections and its threads."""
    server = http_server(app, "127.0.0.1", 0, threads=threads)
    thread = threading.Thread(target=server.run, name="waitress")
    thread.start()
    try:
        yield server.effective_port
    finally:
        # Connections first, so that no task waits for one; each step in the loop's own thread.
        _in_loop(server, lambda: _close_channels(server))
        assert server.task_dispatcher.shutdown(timeout=30) is not None
        # A browser may have connected again since: what came with the last turn of the loop goes with the server.
        _in_loop(server, lambda: _close(server))
        thread.join(30)
        assert not thread.is_alive()


def _close_channels(server: Any) -> None:
    for channel in list(server.active_channels.values()):
        channel.handle_close()


def _close(server: Any) -> None:
    server.close()
    _close_channels(server)


def _in_loop(server: Any, act: Callable[[], object]) -> None:
    done = threading.Event()

    def run() -> None:
        act()
        done.set()

    server.trigger.pull_trigger(run)
    assert done.wait(30)


class Connection:
    """One POST of JSON. Use as a context manager: leaving it closes the connection, read or not."""

    def __init__(self, port: int, path: str, body: dict[str, Any]) -> None:
        self._http = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.began = time.monotonic()
        self._http.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        self._socket: socket.socket | None = self._http.sock

    def __enter__(self) -> Connection:
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
