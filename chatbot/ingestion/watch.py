"""How long work is watched, interrupted, and made to wait for a dependency that says "not now"."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from ..cancellation import Cancellation
from ..errors import CancelledError, DependencyError, StoppedError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Watch:
    """``progress(done, total)`` counts passages; ``waiting(reason)`` tells why nothing happens at the moment."""

    progress: Callable[[int, int], None] = lambda done, total: None
    waiting: Callable[[str], None] = lambda reason: None
    cancel: Cancellation = field(default_factory=Cancellation)
    stopping: Callable[[], bool] = lambda: False
    """Whether the cancellation means that another process goes on with it, so that what was begun is kept."""

    def check(self) -> None:
        """Raises CancelledError once ``cancel`` is set; StoppedError where that is because the process ends."""
        if self.cancel.cancelled:
            raise (
                StoppedError("Stopped here; it goes on later or elsewhere.")
                if self.stopping()
                else CancelledError("Cancelled.")
            )


@dataclass(frozen=True, slots=True)
class Patience:
    """Tries again what a dependency refuses for now, with exponential back-off and jitter (R-B3).

    What was finished before stays: only the refused call is repeated.
    """

    tries: int = 8
    first_seconds: float = 2.0
    longest_seconds: float = 60.0

    def run(self, work: Callable[[], T], watch: Watch) -> T:
        """Raises DependencyError of the last try, or at once where trying again cannot help; CancelledError."""
        for attempt in range(self.tries):
            watch.check()
            try:
                return work()
            except DependencyError as error:
                if error.retry_after is None or attempt == self.tries - 1:
                    raise
                seconds = max(float(error.retry_after), self._pause(attempt))
                watch.waiting(f"{error.finding} Trying again in {seconds:.0f} s.")
                _sleep(seconds, watch)
        raise AssertionError("the last try returns or raises")

    def _pause(self, attempt: int) -> float:
        longest = min(self.longest_seconds, self.first_seconds * 2.0**attempt)
        return longest * random.uniform(0.5, 1.0)  # noqa: S311  # to spread retries, not for secrets


def _sleep(seconds: float, watch: Watch) -> None:
    """Sleeps; a cancellation wakes it."""
    woken = threading.Event()
    watch.cancel.on_cancel(woken.set)
    woken.wait(seconds)


IMPATIENT = Patience(tries=1)
