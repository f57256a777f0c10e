"""The HTTP server: uvicorn's loop with the `Front`, and its limits; and `Startup`, the
work beside requests. gunicorn takes it as a worker class
(`gunicorn_worker.LoopWorker`).
"""

import logging
import socket
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

import h11
import uvicorn
from flask import Flask
from h11._receivebuffer import ReceiveBuffer
from uvicorn.protocols.http.h11_impl import H11Protocol

from ...config.settings import Settings, in_url
from ...domain.errors import ChatbotError, DependencyError, SettingsError, read_table
from .admission import Spool
from .front import Front
from .routes import question_paths

log = logging.getLogger(__name__)
CONNECTIONS = 4000
"""Maximum number of open connections. Beyond it those that have been idle longest are
closed.
"""
FILES = 65_536
IDLE_SECONDS = 20.0
"""Time limit for a request head, from the beginning of the connection or its last
response.
"""
STOP_SECONDS = 3
"""Time limit for open requests when the server stops."""
BACKLOG = 2048
_LIMITS = read_table(__package__, "limits")
FREE_PIECES: int = _LIMITS["pieces"]["value"]
PIECE_BYTES: int = _LIMITS["pieces"]["bytes"]
SWITCH_SECONDS: float = _LIMITS["switch_seconds"]["value"]
FIRST_WAIT, LONGEST_WAIT = 1.0, 30.0
"""Seconds between two attempts."""


class StrictBuffer(ReceiveBuffer):
    """Refuses a head in which a line ends without CR, as h11 itself does not: a proxy
    in front of this server may read such a head as another request. Refuses a body of
    many tiny pieces too: each costs the loop, which serves everybody, as much as a
    large one.
    """

    _is_head = False
    _pieces = 0
    _bytes_of_pieces = 0

    def maybe_extract_next_line(self) -> bytearray | None:
        line = super().maybe_extract_next_line()  # the head of a piece
        if line is not None:
            self._pieces += 1
            if self._pieces > FREE_PIECES + self._bytes_of_pieces // PIECE_BYTES:
                raise h11.RemoteProtocolError("The pieces of the body are too small.")
        return line

    def maybe_extract_lines(self) -> list[bytearray] | None:
        self._is_head = True
        self._pieces = 0
        self._bytes_of_pieces = 0
        try:
            return super().maybe_extract_lines()
        finally:
            self._is_head = False

    def _extract(self, count: int) -> bytearray:
        taken = super()._extract(count)
        self._bytes_of_pieces += count
        if self._is_head and taken.count(b"\n") != taken.count(b"\r\n"):
            raise h11.RemoteProtocolError("A line of the head ends without CR.")
        return taken


class StrictProtocol(H11Protocol):
    """HTTP/1.1 with a `StrictBuffer`."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.conn._receive_buffer = StrictBuffer()


class Server(uvicorn.Server):
    """Serves one application on listening sockets."""

    def __init__(
        self,
        app: Flask,
        settings: Settings,
        *,
        stop_seconds: int = STOP_SECONDS,
        processes: int = 1,
    ) -> None:
        front = Front(
            app.wsgi_app,
            threads=settings.threads,
            questions=settings.questions,
            question_paths=question_paths(app),
            waiting=app.extensions["observer"].waiting,
            spool=Spool(processes),
            credentials={
                name.lower().encode()
                for name in ("Authorization", *settings.sign_in_headers)
            },
        )
        super().__init__(
            uvicorn.Config(
                front,
                http=StrictProtocol,
                ws="none",
                lifespan="off",
                interface="asgi3",
                log_config=None,
                access_log=False,
                proxy_headers=False,
                server_header=False,
                backlog=BACKLOG,
                timeout_graceful_shutdown=stop_seconds,
                timeout_keep_alive=int(IDLE_SECONDS),
            )
        )
        sys.setswitchinterval(SWITCH_SECONDS)
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
        """Close connections on which nothing has changed for too long; and the oldest,
        where there are too many.
        """
        before = self._waiting
        self._waiting = {}
        for connection in self.server_state.connections:
            cycle, transport = connection.cycle, connection.transport  # type: ignore[union-attr]
            if (
                cycle is not None
                and not cycle.response_complete
                and not transport.is_closing()
            ):
                continue
            state = (cycle, transport.get_write_buffer_size())
            since = before.get(connection, (None, now))
            self._waiting[connection] = since if since[0] == state else (state, now)
        oldest = sorted(
            self._waiting, key=lambda connection: self._waiting[connection][1]
        )
        too_many = len(self.server_state.connections) - self._limit
        for place, connection in enumerate(oldest):
            if place < too_many or now - self._waiting[connection][1] > IDLE_SECONDS:
                connection.transport.abort()


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens, not yet served. Raises SettingsError: the address
    is taken or not ours.
    """
    try:
        listening = _bound(host, port)
    except OSError as error:
        raise SettingsError(
            f"Cannot listen on {in_url(host)}:{port}: {error.strerror}. Set HOST or "
            "PORT to a free address."
        ) from error
    listening.listen(BACKLOG)
    return listening


