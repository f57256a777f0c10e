"""How long to wait for a database server, so that no request hangs on one that is down, frozen or slow."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

REQUEST_SHARE = 1.5
"""What all calls of one request may take together, in time limits of a single call."""
SILENT_SECONDS = 1.5
"""How long to wait for a server that is known to be silent; the driver looks for it twice a second meanwhile."""
IN_VAIN = 0.9
"""A call that fails after this share of its time limit has waited in vain; an earlier failure says less."""


class NoTimeLeftError(Exception):
    """The call is not made. ``silent``: the server does not answer; else this request has waited for too long."""

    def __init__(self, *, silent: bool) -> None:
        super().__init__("silent" if silent else "slow")
        self.silent = silent


@dataclass
class RequestTime:
    """What the calls of one request have ``waited`` for so far, in seconds."""

    began: float
    waited: float = 0.0


@dataclass
class Call:
    """One call to the server, which may take ``seconds``; the driver's listener notes its attempts that fail."""

    seconds: float
    deadline: float
    """In the time of `time.monotonic`."""
    failures: int = 0
    refusal: dict[str, Any] | None = None
    """The server's last refusal, as it came."""


@dataclass(frozen=True)
class _Request:
    time: RequestTime | None = None
    call: Call | None = None


_request: ContextVar[_Request] = ContextVar("database_request", default=_Request())  # noqa: B039  # frozen
"""The one thing that is not handed on: PyMongo's signatures, and those of what lies between, have no place for it."""


def begin_request(clock: Callable[[], float] = time.monotonic) -> None:
    """From here on, the calls made in this context belong together and share one time limit."""
    _request.set(_Request(RequestTime(clock())))


def end_request() -> None:
    """What follows in this context belongs to no request."""
    _request.set(_Request())


def current_call() -> Call | None:
    """The call that this thread is making."""
    return _request.get().call


class TimeLimits:
    """How long calls of one server may take. Thread-safe.

    The server counts as silent once a call has waited in vain and nobody else got an answer meanwhile. Then calls of
    requests that had already begun are given up at once (they queued behind that one), new ones wait briefly.
    """

    def __init__(
        self, seconds: float, *, silence: tuple[type[Exception], ...], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """``silence``: what is raised where nobody answers; any other error is an answer."""
        self.seconds = seconds
        self._silence = silence
        self._clock = clock
        self._lock = threading.Lock()
        self._answered = float("-inf")
        self._silent_since: float | None = None

    @contextmanager
    def call(self, seconds: float | None = None) -> Iterator[Call]:
        """Around one call, which may take at most ``seconds`` where given, and less where little time is left.

        Raises:
            NoTimeLeftError: it should not be made at all.
        """
        here = _request.get()
        limit = self._limit(self.seconds if seconds is None else seconds, here.time)
        call = Call(limit, time.monotonic() + limit)
        token = _request.set(replace(here, call=call))
        began = self._clock()
        try:
            yield call
        except self._silence:
            self._note_silence(began, limit)
            raise
        except Exception:
            self._note_answer()
            raise
        else:
            self._note_answer()
        finally:
            _request.reset(token)
            if here.time is not None:
                here.time.waited += self._clock() - began

    def _limit(self, seconds: float, request: RequestTime | None) -> float:
        with self._lock:
            silent_since = self._silent_since
        if silent_since is not None:
            if request is not None and request.began < silent_since:
                raise NoTimeLeftError(silent=True)
            seconds = min(seconds, SILENT_SECONDS)
        if request is not None:
            left = REQUEST_SHARE * self.seconds - request.waited
            if left <= 0:
                raise NoTimeLeftError(silent=False)
            seconds = min(seconds, left)
        return seconds

    def _note_silence(self, began: float, limit: float) -> None:
        now = self._clock()
        with self._lock:
            if now - began >= IN_VAIN * limit and self._answered < began:
                self._silent_since = now

    def _note_answer(self) -> None:
        with self._lock:
            self._answered = self._clock()
            self._silent_since = None
