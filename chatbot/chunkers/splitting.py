"""Cutting a text: at the first kind of border, what is then too long at the next kind, and within a word at last."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from .borders import Border, Span, whole
from .packing import Share, pack


@dataclass(frozen=True, slots=True)
class Splitter:
    """How a text is cut.

    ``size``: how much of a passage a span fills; a single character is never too much. ``overlap``: how much of what
    two passages may share; None = they share nothing. ``keep``: where headings end: no passage ends there.
    """

    text: str
    size: Share
    overlap: Share | None = None
    keep: Collection[int] = ()

    def split(self, borders: Sequence[Border]) -> Iterator[Span]:
        """Spans in order, stripped and not empty, with all of the text but white space; what fits whole is not cut.

        A piece that is too long is cut by itself: what is left of it is not joined with what comes next.
        """
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
            if finer:
                yield from self._split(*piece, finer)
            else:
                yield from self._cut_hard(*piece)
        yield from self._pack(starts, ends)

    def _cut_hard(self, start: int, end: int) -> Iterator[Span]:
        """Each character is a piece, but for the white space of a heading joined with a word."""
        starts: Sequence[int] = range(start, end)
        ends: Sequence[int] = range(start + 1, end + 1)
        if len(self.text[start:end].split(maxsplit=1)) > 1:
            starts = array("q", (place for place in starts if not self.text[place].isspace()))
            ends = array("q", (place + 1 for place in starts))
        return self._pack(starts, ends)

    def _pack(self, starts: Sequence[int], ends: Sequence[int]) -> Iterator[Span]:
        return pack(starts, ends, size=self.size, overlap=self.overlap)

    def _joined(self, pieces: Iterable[Span]) -> Iterator[Span]:
        """The pieces, one that ends at a position of ``keep`` together with the next."""
        held: Span | None = None
        for start, end in pieces:
            held = (held[0] if held else start, end)
            if end not in self.keep:
                yield held
                held = None
        if held:
            yield held
