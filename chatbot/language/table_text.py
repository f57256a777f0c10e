"""A table as lines of text: one for each row, which names its columns."""

import re
from collections.abc import Sequence
from functools import lru_cache

from ..domain.documents import SECTION_SEPARATOR
from ..domain.tables import Table, TableRow, TableRows
from .table_words import is_unnamed

__all__ = [
    "LEVEL",
    "group_depth",
    "is_number",
    "label",
    "labelled_row",
    "one_line",
    "row_line",
    "row_text",
    "rows_text",
]

_NUMERIC_CELL = re.compile(r"[-+−(]?\s*[$€£¥]?\s*\d[\d\s.,']*%?\)?")
LEVEL = "\x01"
"""Separates the levels of a column's name: "2007" over "Men" """
MAX_KEPT_HEAD = 200
"""Characters of a column's name whose levels are kept: 4,096 of them stay small."""


def rows_text(rows: TableRows) -> str:
    """Return the head and a line for each row."""
    lines = [rows.head] if rows.head else []
    for row in rows.rows:
        lines.append(row_line(rows.table, row))
    return "\n".join(lines)


def row_line(table: Table, row: TableRow, columns: range | None = None) -> str:
    """Return a row with its labels: "Region: North; Men: 3; Women: 4". ``columns``:
    those that are shown, None = all.
    """
    if columns is None:
        columns = range(len(table.columns))
    cells = _labels(table, row)
    heads = [""] * max(0, len(cells) - len(table.row_heads))
    for head in table.row_heads[: len(cells)]:
        heads.append("" if is_unnamed(head) else head)
    for place in columns:
        heads.append(LEVEL.join(table.columns[place]))
        cells.append(row.texts[place])
    if not any(heads):
        # Without names of columns a row is a label and its values.
        return labelled_row(cells)
    return row_text(heads, cells)


def group_depth(table: Table, row: TableRow) -> int:
    """Return how many levels of a row's path are names of groups above it."""
    own = max(1, len(table.row_heads))
    return max(0, len(row.path) - own)


def _labels(table: Table, row: TableRow) -> list[str]:
    """Return the row's own labels, the first one behind the groups that it is in."""
    depth = group_depth(table, row)
    labels = list(row.path[depth:])
    if depth:
        named = [*row.path[:depth], *labels[:1]]
        labels[:1] = [SECTION_SEPARATOR.join(filter(None, named))]
    return labels


def row_text(header: Sequence[str], cells: Sequence[str]) -> str:
    """Return ``Header: value; Header: value``. Empty cells are left out; a cell without
    a header stands alone. A name of several levels (separated by `LEVEL`) leaves out
    those that the cell before it has named: "2007 Men: 3; Women: 4; 2009 Men: 5". Whole
    names in every cell made reports of wide tables up to three times as long.
    """
    written: list[str] = []
    before: Sequence[str] = ()
    for place, cell in enumerate(cells):
        value = one_line(cell)
        if not value:
            continue
        levels: Sequence[str] = ()
        if place < len(header):
            levels = _levels(header[place])
        name = _name_behind(before, levels)
        if name:
            value = f"{name}: {value}"
        written.append(value)
        before = levels
    return "; ".join(written)


def _name_behind(before: Sequence[str], levels: Sequence[str]) -> str:
    """Return the name of a column without the outer levels that ``before`` has too."""
    if len(levels) == 1:
        return levels[0]
    shared = 0
    for level, other in zip(levels[:-1], before[:-1], strict=False):
        if level != other:
            break
        shared += 1
    return " ".join(filter(None, levels[shared:]))


def _levels(head: str) -> Sequence[str]:
    """Return the levels of a column's name; each row of a table asks for them again."""
    if len(head) > MAX_KEPT_HEAD:
        return _read_levels(head)
    return _kept_levels(head)


def _read_levels(head: str) -> Sequence[str]:
    levels: list[str] = []
    for level in head.split(LEVEL):
        levels.append(one_line(level).rstrip(" :"))
    return levels


_kept_levels = lru_cache(4096)(_read_levels)


def labelled_row(cells: Sequence[str]) -> str:
    """Return a row whose columns have no names: ``Label: value; value``."""
    values = list(filter(None, map(one_line, cells)))
    if not values:
        return ""
    first, *others = values
    if not others:
        return first
    is_label = bool(label(first)) and not is_number(first)
    if is_label and cells[0].strip():
        return f"{first.rstrip(' :')}: {'; '.join(others)}"
    return "; ".join(values)


def is_number(text: str) -> bool:
    """Return whether a cell is a number as people write it: ``1,285.5``, ``-3``,
    ``(12)``, ``45 %``, ``$7``.
    """
    return bool(_NUMERIC_CELL.fullmatch(text.strip()))


def label(text: str) -> str:
    """Return the text of a cell that is repeated on each row it names; "" for prose,
    which would swell the table.
    """
    # A longer cell is prose, not the name of a column or of rows.
    return text if len(text) <= 120 else ""


def one_line(text: str) -> str:
    """Return a text without breaks of lines."""
    return " ".join(text.split())
