"""Answers of the page that outlive their connection: their events are stored as they are written, and sent again to a
client that comes back, by any process.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from flask import current_app

from ...answering.conversation import Saved
from ...database.repositories.conversations import Begun, State
from ...database.repositories.unfinished import Unfinished, UnfinishedRepository
from ...domain import TokenEvent
from ...domain.cancellation import Cancellation
from ...domain.errors import CancelledError, ChatbotError, DependencyError
from ...jobs.worker import Worker
from .streaming import encode

if TYPE_CHECKING:
    from ..services import Services

log = logging.getLogger(__name__)
TICK_SECONDS = 0.25
POLL_TICKS = 4
"""Ticks between two reads of what other processes have noted."""
LOST_SECONDS = 8.0
"""Seconds after which an answer without a beat has lost its process."""
MAX_DETACHED = 20
"""Answers of a process without a client; when there are more, the next one ends with its connection."""
STOPPED, LOST = "This answer was stopped.", "The server stopped before this answer was complete."


class ResumableAnswer:
    """An answer that continues for a while without a client. ``detached_at``: since when, None = it has a client."""

    def __init__(self, begun: Begun, streams: ActiveStreams) -> None:
        self.begun = begun
        self.cancel = Cancellation()
        self.heard = 0
        self.detached_at: float | None = None
        self.saved = False
        self.writing = threading.Lock()
        """Held while its events are stored, or removed for good."""
        self.text = ""
        self._streams = streams
        self._lock = threading.Lock()
        self._count = 0
        self._unstored: list[str] = []

    def beginning(self) -> str:
        """Return the first event: the ids of the conversation and of the message, for the address and a reload."""
        return encode("begun", asdict(self.begun))

    def note(self, event: object, text: str) -> str:
        """Return the event with its number as the id. The last event is stored as the message, the others here."""
        with self._lock:
            self._count += 1
            text = f"id: {self._count}\n{text}"
            self.saved = isinstance(event, Saved)
            if not self.saved:
                self._unstored.append(text)
            if isinstance(event, TokenEvent):
                self.text += event.text
        return text

    def take(self) -> tuple[int, list[str]]:
        """Return the events that are not stored yet, with the number of the first; they count as stored."""
        with self._lock:
            events, self._unstored = self._unstored, []
            return self._count - len(events) + 1, events

    def leave(self) -> None:
        """Continue without a client for RESUME_SECONDS, unless too many answers do."""
        self._streams.detach(self)

    def end(self) -> None:
        """Note that the answer is complete, stopped or failed."""
        self._streams.end(self)


class ActiveStreams(Worker):
    """The resumable answers of this process. One thread stores their events and reads what others have noted."""

    outage = "Events of answers are not stored"

    def __init__(self, services: Services) -> None:
        super().__init__(TICK_SECONDS)
        self._services = services
        self._lock = threading.Lock()
        self._answers: dict[str, ResumableAnswer] = {}
        self._thread: threading.Thread | None = None
        self._ticks = 0

    def add(self, begun: Begun) -> ResumableAnswer:
        """Look after an answer until its end."""
        answer = ResumableAnswer(begun, self)
        with self._lock:
            self._answers[begun.message_id] = answer
            if self._thread is None:
                self._thread = threading.Thread(target=self.run, name="resumable-answers", daemon=True)
                self._thread.start()
        return answer

    def ids(self) -> set[str]:
        """Return the message ids of the answers that are being written."""
        with self._lock:
            return set(self._answers)

    def detach(self, answer: ResumableAnswer) -> None:
        """See `ResumableAnswer.leave`."""
        answer.detached_at = time.monotonic()
        with self._lock:
            detached = sum(other.detached_at is not None for other in self._answers.values())
        if detached > MAX_DETACHED or not self._services.settings.resume_seconds:
            answer.cancel.cancel()

    def end(self, answer: ResumableAnswer) -> None:
        """See `ResumableAnswer.end`."""
        with self._lock:
            self._answers.pop(answer.begun.message_id, None)
        state: State = "" if answer.saved else "stopped" if answer.cancel.cancelled else "failed"
        try:
            with answer.writing:
                answer.take()  # the message itself has these events
                self._services.storage.unfinished.end(answer.begun.message_id, state, answer.text)
        except DependencyError as error:  # the client has its answer; later clients read that it was lost
            log.warning("The end of an answer was not stored: %s", error.message)

    def stop(self, message_id: str) -> None:
        """Stop an answer if this process writes it; its text so far stays."""
        with self._lock:
            answer = self._answers.get(message_id)
        if answer is not None:
            answer.cancel.cancel()

    def close(self) -> None:
        """End the thread, with the process."""
        super().close()
        if self._thread is not None:
            self._thread.join()

    def work_once(self) -> bool:
        self._ticks += 1
        with self._lock:
            answers = dict(self._answers)
        for answer in answers.values():
            with answer.writing:
                first, events = answer.take()
                if events and not answer.cancel.cancelled:
                    self._services.storage.unfinished.keep(answer.begun, first, events)
        if answers and self._ticks % POLL_TICKS == 0:
            self._poll_other_workers(answers)
        return False

    def _poll_other_workers(self, answers: dict[str, ResumableAnswer]) -> None:
        now, rows = time.monotonic(), self._services.storage.unfinished.beat(answers)
        for id, answer in answers.items():
            row = rows.get(id)
            if row is not None and row.heard != answer.heard:
                answer.heard, answer.detached_at = row.heard, now
            since = answer.detached_at
            too_long = since is not None and now - since > self._services.settings.resume_seconds
            if row is None or row.stop or too_long:
                answer.cancel.cancel()


def active_streams() -> ActiveStreams:
    """Return the resumable answers of the application that serves the current request."""
    streams: ActiveStreams = current_app.extensions["active_streams"]
    return streams


def refuse_ended(answer: Unfinished) -> None:
    """Raise CancelledError for a stopped answer, ChatbotError for a failed one."""
    if answer.state == "stopped":
        raise CancelledError(STOPPED)
    if answer.state == "failed":
        raise ChatbotError(LOST)


def replay(
    unfinished: UnfinishedRepository, message_id: str, owner: str, last: int, client: Cancellation
) -> Iterator[str]:
    """Yield the events of an answer after the number ``last``, those still to come too; all but `done`.

    Raises:
        NotFoundError: there is no such answer, or it was removed meanwhile.
        CancelledError: it was stopped.
        ChatbotError: it failed, or its process has gone.
    """
    beat, beat_at, listened_at = -1, time.monotonic(), 0.0
    while not client.cancelled:
        answer, now = unfinished.find(message_id, owner), time.monotonic()
        for number, text in unfinished.events(message_id, last):
            last = number
            yield text
        if not answer.state:
            return
        refuse_ended(answer)
        if answer.beat != beat:
            beat, beat_at = answer.beat, now
        elif now - beat_at > LOST_SECONDS:
            unfinished.end(message_id, "failed")
            raise ChatbotError(LOST)
        if now - listened_at > TICK_SECONDS * POLL_TICKS:
            listened_at = now
            unfinished.listen(message_id)
        client.wait(TICK_SECONDS)
