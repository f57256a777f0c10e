"""Answers as server-sent events or whole, each made in a thread and cancelled when its
client disconnects.

Answers of the page may outlive their connection: their events are stored, and any
process can send them again.
"""

import contextvars
import json
import logging
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from typing import Any

from flask import Response, current_app, request
from werkzeug.exceptions import HTTPException, ServiceUnavailable

from ...answering.conversation import Saved
from ...database.repositories.answers import Unfinished, UnfinishedRepository
from ...database.repositories.conversations import Begun, State
from ...domain import Event, SourcesEvent, StepEvent, TokenEvent
from ...domain.cancellation import Cancellation
from ...domain.errors import CancelledError, ChatbotError, DependencyError
from ...domain.json import to_json
from ...jobs.worker import Worker
from ..services import Services
from .monitoring import error_body

log = logging.getLogger(__name__)
CONNECTION = "report_chat.connection"
"""Key of the environ that holds the `Connection`."""
NAMES: Mapping[type, str] = {
    StepEvent: "step",
    SourcesEvent: "sources",
    TokenEvent: "token",
    Saved: "done",
}
"""The name of each event of a stream."""
SILENCE_SECONDS = 1.0
HOLD_SECONDS = 2.0
"""Time for which the first steps are held back, so that an early failure still gets its
status code.
"""
KEEP_ALIVE = ": waiting\n\n"
THREADS = ThreadPoolExecutor(max_workers=4096, thread_name_prefix="answer")
"""Threads are kept with their database connections; the server limits how many work at
the same time (QUESTIONS).
"""
TICK_SECONDS = 0.25
POLL_TICKS = 4
"""Ticks between two reads of what other processes have noted."""
LOST_SECONDS = 8.0
"""Seconds after which the process of an answer without a beat counts as dead."""
MAX_DETACHED = 20
"""Maximum number of answers without a client in a process; beyond it an answer ends
with its connection.
"""
STOPPED, LOST = (
    "This answer was stopped.",
    "The server stopped before this answer was complete.",
)
Item = Event | Saved | str
"""An event of a stream; text is encoded already."""
Tell = Callable[[Item], object]
"""Takes an event at once."""
Work = Callable[[Cancellation, Tell], object]
"""Makes an answer, tells its events, the last of them `Saved`, and stops when it is
cancelled.
"""


class ClientGoneError(HTTPException):
    """The client disconnected; the status, for the log, is that of nginx."""

    code = 499
    description = "The client closed the connection."


@dataclass(slots=True)
class Connection:
    """Facts about a request's connection, from the server (`Front`) to the
    application.
    """

    client: Cancellation = field(default_factory=Cancellation)
    """Cancelled when the client disconnects."""
    claims_key: bool = False
    """True if the request came with what may identify a caller; not checked."""
    is_full: bool = False
    """True if the server already has QUESTIONS of them and has to refuse this one."""
    tell_begun: Callable[[], object] = lambda: None
    """To be called, in any thread, when the search is over; the rest is mostly
    waiting.
    """
    set_aside: Callable[[bool], object] = lambda aside: None
    """To be called with True, in any thread, before the question waits for a reader,
    and with False afterwards: meanwhile it does not count as one of QUESTIONS.
    """
    streams: "list[EventStream] | None" = None
    """A server that sends streams itself takes them from here; the response is empty
    then.
    """


def connection() -> Connection:
    """Return the connection of the current request; other servers than `Front` state
    nothing about it.
    """
    stated: Connection = request.environ.get(CONNECTION) or Connection()
    return stated


def refuse_more() -> None:
    """Raise ServiceUnavailable if too many questions are being answered."""
    if connection().is_full:
        message = (
            "Too many questions are being answered. Retry in a few seconds; QUESTIONS "
            "sets the limit."
        )
        raise ServiceUnavailable(message, retry_after=5)


def encode(name: str, data: dict[str, Any]) -> str:
    """Return a server-sent event; JSON has no line break, so its data is one line."""
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"


def write_event(event: Item) -> Iterable[str]:
    """Encode an event as the API describes it."""
    return (
        event if isinstance(event, str) else encode(NAMES[type(event)], to_json(event)),
    )


