"""Telling a running answer that nobody waits for it any more."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Cancellation:
    """A flag that long work looks at, with callbacks for work that cannot look.

    Callbacks run in the cancelling thread: they break a blocking read (a model that is silent).
    """

    def __init__(self) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._callbacks: list[Callable[[], None]] = []

    @property
    def cancelled(self) -> bool:
        return self._event.is_set()

    def cancel(self) -> None:
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
