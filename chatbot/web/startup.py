"""The start's work on the database, repeated in the background until it answers; and threads beside the requests."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from ..errors import ChatbotError, DependencyError

log = logging.getLogger(__name__)
FIRST_WAIT, LONGEST_WAIT = 1.0, 30.0


class Startup:
    """Runs ``work`` once with success. A database that is down does not stop the server, a wrong setting does."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._background: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._supervised: set[str] = set()

    def background(self, name: str, work: Callable[[threading.Event], None]) -> None:
        """Run ``work`` beside the requests; it ends soon after the event it is given is set."""
        thread = threading.Thread(target=work, args=(self._stop,), name=name, daemon=True)
        self._background.append(thread)
        thread.start()

    def supervise(self, name: str, work: Callable[[], None]) -> None:
        """Run ``work``, which ends by itself when it is closed, beside the requests; a bug in it is logged, and it
        is started again. Once for each name: asked for again, it runs already.
        """
        with self._lock:
            if name in self._supervised:
                return
            self._supervised.add(name)

        def again(stop: threading.Event) -> None:
            while not stop.is_set():
                try:
                    work()
                    return
                except Exception:
                    log.exception("A bug in the background work %r; it is started again.", name)
                    stop.wait(FIRST_WAIT)

        self.background(name, again)

    def run(self) -> None:
        """Try now. Raises what trying again cannot help: a wrong setting."""
        try:
            self._work()
        except DependencyError as error:
            if error.retry_after is None:
                raise
            log.error("Serving, but not ready until this is mended: %s", error.message)
            self._thread = threading.Thread(target=self._again, name="startup", daemon=True)
            self._thread.start()

    def wait(self, seconds: float) -> bool:
        """Whether the work is done, or given up, within the time."""
        if self._thread is not None:
            self._thread.join(seconds)
        return self._thread is None or not self._thread.is_alive()

    def close(self) -> None:
        """Give up, and wait until the try in hand has ended."""
        self._stop.set()
        for thread in (self._thread, *self._background):
            if thread is not None:
                thread.join()

    def _again(self) -> None:
        wait = FIRST_WAIT
        while not self._stop.wait(wait):
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
