"""A PDF page to lines and tables in reading order, without the lines that are repeated on pages near by."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .columns import Box, Columns, Gutter, order_columns
from .drawing import DrawnPage
from .grid import Table
from .tables import aligned_tables, bordered_tables, ruled_tables
from .words import Line, Word, is_right_to_left, line_of, page_rules, page_words, pieces_of, rows_of

Block = Line | Table
_APART = 2.0  # times the font size
_ACROSS = 0.9  # of the text's width: a rule this long separates the text above from the text below


@dataclass(slots=True)
class PageText:
    """A page's columns in reading order. ``pictured``: the share of the page under its largest image, 0 to 1."""

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
        """Return the page's text, and release what pdfplumber keeps of the page."""
        height = float(page.height)
        bordered, words = bordered_tables(page, page_words(page), self._open_table)
        between_rules, words = ruled_tables(page, words)
        tables = bordered + between_rules
        self._open_table = next((table for table in bordered if table.bottom > 0.75 * height), None)
        left, right = min((word.x0 for word in words), default=0.0), max((word.x1 for word in words), default=0.0)
        walls = [rule.y for rule in page_rules(page, joined=1.5) if rule.x1 - rule.x0 >= _ACROSS * (right - left)]
        gutters = self._columns.gutters(words, [*tables, *_pictures(page, words)], walls)
        columns = [_blocks(items) for items in order_columns([*words, *tables], gutters)]
        area = max((float(image["width"]) * float(image["height"]) for image in page.images), default=0.0)
        page.close()
        return PageText(page.page_number, height, columns, min(area / float(page.width * page.height), 1.0))


def _pictures(page: DrawnPage, words: Sequence[Word]) -> list[Box]:
    """Return the pictures among the text, not those behind it."""

    def is_behind(box: Box) -> bool:
        return any(box.x0 < word.x < box.x1 and box.top < word.y < box.bottom for word in words)

    boxes = (Gutter(image["x0"], image["x1"], image["top"], image["bottom"]) for image in page.images)
    return [box for box in boxes if not is_behind(box)]


def _blocks(items: Sequence[Box]) -> list[Block]:
    """Return a column's lines and tables from top to bottom."""
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
    for part in aligned_tables(rows_of(words)):
        blocks += [part] if isinstance(part, Table) else [line_of(piece) for piece in _by_size(part)]
    return blocks


def _by_size(row: Sequence[Word]) -> list[list[Word]]:
    """Split a row where text of another size stands apart from it."""
    pieces = pieces_of(row, _APART)
    lines = pieces[:1]
    for piece in pieces[1:]:
        if abs(piece[0].size - lines[-1][0].size) > 0.2 * piece[0].size:
            lines.append(piece)
        else:
            lines[-1] += piece
    return lines


_MARGIN = 0.12  # of the page's height, above and below
_NEAR = 4  # pages: headers change with the chapter, and differ between left and right pages
_SHIFT = 4.0  # points: tolerance for the height of a repeated line
_PAGE_NUMBER = re.compile(
    r"^\W*(?:(?:page|seite|página|p\.)\s*)?(\d{1,5}|[ivxlc]{1,6})(?:\s*(?:/|of|von|de)\s*\d+)?\W*$", re.IGNORECASE
)
_OUTER_NUMBER = re.compile(r"^(\d{1,5})\b|\b(\d{1,5})$")
_NO_LETTER = re.compile(r"[\W\d_]+")


def without_running_lines(pages: Sequence[PageText]) -> None:
    """Remove running headers and footers and page numbers, in place."""
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
            repeated = {
                other
                for other, top in places[_key(line)]
                if other != page.number and abs(other - page.number) <= _NEAR and abs(top - line.top) <= _SHIFT
            }
            is_page_number = number and number[1].isdigit() and int(number[1]) - page.number == offset
            if is_page_number or len(repeated) >= needed:
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
    """Return a line without its numbers, to compare it between pages; "" for a page number alone."""
    return "" if _PAGE_NUMBER.match(line.text) else _NO_LETTER.sub("", line.text).lower() or line.text


def _number_offset(pages: Sequence[PageText]) -> int | None:
    """Return the printed page number minus the page's place in the file, if most pages agree on it."""
    offsets: Counter[int] = Counter()
    for page in pages:
        numbers = {int(a or b) for line in _margin_lines(page) for a, b in _OUTER_NUMBER.findall(line.text)}
        offsets.update(number - page.number for number in numbers)
    if not offsets:
        return None
    offset, count = offsets.most_common(1)[0]
    return offset if count > max(1, len(pages) / 2) else None
