"""Excel workbooks: visible sheets to section paths, rows to sections with the names of
their columns.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import IO, Any

from ...domain import Section
from ...domain.errors import LoadError
from . import grid
from . import sections as tables
from .office import (
    COLUMNS_NOTE,
    ROWS_NOTE,
    SHEETS_NOTE,
    OfficeLoader,
    left_out,
    parse_part,
)

MAX_CELLS = 5_000_000
"""Including empty ones: for a cell far out, openpyxl fills its row and the rows above
it.
"""


class XlsxLoader(OfficeLoader):
    """Formulas give their stored results. Hidden sheets, rows and columns are left
    out.
    """

    noun = "an Excel workbook"
    suffixes = (".xlsx",)
    parts = "xl/"
    nothing = "filled cell in a visible sheet."

    def library(self) -> tuple[Callable[[IO[bytes]], Any], tuple[type[Exception], ...]]:
        import openpyxl
        from openpyxl.utils.exceptions import (
            CellCoordinatesException,
            InvalidFileException,
        )

        opened = partial(
            openpyxl.load_workbook, read_only=True, data_only=True, keep_links=False
        )
        return opened, (CellCoordinatesException, InvalidFileException)

    def read(
        self, document: Any, path: Path
    ) -> tuple[str, list[Section], None, list[str]]:
        _mark_raised(document)
        sections: list[Section] = []
        notes = SheetNotes()
        for sheet in document.worksheets:
            if sheet.sheet_state == "visible":
                sections += sheet_sections(
                    sheet.title, _rows(path, sheet, notes), notes
                )
            else:
                notes.hidden[SHEETS_NOTE] += 1
        return "", sections, None, notes.sentences()


_STRINGS = "xl/sharedStrings.xml"


def _mark_raised(document: Any) -> None:
    """Write raised figures in the texts of cells as marks of notes: "Population²",
    which openpyxl joins to "Population2".
    """
    archive = document._archive
    if _STRINGS not in archive.namelist():
        return
    content = archive.read(_STRINGS)
    sheets = document.worksheets
    if b"superscript" not in content or not sheets:
        return
    texts = sheets[0]._shared_strings
    for place, item in enumerate(parse_part(content).iterchildren("{*}si")):
        written = _rich_text(item)
        if written and place < len(texts):
            texts[place] = written


def _rich_text(item: Any) -> str:
    """Return a text of several styles; "" if it has but one."""
    written = ""
    for run in item.findall("{*}r"):
        text = "".join(part.text or "" for part in run.findall("{*}t"))
        align = run.find("{*}rPr/{*}vertAlign")
        if align is not None and align.get("val") == "superscript":
            text = tables.apart(text, written)
        written += text
    return written


FORMULAS_NOTE = (
    "Formulas without a stored result: {count}. Open the file in a spreadsheet "
    "program, save it and add it again."
)
HEADLESS_NOTE = "Tables without column headings, in: {names}."


@dataclass
class SheetNotes:
    """What the notes of a workbook say about it."""

    hidden: Counter[str] = field(default_factory=Counter)
    formulas: int = 0
    """Without a stored result."""
    headless: list[str] = field(default_factory=list)
    """Sheets that have a table without column headings."""

    def sentences(self) -> list[str]:
        names = ", ".join(dict.fromkeys(self.headless))
        headless = [HEADLESS_NOTE.format(names=names)] if names else []
        return (
            left_out((FORMULAS_NOTE, self.formulas))
            + headless
            + left_out(*sorted(self.hidden.items()))
        )


_SHOWN_NOWHERE = {"1", "true"}


def _rows(path: Path, sheet: Any, notes: SheetNotes) -> Iterator[list[str]]:
    """Yield the texts of the visible rows and columns; a merged cell fills its range.
    Count what is left out in ``notes``. Raises LoadError: the sheet has more than
    `MAX_CELLS`, as a hostile file may.
    """
    from openpyxl.cell import ReadOnlyCell
    from openpyxl.worksheet._reader import FORMULA_TAG, WorkSheetParser

    book = sheet.parent
    formulas: list[tuple[int, int]] = []
    # Programs that write formulas without calculating them store nothing, or 0
    # (XlsxWriter), and ask Excel to do it.
    uncalculated = (
        {None, 0} if book.calculation and book.calculation.fullCalcOnLoad else {None}
    )

    class Parser(WorkSheetParser):  # type: ignore[misc]
        def parse_cell(self, element: Any) -> dict[str, Any]:
            cell: dict[str, Any] = super().parse_cell(element)
            number = element.get("t", "n") == "n"  # an empty text is a result
            if (
                number
                and cell["value"] in uncalculated
                and element.find(FORMULA_TAG) is not None
            ):
                formulas.append((cell["row"], cell["column"]))
                cell["value"] = None
            inline = element.find("{*}is")
            if inline is not None:
                cell["value"] = _rich_text(inline) or cell["value"]
            return cell

    rows: dict[int, list[str]] = {}
    hidden_rows: set[int] = set()
    visible: dict[int, bool] = {}  # whether a style shows the value of its cells
    count = last = 0
    with sheet._get_source() as source:
        parser = Parser(
            source,
            sheet._shared_strings,
            data_only=True,
            epoch=book.epoch,
            date_formats=book._date_formats,
            timedelta_formats=book._timedelta_formats,
        )
        for number, cells in parser.parse():
            count += max(number - last, 1) + (cells[-1]["column"] if cells else 0)
            last = number
            if count > MAX_CELLS:
                raise LoadError(
                    f"{path.name} has cells too far apart. Delete the empty rows "
                    "and columns and try again."
                )
            texts: list[str] = []
            for values in cells:
                if values["value"] is None:
                    continue
                cell = ReadOnlyCell(sheet, **values)
                if cell._style_id not in visible:
                    visible[cell._style_id] = _shows_value(cell)
                if visible[cell._style_id]:
                    texts += [""] * (cell.column - len(texts))
                    texts[cell.column - 1] = cell_text(cell)
            rows[number] = texts
            dimensions = parser.row_dimensions.pop(str(number), {})
            if dimensions.get("hidden") in _SHOWN_NOWHERE:
                hidden_rows.add(number)
    yield from _shown_rows(rows, hidden_rows, parser, formulas, notes)


def _shown_rows(
    rows: dict[int, list[str]],
    hidden_rows: set[int],
    parser: Any,
    formulas: list[tuple[int, int]],
    notes: SheetNotes,
) -> Iterator[list[str]]:
    """Yield the visible rows without hidden columns, and an empty one where rows are
    missing. ``formulas``: cells without a result, by row and column.
    """
    hidden = _hidden_columns(parser)
    ranges: list[tuple[int, int, int, int]] = []
    if parser.merged_cells:
        ranges += [merged.bounds for merged in parser.merged_cells.mergeCell]
    for bounds in ranges:
        fill_merged(rows, *bounds)
    for row, column in formulas:
        if row in hidden_rows or column in hidden:
            continue
        notes.formulas += 1
        if sum(map(bool, rows[row])) == 1:  # the label alone says nothing
            rows[row] = []
    notes.hidden[ROWS_NOTE] += len(hidden_rows)
    drop_columns(rows, hidden, notes)
    if not hidden:
        drop_columns(rows, spare_columns(rows, ranges), SheetNotes())
    last = 0
    for number in sorted(rows.keys() - hidden_rows):
        if number > last + 1 and not hidden_rows.issuperset(range(last + 1, number)):
            yield []
        last = number
        yield rows[number]


def spare_columns(
    rows: dict[int, list[str]], ranges: Sequence[tuple[int, int, int, int]]
) -> set[int]:
    """Return the columns, from 1, between others that are empty, or of which every text
    is that of a cell merged with its neighbour on the left.
    """
    filled = Counter[int]()
    for texts in rows.values():
        filled.update(at for at, text in enumerate(texts, start=1) if text)
    covered = Counter[int]()
    for left, top, right, bottom in ranges:
        if bottom - top >= len(rows):
            continue
        for number in range(top, bottom + 1):
            texts = rows.get(number, [])
            for at in range(left + 1, min(right, len(texts)) + 1):
                covered[at] += bool(texts[at - 1])
    first = min(filled, default=1)
    last = max(filled, default=0)
    return {at for at in range(first, last + 1) if covered[at] == filled[at]}


def drop_columns(
    rows: dict[int, list[str]], hidden: set[int], notes: SheetNotes
) -> None:
    """Drop the hidden columns, from 1, and the empty cells at the ends of the rows."""
    filled: set[int] = set()
    for number, texts in rows.items():
        shown: list[str] = []
        for at, text in enumerate(texts, start=1):
            if at not in hidden:
                shown.append(text)
            elif text:
                filled.add(at)
        while shown and not shown[-1]:
            shown.pop()
        rows[number] = shown
    notes.hidden[COLUMNS_NOTE] += len(filled)


def _hidden_columns(parser: Any) -> set[int]:
    """Return the places of the hidden columns, from 1."""
    hidden: set[int] = set()
    for entry in parser.column_dimensions.values():
        if entry.get("hidden") in _SHOWN_NOWHERE:
            first = int(entry["min"])
            last = min(int(entry["max"]), tables.MAX_COLUMNS)
            hidden.update(range(first, last + 1))
    return hidden


def _shows_value(cell: Any) -> bool:
    """Return whether a cell is neither white on white, nor in a format that shows
    nothing.
    """
    color = cell.font.color if cell.font else None
    if cell.number_format == _EMPTY_FORMAT:
        return False
    if cell.fill is not None and cell.fill.fill_type is not None:
        return True
    if color is None:
        return True
    is_theme_white = color.type == "theme" and color.theme == 0
    return not is_theme_white and color.rgb != _WHITE


def fill_merged(
    rows: dict[int, list[str]], left: int, top: int, right: int, bottom: int
) -> None:
    """Repeat a merged cell in its range. A title over a whole row stays alone."""
    first = rows.get(top, [])
    if len(first) < left:
        return
    text = tables.label(first[left - 1])
    if not text:
        return
    if any(first[: left - 1]) or any(first[right:]):
        width = max(map(len, rows.values()))
        right = min(right, width)
    elif top == bottom:
        return
    else:
        right = left
    numbers = range(top, bottom + 1)
    if len(numbers) <= len(rows):
        merged = [number for number in numbers if number in rows]
    else:
        merged = [number for number in rows if number in numbers]
    for number in merged:
        cells = rows[number]
        missing = right - len(cells)
        cells.extend([""] * missing)
        count = right - left + 1
        cells[left - 1 : right] = [text] * count


def sheet_sections(
    name: str, rows: Iterable[list[str]], notes: SheetNotes
) -> Iterator[Section]:
    """Yield the tables of a sheet, which empty rows separate. Rows of one cell above a
    table are its captions.
    """
    header: list[str] = []
    captions: list[str] = []
    for filled, block in groupby(_with_one_label(list(rows)), key=bool):
        if not filled:
            continue
        table = list(block)
        start = min(map(grid.first_filled, table))
        while table and grid.is_single(table[0][start:]):
            captions.append(table.pop(0)[start])
        if not table:
            continue
        width = max(map(len, table))
        # Below another table, a header is a row in which a name stands above a number.
        below = zip(table[0], table[1] if len(table) > 1 else (), strict=False)
        named = not header or any(
            tables.is_number(value) and not tables.is_number(name)
            for name, value in below
        )
        if names := grid.heading_rows(table, start) if named else []:
            header = names
        elif start + 1 < grid.first_filled(header) or len(header) < width:
            header = []
        if not header:
            notes.headless.append(name)
        yield from tables.table_sections(
            (name,), captions, header, table, place=name, by_row=True
        )
        captions = []
    yield Section((name,), "\n".join(captions))


def _with_one_label(rows: list[list[str]]) -> list[list[str]]:
    """Return the rows of a sheet with their first columns joined, where each row has a
    label in one of them at most: labels are indented by columns.
    """
    count = _label_columns(rows)
    if count < 2:
        return rows
    joined: list[list[str]] = []
    for row in rows:
        label = "".join(row[:count])
        joined.append([label, *row[count:]] if row else row)
    return joined


def _label_columns(rows: Sequence[Sequence[str]]) -> int:
    """Return in how many of the first columns together no row has a figure, and none
    more than one label.
    """
    width = max(map(len, rows), default=0)
    for column in range(width):
        for row in rows:
            text = row[column] if column < len(row) else ""
            if text and (any(row[:column]) or tables.is_number(text)):
                return column
    return width


_WHITE = "FFFFFFFF"
_EMPTY_FORMAT = ";;;"
_FORMAT_PART = re.compile(
    r'"(?P<quoted>[^"]*)"|\\(?P<escaped>.)|\[\$(?P<currency>[^\]-]*)[^\]]*\]|\[[^\]]*\]|_.|\*.'
    r"|(?P<number>General|[#0?][#0?,]*(?:\.[#0?]+)?,*|\.[#0?]+,*)|(?P<other>.)"
)
_UNUSUAL = re.compile(r"[Ee/@yYdDhHsS]")
"""Scientific and broken numbers, text, dates."""


def number_text(value: float, number_format: str) -> str:
    """Return a number as its format shows it: currency, unit, percent, leading zeros,
    separators, decimals.
    """
    sections = re.findall(r'(?:"[^"]*"|\\.|[^;"\\])+', number_format)
    section = sections[0] if sections else "General"
    if value < 0 and len(sections) > 1:
        section = sections[1]
    parts = list(_FORMAT_PART.finditer(section))
    others = "".join(part["other"] or "" for part in parts)
    patterns = [part["number"] for part in parts if part["number"]]
    if len(patterns) != 1 or _UNUSUAL.search(others):
        return _plain(value)
    amount = abs(value)
    if "%" in others:
        amount *= 100
    shown = "".join(_shown(part, amount) for part in parts)
    if value < 0 and len(sections) < 2:
        shown = f"-{shown}"
    return tables.one_line(shown)


def _plain(value: float) -> str:
    """Return a number in Excel's precision: .1 + .2 is .3."""
    if isinstance(value, int) or value.is_integer():
        return str(int(value))
    return f"{value:.15g}"


