"""Excel workbooks: visible sheets to section paths, rows to sections with the names of their columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, datetime, time, timedelta
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import IO, Any

from ...domain import Section
from ...domain.errors import LoadError
from .office import OfficeLoader
from .sections import column_names, is_number, is_single, label, looks_like_header, one_line, row_sections, table_text

MAX_CELLS = 5_000_000
"""Including empty ones: for a cell far out, openpyxl fills its row and the rows above it."""
Rows = list[list[str]]


class XlsxLoader(OfficeLoader):
    """Formulas give their stored results. Hidden sheets are left out."""

    noun = "an Excel workbook"
    suffixes = (".xlsx",)
    folder = "xl/"
    nothing = "filled cell in a visible sheet."

    def library(self) -> tuple[Callable[[IO[bytes]], Any], tuple[type[Exception], ...]]:
        import openpyxl
        from openpyxl.utils.exceptions import CellCoordinatesException, InvalidFileException

        opened = partial(openpyxl.load_workbook, read_only=True, data_only=True, keep_links=False)
        return opened, (CellCoordinatesException, InvalidFileException)

    def read(self, document: Any, path: Path) -> tuple[str, list[Section], None]:
        sections: list[Section] = []
        for sheet in document.worksheets:
            if sheet.sheet_state == "visible":
                sheet.reset_dimensions()  # the size in the file may be wrong, or the whole grid
                sections += _sheet_sections(sheet.title, _rows(path, sheet.iter_rows()))
        return "", sections, None


def _rows(path: Path, cells: Iterable[Sequence[Any]]) -> Iterator[list[str]]:
    """Yield the texts of each row up to its last filled cell.

    Raises:
        LoadError: the sheet has more than `MAX_CELLS`, as a hostile file may.
    """
    count = 0
    visible: dict[int, bool] = {}  # whether a style shows the value of its cells
    for row in cells:
        count += len(row) + 1
        if count > MAX_CELLS:
            raise LoadError(f"{path.name} has cells too far apart. Delete the empty rows and columns and try again.")
        for cell in row:
            if cell.value is not None and cell._style_id not in visible:
                # Neither white on white, nor in a format that shows nothing.
                color = cell.font.color if cell.font else None
                white = color is not None and (color.rgb == _WHITE or (color.type == "theme" and color.theme == 0))
                filled = cell.fill is not None and cell.fill.fill_type is not None
                visible[cell._style_id] = (cell.number_format or "") != _EMPTY_FORMAT and (filled or not white)
        texts = ["" if cell.value is None or not visible[cell._style_id] else cell_text(cell) for cell in row]
        while texts and not texts[-1]:
            texts.pop()
        yield texts


def _sheet_sections(name: str, rows: Iterable[list[str]]) -> Iterator[Section]:
    """Yield the tables of a sheet, which empty rows separate. Rows of one cell above a table are its captions."""
    header: list[str] = []
    captions: list[str] = []
    for filled, block in groupby(rows, key=bool):
        if not filled:
            continue
        table = list(block)
        start = min(map(_start, table))
        while table and is_single(table[0][start:]):
            captions.append(table.pop(0)[start])
        if not table:
            continue
        # Below another table, a header is a row in which a name stands above a number.
        below = zip(table[0], table[1] if len(table) > 1 else (), strict=False)
        named = not header or any(is_number(value) and not is_number(name) for name, value in below)
        if len(table) > 1 and named and looks_like_header(table[0][start:]):
            header = table.pop(0)
        elif start < _start(header) or max(map(len, table)) > len(header):
            header = []
        yield from _table_sections(name, captions, header, table)
        captions = []
    yield Section((name,), "\n".join(captions))


def _table_sections(name: str, captions: list[str], header: list[str], table: Rows) -> Iterator[Section]:
    path = (name, captions.pop(0)) if captions and label(captions[0]) else (name,)
    yield Section(path, "\n".join(captions))
    if not header:
        yield Section(path, table_text(table, header=False))
        return
    start = min(map(_start, (header, *table)))
    table = [row[start:] for row in table]
    notes: list[str] = []
    while table and is_single(table[-1]) and len(header) - start > 1:
        notes.insert(0, table.pop()[0])
    names = column_names(header[start:], max(map(len, table), default=0))
    yield from row_sections(names, table, path)
    yield Section(path, "\n".join(notes))


def _start(row: Sequence[str]) -> int:
    """Return the column of the first filled cell."""
    return next((place for place, cell in enumerate(row) if cell), 0)


_WHITE = "FFFFFFFF"
_EMPTY_FORMAT = ";;;"
_PERCENT = re.compile(r"0(?:\.(0+))?\s*%")
_QUOTED = re.compile(r'"[^"]*"|\\.')


def cell_text(cell: Any) -> str:
    """Return a cell's text; "" for an empty one, an error such as ``#REF!`` and a formula without a stored result."""
    value = cell.value
    if value is None or cell.data_type == "e":
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int | float):
        if match := _PERCENT.search(_QUOTED.sub("", cell.number_format or "")):
            return f"{value * 100:.{len(match[1] or '')}f}%"
        # Excel's precision: .1 + .2 is .3
        return str(int(value)) if isinstance(value, int) or value.is_integer() else f"{value:.15g}"
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(sep=" ", timespec="minutes")
    if isinstance(value, timedelta):
        minutes, seconds = divmod(round(value.total_seconds()), 60)
        return f"{minutes // 60}:{minutes % 60:02d}:{seconds:02d}"
    return value.isoformat() if isinstance(value, date | time) else one_line(str(value))
