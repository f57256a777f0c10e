"""A workbook of Excel: the tables and figures of a conversation, or one table."""

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from types import MappingProxyType
from typing import Any

from openpyxl import Workbook
from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE
from openpyxl.comments import Comment
from openpyxl.styles import Alignment, Font
from openpyxl.worksheet.worksheet import Worksheet

from ...app.web.catalog import FIGURE_COLUMNS
from ...app.web.exports import (
    FIGURE_FIELDS,
    FileFormat,
    Rows,
    ShownFigures,
    original_address,
)
from ...app.web.files import XLSX
from ...database.core import Json
from ...database.repositories.conversations import Conversation
from ...domain.figure_query import FigureColumn
from ...language.local_figures import spellings
from .marked import END, MARK, parse_answer
from .sheet_charts import draw

SOURCE_COLUMNS = ("number", "title", "section", "page", "chunk_id")
CITED_FIGURE_COLUMNS = ("title", "page", *FIGURE_COLUMNS)
"""The report of a figure first: its ids are the last columns."""
PUBLICATION_COLUMNS = ("publisher", "publication_date", "source_url")
AUTHOR = "Ask your reports"
LEAST_WIDTH, MOST_WIDTH = 9, 48
"""Of a column, in characters."""
_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d+)?")
_FIGURE_CELL = re.compile(r"(?P<text>.+?)(?: \([^()]*\))? ?\[(?P<number>\d+)\]")
"""A figure of a table, perhaps its year, and the number of its passage."""
_SHOWN = {"text", "code_inline", "softbreak", "hardbreak"}


@dataclass(frozen=True, slots=True)
class NotedNumber:
    """A number of a cell, and what its note says."""

    value: float
    note: str


def as_workbook(record: Conversation, messages: list[Json]) -> bytes:
    """Return the tables of a conversation as sheets of an Excel file, then the figures
    and passages that it cites.
    """
    tables: dict[str, list[list[Any]]] = {}
    drawn: dict[str, str] = {}
    figures: list[list[Any]] = [["question", *CITED_FIGURE_COLUMNS]]
    sources: list[list[Any]] = [
        ["question", *SOURCE_COLUMNS, "link", "authors", *PUBLICATION_COLUMNS]
    ]
    question = ""
    for message in messages:
        if message["role"] == "user":
            question = " ".join(message["content"].split())
            continue
        answer = message["answer"] or {}
        quantity = _only_quantity(answer)
        for sheet in _sheets_of(message["content"], answer, quantity):
            name = f"{len(tables) + 1} {question}"
            tables[name] = sheet
            if quantity:
                drawn[name] = quantity
        citations = answer.get("citations") or ()
        cited = {citation["number"]: citation for citation in citations}
        for figure in answer.get("figures") or ():
            report = cited.get(figure.get("citation"), {})
            of_report = {"title": report.get("title"), "page": report.get("page")}
            shown = {**figure, **of_report}
            figures.append(
                [question, *(shown.get(name) for name in CITED_FIGURE_COLUMNS)]
            )
        for citation in citations:
            values = [citation.get(name) for name in SOURCE_COLUMNS]
            values += [
                original_address(citation),
                "; ".join(citation.get("authors", ())),
            ]
            values += [citation.get(name, "") for name in PUBLICATION_COLUMNS]
            sources.append([question, *values])
    return workbook_bytes({**tables, "Figures": figures, "Sources": sources}, drawn)


def _only_quantity(answer: Mapping[str, Any]) -> str:
    """Return what the figures of an answer count, with its unit; "" where that is not
    one for all.
    """
    card = answer.get("card") or {}
    quantities: set[str] = set()
    for figure in card.get("figures", ()):
        quantities.add(f"{figure['indicator']} ({figure['unit']})")
    if len(quantities) != 1:
        return ""
    (quantity,) = quantities
    return quantity


def _sheets_of(
    content: str, answer: Mapping[str, Any], quantity: str
) -> Iterator[list[list[Any]]]:
    """Yield the tables of an answer with numbers as numbers; in the corner the
    ``quantity`` of all, if any.
    """
    noted = {}
    for figure in answer.get("figures") or ():
        for text in spellings(figure["text"]):
            noted[text, str(figure.get("citation"))] = figure["value"]
    for rows in tables_of(content, answer):
        numbers: list[list[Any]] = []
        for row in rows:
            numbers.append([_as_number(cell, noted) for cell in row])
        if quantity:
            numbers[0][0] = f"{numbers[0][0]} · {quantity}"
        yield numbers


def _as_number(
    cell: str | float, noted: Mapping[tuple[str, str], float]
) -> str | float | NotedNumber:
    """Return the number of a cell with one cited figure, its text as a note; other
    cells as they are. ``noted``: the values of figures by their text and citation.
    """
    found = _FIGURE_CELL.fullmatch(cell) if isinstance(cell, str) else None
    if found is None:
        return cell
    value = noted.get((found["text"], found["number"]))
    if value is None:
        return cell
    return NotedNumber(value, found[0])


