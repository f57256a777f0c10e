"""Split text recursively: at the first kind of border, longer pieces at the next kind,
and at last within a word.

A border yields the pieces of ``text[start:end]`` between its places: spans (start, end)
in order, stripped, not empty, with nothing but white space between them. As many pieces
are packed into a passage as fit.
"""

import re
from array import array
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from ...language.sentences import sentences as sentences_of

Span = tuple[int, int]
Border = Callable[[str, int, int], Iterator[Span]]

_BLANK_LINES = re.compile(r"\n\s*\n")
_LINE_END = re.compile(r"\n")
_CLAUSE_END = re.compile(r"(?<=[.!?;])\s+")
_STRIPPED = re.compile(r"\S(?:.*\S)?", re.DOTALL)
_NO_SPACES = re.compile(r"\S+")


def whole(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield the text as one piece, without the white space around it."""
    if match := _STRIPPED.search(text, start, end):
        yield match.span()


def paragraphs(text: str, start: int, end: int) -> Iterator[Span]:
    return _between(_BLANK_LINES, text, start, end)


def lines(text: str, start: int, end: int) -> Iterator[Span]:
    return _between(_LINE_END, text, start, end)


def clauses(text: str, start: int, end: int) -> Iterator[Span]:
    """Split after a full stop, a question or exclamation mark, or a semicolon: figures
    come in lists like "a; b".
    """
    return _between(_CLAUSE_END, text, start, end)


def sentences(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield the sentences, the same as in answers and citations: "Dr." and initials do
    not end one.
    """
    for sentence in sentences_of(text[start:end]):
        start = text.index(sentence, start)
        yield start, start + len(sentence)
        start += len(sentence)


def words(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield single words: the last resort before a cut within a word."""
    for match in _NO_SPACES.finditer(text, start, end):
        yield match.span()


def _between(
    border: re.Pattern[str], text: str, start: int, end: int
) -> Iterator[Span]:
    for match in border.finditer(text, start, end):
        yield from whole(text, start, match.start())
        start = match.end()
    yield from whole(text, start, end)


Fits = Callable[[int, int], bool]
"""Returns whether a span (start, end) of the text is short enough; so are all spans in
it then.
"""


@dataclass(frozen=True, slots=True)
class Splitter:
    """Splits a text into passages.

    ``fits`` a passage, as each character does; ``overlaps``: two passages may share it,
    None = they share nothing. ``keep``: ends of headings: no passage ends there.
    """

    text: str
    fits: Fits
    overlaps: Fits | None = None
    keep: Collection[int] = ()

    def split(self, borders: Sequence[Border]) -> Iterator[Span]:
        """Yield spans in order, stripped and not empty, with all of the text but white
        space. A text that fits whole is not cut. The rest of a piece that is too long
        is not joined with the next piece.
        """
        return self._split(0, len(self.text), [whole, *borders])

    def _split(self, start: int, end: int, borders: Sequence[Border]) -> Iterator[Span]:
        border, *finer = borders
        pieces = border(self.text, start, end)
        starts, ends = (
            array("q"),
            array("q"),
        )  # a million words would be 200 MB as tuples
        for piece in self._joined(pieces):
            if self.fits(*piece):
                starts.append(piece[0])
                ends.append(piece[1])
                continue
            yield from self._pack(starts, ends)
            starts = array("q")
            ends = array("q")
            yield from self._split(*piece, finer) if finer else self._cut_hard(*piece)
        yield from self._pack(starts, ends)

    def _cut_hard(self, start: int, end: int) -> Iterator[Span]:
        """Split at every character; only the white space of a heading stays with its
        word.
        """
        starts: Sequence[int] = range(start, end)
        ends: Sequence[int] = range(start + 1, end + 1)
        if len(self.text[start:end].split(maxsplit=1)) > 1:
            starts = array(
                "q", (place for place in starts if not self.text[place].isspace())
            )
            ends = array("q", (place + 1 for place in starts))
        return self._pack(starts, ends)

    def _pack(self, starts: Sequence[int], ends: Sequence[int]) -> Iterator[Span]:
        """Yield spans over the pieces (starts[i], ends[i]), as long as they fit; every
        single piece does. A span begins with as many of the last pieces of the span
        before as the overlap allows. The overlap counts inside the size, so it gives
        way to the next new piece.
        """
        first = new = 0

        def is_too_long(pieces: int) -> bool:
            """Return whether a span from ``first`` to ``pieces`` pieces after ``new``
            is too long.
            """
            return not self.fits(starts[first], ends[new + pieces])

        def is_too_much(pieces: int) -> bool:
            """Return whether ``pieces`` pieces before ``new`` are too long: for the
            overlap, or with ``new``.
            """
            start = starts[new - pieces]
            return not (
                self.overlaps
                and self.overlaps(start, ends[new - 1])
                and self.fits(start, ends[new])
            )

        while new < len(starts):
            added = bisect_left(range(1, len(starts) - new), True, key=is_too_long)
            yield starts[first], ends[new + added]
            first = first + 1
            new = new + added + 1
            if new < len(starts):
                first = new - bisect_left(
                    range(1, new - first + 1), True, key=is_too_much
                )

    def _joined(self, pieces: Iterable[Span]) -> Iterator[Span]:
        """Yield the pieces. One that ends at a position of ``keep`` is joined with the
        next.
        """
        pending: Span | None = None
        for start, end in pieces:
            pending = (pending[0] if pending else start, end)
            if end not in self.keep:
                yield pending
                pending = None
        if pending:
            yield pending
