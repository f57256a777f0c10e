"""Telling a running answer that nobody waits for it any more."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar


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

    def forget(self, callback: Callable[[], None]) -> None:
        """What `on_cancel` was told need not be run any more."""
        with self._lock:
            if callback in self._callbacks:
                self._callbacks.remove(callback)

    def wait(self, seconds: float) -> bool:
        """Sleep for so long, or until cancelled; whether it is."""
        return self._event.wait(seconds)


_current: ContextVar[Cancellation | None] = ContextVar("cancellation", default=None)


@contextmanager
def breakable(cancel: Cancellation) -> Iterator[None]:
    """What adapters begin inside, in this context, they may break off once ``cancel`` is set, by whichever thread.

    For requests whose interface takes no cancellation: those of embedders. Not around a ``yield``.
    """
    token = _current.set(cancel)
    try:
        yield
    finally:
        _current.reset(token)


def current_cancellation() -> Cancellation | None:
    """That of the innermost `breakable`, None outside of any."""
    return _current.get()


@contextmanager
def time_limit(cancel: Cancellation, seconds: float | None) -> Iterator[Cancellation]:
    """A cancellation for what may take so long, None = as long as it likes; it is cancelled with ``cancel``, too."""
    limited = Cancellation(cancel)
    timer = None if seconds is None else threading.Timer(max(0.0, seconds), limited.cancel)
    if timer is not None:
        timer.daemon = True
        timer.start()
    try:
        yield limited
    finally:
        if timer is not None:
            timer.cancel()
        cancel.forget(limited.cancel)
