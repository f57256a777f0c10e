"""A grid of texts as a `Table`: which columns label the rows, which rows group those
below them.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ...domain.tables import Headings, Table, TableRow
from ...language.characters import visible
from ...language.periods import periods_in
from ...language.table_text import LEVEL, is_number, label, one_line
from ...language.table_words import is_code, names_rows, role_of_head

__all__ = [
    "TableGrid",
    "first_filled",
    "heading_rows",
    "is_single",
    "is_tagged",
    "is_year",
    "looks_like_header",
    "read_grid",
]

_YEAR = re.compile(r"(?:FY\s?)?(?:1[89]|20|21)\d\d(?:\.0+)?(?:\s?[-/–]\s?\d{2,4})?")
_CODE = re.compile(r"0\d")
_PROSE_END = re.compile(r"[.!?]$")
_UNIT = re.compile(r"\(\D+\)|\D*[%‰$€£¥]\D*|\(?['’]?000s?\)?|in \D+", re.IGNORECASE)
_TAG = re.compile(r"#[a-z]\w*(?:\s*[+-]\s*\w+)*", re.IGNORECASE)
"""A tag of the Humanitarian Exchange Language, in a row below the headings."""
_MAX_HEADING_ROWS = 4


@dataclass(frozen=True, slots=True)
class TableGrid:
    """A table, and the row of the grid that each of its rows comes from."""

    table: Table
    numbers: tuple[int, ...]


def read_grid(
    names: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    title: str = "",
    note: str = "",
    place: str = "",
    tags: Headings = (),
    groups: Sequence[Headings | None] = (),
) -> TableGrid:
    """Return the table of a grid without its heading rows. ``names``: of the columns,
    levels separated by `LEVEL`; "" = none.

    A row with nothing but its first cell groups the rows below it, unless the loader
    knows the ``groups`` of a row. A first cell that is left empty below another one
    repeats it, where the next cell labels the row too.
    """
    width = max([len(names), *map(len, rows)])
    grid = [_padded(row, width) for row in rows]
    paths = [_path(name) for name in names]
    paths += [()] * (width - len(paths))
    labels = _label_columns(paths, grid)
    if groups:
        # What is printed as a table has labels at its edge, numbers too.
        labels = max(1, labels)
    heads = tuple(" ".join(path) for path in paths[:labels])
    table_rows: list[TableRow] = []
    numbers: list[int] = []
    group = ""
    carried = [""] * labels
    for number, row in enumerate(grid):
        if not any(row):
            continue
        above = groups[number] if groups else None
        if above is None and _is_group(grid, number, labels):
            group = row[0]
            carried = [""] * labels
            continue
        own = row[:labels]
        if labels > 1 and not own[0] and own[1]:
            own[0] = carried[0]
        carried = own
        if above is None:
            above = (group,)
        path = (*filter(None, above), *own)
        table_rows.append(TableRow(path, tuple(row[labels:])))
        numbers.append(number)
    table = Table(
        columns=tuple(paths[labels:]),
        rows=tuple(table_rows),
        row_heads=heads,
        title=title,
        note=note,
        place=place,
        tags=tags,
    )
    return TableGrid(table, tuple(numbers))


def is_year(text: str) -> bool:
    """Return whether a text is a year or a span of two: "2019", "FY 2019/20"."""
    return bool(_YEAR.fullmatch(text.strip()))


def _padded(row: Sequence[str], width: int) -> list[str]:
    cells = [one_line(visible(cell)) for cell in row]
    return cells + [""] * (width - len(cells))


def _path(name: str) -> Headings:
    levels: list[str] = []
    for level in name.split(LEVEL):
        shown = one_line(visible(level)).rstrip(" :")
        if shown:
            levels.append(shown)
    return tuple(levels)


def _label_columns(paths: Sequence[Headings], grid: Sequence[Sequence[str]]) -> int:
    """Return how many columns from the left label the rows: all before the first of
    figures, the first alone where no column has figures.
    """
    after_period = False
    for place, path in enumerate(paths):
        head = " ".join(path)
        if place == 0 and len(paths) > 1 and names_rows(head):
            # Ages tell rows apart, although they are numbers.
            continue
        values = [row[place] for row in grid]
        if place + 1 < len(paths) and _are_periods(head, values):
            after_period = True
        elif _has_figures(path, values, after_period=after_period):
            return place
    return 1


def _are_periods(head: str, values: Sequence[str]) -> bool:
    """Return whether the values of a column say when, as 12 below "Week" does."""
    if periods_in(head):
        return False
    count = sum(bool(periods_in(f"{head}: {value}")) for value in values)
    return 2 * count > len(values)


def _has_figures(path: Headings, column: Sequence[str], *, after_period: bool) -> bool:
    """Return whether most values of a column are numbers that count something.
    ``after_period``: a column before it says when.
    """
    # "No." below the name of a group of columns counts something.
    if len(path) == 1 and is_code(path[0]):
        return False
    numbers: list[str] = []
    others = 0
    for value in column:
        if _CODE.match(value):
            return False
        if is_number(value):
            numbers.append(value)
        elif value:
            others += 1
    if not numbers or others > len(numbers):
        return False
    may_be_years = not after_period or role_of_head(" ".join(path)) == "year"
    return not (may_be_years and all(map(is_year, numbers)))


def _is_group(grid: Sequence[Sequence[str]], number: int, labels: int) -> bool:
    """Return whether a row names those below it: its first cell alone is filled, with a
    name.
    """
    row = grid[number]
    if not row[0] or any(row[1:]) or len(row) < 2 or number + 1 == len(grid):
        return False
    if _PROSE_END.search(row[0]) or not label(row[0]) or is_number(row[0]):
        return False
    # It needs a row with figures below it; names one below the other are a list.
    below = grid[number + 1]
    return any(below[max(1, labels) :])


def heading_rows(
    table: list[list[str]], start: int = 0, heads: int | None = None
) -> list[str]:
    """Take the rows that name the columns from the top of a table, and return the
    names; [] if there are none. ``heads``: how many they are, None = judge by their
    look.
    """
    if not table:
        return []
    width = max(map(len, table))
    if is_tagged(table[0]):  # only tags
        return [" ".join(re.findall(r"\w+", tag)) for tag in table.pop(0)]
    if heads is None:
        heads = _count_heads(table, start, width)
    heads = min(heads, len(table) - 1)
    names = _joined_names(table[:heads], width)
    del table[:heads]
    while names and not names[-1]:
        names.pop()
    return names


def _count_heads(table: list[list[str]], start: int, width: int) -> int:
    """Return how many rows at the top of a table seem to name its columns."""
    for at, row in enumerate(table[:_MAX_HEADING_ROWS]):
        if is_tagged(row):
            return at
    heads = 0
    most = min(_MAX_HEADING_ROWS, len(table) - 1)
    while heads < most and _is_head(table, heads, start, width):
        heads += 1
    is_headed = all(_joined_names(table[:heads], width)[start + 1 :])
    if heads > 1 and is_headed and any(map(_has_figure, table[heads:])):
        return heads
    return int(looks_like_header(table[0][start:]))


def _is_head(table: list[list[str]], heads: int, start: int, width: int) -> bool:
    """Return whether a row belongs to the heading, as the ``heads`` rows above it do:
    these repeat or lack names, and no figure has come.
    """
    row = table[heads][start:]
    if is_single(row):
        return False
    is_repeated = row[0] in {above[start] for above in table[:heads]}
    # A row of units has no label of its own, or that of the heading, whose cell reaches
    # down to it.
    if heads and (is_repeated or not row[0]) and _are_units(row[1:]):
        return True
    if _has_figure(row):
        return False
    if not heads or is_repeated:
        return True
    names = _joined_names(table[:heads], width)[start:]
    if len(set(names)) < len(names) or not all(names[1:]):
        return True
    # Above nothing but rows of figures, words are no row of their own.
    below = table[heads + 1 :]
    return not _has_digit(row) and all(_has_figure(row) for row in below)


def _are_units(cells: list[str]) -> bool:
    return all(_UNIT.fullmatch(cell) for cell in cells if cell)


def _joined_names(rows: list[list[str]], width: int) -> list[str]:
    """Return a name for each column from all heading rows. A name without one right of
    it heads both.
    """
    levels: list[list[str]] = [[] for _ in range(width)]
    for row, below in zip(rows, [*rows[1:], []], strict=False):
        above = ""
        for place in range(width):
            cell = label(row[place]) if place < len(row) else ""
            spreads = bool(below) and place > 0 and below[place : place + 1] != [""]
            if cell or not spreads:
                above = cell
            if above and above not in levels[place]:
                levels[place].append(above)
    return [LEVEL.join(level) for level in levels]


def _has_digit(row: list[str]) -> bool:
    return any(character.isdigit() for character in "".join(row))


def _has_figure(row: list[str]) -> bool:
    """Return whether a cell is a number and no year."""
    return any(is_number(cell) and not is_year(cell) for cell in row)


def first_filled(row: Sequence[str]) -> int:
    """Return the column of the first filled cell."""
    return next((place for place, cell in enumerate(row) if cell), 0)


def is_single(row: Sequence[str]) -> bool:
    """Return whether only the first cell is filled: a caption, a note or the name of a
    group of rows.
    """
    return (
        bool(row) and bool(row[0].strip()) and not any(cell.strip() for cell in row[1:])
    )


def looks_like_header(cells: Sequence[str]) -> bool:
    """Return whether a row may name columns: all cells but the corner filled, none
    prose or a number but a year.
    """
    texts = [one_line(cell) for cell in cells]
    if not all(texts[1:]) or texts != list(map(label, texts)):
        return False
    names = [text for text in texts if not is_year(text)]
    return bool(names) and not any(map(is_number, names))


def is_tagged(row: Sequence[str]) -> bool:
    """Return whether all cells of a row that are filled are tags."""
    filled = [cell.strip() for cell in row if cell.strip()]
    return bool(filled) and all(map(_TAG.fullmatch, filled))
