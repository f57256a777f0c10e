"""Time limits for calls of a database server, so that no request hangs on a server that is down, frozen or slow."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

REQUEST_SHARE = 1.5
"""Time limit for all calls of a request together, in time limits of a single call."""
SILENT_SECONDS = 1.5
"""Time limit of a call while the server is silent; meanwhile the driver looks for the server twice a second."""
IN_VAIN = 0.9
"""A call that fails after this share of its time limit counts as unanswered; an earlier failure says less."""


class NoTimeLeftError(Exception):
    """The call is not made. ``silent``: the server does not answer; otherwise the request has waited too long."""

    def __init__(self, *, silent: bool) -> None:
        super().__init__("silent" if silent else "slow")
        self.silent = silent


@dataclass
class RequestTime:
    """Start of a request, and the seconds that its calls have taken. Time between calls does not count."""

    began: float
    waited: float = 0.0


@dataclass
class Call:
    """A call to the server. The driver's listener, which runs in the same thread, notes its failed attempts."""

    seconds: float
    deadline: float
    """In the time of `time.monotonic`."""
    failures: int = 0
    refusal: dict[str, Any] | None = None
    """The server's last refusal."""


_request: ContextVar[RequestTime | None] = ContextVar("database_request", default=None)
"""A context variable, because PyMongo's signatures have no place for it."""
_thread = threading.local()


def begin_request(clock: Callable[[], float] = time.monotonic) -> None:
    """Let the following calls in this context share one time limit."""
    _request.set(RequestTime(clock()))


def end_request() -> None:
    """End what `begin_request` began."""
    _request.set(None)


def current_call() -> Call | None:
    """Return the call that this thread is making."""
    return getattr(_thread, "call", None)


class TimeLimits:
    """Time limits of the calls of one server, and a circuit breaker. Thread-safe.

    The server counts as silent after a call that got no answer while no other call got one. From then on, calls of
    requests that began before fail at once, because they would queue, and calls of new requests have SILENT_SECONDS.
    """

    def __init__(
        self, seconds: float, *, silence: tuple[type[Exception], ...], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """``silence``: exceptions that mean that nobody answers; any other is an answer."""
        self.seconds = seconds
        self._silence = silence
        self._clock = clock
        self._lock = threading.Lock()
        self._answered = float("-inf")
        self._silent_since: float | None = None

    @contextmanager
    def call(self, seconds: float | None = None) -> Iterator[Call]:
        """Limit one call to ``seconds``, or less where the request has little time left.

        Raises:
            NoTimeLeftError: the call must not be made.
        """
        request, limit = _request.get(), self.seconds if seconds is None else seconds
        with self._lock:
            silent_since = self._silent_since
        if silent_since is not None:
            if request is not None and request.began < silent_since:
                raise NoTimeLeftError(silent=True)
            limit = min(limit, SILENT_SECONDS)
        if request is not None:
            limit = min(limit, REQUEST_SHARE * self.seconds - request.waited)
            if limit <= 0:
                raise NoTimeLeftError(silent=False)
        outer, call = current_call(), Call(limit, time.monotonic() + limit)
        _thread.call, began, answered = call, self._clock(), True
        try:
            yield call
        except self._silence:
            answered = False
            raise
        finally:
            _thread.call, now = outer, self._clock()
            if request is not None:
                request.waited += now - began
            with self._lock:
                if answered:
                    self._answered, self._silent_since = now, None
                elif now - began >= IN_VAIN * limit and self._answered < began:
                    self._silent_since = now
