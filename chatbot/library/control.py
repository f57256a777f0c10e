"""Control over long work: progress, cancellation, retries, and leases that admit one
worker at a time.
"""

import random
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import TypeVar

from ..database.repositories.corpus import CorpusFacts
from ..domain import Cancellation
from ..domain.cancellation import heartbeat
from ..domain.errors import CancelledError, ConflictError, DependencyError, StoppedError

T = TypeVar("T")
LEASE_SECONDS = 30.0
POLL_SECONDS = 0.5
FILES_AT_ONCE = 24
"""Files of one process that are in progress, those included that wait for another
server.
"""


@dataclass(frozen=True, slots=True)
class JobControl:
    """``reading(page, pages)`` counts the pages that were read; OCR reads page ``page``
    next where ``pages`` is 0. ``progress(done, total)`` counts stored passages,
    ``indexing(done, total)`` those that searches know. ``waiting(reason)`` says why
    nothing happens. ``patience``: seconds that the searches may take to follow.
    """

    progress: Callable[[int, int], None] = lambda done, total: None
    waiting: Callable[[str], None] = lambda reason: None
    cancel: Cancellation = field(default_factory=Cancellation)
    stopping: Callable[[], bool] = lambda: False
    """True if cancellation means that another process continues, so that stored
    passages are kept.
    """
    indexing: Callable[[int, int], None] = lambda done, total: None
    reading: Callable[[int, int], None] = lambda page, pages: None
    patience: float = 600.0
    refresh: Callable[[], object] = lambda: None
    """Sets ``cancel`` when the work was cancelled in the database."""
    aside: Callable[[], AbstractContextManager[None]] = nullcontext
    """Surrounds a wait for another server."""

    def check(self) -> None:
        """Raises CancelledError once ``cancel`` is set; StoppedError when another
        process continues the work.
        """
        if self.cancel.cancelled and self.stopping():
            raise StoppedError("Stopped here; it goes on later or elsewhere.")
        if self.cancel.cancelled:
            raise CancelledError("Cancelled.")


@dataclass(frozen=True, slots=True)
class Retries:
    """Repeats a call that a dependency refuses for now, with exponential back-off and
    jitter (R-B3).
    """

    tries: int = 8
    first_seconds: float = 2.0
    longest_seconds: float = 60.0

    def run(self, work: Callable[[], T], control: JobControl) -> T:
        """Raises CancelledError; DependencyError of the last try, or at once where a
        retry cannot help.
        """
        for attempt in range(self.tries):
            control.check()
            try:
                return work()
            except DependencyError as error:
                if error.retry_after is None or attempt == self.tries - 1:
                    raise
                longest = min(self.longest_seconds, self.first_seconds * 2.0**attempt)
                pause = longest * random.uniform(0.5, 1.0)  # noqa: S311  # to spread retries, not for secrets
                seconds = max(float(error.retry_after), pause)
                control.waiting(f"{error.finding} Trying again in {seconds:.0f} s.")
                control.cancel.wait(seconds)
        raise AssertionError("the last try returns or raises")


NO_RETRIES = Retries(tries=1)


@contextmanager
def aside(turns: threading.Semaphore) -> Iterator[None]:
    """Let another thread have the turn of this one for the block."""
    turns.release()
    try:
        yield
    finally:
        turns.acquire()


@contextmanager
def lease(
    leases: CorpusFacts, name: str, control: JobControl, *, longest: float | None = None
) -> Iterator[JobControl]:
    """Wait for the lease, at most ``longest`` seconds (None = without limit), and keep
    it for the block. The control that it yields also stops the work when another worker
    has the lease. Raises CancelledError: cancelled while waiting; ConflictError:
    another worker still has it.
    """
    owner = uuid.uuid4().hex
    began = time.monotonic()
    waited = False
    lost = threading.Event()
    while not leases.acquire_lease(name, owner, LEASE_SECONDS):
        control.check()
        if longest is not None and time.monotonic() - began > longest:
            raise ConflictError(
                "This report is being read or edited. Try again when that is done."
            )
        waited = True
        control.waiting("Another worker is reading this report.")
        control.cancel.wait(POLL_SECONDS)
    if waited:
        control.waiting("")

    def keep() -> bool:
        kept = leases.acquire_lease(name, owner, LEASE_SECONDS)
        if not kept:
            lost.set()
            control.cancel.cancel()
        return kept

    try:
        with heartbeat(f"lease {name}", lambda: LEASE_SECONDS / 3, keep):
            yield replace(control, stopping=lambda: lost.is_set() or control.stopping())
    finally:
        leases.release_lease(name, owner)
