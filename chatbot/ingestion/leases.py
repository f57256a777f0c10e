"""One process at a time for one piece of work, held for as long as the work takes."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Protocol

from ..errors import ConflictError, DependencyError
from .watch import Watch

LEASE_SECONDS = 30.0
POLL_SECONDS = 0.5


class Leases(Protocol):
    """See `repositories.changes.CorpusFacts`."""

    def acquire_lease(self, name: str, owner: str, seconds: float) -> bool: ...

    def release_lease(self, name: str, owner: str) -> None: ...


@contextmanager
def held(leases: Leases, name: str, watch: Watch, *, longest: float | None = None) -> Iterator[Watch]:
    """Wait until nobody else has the lease, ``longest`` seconds where that is given, then hold it.

    Raises:
        CancelledError: while waiting.
        ConflictError: somebody has it still.

    The watch it gives also stops the work when the lease is somebody else's by now: this process slept too long.
    """
    owner, began, waited = uuid.uuid4().hex, time.monotonic(), False
    while not leases.acquire_lease(name, owner, LEASE_SECONDS):
        watch.check()
        if longest is not None and time.monotonic() - began > longest:
            raise ConflictError("This report is being read or edited right now. Try again when that is done.")
        waited = True
        watch.waiting("Another worker has this report in hand.")
        time.sleep(POLL_SECONDS)
    if waited:
        watch.waiting("")
    ended, lost = threading.Event(), threading.Event()

    def lose() -> None:
        lost.set()
        watch.cancel.cancel()

    beat = threading.Thread(target=_keep, args=(leases, name, owner, ended, lose), name=f"lease {name}", daemon=True)
    beat.start()
    try:
        yield replace(watch, stopping=lambda: lost.is_set() or watch.stopping())
    finally:
        ended.set()
        beat.join()
        leases.release_lease(name, owner)


def _keep(leases: Leases, name: str, owner: str, ended: threading.Event, lose: Callable[[], None]) -> None:
    while not ended.wait(LEASE_SECONDS / 3):
        try:
            kept = leases.acquire_lease(name, owner, LEASE_SECONDS)
        except DependencyError:
            continue  # the work itself meets the same failure, and says so
        if not kept:
            lose()
            return
