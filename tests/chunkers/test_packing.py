"""As many pieces as fit, and the overlap in whole pieces (R-B2)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from chatbot.chunkers.packing import pack

Spans = list[tuple[int, int]]


def packed(lengths: list[int], size: int, overlap: int = 0) -> Spans:
    """Pieces of these lengths, one after the other."""
    starts = [sum(lengths[:n]) for n in range(len(lengths))]
    ends = [start + length for start, length in zip(starts, lengths, strict=True)]
    shared = (lambda start, end: (end - start) / overlap) if overlap else None
    return list(pack(starts, ends, size=lambda start, end: (end - start) / size, overlap=shared))


def one_by_one(lengths: list[int], size: int, overlap: int) -> Spans:
    """The same, tried piece by piece."""
    ends = [sum(lengths[: n + 1]) for n in range(len(lengths))]
    starts = [0, *ends[:-1]]
    found: Spans = []
    first, new = 0, 0
    while new < len(lengths):
        last = max(n for n in range(new, len(lengths)) if ends[n] - starts[first] <= size)
        found.append((starts[first], ends[last]))
        first, new = last + 1, last + 1
        while new < len(lengths) and starts[first - 1] > found[-1][0]:
            if ends[last] - starts[first - 1] > overlap or ends[new] - starts[first - 1] > size:
                break
            first -= 1
    return found


@given(st.lists(st.integers(1, 20), max_size=60), st.integers(20, 100), st.integers(0, 99))
def test_the_search_finds_what_trying_every_piece_finds(lengths: list[int], size: int, overlap: int) -> None:
    overlap = min(overlap, size - 1)
    assert packed(lengths, size, overlap) == one_by_one(lengths, size, overlap)


def test_the_overlap_gives_way_to_the_next_piece() -> None:
    """It counts inside the size."""
    assert packed([4, 4, 9], size=10, overlap=5) == [(0, 8), (8, 17)]
    assert packed([4, 4, 6], size=10, overlap=5) == [(0, 8), (4, 14)]


def test_few_tries_are_needed() -> None:
    tries = 0

    def size(start: int, end: int) -> float:
        nonlocal tries
        tries += 1
        return (end - start) / 1000

    found = list(pack(range(10**6), range(1, 10**6 + 1), size=size, overlap=None))
    assert len(found) == 1000
    assert tries < 5 * len(found)
