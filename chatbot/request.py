"""The context of one request, handed through all layers: who asks, cancelling, deadlines, and what it costs.

Handed on as an argument, so that each signature says what may be broken off and what is counted. Where nobody waits and
nothing is counted (an ingestion, a command), None takes its place.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from .cancellation import Cancellation, Deadlines
from .schema.access import ANYBODY, Caller
from .schema.costs import Usage

_DEADLINES = Deadlines()


class RequestMeter:
    """What one question has taken so far. Thread-safe: its searches run at the same time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._usage = Usage()
        self._lookups: Counter[str] = Counter()

    @property
    def usage(self) -> Usage:
        """Calls and tokens that reached the metered chat model, also of calls that failed or were given up."""
        with self._lock:
            return self._usage

    @property
    def lookups(self) -> Counter[str]:
        """How often each cache was looked into, by outcome: ``"embedding hit"``, ``"response miss"``, ..."""
        with self._lock:
            return Counter(self._lookups)

    def add(self, usage: Usage) -> None:
        """Count what a call of the chat model took."""
        with self._lock:
            self._usage += usage

    def count_lookup(self, level: str, *, hit: bool) -> None:
        """Count one look into a cache."""
        with self._lock:
            self._lookups[f"{level} {'hit' if hit else 'miss'}"] += 1


@dataclass(frozen=True, slots=True)
class RequestContext:
    """One question, or a part of it with less time or fewer calls; the parts share the meter."""

    cancel: Cancellation = field(default_factory=Cancellation)
    deadline: float | None = None
    """The time, of `time.monotonic`, when this part is cancelled; None = it may take as long as the whole."""
    meter: RequestMeter = field(default_factory=RequestMeter)
    may_call: Callable[[], bool] = lambda: True
    """Asked before each call of a model that is not the agents' own; a call that may be made counts as made."""
    caller: Caller = ANYBODY
    private: bool = False
    """Whether the answer depends on what only the caller may see: on a conversation."""

    @property
    def cached_for(self) -> str:
        """The owner among whose cached answers to look, "" = everybody's."""
        return self.caller.owner if self.private else ""

    @property
    def cancelled(self) -> bool:
        """Whether nobody waits for this part any more."""
        return self.cancel.cancelled

    @contextmanager
    def within(self, seconds: float | None) -> Iterator[RequestContext]:
        """A part that may take so long, None = as long as it likes; it is cancelled with the whole, too."""
        limited, deadline = Cancellation(self.cancel), self.deadline
        number = None
        if seconds is not None:
            deadline = time.monotonic() + seconds
            number = _DEADLINES.add(limited, seconds)
        try:
            yield replace(self, cancel=limited, deadline=deadline)
        finally:
            if number is not None:
                _DEADLINES.forget(number)
            self.cancel.forget(limited.cancel)
