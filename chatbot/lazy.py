"""Objects that are built on first use, once, and then kept."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar, cast

T = TypeVar("T")


class Lazy:
    """Base of the composition roots. Thread-safe; a build that fails is tried again at the next use."""

    def __init__(self, **given: Any) -> None:
        """``given`` objects stand in for those that would be built; None means not given."""
        self._built: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        self._lock = threading.RLock()

    def _once(self, name: str, build: Callable[[], T]) -> T:
        with self._lock:
            if name not in self._built:
                self._built[name] = build()
            return cast(T, self._built[name])

    def _close_built(self, *names: str) -> None:
        """Close these in order, where they were built and can be closed, and forget everything."""
        for name in names:
            if close := getattr(self._built.get(name), "close", None):
                close()
        self._built.clear()
