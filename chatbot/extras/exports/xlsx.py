"""A workbook of Excel: the tables and figures of a conversation, or one table."""

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from openpyxl import Workbook
from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE
from openpyxl.styles import Font

from ...app.web.catalog import FIGURE_COLUMNS
from ...app.web.exports import FileFormat, Rows, original_address
from ...app.web.files import XLSX
from ...database.core import Json
from ...database.repositories.conversations import Conversation
from .marked import END, MARK, parse_answer

SOURCE_COLUMNS = ("number", "title", "section", "page", "chunk_id")
PUBLICATION_COLUMNS = ("publisher", "publication_date", "source_url")
_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d+)?")
_SHOWN = {"text", "code_inline", "softbreak", "hardbreak"}


def as_workbook(record: Conversation, messages: list[Json]) -> bytes:
    """Return the tables of a conversation as sheets of an Excel file, then the figures
    and passages that it cites.
    """
    tables: dict[str, list[list[Any]]] = {}
    figures: list[list[Any]] = [["question", *FIGURE_COLUMNS]]
    sources: list[list[Any]] = [
        ["question", *SOURCE_COLUMNS, "link", "authors", *PUBLICATION_COLUMNS]
    ]
    question = ""
    for message in messages:
        if message["role"] == "user":
            question = " ".join(message["content"].split())
            continue
        answer = message["answer"] or {}
        for rows in tables_of(message["content"], answer):
            tables[f"{len(tables) + 1} {question}"] = rows
        for figure in answer.get("figures") or ():
            figures.append([question, *(figure.get(name) for name in FIGURE_COLUMNS)])
        for citation in answer.get("citations") or ():
            values = [citation.get(name) for name in SOURCE_COLUMNS]
            values += [
                original_address(citation),
                "; ".join(citation.get("authors", ())),
            ]
            values += [citation.get(name, "") for name in PUBLICATION_COLUMNS]
            sources.append([question, *values])
    return workbook_bytes({**tables, "Figures": figures, "Sources": sources})


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


def workbook_bytes(sheets: Mapping[str, Sequence[Sequence[Any]]]) -> bytes:
    """Return a workbook: rows by the name of a sheet, the first its head. No text
    becomes a formula.
    """
    book = Workbook()
    stream = io.BytesIO()
    book.remove(book.active)
    for name, rows in sheets.items():
        # Excel takes names of sheets up to 31 characters.
        sheet = book.create_sheet(re.sub(r"[\[\]:*?/\\]", " ", name)[:31])
        sheet.freeze_panes = "A2"
        for cells in rows:
            sheet.append(
                [
                    ILLEGAL_CHARACTERS_RE.sub("", one) if isinstance(one, str) else one
                    for one in cells
                ]
            )
        for cell in chain.from_iterable(sheet.iter_rows()):
            cell.data_type = "s" if isinstance(cell.value, str) else cell.data_type
        for cell in sheet[1]:
            cell.font = Font(bold=True)
    book.save(stream)
    return stream.getvalue()


def build() -> FileFormat:
    return FileFormat(
        suffix="xlsx", media_type=XLSX, conversation=as_workbook, table=_table
    )
