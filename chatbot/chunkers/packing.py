"""As many pieces in a passage as fit, and the overlap with the passage before."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence

from .borders import Span

Share = Callable[[int, int], float]
"""How much of what is allowed a span (start, end) of the text takes: up to 1 is allowed."""

ESTIMATES = 6
"""Probes by proportion before halving: enough for a text of one kind."""


def pack(starts: Sequence[int], ends: Sequence[int], *, size: Share, overlap: Share | None) -> Iterator[Span]:
    """Spans over the pieces (starts[i], ends[i]), each as long as ``size`` allows. It must allow every single piece.

    A span begins with as many of the last pieces of the one before as ``overlap`` allows; None = it does not. The
    overlap counts inside the size, so it gives way to the next new piece.
    """
    first, new = 0, 0
    length, shared = 0, 0
    while new < len(starts):
        # As long as the one before, to begin with.
        guess = bisect_right(ends, starts[first] + length) - 1 - new
        filled = _filled(starts, ends, size, first, new)
        added = _most(filled, len(starts) - new - 1, guess=guess, besides=new - first + 1)
        start, end = starts[first], ends[new + added]
        yield start, end
        length = end - start
        first, new = first + 1, new + added + 1
        if overlap is not None and new < len(starts):
            shared = _most(_repeated(starts, ends, size, overlap, new), new - first, guess=shared)
        first = new - shared


def _filled(starts: Sequence[int], ends: Sequence[int], size: Share, first: int, new: int) -> Callable[[int], float]:
    """The share of a span from ``first`` to so many pieces after ``new``."""
    return lambda pieces: size(starts[first], ends[new + pieces])


def _repeated(
    starts: Sequence[int], ends: Sequence[int], size: Share, overlap: Share, new: int
) -> Callable[[int], float]:
    """The share of so many pieces before ``new``: of the overlap, and with ``new`` of a span."""

    def share(pieces: int) -> float:
        of_overlap = overlap(starts[new - pieces], ends[new - 1])
        return of_overlap if of_overlap > 1 else max(of_overlap, size(starts[new - pieces], ends[new]))

    return share


def _most(share: Callable[[int], float], high: int, *, guess: int, besides: int = 0) -> int:
    """The largest number up to ``high`` with a share of up to 1; 0 has it. Pieces ``besides`` count in all shares."""
    low, probe, probes = 0, guess, 0
    while low < high:
        probe = min(max(probe, low + 1), high)
        found = share(probe)
        low, high = (probe, high) if found <= 1 else (low, probe - 1)
        probes += 1
        by_proportion = int((probe + besides) / max(found, 0.01)) - besides
        probe = by_proportion if probes < ESTIMATES else (low + high + 1) // 2
    return low
