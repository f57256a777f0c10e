"""What readers of documents share: headings and paragraphs to sections, rows of a table to lines of text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ..schema import Section

LEVEL = "\x01"
"""Between the levels of a column's name: "2007" over "Men" """
PARAGRAPH = "\n\n"
LINE = "\n"


class HeadingOutline:
    """Collects what a reader of a document meets, top to bottom. Levels of headings: 1 is the highest."""

    def __init__(self) -> None:
        self._headings: dict[int, str] = {}
        self._parts: list[tuple[dict[int, str], list[str]]] = [({}, [])]
        self._names: list[tuple[int, str]] = []

    def heading(self, level: int, text: str) -> None:
        """A heading of ``level`` closes those of the same level and below."""
        self._names.append((level, text))
        self._headings = {kept: name for kept, name in self._headings.items() if kept < level} | {level: text}
        self._parts.append((self._headings, []))

    def add(self, text: str, *, gap: str = PARAGRAPH) -> None:
        """A paragraph, a list item or a table; ``gap`` is what parts it from the text above it."""
        if text:
            _, texts = self._parts[-1]
            texts.append(gap + text if texts else text)

    def title(self) -> str:
        """The only heading of level 1, where it is the first heading: it names the document, not a part of it."""
        top = [name for level, name in self._names if level == 1]
        return top[0] if len(top) == 1 and self._names[0][0] == 1 else ""

    def sections(self, *, keep_title: bool = False) -> Iterator[Section]:
        """The sections in order. Their paths leave the title out, unless ``keep_title``: the document has another
        one above it.
        """
        lowest = 1 if self.title() and not keep_title else 0
        for headings, texts in self._parts:
            path = tuple(headings[level] for level in sorted(headings) if level > lowest)
            yield Section(path, "".join(texts))


MAX_COLUMNS = 1_000


class WidthError(ValueError):
    """A table that is wider than `MAX_COLUMNS`: the names of its columns would stand in each row."""


def require_width(columns: int) -> None:
    """Raises WidthError: a table has more columns than are read."""
    if columns > MAX_COLUMNS:
        raise WidthError(f"has a table of {columns:,} columns; up to {MAX_COLUMNS:,} are read. Split it by columns")


_NUMBER = re.compile(r"[-+−(]?\s*[$€£¥]?\s*\d[\d\s.,']*%?\)?")
_YEAR = re.compile(r"(1[89]|20|21)\d\d")
_LONGEST_LABEL = 120
"""Characters. A longer cell is prose, not the name of a column or of rows."""


def row_text(header: Sequence[str], cells: Sequence[str]) -> str:
    """``Header: value; Header: value``. Empty cells are left out; a cell without a header stands alone.

    A name of several levels (parted by `LEVEL`) leaves out those that the cell before it has named: "2007 Men: 3;
    Women: 4; 2009 Men: 5". Whole names in every cell made reports of wide tables up to three times as long.
    """
    written: list[str] = []
    before: list[str] = []
    for place, cell in enumerate(cells):
        if not (value := _one_line(cell)):
            continue
        levels = [_one_line(level).rstrip(" :") for level in header[place].split(LEVEL)] if place < len(header) else []
        shared = 0
        while shared < min(len(levels), len(before)) - 1 and levels[shared] == before[shared]:
            shared += 1
        name = " ".join(filter(None, levels[shared:]))
        written.append(f"{name}: {value}" if name else value)
        before = levels
    return "; ".join(written)


def empty_columns(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A line with the names of the columns that have no value in any row, if there are such: a form asks for them."""
    filled = {place for row in rows for place, cell in enumerate(row) if cell.strip()}
    names = [" ".join(name.split(LEVEL)).strip() for place, name in enumerate(header) if place not in filled]
    names = list(dict.fromkeys(filter(None, names)))
    return [f"Empty columns: {', '.join(names)}"] if names else []


def table_text(rows: Sequence[Sequence[str]], *, header: bool | None = None) -> str:
    """A line for each row, with the names of its columns where the table has them, else ``a | b | c``.

    ``header`` says whether the first row of more than one cell names the columns; None = judged by its look.
    Rows of one cell above it are captions, and such rows below it stand alone too: notes and group names.
    """
    table = [row for row in ([_one_line(cell) for cell in row] for row in rows) if any(row)]
    require_width(max(map(len, table), default=0))
    first = next((place for place, row in enumerate(table) if not is_single(row)), len(table))
    named = first + 1 < len(table) and (looks_like_header(table[first]) if header is None else header)
    names = [label(name) for name in table.pop(first)] if named else []
    lines = [
        row_text(names, row) if names and not is_single(row) else " | ".join(cell for cell in row if cell)
        for row in table
    ]
    return "\n".join([*lines, *empty_columns(names, table)])


def is_single(row: Sequence[str]) -> bool:
    """Whether only the first cell says something: a caption, a note or the name of a group of rows."""
    return bool(row) and bool(row[0].strip()) and not any(cell.strip() for cell in row[1:])


def looks_like_header(cells: Sequence[str]) -> bool:
    """Whether a row may name columns: every cell but the corner is filled, none is prose or a number but a year."""
    texts = [_one_line(cell) for cell in cells]
    if not texts or not all(texts[1:]) or any(label(text) != text for text in texts):
        return False
    numbers = [text for text in texts if is_number(text)]
    return len(numbers) < len(texts) and all(_YEAR.fullmatch(number) for number in numbers)


def is_number(text: str) -> bool:
    """Whether a cell is a number as people write it: ``1,285.5``, ``-3``, ``(12)``, ``45 %``, ``$7``."""
    return bool(_NUMBER.fullmatch(text.strip()))


def label(text: str) -> str:
    """The text of a cell where it is repeated, on each row it names; "" for prose, which would swell the table."""
    return text if len(text) <= _LONGEST_LABEL else ""


def _one_line(text: str) -> str:
    return " ".join(text.split())
