"""The start's work on the database, repeated in the background until it answers; and threads beside the requests."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from ...domain.errors import ChatbotError, DependencyError

log = logging.getLogger(__name__)
FIRST_WAIT, LONGEST_WAIT = 1.0, 30.0
"""Seconds between two attempts."""


class Startup:
    """Runs ``work`` once with success. A database that is down does not stop the server; a wrong setting does."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._stop = threading.Event()
        self._retrying: threading.Thread | None = None
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._supervised: set[str] = set()

    def background(self, name: str, work: Callable[[threading.Event], None]) -> threading.Thread:
        """Run ``work`` beside the requests; it ends soon after the event that it gets is set."""
        thread = threading.Thread(target=work, args=(self._stop,), name=name, daemon=True)
        self._threads.append(thread)
        thread.start()
        return thread

    def supervise(self, name: str, work: Callable[[], None]) -> None:
        """Run ``work`` beside the requests until it returns; after a bug it is logged and started again.

        A name that is supervised already is not started a second time.
        """
        with self._lock:
            if name in self._supervised:
                return
            self._supervised.add(name)

        def repeat(stop: threading.Event) -> None:
            while not stop.is_set():
                try:
                    work()
                    return
                except Exception:
                    log.exception("A bug in the background work %r; it is started again.", name)
                    stop.wait(FIRST_WAIT)

        self.background(name, repeat)

    def run(self) -> None:
        """Try now, and again in the background. Raises what trying again cannot help: a wrong setting."""
        try:
            self._work()
        except DependencyError as error:
            if error.retry_after is None:
                raise
            log.error("Serving, but not ready until this is mended: %s", error.message)
            self._retrying = self.background("startup", self._retry)

    def _retry(self, stop: threading.Event) -> None:
        wait = FIRST_WAIT
        while not stop.wait(wait):
            try:
                self._work()
            except ChatbotError as error:
                # A thread has nobody to raise to: every question and /ready say the same.
                if error.retry_after is None:
                    log.error("The start could not be finished: %s", error.message)
                    return
                wait = min(2 * wait, LONGEST_WAIT)
            else:
                log.info("The start is finished: ready.")
                return

    def wait(self, seconds: float) -> bool:
        """Return whether the work is done, or given up, within the time."""
        if self._retrying is not None:
            self._retrying.join(seconds)
        return self._retrying is None or not self._retrying.is_alive()

    def close(self) -> None:
        """Give up, and wait for all threads."""
        self._stop.set()
        for thread in self._threads:
            thread.join()
