"""Answers of the page that outlive their connection: kept as they grow, told again to whoever comes back.

One thread keeps all those of this process: every moment it writes what they have said, and looks whether somebody has
stopped them or listens to them, in whatever process. What is told again is read from the database.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from flask import current_app

from ..cancellation import Cancellation
from ..conversation.service import Saved
from ..errors import CancelledError, ChatbotError, DependencyError
from ..repositories.conversations import Begun, State
from ..repositories.unfinished import Unfinished, UnfinishedRepository
from ..schema import TokenEvent
from .streaming import encode

if TYPE_CHECKING:
    from ..services import Services

log = logging.getLogger(__name__)
TICK_SECONDS = 0.25
BEATS = 4
"""Ticks between two looks at what others say."""
LOST_SECONDS = 8.0
"""An answer of which nothing is heard for so long has lost its process."""
MOST_ALONE = 20
"""Answers of a process to which nobody listens; of more, the next one ends with its connection."""
STOPPED, LOST = "This answer was stopped.", "The server stopped before this answer was complete."


class Resumable:
    """An answer that goes on for a while without a client. ``alone_since``: since when, None = somebody listens."""

    def __init__(self, begun: Begun, under_way: UnderWay) -> None:
        self.begun = begun
        self.cancel = Cancellation()
        self.heard = 0
        self.alone_since: float | None = None
        self.saved = False
        self.writing = threading.Lock()
        """Held while its events are written, or removed for good."""
        self._under_way = under_way
        self._lock = threading.Lock()
        self._said = 0
        self._unwritten: list[str] = []
        self._text: list[str] = []

    def beginning(self) -> str:
        """The first event: in which conversation the answer is, and which message it is, for the address and a
        reload.
        """
        return encode("begun", asdict(self.begun))

    def note(self, event: object, text: str) -> str:
        """The event's text with its number as the id. All but the last are to be stored; that is kept with the
        message itself.
        """
        with self._lock:
            self._said += 1
            text = f"id: {self._said}\n{text}"
            self.saved = isinstance(event, Saved)
            if not self.saved:
                self._unwritten.append(text)
            if isinstance(event, TokenEvent):
                self._text.append(event.text)
        return text

    def take(self) -> tuple[int, list[str]]:
        """The number of the first event that is not stored yet, and all these events; they count as stored."""
        with self._lock:
            taken, self._unwritten = self._unwritten, []
            return self._said - len(taken) + 1, taken

    @property
    def text(self) -> str:
        """What was written of the answer so far."""
        return "".join(self._text)

    def leave(self) -> None:
        """Goes on for RESUME_SECONDS, unless too many do already."""
        self._under_way.leave(self)

    def end(self) -> None:
        """Say that the answer is complete, stopped or failed."""
        self._under_way.end(self)


class UnderWay:
    """The resumable answers of this process."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._lock = threading.Lock()
        self._answers: dict[str, Resumable] = {}
        self._thread: threading.Thread | None = None
        self._closed = threading.Event()

    def take(self, begun: Begun) -> Resumable:
        """Look after an answer, from now to its end."""
        answer = Resumable(begun, self)
        with self._lock:
            self._answers[begun.message_id] = answer
            if self._thread is None:
                self._thread = threading.Thread(target=self._look_after, name="resumable-answers", daemon=True)
                self._thread.start()
        return answer

    def ids(self) -> set[str]:
        """The message ids of the answers that are being written now."""
        with self._lock:
            return set(self._answers)

    def leave(self, answer: Resumable) -> None:
        """See `Resumable.leave`."""
        answer.alone_since = time.monotonic()
        with self._lock:
            alone = sum(other.alone_since is not None for other in self._answers.values())
        if alone > MOST_ALONE or not self._services.settings.resume_seconds:
            answer.cancel.cancel()

    def end(self, answer: Resumable) -> None:
        """See `Resumable.end`."""
        with self._lock:
            self._answers.pop(answer.begun.message_id, None)
        state: State = "" if answer.saved else "stopped" if answer.cancel.cancelled else "failed"
        try:
            with answer.writing:
                answer.take()  # what is not written yet: the message itself has it
                self._unfinished.end(answer.begun.message_id, state, answer.text)
        except DependencyError as error:  # the client has its answer; who comes back is told that it was lost
            log.warning("The end of an answer was not kept: %s", error.message)

    def stop(self, message_id: str) -> None:
        """Stop an answer at once if it is one of this process; what it has said stays."""
        with self._lock:
            answer = self._answers.get(message_id)
        if answer is not None:
            answer.cancel.cancel()

    def close(self) -> None:
        """End the thread that looks after them; the process ends."""
        self._closed.set()
        if self._thread is not None:
            self._thread.join()

    @property
    def _unfinished(self) -> UnfinishedRepository:
        return self._services.storage.unfinished

    def _look_after(self) -> None:
        tick = 0
        while not self._closed.wait(TICK_SECONDS):
            tick += 1
            with self._lock:
                answers = list(self._answers.values())
            try:
                for answer in answers:
                    self._write(answer)
                if answers and tick % BEATS == 0:
                    self._ask_others({answer.begun.message_id: answer for answer in answers})
            except DependencyError as error:
                log.warning("Answers under way are not kept: %s", error.message)

    def _write(self, answer: Resumable) -> None:
        with answer.writing:
            first, events = answer.take()
            if events and not answer.cancel.cancelled:
                self._unfinished.keep(answer.begun, first, events)

    def _ask_others(self, answers: dict[str, Resumable]) -> None:
        now, told = time.monotonic(), self._unfinished.beat(answers)
        for id, answer in answers.items():
            said = told.get(id)
            if said is not None and said.heard != answer.heard:
                answer.heard, answer.alone_since = said.heard, now
            since = answer.alone_since
            too_long = since is not None and now - since > self._services.settings.resume_seconds
            if said is None or said.stop or too_long:
                answer.cancel.cancel()


def under_way() -> UnderWay:
    """The answers under way in the application that serves the current request."""
    found: UnderWay = current_app.extensions["under_way"]
    return found


def refuse_ended(answer: Unfinished) -> None:
    """Raises CancelledError: it was stopped; ChatbotError: it failed."""
    if answer.state == "stopped":
        raise CancelledError(STOPPED)
    if answer.state == "failed":
        raise ChatbotError(LOST)


def replay(found: UnfinishedRepository, message_id: str, owner: str, last: int, gone: Cancellation) -> Iterator[str]:
    """The events of an answer after the ``last`` one known, those that are still to come, too; all but `done`.

    Raises:
        NotFoundError: there is no such answer, or it was removed meanwhile.
        CancelledError: it was stopped.
        ChatbotError: it failed, or its process has gone.
    """
    beat, looked, heard_at = -1, time.monotonic(), 0.0
    while not gone.cancelled:
        answer, now = found.find(message_id, owner), time.monotonic()
        for number, text in found.events(message_id, last):
            last = number
            yield text
        if not answer.state:
            return
        refuse_ended(answer)
        if answer.beat != beat:
            beat, looked = answer.beat, now
        elif now - looked > LOST_SECONDS:
            found.end(message_id, "failed")
            raise ChatbotError(LOST)
        if now - heard_at > TICK_SECONDS * BEATS:
            heard_at = now
            found.listen(message_id)
        gone.wait(TICK_SECONDS)
