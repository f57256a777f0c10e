"""An answer as server-sent events or whole, made in its own thread and cancelled when the client disconnects."""

from __future__ import annotations

import contextvars
import json
import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from werkzeug.exceptions import HTTPException

from ...answering.conversation import Saved
from ...domain import Event, SourcesEvent, StepEvent, TokenEvent
from ...domain.cancellation import Cancellation
from ...domain.errors import ChatbotError
from ...domain.json import to_json
from .observing import error_body, unexpected

if TYPE_CHECKING:
    from .resuming import ResumableAnswer

CLIENT = "report_chat.client"
"""Key of the environ: a `Cancellation` that the server cancels when the client disconnects."""
HAND_OVER = "report_chat.hand_over"
"""Key of the environ of a server that sends streams itself: it takes an open `EventStream`; the response is empty."""
FULL = "report_chat.full"
"""Key of the environ: the server already has QUESTIONS of them, and this one has to be refused."""
BEGUN = "report_chat.begun"
"""Key of the environ: a function to call, in any thread, when the search is over; the rest is mostly waiting."""
NAMES: Mapping[type, str] = {StepEvent: "step", SourcesEvent: "sources", TokenEvent: "token", Saved: "done"}
"""The name of each event of a stream."""
STREAM_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
"""A stream is neither cached nor buffered."""
SILENCE_SECONDS = 1.0
HOLD_SECONDS = 2.0
"""Time for which the first steps are held back, so that an early failure still gets its status code."""
KEEP_ALIVE = ": waiting\n\n"
THREADS = ThreadPoolExecutor(max_workers=4096, thread_name_prefix="answer")
"""Threads are kept with their database connections; the server limits how many work at the same time (QUESTIONS)."""


class ClientGoneError(HTTPException):
    """The client disconnected; the status, for the log, is that of nginx."""

    code = 499
    description = "The client closed the connection."


Item = Event | Saved | str
"""An event of a stream; text is encoded already."""
Events = Callable[[Cancellation], Iterator[Item]]
"""Gives the events of an answer until it is cancelled."""
Watch = Callable[[], AbstractContextManager[Callable[[Item], object]]]
"""What surrounds an answer; the function that it gives is called with each event."""


def write_event(event: Item) -> Iterable[str]:
    """Encode an event as the API describes it."""
    return (event if isinstance(event, str) else encode(NAMES[type(event)], to_json(event)),)


class EventStream:
    """Runs ``events`` until they end or ``client`` is cancelled.

    `open` raises early failures; then `listen` or iterating gives the encoded events. `whole` gives the answer alone.
    """

    def __init__(
        self,
        events: Events,
        client: Cancellation,
        *,
        watch: Watch = lambda: nullcontext(lambda event: None),
        write: Callable[[Item], Iterable[str]] = write_event,
        tell_begun: Callable[[], object] = lambda: None,
        keeping: ResumableAnswer | None = None,
    ) -> None:
        """``tell_begun`` is called once, before the first event that is not a step."""
        self._events = events
        self._watch = watch
        self._write = write
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
        """Start the work, and wait until an early failure is ruled out.

        Raises:
            ChatbotError: the question failed before its sources were known.
            ClientGoneError: the client disconnected.
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
        """Call ``say`` with each encoded event, in the answer's thread, and with None at the end."""
        with self._lock:
            self._say = say
            for text in self._held:
                say(text)

    def close(self) -> None:
        """Cancel the work, unless it is resumable."""
        self._leave()

    def __iter__(self) -> Iterator[str]:
        """Yield the encoded events, and a comment in each second of silence, which reveals a lost client."""
        pending: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self.listen(pending.put)
        try:
            while True:
                try:
                    text = pending.get(timeout=SILENCE_SECONDS)
                except queue.Empty:
                    text = KEEP_ALIVE
                if text is None:
                    return
                yield text
        finally:
            self.close()

    def whole(self) -> Saved:
        """Make the answer in this thread and return it.

        Raises:
            ChatbotError: the question failed.
            ClientGoneError: the client disconnected.
        """
        last: Item | None = None
        try:
            with self._watch() as note:
                for event in self._events(self._cancel):
                    self._note_begin(event)
                    note(event)
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
            with self._watch() as note:
                for event in self._events(self._cancel):
                    self._note_begin(event)
                    note(event)
                    for text in self._write(event):
                        self._send(text if self._keeping is None else self._keeping.note(event, text))
        except Exception as error:  # noqa: BLE001  # the web layer's border: it goes to the client
            self._fail(error)
        finally:
            if self._keeping is not None:
                self._keeping.end()
        self._send(None)
        self._begun.set()

    def _note_begin(self, event: Item) -> None:
        if not isinstance(event, StepEvent) and not self._begun.is_set():
            self._begun.set()
            self._tell_begun()

    def _send(self, text: str | None) -> None:
        with self._lock:
            self._say(text)

    def _fail(self, error: Exception) -> None:
        with self._lock:
            if not self._is_open:
                self._failure = error
                return
        self._send(encode("error", error_body(error if isinstance(error, ChatbotError) else unexpected(error))))


def encode(name: str, data: dict[str, Any]) -> str:
    """Return a server-sent event; JSON has no line break, so its data is one line."""
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"


def client_of(environ: Mapping[str, Any]) -> Cancellation:
    """Return what is cancelled when the client of a WSGI request disconnects; never, on other servers."""
    return environ.get(CLIENT) or Cancellation()
