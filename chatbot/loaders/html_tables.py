"""Tables of web pages: spans, captions and heading cells to lines of text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lxml.etree import _Element

from .tables import label, row_text, table_text

_WIDEST = 32
"""Columns that one cell is believed to span, and the columns from the left in which cells are followed downwards:
a page may claim thousands, in each of thousands of rows.
"""
_REPEATED = 4
"""Columns in which a cell that spans rows is repeated: it names the rows, and names stand on the left."""
_FRAME_OF = ("table", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol")


@dataclass(frozen=True, slots=True)
class _Row:
    cells: list[str]
    names: list[bool]
    """Whether a cell is a heading (<th>), for each that starts in this row."""


def is_data_table(table: _Element) -> bool:
    """False where the table only places text on the page: it holds tables, headings or lists, or one column."""
    if table.get("role", "") in {"presentation", "none"}:
        return False
    if next(table.iterdescendants(*_FRAME_OF), None) is not None:
        return False
    return any(len(list(row.iterchildren("td", "th"))) > 1 for row in table.iter("tr"))


def html_table_text(table: _Element) -> str:
    """The caption and a line for each row. A heading cell names its column, or its row where it stands first."""
    rows = list(_rows(table))
    lines = [_text(one) for one in table.iterchildren("caption")]
    while rows and len(rows[0].names) == 1 and len(rows) > 1:
        lines.append(rows.pop(0).cells[0])
    heads = 0
    while heads < len(rows) - 1 and len(rows[heads].names) > 1 and all(rows[heads].names):
        heads += 1
    # A heading cell alone in its row is the name of the rows below it.
    body = [row.cells[:1] if row.names == [True] else row.cells for row in rows[heads:]]
    if heads:
        lines.append(table_text([_joined(rows[:heads]), *body], header=True))
    elif all(len(row.cells) == 2 and row.names == [True, False] for row in rows):
        lines += [row_text(cells[:1], cells[1:]) for cells in body]
    else:
        lines.append(table_text(body))
    return "\n".join(line for line in lines if line)


def _joined(rows: list[_Row]) -> list[str]:
    """One name for each column from several rows of headings: "Population" over "Male" is "Population Male"."""
    width = max(len(row.cells) for row in rows)
    names = [list[str]() for _ in range(width)]
    for row in rows:
        for place, cell in enumerate(row.cells):
            if cell and cell not in names[place]:
                names[place].append(cell)
    return [" ".join(parts) for parts in names]


def _rows(table: _Element) -> Iterator[_Row]:
    hanging: dict[int, tuple[int, str]] = {}  # column -> rows to go, text: cells that reach down from above
    for row in table.iter("tr"):
        cells, names = list[str](), list[bool]()
        for cell in row.iterchildren("td", "th"):
            _hang(hanging, cells)
            text, heads = _text(cell), cell.tag == "th"
            width, height = _span(cell, "colspan"), _span(cell, "rowspan")
            for place in range(len(cells), len(cells) + min(width, _WIDEST)):
                if height > 1 and place < _WIDEST:
                    hanging[place] = (height - 1, label(text) if place == len(cells) < _REPEATED else "")
            # A heading over several columns names each of them.
            cells += [text, *([label(text) if heads else ""] * (min(width, _WIDEST) - 1))]
            names.append(heads)
        if names:
            _hang(hanging, cells)
            yield _Row(cells, names)


def _hang(hanging: dict[int, tuple[int, str]], cells: list[str]) -> None:
    """Fills the next columns that a cell of a row above still covers."""
    while (place := len(cells)) in hanging:
        rows, text = hanging.pop(place)
        if rows > 1:
            hanging[place] = (rows - 1, text)
        cells.append(text)


def _span(cell: _Element, name: str) -> int:
    value = cell.get(name, "1").strip()
    return int(value) if value.isdecimal() and len(value) < 6 and int(value) else 1


def _text(cell: _Element) -> str:
    pieces = []
    for element in cell.iter():
        pieces += [" "] if element.tag in {"br", "p", "div"} else []
        pieces.append(element.text or "")
        pieces += [element.tail or ""] if element is not cell else []
    return " ".join("".join(pieces).split())
