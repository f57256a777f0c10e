"""Split text recursively: at the first kind of border, longer pieces at the next kind, and at last within a word.

A border yields the pieces of ``text[start:end]`` between its places: spans (start, end) in order, stripped, not
empty, with nothing but white space between them. As many pieces are packed into a passage as fit."""

import re
from array import array
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from ... import language

Span = tuple[int, int]
Border = Callable[[str, int, int], Iterator[Span]]

_BLANK_LINES = re.compile(r"\n\s*\n")
_LINE_END = re.compile(r"\n")
_CLAUSE_END = re.compile(r"(?<=[.!?;])\s+")
_NO_SPACES = re.compile(r"\S+")


def whole(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield the text as one piece, without the white space around it."""
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    if start < end:
        yield start, end


def paragraphs(text: str, start: int, end: int) -> Iterator[Span]:
    return _between(_BLANK_LINES, text, start, end)


def lines(text: str, start: int, end: int) -> Iterator[Span]:
    return _between(_LINE_END, text, start, end)


def clauses(text: str, start: int, end: int) -> Iterator[Span]:
    """Split after a full stop, a question or exclamation mark, or a semicolon: figures come in lists like "a; b"."""
    return _between(_CLAUSE_END, text, start, end)


def sentences(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield the sentences, the same as in answers and citations: "Dr." and initials do not end one."""
    for sentence in language.sentences(text[start:end]):
        start = text.index(sentence, start)
        yield start, start + len(sentence)
        start += len(sentence)


def words(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield single words: the last resort before a cut within a word."""
    for match in _NO_SPACES.finditer(text, start, end):
        yield match.span()


def _between(border: re.Pattern[str], text: str, start: int, end: int) -> Iterator[Span]:
    for match in border.finditer(text, start, end):
        yield from whole(text, start, match.start())
        start = match.end()
    yield from whole(text, start, end)


Share = Callable[[int, int], float]
"""The share of the allowed length that a span (start, end) of the text fills: up to 1 is allowed."""

ESTIMATES = 6
"""Probes by proportion before bisection: enough for a text of one kind."""


@dataclass(frozen=True, slots=True)
class Splitter:
    """Splits a text into passages.

    ``size``: the share of a passage that a span fills; at most 1 for a single character. ``overlap``: the share of the
    text that two passages may share; None = they share nothing. ``keep``: ends of headings: no passage ends there."""

    text: str
    size: Share
    overlap: Share | None = None
    keep: Collection[int] = ()

    def split(self, borders: Sequence[Border]) -> Iterator[Span]:
        """Yield spans in order, stripped and not empty, with all of the text but white space. A text that fits whole
        is not cut. The rest of a piece that is too long is not joined with the next piece."""
        return self._split(0, len(self.text), [whole, *borders])

    def _split(self, start: int, end: int, borders: Sequence[Border]) -> Iterator[Span]:
        border, *finer = borders
        pieces = border(self.text, start, end)
        starts, ends = array("q"), array("q")  # a million words would be 200 MB as tuples
        for piece in self._joined(pieces):
            if self.size(*piece) <= 1:
                starts.append(piece[0])
                ends.append(piece[1])
                continue
            yield from self._pack(starts, ends)
            starts, ends = array("q"), array("q")
            yield from self._split(*piece, finer) if finer else self._cut_hard(*piece)
        yield from self._pack(starts, ends)

    def _cut_hard(self, start: int, end: int) -> Iterator[Span]:
        """Split at every character; only the white space of a heading stays with its word."""
        starts: Sequence[int] = range(start, end)
        ends: Sequence[int] = range(start + 1, end + 1)
        if len(self.text[start:end].split(maxsplit=1)) > 1:
            starts = array("q", (place for place in starts if not self.text[place].isspace()))
            ends = array("q", (place + 1 for place in starts))
        return self._pack(starts, ends)

    def _pack(self, starts: Sequence[int], ends: Sequence[int]) -> Iterator[Span]:
        """Yield spans over the pieces (starts[i], ends[i]), as long as the size allows. It allows every single piece. A
        span begins with as many of the last pieces of the span before as the overlap allows. The overlap counts inside
        the size, so it gives way to the next new piece."""
        first = new = length = shared = 0

        def filled(pieces: int) -> float:
            """Return the share of a span from ``first`` to ``pieces`` pieces after ``new``."""
            return self.size(starts[first], ends[new + pieces])

        def repeated(pieces: int) -> float:
            """Return the share of ``pieces`` pieces before ``new``: of the overlap, and with ``new`` of a span."""
            of_overlap = self.overlap(starts[new - pieces], ends[new - 1]) if self.overlap else 0
            return of_overlap if of_overlap > 1 else max(of_overlap, self.size(starts[new - pieces], ends[new]))

        while new < len(starts):
            # The first guess: as long as the span before.
            guess = bisect_right(ends, starts[first] + length) - 1 - new
            added = _largest_allowed(filled, len(starts) - new - 1, guess=guess, besides=new - first + 1)
            start, end = starts[first], ends[new + added]
            yield start, end
            length = end - start
            first, new = first + 1, new + added + 1
            if self.overlap is not None and new < len(starts):
                shared = _largest_allowed(repeated, new - first, guess=shared)
            first = new - shared

    def _joined(self, pieces: Iterable[Span]) -> Iterator[Span]:
        """Yield the pieces. One that ends at a position of ``keep`` is joined with the next."""
        pending: Span | None = None
        for start, end in pieces:
            pending = (pending[0] if pending else start, end)
            if end not in self.keep:
                yield pending
                pending = None
        if pending:
            yield pending


def _largest_allowed(share: Callable[[int], float], high: int, *, guess: int, besides: int = 0) -> int:
    """Return the largest number up to ``high`` with a share of up to 1. ``besides``: pieces counted in all shares."""
    low, probe, probes = 0, guess, 0
    while low < high:
        probe = min(max(probe, low + 1), high)
        filled = share(probe)
        low, high = (probe, high) if filled <= 1 else (low, probe - 1)
        probes += 1
        by_proportion = int((probe + besides) / max(filled, 0.01)) - besides
        probe = by_proportion if probes < ESTIMATES else (low + high + 1) // 2
    return low
