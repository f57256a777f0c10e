"""What PyMongo's retries leave out: a pause between them, and what the server said when the time is up.

Under a time limit PyMongo tries a refused command again and again without a pause (4,000 times a second, measured),
and in the end tells only that the time is up.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from pymongo.errors import ConnectionFailure, ExecutionTimeout, OperationFailure
from pymongo.monitoring import CommandFailedEvent, CommandListener, CommandStartedEvent, CommandSucceededEvent

PAUSE, LONGEST_PAUSE = 0.05, 1.0
"""Seconds before the third attempt, doubled with each further one; the second is made at once, as PyMongo does."""


class _Attempts:
    """The failed attempts of one call."""

    def __init__(self, deadline: float) -> None:
        self.deadline = deadline
        self.count = 0
        self.refusal: dict[str, Any] | None = None


_current: ContextVar[_Attempts | None] = ContextVar("attempts", default=None)


class Attempts(CommandListener):
    """Registered with the client; its methods run in the thread that makes the call."""

    def started(self, event: CommandStartedEvent) -> None:
        """Nothing to do."""

    def succeeded(self, event: CommandSucceededEvent) -> None:
        """Nothing to do."""

    def failed(self, event: CommandFailedEvent) -> None:
        attempts = _current.get()
        if attempts is None:
            return
        if "code" in event.failure:
            attempts.refusal = dict(event.failure)
        if attempts.count:
            pause = min(PAUSE * 2 ** (attempts.count - 1), LONGEST_PAUSE)
            time.sleep(max(0.0, min(pause, attempts.deadline - time.monotonic())))
        attempts.count += 1


@contextmanager
def retried_call(seconds: float) -> Iterator[None]:
    """Around one call. Where its time runs out over retries, the server's own refusal is raised."""
    attempts = _Attempts(time.monotonic() + seconds)
    token = _current.set(attempts)
    try:
        yield
    except (ExecutionTimeout, ConnectionFailure) as error:
        refusal = attempts.refusal
        if refusal is None or not (isinstance(error, ExecutionTimeout) or error.timeout):
            raise
        raise OperationFailure(str(refusal.get("errmsg", "")), refusal["code"], refusal) from error
    finally:
        _current.reset(token)