def _shown(part: re.Match[str], amount: float) -> str:
    """Return what a part of a format shows of an amount."""
    number = part["number"]
    if number:
        pattern = number.rstrip(",")
        # Each comma at the end hides three digits.
        for _ in range(len(number) - len(pattern)):
            amount /= 1000
        return _digits(amount, pattern)
    return part["quoted"] or part["escaped"] or part["currency"] or part["other"] or ""


def _digits(value: float, pattern: str) -> str:
    if pattern == "General":
        return f"{value:.15g}"
    whole, _, decimals = pattern.partition(".")
    text = f"{value:{',' if ',' in whole else ''}.{len(decimals)}f}"
    for place in reversed(decimals):
        if place == "0" or not text.endswith("0"):
            break
        text = text[:-1]
    if "." in text:
        text = text.rstrip(".")
    if "," in whole:
        return text
    decimals_and_point = len(text) - len(text.partition(".")[0])
    return text.zfill(whole.count("0") + decimals_and_point)


def cell_text(cell: Any) -> str:
    """Return a cell's text; "" for an empty one, an error such as ``#REF!`` and a
    formula without a stored result.
    """
    value = cell.value
    if value is None or cell.data_type == "e":
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, int | float):
        return number_text(value, cell.number_format or "General")
    if isinstance(value, datetime):
        if value.time() == time():
            return value.date().isoformat()
        return value.isoformat(sep=" ", timespec="minutes")
    if isinstance(value, timedelta):
        minutes, seconds = divmod(round(value.total_seconds()), 60)
        return f"{minutes // 60}:{minutes % 60:02d}:{seconds:02d}"
    if isinstance(value, date | time):
        return value.isoformat()
    return tables.one_line(str(value))
