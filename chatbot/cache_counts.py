"""What the caches did for one question: counted where they are asked, shown in its trace."""

from __future__ import annotations

from collections import Counter
from contextvars import ContextVar

_counts: ContextVar[Counter[str] | None] = ContextVar("cache_counts", default=None)


def begin_counting() -> Counter[str]:
    """From now on in this context: ``"embedding hit"``, ``"response miss"``, ... by number."""
    counts: Counter[str] = Counter()
    _counts.set(counts)
    return counts


def count(level: str, *, hit: bool) -> None:
    if (counts := _counts.get()) is not None:
        counts[f"{level} {'hit' if hit else 'miss'}"] += 1
