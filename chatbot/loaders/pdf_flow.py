"""One page as a flow of headings, paragraphs, captions and tables, in reading order."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from .pdf_grid import Table
from .pdf_page import Block, PageText
from .pdf_paragraphs import Paragraph, continues, paragraphs_of
from .pdf_ruled import CAPTION
from .pdf_styles import Styles
from .pdf_text import joined
from .pdf_words import Line

_FOOTNOTE = 0.86  # of the body size
_NOTE = re.compile(
    r"(?:notes?|sources?|abbreviations?|see notes?|legend|key|quelle|fuente)\b|[—*†‡§¶]|\d{1,2}\s[A-Z]", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Heading:
    """``level`` 0 is the highest."""

    text: str
    level: int
    size: float
    x: float


@dataclass(frozen=True, slots=True)
class Caption:
    """What a table is called."""

    text: str


Part = Heading | Caption | Paragraph | Table


def flow(page: PageText, styles: Styles, hyphenated: Collection[str]) -> list[Part]:
    """The page's parts. A paragraph goes on over columns; footnotes stand at the end of the page."""
    parts: list[Part] = []
    notes: list[Part] = []
    for at, column in enumerate(page.columns):
        end = _footnotes(column, styles) if at + 1 < len(page.columns) else len(column)
        found = list(_parts(column[:end], styles, hyphenated))
        if parts and found:
            last, first = parts[-1], found[0]
            if isinstance(last, Paragraph) and isinstance(first, Paragraph) and continues(last, first):
                last.text = joined(last.text, first.text, hyphenated)
                found = found[1:]
        parts += found
        notes += _parts(column[end:], styles, hyphenated)
    return _with_captions(parts + notes)


def is_note(paragraph: Paragraph, styles: Styles) -> bool:
    """Below a table: it belongs to the table."""
    return paragraph.size < 0.93 * styles.body or bool(_NOTE.match(paragraph.text))


def _footnotes(column: Sequence[Block], styles: Styles) -> int:
    """Where the small print at the column's foot begins; its end where all of it is small, or below a table."""
    start = len(column)
    while start and isinstance(line := column[start - 1], Line) and line.size <= _FOOTNOTE * styles.body:
        start -= 1
    below_table = start and isinstance(column[start - 1], Table)
    return start if start and not below_table else len(column)


def _parts(column: Sequence[Block], styles: Styles, hyphenated: Collection[str]) -> Iterator[Part]:
    lines: list[Line] = []
    for block in column:
        if isinstance(block, Line):
            lines.append(block)
            continue
        yield from _text_parts(lines, styles, hyphenated)
        lines = []
        yield block
    yield from _text_parts(lines, styles, hyphenated)


def _text_parts(lines: Sequence[Line], styles: Styles, hyphenated: Collection[str]) -> Iterator[Part]:
    at = start = 0
    while at < len(lines):
        count = styles.heading(lines, at)
        if count:
            yield from paragraphs_of(lines[start:at], hyphenated)
            yield _heading(lines[at : at + count], styles, hyphenated)
            start = at + count
        at += count or 1
    yield from paragraphs_of(lines[start:], hyphenated)


def _heading(lines: Sequence[Line], styles: Styles, hyphenated: Collection[str]) -> Heading:
    text = ""
    for line in lines:
        text = joined(text, line.text, hyphenated)
    x = sum(line.x0 + line.x1 for line in lines) / (2 * len(lines))
    return Heading(text.rstrip(": "), styles.level(lines[0]), lines[0].size, x)


def _with_captions(parts: list[Part]) -> list[Part]:
    """Headings and paragraphs that name the table below them become its caption."""
    for at, part in enumerate(parts):
        if not isinstance(part, Heading | Paragraph):
            continue
        following = parts[at + 1 : at + 3]
        table = next((below for below in following if isinstance(below, Table)), None)
        if table is None or any(isinstance(between, Heading) for between in following[: following.index(table)]):
            continue
        numbered = CAPTION.match(part.text) and len(part.text) < 400
        centred = isinstance(part, Heading) and following[0] is table and abs(2 * part.x - table.x0 - table.x1) < 10
        if numbered or (centred and isinstance(part, Heading) and part.x - table.x0 > 1.5 * len(part.text)):
            parts[at] = Caption(part.text)
    return parts
