"""The front of the server: an event loop owns every connection, and the application's
threads see whole requests only.

The loop reads a request, a thread makes the response, and the loop writes it. Open
streams (`streaming.EventStream`) are handed over to the loop. So neither a slow client
nor an open stream holds a thread.
"""

import asyncio
import io
import re
import sys
from collections.abc import (
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Iterator,
    MutableMapping,
)
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from tempfile import SpooledTemporaryFile
from typing import IO, Any

from ...domain.cancellation import Cancellation
from ...domain.errors import ChatbotError, DiskFullError
from .admission import ADMISSION, UNASKED_BYTES, Admission, Spool
from .streaming import CONNECTION, KEEP_ALIVE, SILENCE_SECONDS, Connection, EventStream

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]
Started = tuple[
    int, list[tuple[bytes, bytes]], bytes | Iterator[bytes], Callable[[], None]
]
"""A response: status and headers, its body or the pieces that are made as they are
asked for, and what closes it.
"""
RESUMED = "/stream"
"""Ends the path of an answer that another request has started."""
ALIVE, ALIVE_BODY = ("/health", "/livez"), b'{"status":"ok"}\n'
"""Answered here as the application would, but neither logged nor counted: probes ask
for it every few seconds.
"""
ALIVE_HEADERS = [
    (b"content-type", b"application/json"),
    (b"content-length", str(len(ALIVE_BODY)).encode()),
    (b"x-content-type-options", b"nosniff"),
]
REPEATED_HEADERS = "report_chat.repeated"
"""The key of the WSGI environment for the headers that came more than once."""
KEY_COOKIES = re.compile(rb"report_chat_(session|key|person)=")
"""Cookies of browsers that are signed in."""
IN_MEMORY = 1_000_000
"""Bytes of a body or a response that are kept in memory; a larger body goes to disk, a
larger response in pieces.
"""
BODY_SECONDS, BODY_RATE = 20.0, 2_000
"""Time limit of a body in seconds, and the bytes that extend it by a second."""
BEGIN_SECONDS = 2.0
"""Maximum time in which a question counts as starting; it usually ends with the search,
unless a model plans first.
"""
LAG_PROBE_SECONDS = 0.05
"""Interval at which the lag of the event loop is measured."""
MAX_LAG_SECONDS = 0.1
"""Beyond this lag one question starts at a time: computing threads delay every open
stream and new connection.
"""
WRITE_SECONDS = 60.0
"""A client that reads nothing for this time counts as gone."""


class GoneError(Exception):
    """The client closed the connection."""


class RefusedError(Exception):
    """The application does not admit a body; the response that says why is sent."""


