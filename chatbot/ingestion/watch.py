"""Control over long work: progress, cancelling, retries, leases for one worker at a time, and loops of background
work.
"""

from __future__ import annotations

import logging
import random
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TypeVar

from ..cancellation import Cancellation
from ..errors import CancelledError, ConflictError, DependencyError, StoppedError
from ..repositories.corpus import CorpusFacts

log = logging.getLogger(__name__)
T = TypeVar("T")
LEASE_SECONDS = 30.0
POLL_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Watch:
    """``progress(done, total)`` counts passages that are written, ``indexing(done, total)`` those that searches find;
    ``waiting(reason)`` tells why nothing happens at the moment.

    ``patience``: seconds that the searches may take to follow.
    """

    progress: Callable[[int, int], None] = lambda done, total: None
    waiting: Callable[[str], None] = lambda reason: None
    cancel: Cancellation = field(default_factory=Cancellation)
    stopping: Callable[[], bool] = lambda: False
    """Whether the cancellation means that another process goes on with it, so that what was begun is kept."""
    indexing: Callable[[int, int], None] = lambda done, total: None
    patience: float = 600.0
    refresh: Callable[[], object] = lambda: None
    """Sets ``cancel`` where the database says that the work is not wanted any more."""

    def confirm(self) -> None:
        """Ask the database whether the work is still wanted. Raises like `check`; DependencyError."""
        self.refresh()
        self.check()

    def check(self) -> None:
        """Raises CancelledError once ``cancel`` is set; StoppedError where that is because the process ends."""
        if self.cancel.cancelled and self.stopping():
            raise StoppedError("Stopped here; it goes on later or elsewhere.")
        if self.cancel.cancelled:
            raise CancelledError("Cancelled.")


@dataclass(frozen=True, slots=True)
class Retries:
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
                longest = min(self.longest_seconds, self.first_seconds * 2.0**attempt)
                pause = longest * random.uniform(0.5, 1.0)  # noqa: S311  # to spread retries, not for secrets
                seconds = max(float(error.retry_after), pause)
                watch.waiting(f"{error.finding} Trying again in {seconds:.0f} s.")
                watch.cancel.wait(seconds)
        raise AssertionError("the last try returns or raises")


NO_RETRIES = Retries(tries=1)


class WorkLoop:
    """Takes one piece of work after the other until it is closed; where there is none it looks again after a while."""

    def __init__(self, work: Callable[[], bool], *, idle_seconds: float, waits: str) -> None:
        """``work`` does one piece and returns whether there was any; ``waits``: what the log says to wait."""
        self._work = work
        self._idle_seconds = idle_seconds
        self._waits = waits
        self._woken = threading.Event()
        self._stopping = threading.Event()

    @property
    def stopping(self) -> bool:
        """Whether `close` was called."""
        return self._stopping.is_set()

    def run(self) -> None:
        """Work until `close` is called."""
        while not self.stopping:
            try:
                busy = self._work()
            except DependencyError as error:
                # A thread has nobody to raise to: /ready says the same. A lease ends by itself.
                log.warning("%s: %s", self._waits, error.message)
                busy = False
            if not busy:
                self._woken.wait(self._idle_seconds)
                self._woken.clear()

    def wake(self) -> None:
        """Look for work now, not at the next turn."""
        self._woken.set()

    def close(self) -> None:
        """`run` returns after the piece in hand."""
        self._stopping.set()
        self._woken.set()


@contextmanager
def heartbeat(name: str, seconds: float, beat: Callable[[], bool]) -> Iterator[None]:
    """Call ``beat`` every so many seconds, in a thread of this name, until it returns False or the block ends.

    A database that does not answer is passed over: the work itself meets the same failure, and says so.
    """
    ended = threading.Event()

    def run() -> None:
        while not ended.wait(seconds):
            try:
                if not beat():
                    return
            except DependencyError:
                continue

    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@contextmanager
def lease(leases: CorpusFacts, name: str, watch: Watch, *, longest: float | None = None) -> Iterator[Watch]:
    """Wait until nobody else has the lease, ``longest`` seconds where that is given, then keep it for the block.

    Raises:
        CancelledError: while waiting.
        ConflictError: somebody has it still.

    The watch it gives also stops the work when the lease is somebody else's by now: this process slept too long.
    """
    owner, began, waited, lost = uuid.uuid4().hex, time.monotonic(), False, threading.Event()
    while not leases.acquire_lease(name, owner, LEASE_SECONDS):
        watch.check()
        if longest is not None and time.monotonic() - began > longest:
            raise ConflictError("This report is being read or edited right now. Try again when that is done.")
        waited = True
        watch.waiting("Another worker has this report in hand.")
        watch.cancel.wait(POLL_SECONDS)
    if waited:
        watch.waiting("")

    def keep() -> bool:
        kept = leases.acquire_lease(name, owner, LEASE_SECONDS)
        if not kept:
            lost.set()
            watch.cancel.cancel()
        return kept

    try:
        with heartbeat(f"lease {name}", LEASE_SECONDS / 3, keep):
            yield replace(watch, stopping=lambda: lost.is_set() or watch.stopping())
    finally:
        leases.release_lease(name, owner)