class EventStream:
    """Runs ``work`` until it ends or the client disconnects. `open` raises early
    failures; then `listen` or iterating gives the encoded events. `whole` gives the
    answer alone.
    """

    _is_held_back = True

    def __init__(
        self,
        work: Work,
        client: Connection,
        *,
        write: Callable[[Item], Iterable[str]] = write_event,
    ) -> None:
        self.cancel = Cancellation(client.client)
        self._make = work
        self._write = write
        self._tell_begun = client.tell_begun
        self._begun = threading.Event()
        self._lock = threading.Lock()
        self._is_open = False
        self._failure: Exception | None = None
        self._held: list[str | None] = []
        self._follow: Callable[[str | None], object] = lambda text: None
        self.has_failed = False
        """Whether the last event says that the answer failed."""
        self._say: Callable[[str | None], object] = self._held.append

    def open(self) -> "EventStream":
        """Start the work, and wait until an early failure is ruled out. Raises
        ChatbotError, ClientGoneError.
        """
        # In a copy of this context, so that the time limits of the request apply in the
        # thread too.
        THREADS.submit(contextvars.copy_context().run, self._work)
        self.cancel.on_cancel(self._begun.set)
        self._begun.wait(HOLD_SECONDS if self._is_held_back else 0.0)
        if self.cancel.cancelled:
            raise ClientGoneError
        with self._lock:
            if self._failure is not None:
                raise self._failure
            self._is_open = True
        return self

    def listen(self, say: Callable[[str | None], object]) -> None:
        """Call ``say`` with each encoded event, in the answer's thread, and with None
        at the end.
        """
        with self._lock:
            self._say = say
            for text in self._held:
                say(text)

    def follow(self, say: Callable[[str | None], object]) -> None:
        """Call ``say`` also with each encoded event, and with None at the end, before
        it is sent.
        """
        with self._lock:
            self._follow = say
            for text in self._held:
                say(text)

    def close(self) -> None:
        """Cancel the work: the client has gone."""
        self.cancel.cancel()

    def __iter__(self) -> Iterator[str]:
        """Yield the encoded events, and a comment in each second of silence, which
        reveals a lost client.
        """
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
        """Make the answer in this thread and return it. Raises ChatbotError,
        ClientGoneError.
        """
        last: Item | None = None

        def tell(event: Item) -> None:
            nonlocal last
            last = event
            self._begin(event)

        try:
            self._make(self.cancel, tell)
        except ChatbotError:
            if not self.cancel.cancelled:
                raise
        if self.cancel.cancelled:
            raise ClientGoneError
        assert isinstance(last, Saved), "a stream ends with its answer or with an error"
        return last

    def _begin(self, event: Item) -> None:
        """Note that the answer begins, with the first event that is no step."""
        if not isinstance(event, StepEvent) and not self._begun.is_set():
            self._begun.set()
            self._tell_begun()

    def _work(self) -> None:
        try:
            self._make(self.cancel, self._tell)
        except Exception as error:  # noqa: BLE001  # the web layer's border: it goes to the client
            with self._lock:
                if not self._is_open:
                    self._failure = error
            if self._failure is None:
                self.has_failed = True
                self._send(encode("error", error_body(error)))
        finally:
            self.end()
        self._send(None)
        self._begun.set()

    def _tell(self, event: Item) -> None:
        self._begin(event)
        for text in self._write(event):
            self._send(self.number(event, text))

    def _send(self, text: str | None) -> None:
        with self._lock:
            self._follow(text)
            self._say(text)

    def number(self, event: Item, text: str) -> str:
        """Return an encoded event as it is sent."""
        return text

    def end(self) -> None:
        """Note that the answer is complete, stopped or failed."""


class ResumableStream(EventStream):
    """A stream that continues for a while without a client. ``detached_at``: since
    when, None = it has a client.
    """

    _is_held_back = False
    """Its first event says at once where the answer will be found."""

    def __init__(
        self, begun: Begun, streams: "ActiveStreams", work: Work, client: Connection
    ) -> None:
        super().__init__(work, client)
        self.begun = begun
        self.cancel = Cancellation()
        self.heard = 0
        self.detached_at: float | None = None
        self.saved = False
        self.writing = threading.Lock()
        """Held while its events are stored, or removed for good."""
        self.text = ""
        self._streams = streams
        self._count = 0
        self._unstored: list[str] = []
        streams.add(self)
        self._send(encode("begun", asdict(begun)))
        client.client.on_cancel(self.close)

    def close(self) -> None:
        """Continue without a client for RESUME_SECONDS, unless too many answers do."""
        self._streams.detach(self)

    def unstored(self) -> tuple[int, list[str]]:
        """Return the events that are not stored yet, with the number of the first."""
        with self._lock:
            events = list(self._unstored)
            return self._count - len(events) + 1, events

    def note_stored(self, count: int) -> None:
        """Note that so many of the events that were not stored are stored."""
        with self._lock:
            del self._unstored[:count]

    def number(self, event: Item, text: str) -> str:
        """Return the event with its number as the id. The last event is stored as the
        message, the others here.
        """
        with self._lock:
            self._count += 1
            text = f"id: {self._count}\n{text}"
            self.saved = isinstance(event, Saved) and event.message_id is not None
            if not self.saved:
                self._unstored.append(text)
            if isinstance(event, TokenEvent):
                self.text += event.text
        return text

    def end(self) -> None:
        self._streams.end(self)