class Front:
    """Serves ``app`` by ``threads``, and up to ``questions`` at the same time by
    threads of their own. ``question_paths``: those whose requests may wait for a model.

    Requests with one of these headers, ``credentials``, have threads of their own and
    the last quarter of the questions: others may be so many that they fill theirs.
    Further requests wait. Further questions are marked as too many
    (`Connection.is_full`). A body beyond its first bytes is read when the application
    admits it (`Admission`), and stored as ``spool`` allows; of a longer body the
    application sees the length only. ``waiting``: the time for which a question waits
    for its turn.
    """

    def __init__(
        self,
        app: Application,
        *,
        threads: int,
        questions: int,
        question_paths: Collection[str],
        spool: Spool,
        credentials: Collection[bytes],
        waiting: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        self._app = app
        self._question_paths = question_paths
        self._waiting = waiting
        self._spool = spool
        self._credentials = credentials
        self._quick = ThreadPoolExecutor(threads, thread_name_prefix="request")
        self._signed = ThreadPoolExecutor(threads, thread_name_prefix="signed-request")
        self._reserved = questions // 4
        # As many again may be set aside while their attachments are read.
        self._asking = ThreadPoolExecutor(2 * questions, thread_name_prefix="question")
        self._free = self._free_aside = questions
        self._beginning = asyncio.Semaphore(threads)
        self._starting = 0
        self._loop_lag = 0.0
        self._lag_probe: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] in ALIVE and scope["method"] in {"GET", "HEAD"}:
            await send(
                {"type": "http.response.start", "status": 200, "headers": ALIVE_HEADERS}
            )
            await send({"type": "http.response.body", "body": ALIVE_BODY})
            return
        with (
            SpooledTemporaryFile(max_size=IN_MEMORY) as body,
            self._spool.hold() as admission,
        ):
            try:
                length = await read_body(
                    scope,
                    receive,
                    body,
                    admission,
                    admit=lambda: self._admit(scope, admission, send),
                    take=lambda count: self._spool.take(admission, count),
                )
            except (GoneError, RefusedError):
                return
            except TimeoutError:
                await send(
                    {
                        "type": "http.response.start",
                        "status": 408,
                        "headers": [(b"connection", b"close")],
                    }
                )
                await send({"type": "http.response.body"})
                return
            environ = environ_of(scope, body, length)
            if admission.is_given:
                environ[ADMISSION] = admission
            connection = environ[CONNECTION] = Connection(streams=[])
            watching = asyncio.create_task(self._watch(receive, connection.client))
            try:
                path = environ["PATH_INFO"]
                pool = self._pool_of(scope)
                connection.claims_key = pool is self._signed
                if path in self._question_paths or path.endswith(RESUMED):
                    await self._ask(environ, pool, send)
                else:
                    await self._respond(environ, pool, send)
            finally:
                watching.cancel()
                connection.client.cancel()

    async def _admit(self, scope: Scope, admission: Admission, send: Send) -> None:
        """Ask the application who may send a body to this address. Raises RefusedError:
        nobody; the response is sent.
        """
        environ = environ_of(scope, io.BytesIO(), None)
        environ[ADMISSION] = admission
        loop = asyncio.get_running_loop()
        status, headers, body, _ = await loop.run_in_executor(
            self._pool_of(scope), start, self._app, environ
        )
        if admission.is_given:
            return
        headers.append((b"connection", b"close"))
        await send(
            {"type": "http.response.start", "status": status, "headers": headers}
        )
        await send({"type": "http.response.body", "body": body})
        raise RefusedError

    def _pool_of(self, scope: Scope) -> ThreadPoolExecutor:
        """Return the threads of a request: what it says about its caller is not
        checked yet.
        """
        for name, value in scope["headers"]:
            if name in self._credentials:
                return self._signed
            if name == b"cookie" and KEY_COOKIES.search(value):
                return self._signed
        return self._quick

    async def _ask(
        self, environ: dict[str, Any], pool: ThreadPoolExecutor, send: Send
    ) -> None:
        """Answer a question; only ``threads`` of them start at the same time, so that
        they do not stall each other.
        """
        connection: Connection = environ[CONNECTION]
        if self._free <= (0 if connection.claims_key else self._reserved):
            connection.is_full = True
            await self._respond(environ, pool, send)
            return
        self._free -= 1
        turn: asyncio.TimerHandle | None = None
        is_aside = False

        def set_aside(aside: bool) -> None:
            nonlocal is_aside
            if aside != is_aside and (self._free_aside or is_aside):
                is_aside = aside
                self._free += 1 if aside else -1
                self._free_aside += -1 if aside else 1
                end_turn()

        def end_turn() -> None:
            nonlocal turn
            if turn is not None:
                turn.cancel()
                turn = None
                self._starting -= 1
                self._beginning.release()

        try:
            loop = asyncio.get_running_loop()
            self._lag_probe = self._lag_probe or asyncio.create_task(
                self._measure_lag()
            )
            with self._waiting():
                await self._beginning.acquire()
                while self._starting and self._loop_lag > MAX_LAG_SECONDS:
                    await asyncio.sleep(LAG_PROBE_SECONDS)
            self._starting += 1
            turn = loop.call_later(BEGIN_SECONDS, end_turn)
            connection.tell_begun = lambda: loop.call_soon_threadsafe(end_turn)
            connection.set_aside = lambda aside: loop.call_soon_threadsafe(
                set_aside, aside
            )
            await self._respond(environ, self._asking, send)
        finally:
            end_turn()
            set_aside(False)
            self._free += 1

    async def _measure_lag(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            planned = loop.time() + LAG_PROBE_SECONDS
            await asyncio.sleep(LAG_PROBE_SECONDS)
            self._loop_lag = loop.time() - planned

    async def _watch(self, receive: Receive, client: Cancellation) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        # In a thread, because cancelling may have to wait for a lock.
        await asyncio.get_running_loop().run_in_executor(None, client.cancel)

    async def _respond(
        self, environ: dict[str, Any], pool: ThreadPoolExecutor, send: Send
    ) -> None:
        loop = asyncio.get_running_loop()
        connection = environ[CONNECTION]
        if connection.client.cancelled:
            return
        status, headers, body, close = await loop.run_in_executor(
            pool, start, self._app, environ
        )
        await send(
            {"type": "http.response.start", "status": status, "headers": headers}
        )
        if isinstance(body, bytes):
            await send({"type": "http.response.body", "body": body})
            return
        try:
            for stream in connection.streams:
                await send_stream(stream, send)
            while (
                piece := await loop.run_in_executor(pool, next, body, None)
            ) is not None:
                await _write(send, piece)
            await send({"type": "http.response.body"})
        except TimeoutError:
            return  # the server closes a connection whose response is not complete
        finally:
            await loop.run_in_executor(pool, close)


async def read_body(
    scope: Scope,
    receive: Receive,
    body: SpooledTemporaryFile[bytes],
    admission: Admission,
    *,
    admit: Callable[[], Awaitable[None]],
    take: Callable[[int], None],
) -> int | None:
    """Read the body of a request into ``body``, unless it declares more bytes than are
    admitted; return its length, None without a body. ``admit`` asks for more than the
    first bytes, ``take`` counts those that are stored. Raises TimeoutError: it came
    slower than `BODY_RATE`; GoneError, RefusedError.
    """
    declared = next(
        (int(value) for name, value in scope["headers"] if name == b"content-length"),
        None,
    )
    if declared is not None and declared > UNASKED_BYTES:
        await admit()
        if declared > admission.largest:
            return declared
    loop = asyncio.get_running_loop()
    read = 0
    more = True
    began = loop.time()
    while more and read <= admission.largest:
        async with asyncio.timeout_at(began + BODY_SECONDS + read / BODY_RATE):
            message = await receive()
        if message["type"] == "http.disconnect":
            raise GoneError
        piece = message.get("body", b"")
        more = message.get("more_body", False)
        if read + len(piece) > UNASKED_BYTES:
            if not admission.is_given:
                await admit()
            try:
                take(len(piece))
                body.write(piece)
            except ChatbotError as error:
                admission.error = error
                return 0
            except OSError:
                admission.error = DiskFullError("There is no room for this upload.")
                return 0
        else:
            body.write(piece)
        read += len(piece)
    body.seek(0)
    if read or declared is not None:
        return read
    return None


def environ_of(scope: Scope, body: IO[bytes], length: int | None) -> dict[str, Any]:
    """Return the WSGI environment of a request (PEP 3333)."""
    server = scope.get("server") or ("localhost", None)
    client = scope.get("client") or ("", None)
    environ: dict[str, Any] = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": "",
        "PATH_INFO": scope["path"].encode().decode("latin-1"),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "SERVER_NAME": server[0],
        "SERVER_PORT": str(server[1] or 80),
        "REMOTE_ADDR": client[0],
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope["scheme"],
        "wsgi.input": body,
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }
    repeated = set[str]()
    for raw, value in scope["headers"]:
        # WSGI cannot tell an underscore from a hyphen; the body is read already, with
        # its length.
        if b"_" in raw or raw == b"transfer-encoding":
            continue
        name = raw.decode("latin-1").upper().replace("-", "_")
        name = name if name in {"CONTENT_TYPE", "CONTENT_LENGTH"} else f"HTTP_{name}"
        text = value.decode("latin-1")
        if name in environ:
            repeated.add(name)
        environ[name] = f"{environ[name]},{text}" if name in environ else text
    environ[REPEATED_HEADERS] = repeated
    if length is not None:
        environ["CONTENT_LENGTH"] = str(length)
    return environ


