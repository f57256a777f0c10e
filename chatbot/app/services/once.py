"""A part that is built when it is first used."""

import threading
from collections.abc import Callable
from contextlib import ExitStack
from typing import Generic, TypeVar

T = TypeVar("T")


class Once(Generic[T]):
    """A part that costs something that many commands do without: a network call, a
    package, a model file or processes. It is built at the first `get`, once, also with
    several threads, and then kept. A build that raises is tried again at the next
    `get`. Parts must not build each other in a circle.

    ``closing``: closes the part, in reverse order of building; None = nothing closes
    it.
    """

    def __init__(
        self, build: Callable[[], T], closing: ExitStack | None = None
    ) -> None:
        self._build = build
        self._closing = closing
        self._lock = threading.RLock()
        self._parts: list[T] = []

    def get(self) -> T:
        """Return the part; the first call builds it. Raises what the build raises."""
        if not self._parts:  # the lock costs first uses only
            with self._lock:
                if not self._parts:
                    self._parts.append(self._built())
        return self._parts[0]

    def peek(self) -> T | None:
        """Return the part if it was built."""
        if self._parts:
            return self._parts[0]
        return None

    def _built(self) -> T:
        part = self._build()
        if self._closing is not None:
            self._closing.callback(close, part)
        return part


def close(part: object) -> None:
    """Close a part if it can be closed: most adapters hold nothing open."""
    if close_it := getattr(part, "close", None):
        close_it()