class ActiveStreams(Worker):
    """The resumable answers of this process. One thread stores their events and reads
    what others have noted.
    """

    outage = "Events of answers are not stored"
    idle_seconds = TICK_SECONDS

    def __init__(
        self, services: Services, start: Callable[[Callable[[], None]], None]
    ) -> None:
        """``start`` runs a function in a thread, once."""
        super().__init__()
        self._services = services
        self._start = start
        self._lock = threading.Lock()
        self.answers: dict[str, ResumableStream] = {}
        """By the id of their message."""
        self._ticks = 0

    def add(self, answer: ResumableStream) -> None:
        """Look after an answer until its end."""
        with self._lock:
            self.answers[answer.begun.message_id] = answer
        self._start(self.run)

    def detach(self, answer: ResumableStream) -> None:
        answer.detached_at = time.monotonic()
        with self._lock:
            detached = sum(
                other.detached_at is not None for other in self.answers.values()
            )
        if detached > MAX_DETACHED or not self._services.settings.resume_seconds:
            answer.cancel.cancel()

    def end(self, answer: ResumableStream) -> None:
        """Note that the answer is complete, stopped or failed."""
        with self._lock:
            self.answers.pop(answer.begun.message_id, None)
        state: State = (
            "" if answer.saved else "stopped" if answer.cancel.cancelled else "failed"
        )
        try:
            with answer.writing:
                answer.note_stored(len(answer.unstored()[1]))  # the message has them
                self._services.storage.unfinished.end(
                    answer.begun.message_id, state, answer.text
                )
        except (
            DependencyError
        ) as error:  # the client has its answer; later clients read that it was lost
            log.warning("The end of an answer was not stored: %s", error.message)

    def stop(self, message_id: str) -> None:
        """Stop an answer if this process writes it; its text so far stays."""
        if (answer := self.answers.get(message_id)) is not None:
            answer.cancel.cancel()

    def work_once(self) -> bool:
        self._ticks += 1
        with self._lock:
            answers = dict(self.answers)
        failure: DependencyError | None = None
        for answer in answers.values():
            try:
                self._keep(answer)
            except DependencyError as error:
                failure = error  # the next tick stores its events; now the others'
        if answers and self._ticks % POLL_TICKS == 0:
            self._look(answers)
        if failure is not None:
            raise failure
        return False

    def _keep(self, answer: ResumableStream) -> None:
        """Store the events of an answer that are not stored yet."""
        with answer.writing:
            first, events = answer.unstored()
            if events and not answer.cancel.cancelled:
                self._services.storage.unfinished.keep(answer.begun, first, events)
            answer.note_stored(len(events))

    def _look(self, answers: Mapping[str, ResumableStream]) -> None:
        """Note that these answers are being written, and read what other processes have
        noted.
        """
        rows = self._services.storage.unfinished.beat(answers)
        now = time.monotonic()
        for id, answer in answers.items():
            row = rows.get(id)
            if row is not None and row.heard != answer.heard:
                answer.heard = row.heard
                answer.detached_at = now
            since = answer.detached_at
            too_long = (
                since is not None
                and now - since > self._services.settings.resume_seconds
            )
            if row is None or row.stop or too_long:
                answer.cancel.cancel()


def sent_stream(response: Response) -> EventStream | None:
    """Return the stream that a response of the current request sends, None without
    one.
    """
    if isinstance(response.response, EventStream):
        return response.response
    streams = connection().streams
    if streams:
        return streams[-1]
    return None


def active_streams() -> ActiveStreams:
    """Return the resumable answers of the application that serves the current
    request.
    """
    streams: ActiveStreams = current_app.extensions["active_streams"]
    return streams


def refuse_ended(answer: Unfinished) -> None:
    """Raise CancelledError for a stopped answer, ChatbotError for a failed one."""
    if answer.state == "stopped":
        raise CancelledError(STOPPED)
    if answer.state == "failed":
        raise ChatbotError(LOST)


def replay(
    unfinished: UnfinishedRepository,
    message_id: str,
    owner: str,
    last: int,
    client: Cancellation,
) -> Iterator[str]:
    """Yield the events of an answer after the number ``last``, also those still to
    come, but not `done`. Raises NotFoundError; CancelledError: it was stopped;
    ChatbotError: it failed, or its process died.
    """
    beat = -1
    beat_at = time.monotonic()
    listened_at = 0.0
    while not client.cancelled:
        answer = unfinished.find(message_id, owner)
        now = time.monotonic()
        for number, text in unfinished.events(message_id, last):
            last = number
            yield text
        if not answer.state:
            return
        refuse_ended(answer)
        if answer.beat != beat:
            beat = answer.beat
            beat_at = now
        elif now - beat_at > LOST_SECONDS:
            unfinished.end(message_id, "failed")
            raise ChatbotError(LOST)
        if now - listened_at > TICK_SECONDS * POLL_TICKS:
            listened_at = now
            unfinished.listen(message_id)
        client.wait(TICK_SECONDS)