def start(app: Application, environ: dict[str, Any]) -> Started:
    """Call the application, in a thread of its own, and complete a response of known,
    small length.
    """
    begun: list[Any] = []
    response = app(environ, lambda *given: begun.extend(given[:2]))
    close = getattr(response, "close", lambda: None)
    # The server adds the date itself.
    headers = [
        (name.lower().encode("latin-1"), value.encode("latin-1"))
        for name, value in begun[1]
    ]
    headers = [(name, value) for name, value in headers if name != b"date"]
    status = int(begun[0].split()[0])
    length = int(dict(headers).get(b"content-length", IN_MEMORY))
    if length >= IN_MEMORY:
        return status, headers, iter(response), close
    try:
        return status, headers, b"".join(response), close
    finally:
        close()


async def send_stream(stream: EventStream, send: Send) -> None:
    """Write the events of a stream as they come, waiting ones together, and a comment
    in each second of silence.
    """
    loop = asyncio.get_running_loop()
    pending = list[str | None]()
    more = asyncio.Event()

    def say(text: str | None) -> None:
        pending.append(text)
        if len(pending) == 1:  # else the loop has been woken
            loop.call_soon_threadsafe(more.set)

    stream.listen(say)
    while True:
        try:
            async with asyncio.timeout(SILENCE_SECONDS):
                await more.wait()
        except TimeoutError:
            await _write(send, KEEP_ALIVE.encode())
            continue
        more.clear()
        waiting = list[str | None]()
        while (
            pending
        ):  # until it is empty: events that are added to others do not wake the loop
            waiting.append(pending.pop(0))
        await _write(
            send, "".join(text for text in waiting if text is not None).encode()
        )
        if None in waiting:
            return


async def _write(send: Send, body: bytes) -> None:
    async with asyncio.timeout(WRITE_SECONDS):
        await send({"type": "http.response.body", "body": body, "more_body": True})
