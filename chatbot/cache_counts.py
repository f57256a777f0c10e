"""What the caches did for one question: counted where they are asked, shown in its trace."""

from __future__ import annotations

import threading
from collections import Counter
from contextvars import ContextVar

_lock = threading.Lock()
_counts: ContextVar[Counter[str] | None] = ContextVar("cache_counts", default=None)


def begin_counting() -> Counter[str]:
    """From now on in this context: ``"embedding hit"``, ``"response miss"``, ... by number."""
    counts: Counter[str] = Counter()
    _counts.set(counts)
    return counts


def count(level: str, *, hit: bool) -> None:
    if (counts := _counts.get()) is not None:
        with _lock:  # the searches of one question count at the same time
            counts[f"{level} {'hit' if hit else 'miss'}"] += 1
