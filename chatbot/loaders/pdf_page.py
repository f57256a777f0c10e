"""One PDF page to lines and tables in reading order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pdfplumber.page import Page

from .pdf_columns import Columns
from .pdf_grid import Table
from .pdf_order import Box, Gutter, in_order
from .pdf_ruled import aligned, ruled
from .pdf_tables import gridded
from .pdf_words import Line, Word, line_of, page_rules, page_words, pieces_of, rows_of

Block = Line | Table
_APART = 2.0  # times the font size
_ACROSS = 0.9  # of the text's width: such a rule parts what is above from what is below


@dataclass(slots=True)
class PageText:
    """A page's columns in reading order. ``pictured`` = the share of it that images cover."""

    number: int
    height: float
    columns: list[list[Block]]
    pictured: float


class PageReader:
    """Reads pages in order: columns and tables that began on one page help to read the next."""

    def __init__(self) -> None:
        self._columns = Columns()
        self._open_table: Table | None = None

    def read(self, page: Page) -> PageText:
        """The page's text; releases what pdfplumber keeps of the page."""
        height = float(page.height)
        bordered, words = gridded(page, page_words(page), self._open_table)
        between_rules, words = ruled(page, words)
        tables = bordered + between_rules
        self._open_table = next((table for table in bordered if table.bottom > 0.75 * height), None)
        gutters = self._columns.gutters(words, [*tables, *_pictures(page, words)], _walls(page, words))
        columns = [_blocks(items) for items in in_order([*words, *tables], gutters)]
        pictured = _pictured(page)
        page.close()
        return PageText(page.page_number, height, columns, pictured)


def _walls(page: Page, words: Sequence[Word]) -> list[float]:
    if not words:
        return []
    width = max(word.x1 for word in words) - min(word.x0 for word in words)
    return [rule.y for rule in page_rules(page, joined=1.5) if rule.x1 - rule.x0 >= _ACROSS * width]


def _pictures(page: Page, words: Sequence[Word]) -> list[Box]:
    """Pictures that stand among the text, not behind it."""
    boxes = (Gutter(image["x0"], image["x1"], image["top"], image["bottom"]) for image in page.images)
    return [box for box in boxes if not any(_holds(box, word) for word in words)]


def _holds(box: Box, word: Word) -> bool:
    return box.x0 < word.x < box.x1 and box.top < word.y < box.bottom


def _blocks(items: Sequence[Box]) -> list[Block]:
    """A column's lines and tables from top to bottom."""
    left, right = min(item.x0 for item in items), max(item.x1 for item in items)
    words = [item for item in items if isinstance(item, Word)]
    blocks: list[Block] = []
    for table in sorted((item for item in items if isinstance(item, Table)), key=lambda table: table.top):
        middle = (table.top + table.bottom) / 2
        blocks += _lines([word for word in words if word.y < middle])
        blocks.append(table)
        words = [word for word in words if word.y >= middle]
    blocks += _lines(words)
    for block in blocks:
        if isinstance(block, Line):
            block.left, block.right = left, right
    return blocks


def _lines(words: Sequence[Word]) -> list[Block]:
    blocks: list[Block] = []
    for found in aligned(rows_of(words)):
        blocks += [found] if isinstance(found, Table) else [line_of(piece) for piece in _by_size(found)]
    return blocks


def _by_size(row: Sequence[Word]) -> list[list[Word]]:
    """A row as one line, or cut where text of another size stands apart from it."""
    pieces = pieces_of(row, _APART)
    lines = pieces[:1]
    for piece in pieces[1:]:
        if abs(piece[0].size - lines[-1][0].size) > 0.2 * piece[0].size:
            lines.append(piece)
        else:
            lines[-1] += piece
    return lines


def _pictured(page: Page) -> float:
    """The share of the page under its largest image, 0 to 1."""
    areas = [float(image["width"]) * float(image["height"]) for image in page.images]
    return min(max(areas, default=0.0) / float(page.width * page.height), 1.0)
