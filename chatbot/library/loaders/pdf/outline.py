"""Lines to paragraphs, headings and captions, and pages of these to sections whose
paths the headings make. Paragraphs are found by distance, indent and list marks,
headings by size and weight.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import groupby, pairwise
from math import inf
from statistics import median
from typing import TypeGuard

from ....domain import Section
from ....domain.documents import PARAGRAPH
from ....domain.tables import Table, TableRows
from ....language.table_text import row_line, rows_text
from ....language.table_words import role_of_head, unit_line
from ..grid import is_year, read_grid
from ..sections import empty_columns
from .measures import read_measure
from .page import Block, PageText
from .tables import CAPTION, PageTable, is_number
from .words import Line, Style, compounds, join_lines

_BULLET = re.compile(r"[•◦▪■●○‣►–—·*†‡§¶-]\s?\S")
_NUMBERED = re.compile(
    r"\((?:\d{1,3}|[a-zA-Z]|[ivx]{2,5})\)\s|[a-z]\)\s|(?:\d{1,3}(?:\.\d{1,2})*[.)]|[A-Z]\.|[ivx]{1,5}\.)\s|\d{1,3}\s[A-Z]"
)
_SENTENCE_END = re.compile(r"[.!?:;。！？][\"'”’)\]]*$")
_INDENT = read_measure("outline.indent")
_SHORT = read_measure("outline.short")


@dataclass(slots=True)
class Paragraph:
    """Joined lines. ``opens``: the first line begins at the column's edge;
    ``ends_full``: the last one ends there.
    """

    text: str
    size: float
    opens: bool
    ends_full: bool


def paragraphs_of(
    lines: Sequence[Line], hyphenated: Collection[str]
) -> list[Paragraph]:
    """Group the lines of one column, in order, into paragraphs."""
    groups: list[list[Line]] = []
    # The usual distance between two lines of the column.
    steps = [
        b.bottom - a.bottom
        for a, b in pairwise(lines)
        if 0 < b.bottom - a.bottom < 2.2 * a.size
    ]
    pitch = median(steps) if steps else 1.3 * lines[0].size if lines else 0.0
    # Where nearly all lines are far apart, they are printed with wide leading.
    # Lines further apart are not of one paragraph.
    far = [
        b.bottom - a.bottom
        for a, b in pairwise(lines)
        if 0 < b.bottom - a.bottom < 4.0 * a.size
    ]
    wide = median(far) if len(far) >= 3 and not steps else 0.0
    for at, line in enumerate(lines):
        after = lines[at + 1] if at + 1 < len(lines) else None
        if not groups or _breaks(groups[-1], line, after, pitch, wide):
            groups.append([])
        groups[-1].append(line)
    paragraphs = []
    for group in groups:
        first = group[0]
        last = group[-1]
        opens = first.x0 - first.left < _INDENT * first.size
        ends_full = last.x1 > last.right - _SHORT * (last.right - last.left)
        paragraphs.append(
            Paragraph(_joined(group, hyphenated), first.size, opens, ends_full)
        )
    return paragraphs


def _joined(lines: Sequence[Line], hyphenated: Collection[str]) -> str:
    return reduce(lambda text, line: join_lines(text, line.text, hyphenated), lines, "")


def continues(before: Paragraph, after: Paragraph) -> bool:
    """Return whether the paragraph at the top of a column continues the one at the foot
    of the column before.
    """
    unfinished = before.ends_full and not _SENTENCE_END.search(before.text)
    return (
        unfinished
        and after.opens
        and abs(before.size - after.size) < 0.6
        and not _BULLET.match(after.text)
    )


def _breaks(
    group: Sequence[Line], line: Line, after: Line | None, pitch: float, wide: float
) -> bool:
    """Return whether a line begins a new paragraph after the lines in ``group``."""
    before = group[-1]
    if _is_unit_of_caption(line, group[0]):
        return True
    if abs(line.size - before.size) > 0.9 or _begins_item(line, before):
        return True
    has_ended = bool(_SENTENCE_END.search(before.text))
    is_short = before.x1 < before.right - _SHORT * (before.right - before.left)
    begins_small = line.text[0].islower()
    step = line.bottom - before.bottom
    if 0 < step <= 1.1 * wide:
        return not begins_small and (is_short or has_ended)
    if not 0 <= step <= _max_step(line, pitch):
        return True
    indent = (line.x0 - before.x0) / line.size
    if indent < -_INDENT and len(group) > 1:
        return True
    if indent > _INDENT and not _is_list_item(group):
        return has_ended or not _is_aligned(line, after)
    return has_ended and is_short and not begins_small


def _is_unit_of_caption(line: Line, first: Line) -> bool:
    return bool(CAPTION.match(first.text) and unit_line(line.text))


def _begins_item(line: Line, before: Line) -> bool:
    """Return whether a line begins an item of a list."""
    if _BULLET.match(line.text):
        return True
    return bool(_NUMBERED.match(line.text) and _SENTENCE_END.search(before.text))


def _max_step(line: Line, pitch: float) -> float:
    """Return how far a line of the same paragraph is below the one before, in
    points.
    """
    return 1.25 * max(min(pitch, 1.6 * line.size), line.size)


def _is_aligned(line: Line, after: Line | None) -> bool:
    """Return whether the line after this one does not begin left of it."""
    return after is not None and after.x0 >= line.x0 - _INDENT * line.size


def _is_list_item(group: Sequence[Line]) -> bool:
    """Return whether the lines are an item of a list, whose other lines are aligned
    with the text of the first.
    """
    first = group[0]
    if not (_BULLET.match(first.text) or _NUMBERED.match(first.text)):
        return False
    return len(group) == 1 or group[1].x0 > first.x0


_LARGER = read_measure("outline.larger")
_WIDE_ROW = read_measure("outline.wide_row")
_MAX_HEADING_LINES = 3
_LETTERS = re.compile(r"[^\W\d_].*[^\W\d_]")
_REST = re.compile(
    r"(?P<capitals>[^\Wa-zß-ÿ]{2}(?:[^.a-zß-ÿ]|\.(?!\s))*)\.\s+(?=[^\Wa-zß-ÿ][a-zß-ÿ])|[^\s.]{1,20}(?:\.\s+|\.?$)"
)
"""What completes a heading that ends within a line."""
_NO_HEADING = re.compile(r"^[•◦▪■●‣►]|[.;,]$|^\[[^\]]*\]$|^\([^)]*\)$")


@dataclass(frozen=True, slots=True)
class Styles:
    """The document's body size, and its heading styles from the highest to the
    lowest.
    """

    body: float
    levels: tuple[Style, ...]

    @property
    def larger_than(self) -> float:
        """The size from which a line is larger than the body text."""
        return _LARGER * self.body

    def heading(self, lines: Sequence[Line], at: int) -> int:
        """Return how many lines from ``at`` on make one heading; 0 = none begins
        here.
        """
        first = lines[at]
        if first.style not in self.levels or _is_row(first):
            return 0
        end = at + 1
        while end < len(lines) and _heading_goes_on(first, lines[end - 1], lines[end]):
            end += 1
        count = end - at
        text = " ".join(line.text for line in lines[at:end])
        if CAPTION.match(text):
            if count <= _MAX_HEADING_LINES + 1:
                return count
            return 0
        # A bold line of the body's size is a heading only if it is shorter.
        max_words = 25 if first.size >= self.larger_than else 14
        if count > _MAX_HEADING_LINES or len(text.split()) > max_words:
            return 0
        if not _LETTERS.search(text) or _NO_HEADING.search(text):
            return 0
        return count


def _heading_goes_on(first: Line, before: Line, line: Line) -> bool:
    """Return whether a heading that begins with ``first`` goes on in a line."""
    if line.style != first.style or _is_row(line):
        return False
    if _is_unit_of_caption(line, first):
        return False
    return 0 < line.bottom - before.bottom < 1.5 * line.size


def _is_row(line: Line) -> bool:
    """Return whether a line ends with two figures or more that are no years: it is a
    row of a table, bold or not.
    """
    if CAPTION.match(line.text):
        return False
    for word in line.text.split()[-2:]:
        if is_year(word) or not (is_number(word) and _DIGIT.search(word)):
            return False
    return " " in line.text


_DIGIT = re.compile(r"\d")


def text_lines(pages: Iterable[PageText]) -> Iterator[Line]:
    """Yield the lines outside of tables."""
    return (
        block for page in pages for block in page.blocks() if isinstance(block, Line)
    )


def styles_of(pages: Sequence[PageText]) -> Styles:
    """Find the size that most letters have, and the styles that are larger or
    bolder.
    """
    letters: Counter[Style] = Counter()
    sizes: Counter[float] = Counter()
    for line in text_lines(pages):
        letters[line.style] += len(line.text)
        sizes[line.size] += len(line.text)
    body = max(sizes, key=sizes.__getitem__, default=0.0)
    bold_body = 2 * letters[body, True] > letters[body, False] + letters[body, True]
    bold_from = inf if bold_body else 0.85 * body
    levels = [
        (size, bold)
        for size, bold in letters
        if size >= _LARGER * body or (bold and size > bold_from)
    ]
    return Styles(
        body, tuple(sorted(levels, key=lambda style: (-style[0], not style[1])))
    )


_NOTE = re.compile(
    (
        r"(?:notes?|sources?|abbreviations?|see "
        r"notes?|legend|key|quelle|fuente)\b|[—*†‡§¶]|\d{1,2}\s[A-Z]"
    ),
    re.IGNORECASE,
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
    """The lines that name a table, of which the last may give a ``unit``."""

    text: str
    unit: str = ""


Part = Heading | Caption | Paragraph | PageTable


def flow(page: PageText, styles: Styles, hyphenated: Collection[str]) -> list[Part]:
    """Return the page's parts. Paragraphs continue over columns; footnotes come at the
    end of the page.
    """
    parts: list[Part] = []
    notes: list[Part] = []
    for at, column in enumerate(page.columns):
        end = len(column)
        # Smaller than the body by a seventh.
        while (
            end
            and isinstance(line := column[end - 1], Line)
            and line.size <= 0.86 * styles.body
        ):
            end -= 1
        # Small print at the foot of a column is footnotes, unless all of the column is
        # small, or it is below a table.
        if (
            at + 1 == len(page.columns)
            or not end
            or isinstance(column[end - 1], PageTable)
        ):
            end = len(column)
        new = list(_parts(column[:end], styles, hyphenated))
        if parts and new:
            last = parts[-1]
            first = new[0]
            if (
                isinstance(last, Paragraph)
                and isinstance(first, Paragraph)
                and continues(last, first)
            ):
                last.text = join_lines(last.text, first.text, hyphenated)
                new = new[1:]
        parts += new
        notes += _parts(column[end:], styles, hyphenated)
    return _with_captions(list(_with_whole_headings(parts + notes, hyphenated)))


def _parts(
    column: Sequence[Block], styles: Styles, hyphenated: Collection[str]
) -> Iterator[Part]:
    for _, blocks in groupby(column, type):
        run = list(blocks)
        lines = [block for block in run if isinstance(block, Line)]
        at = start = 0
        while at < len(lines):
            count = styles.heading(lines, at)
            if count:
                yield from paragraphs_of(lines[start:at], hyphenated)
                heading = lines[at : at + count]
                x = sum(line.x0 + line.x1 for line in heading) / (2 * count)
                text = _joined(heading, hyphenated).rstrip(": ")
                yield Heading(
                    text, styles.levels.index(heading[0].style), heading[0].size, x
                )
                start = at + count
            at += count or 1
        yield from paragraphs_of(lines[start:], hyphenated)
        yield from (block for block in run if isinstance(block, PageTable))


def _with_whole_headings(
    parts: Iterable[Part], hyphenated: Collection[str]
) -> Iterator[Part]:
    """Complete headings that end within a line: at a dash, or in capitals that go on to
    a full stop.
    """
    heading: Heading | None = None
    for part in parts:
        rest = _REST.match(part.text) if isinstance(part, Paragraph) else None
        if (heading and rest and isinstance(part, Paragraph)) and (
            heading.text.endswith(("-", "–"))
            or (heading.text.isupper() and rest["capitals"])
        ):
            heading = replace(
                heading, text=join_lines(heading.text, rest[0].rstrip(". "), hyphenated)
            )
            part.text = part.text[rest.end() :]
        if heading:
            yield heading
        heading = part if isinstance(part, Heading) else None
        if not heading and not (isinstance(part, Paragraph) and not part.text):
            yield part
    if heading:
        yield heading


def _with_captions(parts: list[Part]) -> list[Part]:
    """Turn headings and paragraphs that name the table below them into its caption. One
    heading between them belongs to the caption: it has the unit of the figures.
    """
    for at, part in enumerate(parts):
        if not isinstance(part, Heading | Paragraph):
            continue
        following = parts[at + 1 : at + 3]
        table = next(
            (below for below in following if isinstance(below, PageTable)), None
        )
        if table is None:
            continue
        is_numbered = CAPTION.match(part.text) and len(part.text) < 400
        below = following[0]
        if _has_unit(below):
            if is_numbered and not CAPTION.match(below.text):
                caption = Caption(f"{part.text} {below.text}", below.text)
                parts[at : at + 2] = [caption] * 2
        elif is_numbered or (below is table and _is_centred(part, table)):
            parts[at] = Caption(part.text)
    return parts


def _has_unit(part: Part) -> TypeGuard[Heading | Paragraph]:
    """Return whether a part between a caption and its table has the unit."""
    if isinstance(part, Paragraph):
        return bool(unit_line(part.text))
    return isinstance(part, Heading)


def _is_centred(part: Heading | Paragraph, table: PageTable) -> bool:
    """Return whether a heading stands over the middle of a table."""
    if not isinstance(part, Heading):
        return False
    off_centre = abs(2 * part.x - table.x0 - table.x1)
    return off_centre < 10 and part.x - table.x0 > 1.5 * len(part.text)


def sections_of(pages: Sequence[PageText], title: str) -> tuple[str, list[Section]]:
    """Return the document's title and its sections.

    ``title``: the title in the file's metadata; if it is "", the largest heading of
    page 1 is the title. A heading that repeats the title is no section.
    """
    styles = styles_of(pages)
    hyphenated = compounds(line.text for line in text_lines(pages))
    flows = [flow(page, styles, hyphenated) for page in pages]
    if not title and flows:
        headings = [
            part
            for part in flows[0]
            if isinstance(part, Heading) and not CAPTION.match(part.text)
        ]
        least = styles.larger_than
        larger = [heading for heading in headings if heading.size >= least]
        title = max(larger, key=lambda heading: heading.size).text if larger else ""
    writer = _SectionWriter(title, styles)
    for page, parts in zip(pages, flows, strict=True):
        writer.add(page, parts)
    return title, writer.finished()


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _is_list(table: Table) -> bool:
    """Return whether the heads of a table say nothing: they are missing, or it lists
    items with their values, as the fields of a form.
    """
    if not any(table.columns):
        return True
    if len(table.row_heads) != 1 or len(table.columns) != 1:
        return False
    return role_of_head("".join(table.columns[0])) == "value"


class _SectionWriter:
    """Collects sections. A heading with nothing below it is kept as text: it may not be
    a heading.
    """

    def __init__(self, title: str, styles: Styles) -> None:
        self._title = _plain(title)
        self._styles = styles
        self._sections: list[Section] = []
        self._headings: list[
            tuple[Heading, bool]
        ] = []  # and whether something stands below it
        self._caption: Caption | None = None
        self._page = 0
        self._confidence: float | None = None
        self._alone = False  # whether the last text is a row by itself

    def add(self, page: PageText, parts: Sequence[Part]) -> None:
        self._page = page.number
        self._confidence = page.confidence
        first = parts[0] if parts else None
        if not (isinstance(first, PageTable) and first.before):
            self._caption = None
        for part in parts:
            if isinstance(part, Heading):
                self._open(part)
            elif isinstance(part, Caption):
                self._caption = part
            elif isinstance(part, PageTable):
                self._write_table(part)
            else:
                is_note = part.size < 0.93 * self._styles.body or _NOTE.match(part.text)
                last_path = self._sections[-1].path if self._sections else ()
                if (
                    self._caption
                    and last_path[-1:] == (self._caption.text,)
                    and not is_note
                ):
                    self._caption = None  # its table has been written
                self._write(part.text)

    def _write_table(self, table: PageTable) -> None:
        notes = table.titles
        if self._caption:
            unit = self._caption.unit
            notes = [self._caption.text.removesuffix(unit).strip(), unit, *notes]
        # A head that is repeated within the table is no row.
        rows = [row for row in table.rows if row.cells != table.header]
        cells = [row.cells for row in rows]
        grid = read_grid(
            table.header,
            cells,
            title="".join(notes[:1]),
            note="\n".join(notes[1:]),
            place=self._headings[-1][0].text if self._headings else "",
            groups=[row.groups for row in rows],
        ).table
        is_list = _is_list(grid)
        lines = [row_line(grid, row) for row in grid.rows]
        # A row of 150 characters is a section of its own: in one passage with another,
        # neither is found by its label (MiniLM: .81 for both together, .85 for the row
        # alone).
        at = 0
        for is_wide, group in groupby(lines, lambda line: len(line) >= _WIDE_ROW):
            for text in group if is_wide else ["\n".join(group)]:
                end = at + text.count("\n") + 1
                shown = TableRows(grid, at, end, "\n".join(table.titles))
                at = end
                self._write(
                    rows_text(shown),
                    alone=is_wide or not is_list,
                    rows=None if is_list else shown,
                )
        for line in empty_columns(table.header, cells):
            self._write(line)

    def finished(self) -> list[Section]:
        self._close(0)
        return self._sections

    def _open(self, heading: Heading) -> None:
        self._caption = None
        self._close(heading.level)
        name = _plain(heading.text)
        first_line = (
            self._page == 1
            and heading.level == 0
            and self._title.startswith(f"{name} ")
        )
        if name == self._title or first_line:
            self._close(0)
        else:
            self._headings.append((heading, False))

    def _close(self, level: int) -> None:
        """End the headings of ``level`` and below."""
        kept = [
            (heading, used) for heading, used in self._headings if heading.level < level
        ]
        unused = [
            heading.text for heading, used in self._headings[len(kept) :] if not used
        ]
        self._headings = kept
        if unused:
            self._write(PARAGRAPH.join(unused))

    def _write(
        self, text: str, *, alone: bool = False, rows: TableRows | None = None
    ) -> None:
        self._headings = [(heading, True) for heading, _ in self._headings]
        path = tuple(heading.text for heading, _ in self._headings)
        path += (self._caption.text,) if self._caption else ()
        last = self._sections[-1] if self._sections else None
        joins = not (alone or self._alone)
        if joins and last is not None and last.path == path and last.page == self._page:
            text = f"{last.text}{PARAGRAPH}{text}"
            self._sections.pop()
        self._sections.append(
            Section(path, text, page=self._page, confidence=self._confidence, rows=rows)
        )
        self._alone = alone
