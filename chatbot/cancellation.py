"""Telling a running answer that nobody waits for it any more."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Cancellation:
    """A flag that long work looks at, with callbacks for work that cannot look.

    Callbacks run in the cancelling thread: they break a blocking read (a model that is silent).
    """

    def __init__(self, parent: Cancellation | None = None) -> None:
        """Cancelled with its ``parent``, not the other way round: a part of the work may be given up alone."""
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._callbacks: list[Callable[[], None]] = []
        if parent is not None:
            parent.on_cancel(self.cancel)

    @property
    def cancelled(self) -> bool:
        """Whether nobody waits any more."""
        return self._event.is_set()

    def cancel(self) -> None:
        """For good; the callbacks run once."""
        with self._lock:
            self._event.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    def on_cancel(self, callback: Callable[[], None]) -> None:
        """Run ``callback`` when cancelled; at once where that has already happened."""
        with self._lock:
            if not self._event.is_set():
                self._callbacks.append(callback)
                return
        callback()

    def forget(self, callback: Callable[[], None]) -> None:
        """What `on_cancel` was told need not be run any more."""
        with self._lock:
            if callback in self._callbacks:
                self._callbacks.remove(callback)

    def wait(self, seconds: float) -> bool:
        """Sleep for so long, or until cancelled; whether it is."""
        return self._event.wait(seconds)
