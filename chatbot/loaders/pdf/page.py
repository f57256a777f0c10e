"""One PDF page to lines and tables in reading order; lines that come again on pages near by are no text of it."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from .columns import Box, Columns, Gutter, order_columns
from .drawing import DrawnPage
from .grid import Table
from .spelling import is_right_to_left
from .tables import aligned_tables, bordered_tables, ruled_tables
from .words import Line, Word, line_of, page_rules, page_words, pieces_of, rows_of

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


class PdfPageReader:
    """Reads pages in order: columns and tables that began on one page help to read the next."""

    def __init__(self) -> None:
        self._columns = Columns()
        self._open_table: Table | None = None

    def read(self, page: DrawnPage) -> PageText:
        """The page's text; releases what pdfplumber keeps of the page."""
        height = float(page.height)
        bordered, words = bordered_tables(page, page_words(page), self._open_table)
        between_rules, words = ruled_tables(page, words)
        tables = bordered + between_rules
        self._open_table = next((table for table in bordered if table.bottom > 0.75 * height), None)
        gutters = self._columns.gutters(words, [*tables, *_pictures(page, words)], _walls(page, words))
        columns = [_blocks(items) for items in order_columns([*words, *tables], gutters)]
        pictured = _pictured(page)
        page.close()
        return PageText(page.page_number, height, columns, pictured)


def _walls(page: DrawnPage, words: Sequence[Word]) -> list[float]:
    if not words:
        return []
    width = max(word.x1 for word in words) - min(word.x0 for word in words)
    return [rule.y for rule in page_rules(page, joined=1.5) if rule.x1 - rule.x0 >= _ACROSS * width]


def _pictures(page: DrawnPage, words: Sequence[Word]) -> list[Box]:
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
            if is_right_to_left(block.text):  # as in a mirror: it begins at the right
                block.x0, block.x1 = left + right - block.x1, left + right - block.x0
    return blocks


def _lines(words: Sequence[Word]) -> list[Block]:
    blocks: list[Block] = []
    for found in aligned_tables(rows_of(words)):
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


def _pictured(page: DrawnPage) -> float:
    """The share of the page under its largest image, 0 to 1."""
    areas = [float(image["width"]) * float(image["height"]) for image in page.images]
    return min(max(areas, default=0.0) / float(page.width * page.height), 1.0)


_MARGIN = 0.12  # of the page's height, above and below
_NEAR = 4  # pages: headers change with the chapter, and differ between left and right pages
_SHIFT = 4.0  # points: a header stands where it stood
_PAGE_NUMBER = re.compile(
    r"^\W*(?:(?:page|seite|página|p\.)\s*)?(\d{1,5}|[ivxlc]{1,6})(?:\s*(?:/|of|von|de)\s*\d+)?\W*$", re.IGNORECASE
)
_OUTER_NUMBER = re.compile(r"^(\d{1,5})\b|\b(\d{1,5})$")
_NO_LETTER = re.compile(r"[\W\d_]+")


def without_running_lines(pages: Sequence[PageText]) -> None:
    """Removes running lines from the pages, in place."""
    places: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for page in pages:
        for line in _margin_lines(page):
            places[_key(line)].append((page.number, line.top))
    offset = _number_offset(pages)
    needed = 2 if len(pages) > 3 else 1
    for page in pages:
        running = set()
        for line in _margin_lines(page):
            number = _PAGE_NUMBER.match(line.text)
            if (number and number[1].isdigit() and int(number[1]) - page.number == offset) or (
                _again(places[_key(line)], page.number, line.top) >= needed
            ):
                running.add(id(line))
        if running:
            kept = [[block for block in column if id(block) not in running] for column in page.columns]
            page.columns = [column for column in kept if column]


def _margin_lines(page: PageText) -> Iterator[Line]:
    for column in page.columns:
        for block in column:
            low, high = _MARGIN * page.height, (1 - _MARGIN) * page.height
            if isinstance(block, Line) and (block.bottom < low or block.top > high):
                yield block


def _key(line: Line) -> str:
    """A line without its numbers, to find what is the same on every page; "" for a page number alone."""
    return "" if _PAGE_NUMBER.match(line.text) else _NO_LETTER.sub("", line.text).lower() or line.text


def _again(places: Iterable[tuple[int, float]], number: int, top: float) -> int:
    """The number of other pages near by on which the line stands at the same height."""
    return len({at for at, y in places if at != number and abs(at - number) <= _NEAR and abs(y - top) <= _SHIFT})


def _number_offset(pages: Sequence[PageText]) -> int | None:
    """Printed page number minus the page's place in the file, where most pages agree on it."""
    offsets: Counter[int] = Counter()
    for page in pages:
        found = {int(a or b) for line in _margin_lines(page) for a, b in _OUTER_NUMBER.findall(line.text)}
        offsets.update(number - page.number for number in found)
    if not offsets:
        return None
    offset, count = offsets.most_common(1)[0]
    return offset if count > max(1, len(pages) / 2) else None
