"""Cancel work that nobody waits for any more, or whose time is up."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from heapq import heapify, heappop, heappush
from itertools import count


class Cancellation:
    """A flag that long work checks, with callbacks for work that cannot check.

    Callbacks run in the cancelling thread: they interrupt a blocking read (a model that is silent).
    """

    def __init__(self, parent: Cancellation | None = None) -> None:
        """Cancelled with its ``parent``; cancelling it does not cancel the parent."""
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._callbacks: list[Callable[[], None]] = []
        if parent is not None:
            parent.on_cancel(self.cancel)

    @property
    def cancelled(self) -> bool:
        return self._event.is_set()

    def cancel(self) -> None:
        """Cancel; this cannot be undone. Each callback runs once."""
        with self._lock:
            self._event.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    def on_cancel(self, callback: Callable[[], None]) -> None:
        """Run ``callback`` when cancelled; at once if it is cancelled already."""
        with self._lock:
            if not self._event.is_set():
                self._callbacks.append(callback)
                return
        callback()

    def forget(self, callback: Callable[[], None]) -> None:
        """Do not run a callback of `on_cancel` any more."""
        with self._lock:
            if callback in self._callbacks:
                self._callbacks.remove(callback)

    def wait(self, seconds: float) -> bool:
        """Sleep until cancelled, at most so long. Return whether it is cancelled."""
        return self._event.wait(seconds)


class Deadlines:
    """Cancels work whose time is up. One thread sleeps until the next deadline: a question sets several, and starting a
    thread for each took longer than its search."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._due: list[tuple[float, int, Cancellation]] = []
        self._met: set[int] = set()
        self._numbers = count()
        self._thread: threading.Thread | None = None

    def add(self, cancel: Cancellation, seconds: float) -> int:
        """Cancel after so many seconds, unless `forget` is called with the returned number."""
        with self._changed:
            number = next(self._numbers)
            heappush(self._due, (time.monotonic() + seconds, number, cancel))
            if self._thread is None or not self._thread.is_alive():  # a process that was forked has none
                self._thread = threading.Thread(target=self._watch, name="deadlines", daemon=True)
                self._thread.start()
            elif self._due[0][1] == number:
                self._changed.notify()
        return number

    def forget(self, number: int) -> None:
        """Drop a deadline: the work is done or cancelled."""
        with self._changed:
            self._met.add(number)
            if 2 * len(self._met) > len(self._due) + 100:
                self._due = [entry for entry in self._due if entry[1] not in self._met]
                heapify(self._due)
                self._met.clear()

    def _watch(self) -> None:
        with self._changed:
            while True:
                while self._due and (self._due[0][1] in self._met or self._due[0][0] <= time.monotonic()):
                    _, number, cancel = heappop(self._due)
                    if number in self._met:
                        self._met.discard(number)
                    else:  # in a thread: what is broken off by it may have to wait for a lock
                        threading.Thread(target=cancel.cancel, name="deadline", daemon=True).start()
                    del cancel  # else the last one is held for as long as this sleeps
                self._changed.wait(self._due[0][0] - time.monotonic() if self._due else None)
