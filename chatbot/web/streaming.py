"""An answer as server-sent events or whole, written in a thread of its own; both end when the client goes."""

from __future__ import annotations

import contextvars
import json
import queue
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

from werkzeug.exceptions import HTTPException

from ..cancellation import Cancellation
from ..conversation.service import Saved
from ..errors import ChatbotError
from ..schema import Event, SourcesEvent, StepEvent, TokenEvent
from ..schema.json import to_json
from .middleware import error_body, unexpected

CLIENT = "report_chat.client"
"""In the environ of a request: a `Cancellation` that the server cancels when the client has gone."""
HAND_OVER = "report_chat.hand_over"
"""In the environ, where the server sends streams itself: takes an open `EventStream`; the response is then empty."""
FULL = "report_chat.full"
"""In the environ of a question: the server has QUESTIONS of them already, so that this one is to be refused."""
BEGUN = "report_chat.begun"
"""In the environ of a question: called, in any thread, when its search is over; the rest is mostly waiting."""
NAMES: Mapping[type, str] = {StepEvent: "step", SourcesEvent: "sources", TokenEvent: "token", Saved: "done"}
"""The name of each event of a stream."""
STREAM_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
"""Of a stream: nothing may keep it, nor hold it back."""
SILENCE_SECONDS = 1.0
HOLD_SECONDS = 2.0
"""How long the first steps are held back, all of them together, so that an early failure still has its status code."""
KEEP_ALIVE = ": waiting\n\n"
THREADS = ThreadPoolExecutor(max_workers=4096, thread_name_prefix="answer")
"""Kept, with their connections to the database. How many are at work at once is the server's to say (QUESTIONS)."""


class ClientGoneError(HTTPException):
    """Nobody reads the response any more. The number is nginx's, for the log."""

    code = 499
    description = "The client closed the connection."


class Keeping(Protocol):
    """Keeps a stream for whoever comes back to it: it goes on for a while when the client has gone."""

    cancel: Cancellation

    def beginning(self) -> str:
        """The first event, encoded."""

    def note(self, event: Event | Saved, text: str) -> str:
        """An event, which is kept; returns it encoded, with its number."""

    def leave(self) -> None:
        """The client has gone."""

    def end(self) -> None:
        """Nothing more will come."""


class EventStream:
    """What ``events`` say, and that they are cancelled as soon as ``client`` is.

    `open` raises what fails early, then `listen` or iterating gives the events. `whole` is for the answer alone.
    """

    def __init__(
        self,
        events: Callable[[Cancellation], Iterator[Event | Saved | str]],
        client: Cancellation,
        *,
        tell_begun: Callable[[], object] = lambda: None,
        keeping: Keeping | None = None,
    ) -> None:
        """``tell_begun`` is called once, before the first event that is no step. Text is an event encoded already."""
        self._events = events
        self._tell_begun = tell_begun
        self._keeping = keeping
        self._cancel = Cancellation(client) if keeping is None else keeping.cancel
        self._leave = self._cancel.cancel if keeping is None else keeping.leave
        if keeping is not None:
            client.on_cancel(keeping.leave)
        self._begun = threading.Event()
        self._lock = threading.Lock()
        self._is_open = False
        self._failure: Exception | None = None
        self._held: list[str | None] = []
        self._say: Callable[[str | None], object] = self._held.append

    def open(self) -> EventStream:
        """Start, and wait until it is clear whether there will be an answer.

        Raises:
            ChatbotError: the question failed before its sources were known.
            ClientGoneError: nobody waits for it any more.
        """
        # in a copy of this context: the time limits of the request go on in the thread
        THREADS.submit(contextvars.copy_context().run, self._work)
        self._cancel.on_cancel(self._begun.set)
        if self._keeping is None:  # else its first event says at once where the answer will be found
            self._begun.wait(HOLD_SECONDS)
        if self._cancel.cancelled:
            raise ClientGoneError
        with self._lock:
            if self._failure is not None:
                raise self._failure
            self._is_open = True
        return self

    def listen(self, say: Callable[[str | None], object]) -> None:
        """Have ``say`` called with each encoded event, in the answer's thread; with None at the end."""
        with self._lock:
            self._say = say
            for text in self._held:
                say(text)

    def close(self) -> None:
        """Nobody listens any more: what is under way is cancelled, unless it is kept."""
        self._leave()

    def __iter__(self) -> Iterator[str]:
        """The encoded events, for a server that iterates; a comment in each second of silence finds out that a
        client is gone.
        """
        said: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self.listen(said.put)
        try:
            while True:
                try:
                    text = said.get(timeout=SILENCE_SECONDS)
                except queue.Empty:
                    text = KEEP_ALIVE
                if text is None:
                    return
                yield text
        finally:
            self.close()

    def whole(self) -> Saved:
        """The answer, made in this thread.

        Raises:
            ChatbotError: the question failed.
            ClientGoneError: nobody waits for it any more.
        """
        last: Event | Saved | str | None = None
        try:
            for event in self._heard():
                last = event
        except ChatbotError:
            if not self._cancel.cancelled:
                raise
        if self._cancel.cancelled:
            raise ClientGoneError
        assert isinstance(last, Saved), "a stream ends with its answer or with an error"
        return last

    def _work(self) -> None:
        try:
            if self._keeping is not None:
                self._send(self._keeping.beginning())
            for event in self._heard():
                self._send(self._encoded(event))
        except Exception as error:  # noqa: BLE001  # the web layer's border: it goes to the client
            self._fail(error)
        finally:
            if self._keeping is not None:
                self._keeping.end()
        self._send(None)
        self._begun.set()

    def _encoded(self, event: Event | Saved | str) -> str:
        if isinstance(event, str):
            return event
        text = encode(NAMES[type(event)], to_json(event))
        return text if self._keeping is None else self._keeping.note(event, text)

    def _heard(self) -> Iterator[Event | Saved | str]:
        for event in self._events(self._cancel):
            if not isinstance(event, StepEvent) and not self._begun.is_set():
                self._begun.set()
                self._tell_begun()
            yield event

    def _send(self, text: str | None) -> None:
        with self._lock:
            self._say(text)

    def _fail(self, error: Exception) -> None:
        with self._lock:
            if not self._is_open:
                self._failure = error
                return
        known = error if isinstance(error, ChatbotError) else unexpected(error)
        self._send(encode("error", error_body(known)))


def encode(name: str, data: dict[str, Any]) -> str:
    """A server-sent event; JSON has no line break, so that its data is one line."""
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"


def client_of(environ: Mapping[str, Any]) -> Cancellation:
    """Cancelled when the client of this WSGI request goes; never, where another server says nothing of that."""
    return environ.get(CLIENT) or Cancellation()
