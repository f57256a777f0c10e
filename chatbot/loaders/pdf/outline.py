"""Pages to sections: each page is a flow of headings, paragraphs, captions and tables; headings make the paths."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from ...schema import Section
from ...schema.documents import PARAGRAPH
from .grid import Table
from .page import Block, PageText
from .paragraphs import Paragraph, Styles, continues, paragraphs_of, styles_of
from .spelling import compounds, join_lines
from .tables import CAPTION
from .words import Line

_FOOTNOTE = 0.86  # of the body size
_WIDE_ROW = 150
"""Characters. So long a row of a table is a section: two such rows in one passage, and neither is found by its label
(MiniLM: .81 for both together, .85 for the row alone)."""
_NOTE = re.compile(
    r"(?:notes?|sources?|abbreviations?|see notes?|legend|key|quelle|fuente)\b|[—*†‡§¶]|\d{1,2}\s[A-Z]", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading; its ``level`` counts from 0, the highest."""

    text: str
    level: int
    size: float
    x: float


@dataclass(frozen=True, slots=True)
class Caption:
    """The line that names a table."""

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
                last.text = join_lines(last.text, first.text, hyphenated)
                found = found[1:]
        parts += found
        notes += _parts(column[end:], styles, hyphenated)
    return _with_captions(parts + notes)


def is_note(paragraph: Paragraph, styles: Styles) -> bool:
    """Below a table: it belongs to the table."""
    return paragraph.size < 0.93 * styles.body or bool(_NOTE.match(paragraph.text))


def _footnotes(column: Sequence[Block], styles: Styles) -> int:
    """The index at which the small print at the column's foot begins; the end where all of it is small, or stands
    below a table.
    """
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
        text = join_lines(text, line.text, hyphenated)
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


def sections_of(pages: Sequence[PageText], title: str) -> tuple[str, list[Section]]:
    """The document's title and its sections.

    ``title``: what the file says it is called; where that is "", the largest heading of page 1 is the title. A
    heading that repeats the title is no section.
    """
    styles = styles_of(pages)
    hyphenated = compounds(b.text for page in pages for column in page.columns for b in column if isinstance(b, Line))
    outline: _SectionWriter | None = None
    for page in pages:
        parts = flow(page, styles, hyphenated)
        if outline is None:
            title = title or (_largest_heading(parts, styles) if page.number == 1 else "")
            outline = _SectionWriter(title, styles)
        outline.add(page.number, parts)
    return title, outline.finished() if outline else []


def _largest_heading(parts: Sequence[Part], styles: Styles) -> str:
    """Empty where nothing is larger than the body text."""
    found = [part for part in parts if isinstance(part, Heading) and part.size >= styles.larger_than]
    found = [heading for heading in found if not CAPTION.match(heading.text)]
    return max(found, key=lambda heading: heading.size).text if found else ""


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


class _SectionWriter:
    """Collects sections. A heading with nothing below it is kept as text: it was perhaps none."""

    def __init__(self, title: str, styles: Styles) -> None:
        self._title = _plain(title)
        self._styles = styles
        self._sections: list[Section] = []
        self._headings: list[tuple[Heading, bool]] = []  # and whether something stands below it
        self._caption: Caption | None = None
        self._page = 0
        self._alone = False  # what was written last is a row by itself

    def add(self, page: int, parts: Sequence[Part]) -> None:
        self._page, self._caption = page, None
        for part in parts:
            if isinstance(part, Heading):
                self._open(part)
            elif isinstance(part, Caption):
                self._caption = part
            elif isinstance(part, Table):
                for wide, lines in groupby(part.lines, lambda line: len(line) >= _WIDE_ROW and line[0] != "|"):
                    for text in lines if wide else ["\n".join(lines)]:
                        self._write(text, alone=wide)
            else:
                self._add_paragraph(part)

    def finished(self) -> list[Section]:
        self._close(0)
        return self._sections

    def _add_paragraph(self, paragraph: Paragraph) -> None:
        if self._caption and not is_note(paragraph, self._styles) and self._under_caption():
            self._caption = None
        self._write(paragraph.text)

    def _under_caption(self) -> bool:
        """The table called so has been written."""
        last = self._sections[-1] if self._sections else None
        return last is not None and self._caption is not None and last.path[-1:] == (self._caption.text,)

    def _open(self, heading: Heading) -> None:
        self._caption = None
        self._close(heading.level)
        if self._repeats_title(heading):
            self._close(0)
        else:
            self._headings.append((heading, False))

    def _repeats_title(self, heading: Heading) -> bool:
        """The title again, or on page 1 the first line of it."""
        name = _plain(heading.text)
        return name == self._title or (self._page == 1 and heading.level == 0 and self._title.startswith(f"{name} "))

    def _close(self, level: int) -> None:
        """Ends the headings of ``level`` and below."""
        kept = [(heading, used) for heading, used in self._headings if heading.level < level]
        unused = [heading.text for heading, used in self._headings[len(kept) :] if not used]
        self._headings = kept
        if unused:
            self._write(PARAGRAPH.join(unused))

    def _write(self, text: str, *, alone: bool = False) -> None:
        self._headings = [(heading, True) for heading, _ in self._headings]
        path = tuple(heading.text for heading, _ in self._headings)
        path += (self._caption.text,) if self._caption else ()
        last = self._sections[-1] if self._sections else None
        joins = not (alone or self._alone)
        if joins and last is not None and last.path == path and last.page == self._page:
            text = f"{last.text}{PARAGRAPH}{text}"
            self._sections.pop()
        self._sections.append(Section(path, text, page=self._page))
        self._alone = alone
