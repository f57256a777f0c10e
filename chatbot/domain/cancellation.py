"""Cancelling long work: by hand, at a deadline, or when a look from a thread of its own
says so.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from sched import scheduler

from .errors import DependencyError


class Cancellation:
    """A flag that long work checks, with callbacks for work that cannot check.
    Callbacks run in the cancelling thread: they interrupt a blocking read (a model that
    is silent).
    """

    def __init__(self, parent: "Cancellation | None" = None) -> None:
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
    """Cancels work whose time is up. One thread sleeps until the next deadline: a
    question sets several, and starting a thread for each took longer than its search.
    """

    def __init__(self) -> None:
        self._scheduler = scheduler(time.monotonic)
        self._changed, self._lock = threading.Event(), threading.Lock()
        self._thread: threading.Thread | None = None

    def add(self, cancel: Cancellation, seconds: float) -> Callable[[], None]:
        """Cancel after so many seconds, unless the returned function is called before:
        the work is done.
        """

        def end() -> (
            None
        ):  # in a thread: what is broken off by it may have to wait for a lock
            threading.Thread(target=cancel.cancel, name="deadline", daemon=True).start()

        def forget() -> None:
            with suppress(ValueError):  # it has ended
                self._scheduler.cancel(deadline)

        deadline = self._scheduler.enter(seconds, 0, end)
        with self._lock:
            if (
                self._thread is None or not self._thread.is_alive()
            ):  # a process that was forked has none
                self._thread = threading.Thread(
                    target=self.run, name="deadlines", daemon=True
                )
                self._thread.start()
        self._changed.set()
        return forget

    def run(self) -> None:
        """Cancel what is due, without end."""
        while True:
            self._changed.wait(self._scheduler.run(blocking=False))
            self._changed.clear()


@contextmanager
def heartbeat(
    name: str, seconds: Callable[[], float], beat: Callable[[], bool]
) -> Iterator[None]:
    """Call ``beat`` in a thread of this name, each time after so many ``seconds``,
    until it returns False or the block ends. An outage of the database is ignored: the
    work itself meets it and reports it.
    """
    ended = threading.Event()

    def run() -> None:
        while not ended.wait(seconds()):
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
