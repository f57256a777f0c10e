"""The HTTP server under `serve`, `python app.py` and gunicorn: uvicorn's loop with the `Front`, and its limits.

gunicorn takes it as a worker class, `chatbot.app.web.gunicorn_worker.LoopWorker` (gunicorn.conf.py).
"""

from __future__ import annotations

import asyncio
import socket
import sys
import time
from types import FrameType
from typing import Any

import uvicorn
from flask import Flask
from uvicorn.protocols.http.h11_impl import H11Protocol

from ...config.settings import MEGABYTE, Settings
from .front import Front
from .request import FORM_BYTES, MOST_FILES

CONNECTIONS = 4000
"""Maximum number of open connections. Beyond it those that have been idle longest are closed."""
FILES = 65_536
IDLE_SECONDS = 20.0
"""Time limit for a request head, from the beginning of the connection or its last response."""
STOP_SECONDS = 3
"""Time limit for open requests when the server stops."""
BACKLOG = 2048


class NoDelayProtocol(H11Protocol):
    """Sends what is written at once (TCP_NODELAY).

    Otherwise each part of a response waits until the client has acknowledged the part before, which takes 40 ms.
    asyncio sets the option only where the listening socket names its protocol, and gunicorn's sockets do not.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        connection = transport.get_extra_info("socket")
        if connection.family in {socket.AF_INET, socket.AF_INET6}:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        super().connection_made(transport)


class Server(uvicorn.Server):
    """Serves one application on listening sockets."""

    def __init__(self, app: Flask, settings: Settings, *, stop_seconds: int = STOP_SECONDS) -> None:
        front = Front(
            app.wsgi_app,
            threads=settings.threads,
            questions=settings.questions,
            largest=app.config["MAX_CONTENT_LENGTH"],
            largest_form=FORM_BYTES + MOST_FILES * settings.max_upload_mb * MEGABYTE,
        )
        super().__init__(
            uvicorn.Config(
                front, http=NoDelayProtocol, ws="none", lifespan="off", interface="asgi3", log_config=None,
                access_log=False, proxy_headers=False, server_header=False, backlog=BACKLOG,
                timeout_graceful_shutdown=stop_seconds, timeout_keep_alive=int(IDLE_SECONDS),
            )
        )  # fmt: skip
        self._limit = connection_limit()
        self._waiting: dict[Any, tuple[object, float]] = {}

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop after the open requests; a second signal stops at once."""
        self.force_exit = self.should_exit
        self.should_exit = True

    async def on_tick(self, counter: int) -> bool:
        """Ten times a second."""
        if counter % 10 == 0:
            self._close_waiting(time.monotonic())
        return await super().on_tick(counter)

    def _close_waiting(self, now: float) -> None:
        """Close connections on which nothing has changed for too long; and the oldest, where there are too many."""
        before, self._waiting = self._waiting, {}
        for connection in self.server_state.connections:
            cycle, transport = connection.cycle, connection.transport  # type: ignore[union-attr]
            if cycle is not None and not cycle.response_complete and not transport.is_closing():
                continue
            state = (cycle, transport.get_write_buffer_size())
            since = before.get(connection, (None, now))
            self._waiting[connection] = since if since[0] == state else (state, now)
        oldest = sorted(self._waiting, key=lambda connection: self._waiting[connection][1])
        too_many = len(self.server_state.connections) - self._limit
        for place, connection in enumerate(oldest):
            if place < too_many or now - self._waiting[connection][1] > IDLE_SECONDS:
                connection.transport.abort()


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens, not yet served. Raises OSError: the address is taken or not ours."""
    family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    listening = socket.socket(family, kind)
    try:
        if sys.platform != "win32":  # there it would let two servers have one port
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
    except OSError:
        listening.close()
        raise
    listening.listen(BACKLOG)
    return listening


def connection_limit() -> int:
    """Raise the limit of open files and return half of it: databases and models need the other half."""
    if sys.platform == "win32":
        return CONNECTIONS
    import resource  # there is none on Windows

    files, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    enough = FILES if most == resource.RLIM_INFINITY else min(FILES, most)
    if files != resource.RLIM_INFINITY and files < enough:
        resource.setrlimit(resource.RLIMIT_NOFILE, (enough, most))
        files = enough
    return CONNECTIONS if files == resource.RLIM_INFINITY else min(CONNECTIONS, files // 2)
