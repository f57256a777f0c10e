"""Rows of any table to lines that can be searched, and read by a model without seeing the rest of the table."""

from __future__ import annotations

import re
from collections.abc import Sequence

_NUMBER = re.compile(r"[-+−(]?\s*[$€£¥]?\s*\d[\d\s.,']*%?\)?")
_YEAR = re.compile(r"(1[89]|20|21)\d\d")
_LONGEST_LABEL = 120
"""Characters. A longer cell is prose, not the name of a column or of rows."""


def row_text(header: Sequence[str], cells: Sequence[str]) -> str:
    """``Header: value; Header: value``. Empty cells are left out; a cell without a header stands alone."""
    names = [_one_line(name).rstrip(" :") for name in header]
    names += [""] * (len(cells) - len(names))
    values = [_one_line(cell) for cell in cells]
    return "; ".join(f"{name}: {value}" if name else value for name, value in zip(names, values, strict=False) if value)


def table_text(rows: Sequence[Sequence[str]], *, header: bool | None = None) -> str:
    """A line for each row, with the names of its columns where the table has them, else ``a | b | c``.

    ``header`` says whether the first row of more than one cell names the columns; None = judged by its look.
    Rows of one cell above it are captions, and such rows below it stand alone too: notes and group names.
    """
    table = [row for row in ([_one_line(cell) for cell in row] for row in rows) if any(row)]
    first = next((place for place, row in enumerate(table) if not is_single(row)), len(table))
    named = first + 1 < len(table) and (looks_like_header(table[first]) if header is None else header)
    names = [label(name) for name in table.pop(first)] if named else []
    return "\n".join(_line(names, row) for row in table)


def _line(names: Sequence[str], row: Sequence[str]) -> str:
    if is_single(row):
        return row[0]
    return row_text(names, row) if names else " | ".join(cell for cell in row if cell)


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
