"""An answer from a worker thread, as server-sent events or whole, so that a closed connection is noticed in silence."""

from __future__ import annotations

import contextvars
import json
import math
import queue
import socket
import ssl
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from werkzeug.exceptions import HTTPException

from ..cancellation import Cancellation
from ..conversation.service import Saved
from ..errors import ChatbotError
from ..schema import Event, SourcesEvent, StepEvent, TokenEvent
from ..serialization import answer_json, hit_json, scope_json, step_json
from .middleware import error_body, unexpected

LOOK_SECONDS = 0.2
"""How often to look whether the client is still there."""
SILENCE_SECONDS = 1.0
HOLD_SECONDS = 2.0
"""How long the first steps are held back, all of them together, so that an early failure still has its status code."""
KEEP_ALIVE = ": waiting\n\n"
_END = object()


class ClientGoneError(HTTPException):
    """Nobody reads the response any more. The number is nginx's, for the log."""

    code = 499
    description = "The client closed the connection."


class EventStream:
    """Runs ``events`` in a thread, and cancels them as soon as ``gone`` says that nobody waits for them any more.

    `open` raises what fails early; iterating sends the rest. `whole` is for a client that takes the answer alone.
    """

    def __init__(self, events: Callable[[Cancellation], Iterator[Event | Saved]], gone: Callable[[], bool]) -> None:
        self._cancel = Cancellation()
        self._events = events
        self._gone = gone
        self._queue: queue.Queue[Any] = queue.Queue()
        self._held: list[Any] = []

    def open(self) -> Iterator[str]:
        """Start, wait until it is clear whether there will be an answer, and return the encoded stream.

        Raises:
            ChatbotError: the question failed before its sources were known.
            ClientGoneError: nobody waits for it any more.
        """
        self._start()
        until = time.monotonic() + HOLD_SECONDS
        while True:
            try:
                item = self._next(until)
            except queue.Empty:
                break
            if isinstance(item, BaseException):
                raise item
            self._held.append(item)
            if not isinstance(item, StepEvent):
                break
        return self._encoded()

    def whole(self) -> Saved:
        """Start, and wait for the answer.

        Raises:
            ChatbotError: the question failed.
            ClientGoneError: nobody waits for it any more.
        """
        self._start()
        last = None
        while (item := self._next(math.inf)) is not _END:
            if isinstance(item, BaseException):
                raise item
            last = item
        assert isinstance(last, Saved), "a stream ends with its answer or with an error"
        return last

    def _start(self) -> None:
        # in a copy of this context: the time limits of the request go on in the thread
        context = contextvars.copy_context()
        threading.Thread(target=context.run, args=(self._work,), name="answer", daemon=True).start()

    def _work(self) -> None:
        try:
            for event in self._events(self._cancel):
                self._queue.put(event)
        except Exception as error:  # noqa: BLE001  # the web layer's border: it goes to the client's thread
            self._queue.put(error)
        self._queue.put(_END)

    def _encoded(self) -> Iterator[str]:
        try:
            for item in self._items():
                if item is None:
                    yield KEEP_ALIVE
                elif isinstance(item, BaseException):
                    known = item if isinstance(item, ChatbotError) else unexpected(item)
                    yield encode("error", error_body(known))
                else:
                    yield encode(*_payload(item))
        except ClientGoneError:
            return
        finally:
            # Reached at the end, and by GeneratorExit when the client has gone.
            self._cancel.cancel()

    def _items(self) -> Iterator[Any]:
        """Held items, then new ones; None for each second of silence. Raises ClientGoneError."""
        pending = list(self._held)
        while True:
            if pending:
                item = pending.pop(0)
            else:
                try:
                    item = self._next(time.monotonic() + SILENCE_SECONDS)
                except queue.Empty:
                    yield None
                    continue
            if item is _END:
                return
            yield item

    def _next(self, until: float) -> Any:
        """The next item, waiting up to this time of the monotonic clock.

        Raises:
            queue.Empty: there was none.
            ClientGoneError: nobody waits for it any more; what is under way is cancelled.
        """
        while not self._gone():
            try:
                return self._queue.get(timeout=max(0.0, min(LOOK_SECONDS, until - time.monotonic())))
            except queue.Empty:
                if time.monotonic() >= until:
                    raise
        self._cancel.cancel()
        raise ClientGoneError


def encode(name: str, data: dict[str, Any]) -> str:
    """A server-sent event; JSON has no line break, so that its data is one line."""
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"


def _payload(event: Event | Saved) -> tuple[str, dict[str, Any]]:
    if isinstance(event, StepEvent):
        return "step", step_json(event)
    if isinstance(event, SourcesEvent):
        return "sources", {"hits": [hit_json(hit) for hit in event.hits], "scope": scope_json(event.scope)}
    if isinstance(event, TokenEvent):
        return "token", {"text": event.text}
    assert isinstance(event, Saved)
    return "done", answer_json(event)


def client_gone(environ: Mapping[str, Any]) -> Callable[[], bool]:
    """What tells, without waiting, whether the connection of this WSGI request was closed; thread-safe.

    waitress says it itself; gunicorn and Werkzeug hand their socket on. Where that cannot be looked into (TLS, Windows)
    or the server is another one, the answer is always False: it is then noticed when something is written.
    """
    told: Callable[[], bool] | None = environ.get("waitress.client_disconnected")
    if told is not None:
        return told
    connection = environ.get("gunicorn.socket", environ.get("werkzeug.socket"))
    if sys.platform == "win32" or not isinstance(connection, socket.socket) or isinstance(connection, ssl.SSLSocket):
        return lambda: False
    return lambda: _ended(connection)


def _ended(connection: socket.socket) -> bool:
    """Peeks only: what the client has sent ahead is the server's to read."""
    try:
        return not connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False
    except OSError:  # reset by the client, or closed by the server
        return True
