"""The places a text can be cut at. Each function yields the pieces of ``text[start:end]`` between its borders.

Pieces are spans (start, end): in order, stripped, not empty, with nothing but white space between them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from .. import text as language

Span = tuple[int, int]
Border = Callable[[str, int, int], Iterator[Span]]

_BLANK_LINES = re.compile(r"\n\s*\n")
_LINE_END = re.compile(r"\n")
_CLAUSE_END = re.compile(r"(?<=[.!?;])\s+")
_WORD = re.compile(r"\S+")


def whole(text: str, start: int, end: int) -> Iterator[Span]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    if start < end:
        yield start, end


def paragraphs(text: str, start: int, end: int) -> Iterator[Span]:
    """Parted by blank lines."""
    return _between(_BLANK_LINES, text, start, end)


def lines(text: str, start: int, end: int) -> Iterator[Span]:
    return _between(_LINE_END, text, start, end)


def clauses(text: str, start: int, end: int) -> Iterator[Span]:
    """Parted after a full stop, a question or exclamation mark, or a semicolon: figures stand in lists like "a; b"."""
    return _between(_CLAUSE_END, text, start, end)


def sentences(text: str, start: int, end: int) -> Iterator[Span]:
    """As answers and citations know them: "Dr." and initials do not end one."""
    for sentence in language.sentences(text[start:end]):
        start = text.index(sentence, start)
        yield start, start + len(sentence)
        start += len(sentence)


def words(text: str, start: int, end: int) -> Iterator[Span]:
    """The last resort before a cut within a word: no piece has white space in it."""
    for match in _WORD.finditer(text, start, end):
        yield match.span()


def _between(border: re.Pattern[str], text: str, start: int, end: int) -> Iterator[Span]:
    for match in border.finditer(text, start, end):
        yield from whole(text, start, match.start())
        start = match.end()
    yield from whole(text, start, end)