def tables_of(
    markdown: str, answer: Mapping[str, Any]
) -> Iterator[list[list[str | float]]]:
    """Yield the tables of an answer, the first row their head. A number alone in its
    cell stays one.
    """
    rows = list[list[str | float]]()
    for token in parse_answer(markdown, answer):
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline" and rows:
            shown = (
                child.content or " "
                for child in token.children or ()
                if child.type in _SHOWN
            )
            text = (
                " ".join("".join(shown).split())
                .replace(MARK, "")
                .replace(END, " (not supported by the passages)")
            )
            rows[-1].append(float(text) if _NUMBER.fullmatch(text) else text)
        elif token.type == "table_close":
            yield rows
            rows = []


def _table(name: str, columns: Sequence[str], rows: Rows) -> bytes:
    cells = [columns, *([row.get(column) for column in columns] for row in rows)]
    return workbook_bytes({name: cells})


def _figures(shown: ShownFigures) -> bytes:
    """Return a sheet as the explorer shows it, the passages of a figure as a note of
    its cell, and one with a row a figure.
    """
    table = shown.answer.table
    names = {_column_name(replace(one, year=None)) for one in table.columns}
    years = [one.year for one in table.columns]
    head: list[Any] = ["", *map(_column_name, table.columns)]
    drawn: dict[str, str] = {}
    if len(names) == 1:
        (quantity,) = names
        if None not in years:
            head = [quantity, *years]
        if shown.view != "table":
            drawn[shown.name] = quantity
    wide: list[list[Any]] = [head]
    for row in table.rows:
        cells: list[Any] = [row.subject]
        for cell in row.cells:
            if cell is None:
                cells.append(None)
                continue
            cited = [shown.citations.get(number) for number in cell.citations]
            note = "\n".join(_source_note(one) for one in cited if one is not None)
            cells.append(NotedNumber(float(cell.value), f"{cell.text}\n{note}"))
        wide.append(cells)
    long: list[list[Any]] = [list(FIGURE_FIELDS)]
    long += [[figure[name] for name in FIGURE_FIELDS] for figure in shown.rows()]
    return workbook_bytes({shown.name or "Figures": wide, "Long": long}, drawn)


def _column_name(column: FigureColumn) -> str:
    name = column.indicator
    if column.unit:
        name = f"{name} ({column.unit})"
    if column.year is not None:
        name = f"{name}, {column.year}"
    return name


def _source_note(citation: Json) -> str:
    page = ""
    if citation["page"]:
        page = f"page {citation['page']}"
    place = filter(None, [citation["title"], citation["section"], page])
    return f"{', '.join(place)}\n{original_address(citation)}"


def workbook_bytes(
    sheets: Mapping[str, Sequence[Sequence[Any]]],
    drawn: Mapping[str, str] = MappingProxyType({}),
) -> bytes:
    """Return a workbook: rows by the name of a sheet, the first its head. No text
    becomes a formula. ``drawn``: the titles of charts, by the sheets that have one.
    """
    book = Workbook()
    stream = io.BytesIO()
    book.remove(book.active)
    for name, rows in sheets.items():
        # Excel takes names of sheets up to 31 characters.
        sheet = book.create_sheet(re.sub(r"[\[\]:*?/\\]", " ", name)[:31])
        _write(sheet, rows)
        if name in drawn:
            draw(sheet, drawn[name])
    book.save(stream)
    return stream.getvalue()


def _write(sheet: Worksheet, rows: Sequence[Sequence[Any]]) -> None:
    sheet.freeze_panes = "A2"
    for cells in rows:
        sheet.append([_cell_value(cell) for cell in cells])
        for number, cell in enumerate(cells, 1):
            if isinstance(cell, NotedNumber):
                note = ILLEGAL_CHARACTERS_RE.sub("", cell.note)
                written = sheet.cell(sheet.max_row, number)
                written.comment = Comment(note, AUTHOR)
    for column in sheet.iter_cols():
        longest = max(len(str(cell.value or "")) for cell in column)
        width = min(max(longest, LEAST_WIDTH), MOST_WIDTH) + 2
        sheet.column_dimensions[column[0].column_letter].width = width
    for cell in chain.from_iterable(sheet.iter_rows()):
        cell.data_type = "s" if isinstance(cell.value, str) else cell.data_type
    for cell in sheet[1]:
        cell.font = Font(bold=True)
        cell.alignment = Alignment(wrap_text=True, vertical="top")


def _cell_value(cell: Any) -> Any:
    """Return what Excel can store of a value."""
    if isinstance(cell, NotedNumber):
        return cell.value
    if isinstance(cell, str):
        return ILLEGAL_CHARACTERS_RE.sub("", cell)
    return cell


def build() -> FileFormat:
    return FileFormat(
        suffix="xlsx",
        media_type=XLSX,
        conversation=as_workbook,
        table=_table,
        figures=_figures,
    )
