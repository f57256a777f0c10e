"""A grid of texts as a `Table`: which columns label the rows, which rows group those
below them.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ...domain.tables import Headings, Table, TableRow
from ...language.characters import visible
from ...language.table_text import LEVEL, is_number, label, one_line

__all__ = ["TableGrid", "is_year", "read_grid"]

_YEAR = re.compile(r"(?:FY\s?)?(?:1[89]|20|21)\d\d(?:\.0+)?(?:\s?[-/–]\s?\d{2,4})?")
_CODE_HEAD = re.compile(
    r"(?:s\.? ?)?(?:no|nr|n°|nº|#|№|id|rank|rang|iso\d?|codes?|c[oó]digo|p-?code)\.?"
    r"|.*[ _-](?:id|code|pcode|no\.?)",
    re.IGNORECASE,
)
_PROSE_END = re.compile(r"[.!?]$")


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
) -> TableGrid:
    """Return the table of a grid without its heading rows. ``names``: of the columns,
    levels separated by `LEVEL`; "" = none.

    A row with nothing but its first cell groups the rows below it. A first cell that is
    left empty below another one repeats it, where the next cell labels the row too.
    """
    width = max([len(names), *map(len, rows)])
    grid = [_padded(row, width) for row in rows]
    paths = [_path(name) for name in names]
    paths += [()] * (width - len(paths))
    labels = _label_columns(paths, grid)
    heads = tuple(" ".join(path) for path in paths[:labels])
    table_rows: list[TableRow] = []
    numbers: list[int] = []
    group = ""
    carried = [""] * labels
    for number, row in enumerate(grid):
        if not any(row):
            continue
        if _is_group(grid, number, labels):
            group = row[0]
            carried = [""] * labels
            continue
        own = row[:labels]
        if labels > 1 and not own[0] and own[1]:
            own[0] = carried[0]
        carried = own
        path = (group, *own) if group else tuple(own)
        table_rows.append(TableRow(path=path, texts=tuple(row[labels:])))
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
    for place, path in enumerate(paths):
        if _has_figures(path, [row[place] for row in grid]):
            return place
    return 1


def _has_figures(path: Headings, column: Sequence[str]) -> bool:
    """Return whether most values of a column are numbers that count something."""
    if path and _CODE_HEAD.fullmatch(path[-1]):
        return False
    numbers: list[str] = []
    others = 0
    for value in column:
        if is_number(value):
            numbers.append(value)
        elif value:
            others += 1
    if not numbers or others > len(numbers):
        return False
    return not all(map(is_year, numbers))


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