def _bound(host: str, port: int) -> socket.socket:
    family, kind, _, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM
    )[0]
    # asyncio sends each part of a response at once (TCP_NODELAY) where the listening
    # socket names its protocol.
    listening = socket.socket(family, kind, socket.IPPROTO_TCP)
    try:
        if sys.platform != "win32":  # there it would let two servers have one port
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
    except OSError:
        listening.close()
        raise
    return listening


def connection_limit() -> int:
    """Raise the limit of open files and return half of it: databases and models need
    the other half.
    """
    if sys.platform == "win32":
        return CONNECTIONS
    import resource  # there is none on Windows

    files, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    enough = FILES if most == resource.RLIM_INFINITY else min(FILES, most)
    if files != resource.RLIM_INFINITY and files < enough:
        resource.setrlimit(resource.RLIMIT_NOFILE, (enough, most))
        files = enough
    if files == resource.RLIM_INFINITY:
        return CONNECTIONS
    return min(CONNECTIONS, files // 2)


class Startup:
    """Runs ``work`` once with success. A database that is down does not stop the
    server; a wrong setting does.
    """

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._started: set[str] = set()

    def background(self, name: str, work: Callable[[threading.Event], None]) -> None:
        """Run ``work`` beside the requests until it returns; it ends soon after the
        event that it gets is set. After a bug it is logged and started again. A name
        that was started before is not started a second time, also by a start that is
        tried again.
        """
        with self._lock:
            if name in self._started:
                return
            self._started.add(name)

        def repeat() -> None:
            while not self._stop.is_set():
                try:
                    work(self._stop)
                    return
                except Exception:
                    log.exception(
                        "A bug in the background work %r; it is started again.", name
                    )
                    self._stop.wait(FIRST_WAIT)

        thread = threading.Thread(target=repeat, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def supervise(self, name: str, work: Callable[[], None]) -> None:
        """Run ``work``, which ends by itself when the server stops, as `background`."""
        self.background(name, lambda stop: work())

    def run(self) -> None:
        """Try now, and again in the background. Raises what trying again cannot help: a
        wrong setting.
        """
        try:
            self._work()
        except DependencyError as error:
            if error.retry_after is None:
                raise
            log.error("Serving, but not ready until this is mended: %s", error.message)
            self.background("startup", self._retry)

    def _retry(self, stop: threading.Event) -> None:
        wait = FIRST_WAIT
        while not stop.wait(wait):
            try:
                self._work()
                log.info("The start is finished: ready.")
                return
            except ChatbotError as error:
                # A thread has nobody to raise to: every question and /ready say the
                # same.
                if error.retry_after is None:
                    log.error("The start could not be finished: %s", error.message)
                    return
            wait = min(2 * wait, LONGEST_WAIT)

    def close(self) -> None:
        """Give up, and wait for all threads."""
        self._stop.set()
        for thread in self._threads:
            thread.join()
