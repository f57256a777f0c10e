"""The context of a request: caller, cancellation, deadline and usage.

It is an argument, so that each signature says what can be cancelled and is counted.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace

from .callers import ANYBODY, Caller, limit_key
from .cancellation import Cancellation, Deadlines
from .costs import Usage

_DEADLINES = Deadlines()


class RequestMeter:
    """The usage of one question so far. Thread-safe: its searches run at the same
    time.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._usage = Usage()
        self._lookups: Counter[str] = Counter()

    @property
    def usage(self) -> Usage:
        """Calls and tokens of the metered chat model, also of failed and cancelled
        calls.
        """
        with self._lock:
            return self._usage

    @property
    def lookups(self) -> Counter[str]:
        """Lookups of each cache by outcome: ``"embedding hit"``, ``"response miss"``,
        ...
        """
        with self._lock:
            return Counter(self._lookups)

    def add(self, usage: Usage) -> None:
        with self._lock:
            self._usage += usage

    def count_lookup(self, level: str, *, hit: bool) -> None:
        with self._lock:
            self._lookups[f"{level} {'hit' if hit else 'miss'}"] += 1


@dataclass(frozen=True, slots=True)
class RequestContext:
    """One question, or a part of it with less time or fewer calls; the parts share the
    meter.
    """

    cancel: Cancellation = field(default_factory=Cancellation)
    deadline: float | None = None
    """The `time.monotonic` when this part is cancelled; None = with the whole."""
    meter: RequestMeter = field(default_factory=RequestMeter)
    may_call: Callable[[], bool] = lambda: True
    """Called before each call of a model that is not the planners' own; an allowed call
    counts as made.
    """
    caller: Caller = ANYBODY
    cache: bool = True
    """True if models may repeat an earlier reply (`Question.cache`)."""
    private: bool = False
    """True if the answer depends on a conversation, which only the caller may see."""

    @property
    def cached_for(self) -> str:
        """The owner of the cached answers that may be used, else the limit of the
        callers who share them; "" = they are of callers without one.
        """
        if self.private:
            return self.caller.owner
        return limit_key(self.caller.limit)

    @property
    def cancelled(self) -> bool:
        return self.cancel.cancelled

    @contextmanager
    def within(self, seconds: float | None) -> "Iterator[RequestContext]":
        """Yield a part with a time limit, None = no limit; it is cancelled with the
        whole, too.
        """
        limited, deadline = Cancellation(self.cancel), self.deadline
        with ExitStack() as ended:
            ended.callback(self.cancel.forget, limited.cancel)
            if seconds is not None:
                deadline = time.monotonic() + seconds
                ended.callback(_DEADLINES.add(limited, seconds))
            yield replace(self, cancel=limited, deadline=deadline)
