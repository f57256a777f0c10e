"""A PDF page to lines and tables in reading order, without the lines that are repeated
on pages near by.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from statistics import fmean, median

from .drawing import DrawnPage, Loss
from .measures import read_measure
from .sideways import sideways_heads
from .tables import PageTable, aligned_tables, bordered_tables, ruled_tables
from .words import (
    Line,
    Span,
    Word,
    form_values,
    is_right_to_left,
    line_of,
    merge_spans,
    page_rules,
    page_words,
    pieces_of,
    rows_of,
)

Block = Line | PageTable


@dataclass(frozen=True, slots=True)
class Gutter:
    x0: float
    x1: float
    top: float
    bottom: float


Box = Word | PageTable | Gutter


@dataclass(slots=True)
class PageText:
    """A page's columns in reading order. ``pictured``: the share of the page under its
    largest image, 0 to 1; ``confidence``: of the OCR that read it, None = it has text
    of its own.
    """

    number: int
    height: float
    columns: list[list[Block]]
    pictured: float
    confidence: float | None = None
    losses: Counter[Loss] = field(default_factory=Counter)
    """How many letters are missing, and why."""
    left_out: str = ""
    """The letters that were left out on purpose."""

    @property
    def letters(self) -> int:
        return sum(len(block.text) for block in self.blocks())

    def blocks(self) -> Iterator[Block]:
        """Yield the lines and tables in reading order."""
        for column in self.columns:
            yield from column


class PdfPageReader:
    """Reads pages in order: columns and tables that began on one page help to read the
    next.
    """

    def __init__(self) -> None:
        self._directions: dict[int, _DirectionReader] = defaultdict(_DirectionReader)

    def read(self, page: DrawnPage) -> list[PageText]:
        """Return the page's text: upright text, then what runs up and down the page,
        then what is upside down, each as a page of its own. Headings that are set
        sideways over figures belong to their columns. pdfplumber's objects of the page
        are released.
        """
        page.draw()
        letters = Counter(char.turn for char in page.letters)
        main = letters.most_common(1)[0][0] if letters else 0
        heads: list[Word] = []
        if len(letters) > 1:
            heads, page.letters = sideways_heads(page, main)
            letters = Counter(char.turn for char in page.letters)
        texts = []
        for turn in (0, 1, 3, 2):
            if turn and not letters[turn]:
                continue
            text = self._directions[turn].read(
                page.turned(turn), heads if turn == main else []
            )
            texts.append(text)
        for loss, left_out in page.losses.items():
            texts[0].losses[loss] = sum(not text.isspace() for text in left_out)
            texts[0].left_out += "".join(left_out)
        page.close()
        return texts


class _DirectionReader:
    """Reads the upright text of pages that were turned alike."""

    def __init__(self) -> None:
        self._columns = Columns()
        self._open_table: PageTable | None = None

    def read(self, page: DrawnPage, heads: Sequence[Word]) -> PageText:
        """``heads``: headings of columns that were set sideways."""
        printed = [*page_words(page), *form_values(page), *heads]
        bordered, words = bordered_tables(page, printed, self._open_table)
        between_rules, words = ruled_tables(page, words)
        tables = bordered + between_rules
        beside: list[Box] = [*tables, *_pictures_beside(page, words)]
        gutters = self._columns.gutters(words, beside, _walls(page, words))
        columns = list(map(_blocks, order_columns([*words, *tables], gutters)))
        text = PageText(page.page_number, float(page.height), columns, _pictured(page))
        self._continue_tables(text)
        return text

    def _continue_tables(self, page: PageText) -> None:
        """Let the first table go on with that at the foot of the page before, and note
        that at the foot of this page.
        """
        tables = [block for block in page.blocks() if isinstance(block, PageTable)]
        first = min(tables, key=lambda table: table.top, default=None)
        if first and self._open_table and first.top < page.height / 4:
            first.go_on(self._open_table)
        low = [table for table in tables if table.bottom > 0.75 * page.height]
        self._open_table = max(low, key=lambda table: table.bottom, default=None)


def _walls(page: DrawnPage, words: Sequence[Word]) -> list[float]:
    """Return the heights of rules so long that they separate the text above from the
    text below.
    """
    left = min((word.x0 for word in words), default=0.0)
    right = max((word.x1 for word in words), default=0.0)
    rules = page_rules(page, joined=1.5)
    return [rule.y for rule in rules if rule.x1 - rule.x0 >= 0.9 * (right - left)]


def _pictures_beside(page: DrawnPage, words: Sequence[Word]) -> list[Gutter]:
    """Return the pictures among the text, not those behind it."""
    beside = []
    for image in page.images:
        picture = Gutter(image["x0"], image["x1"], image["top"], image["bottom"])
        if not any(
            picture.x0 < word.x < picture.x1 and picture.top < word.y < picture.bottom
            for word in words
        ):
            beside.append(picture)
    return beside


def _pictured(page: DrawnPage) -> float:
    """Return the share of the page under its largest image."""
    areas = (float(image["width"] * image["height"]) for image in page.images)
    return min(max(areas, default=0.0) / float(page.width * page.height), 1.0)


def columns_of_words(words: list[Word]) -> list[list[Block]]:
    """Return the columns of a page that has words only, as OCR reads them."""
    return [
        _blocks(items)
        for items in order_columns(words, Columns().gutters(words, [], []))
    ]


def _blocks(items: Sequence[Box]) -> list[Block]:
    """Return a column's lines and tables from top to bottom."""
    left = min(item.x0 for item in items)
    right = max(item.x1 for item in items)
    words = [item for item in items if isinstance(item, Word)]
    blocks: list[Block] = []
    for table in sorted(
        (item for item in items if isinstance(item, PageTable)),
        key=lambda table: table.top,
    ):
        middle = (table.top + table.bottom) / 2
        blocks += _lines([word for word in words if word.y < middle])
        blocks.append(table)
        words = [word for word in words if word.y >= middle]
    blocks += _lines(words)
    for block in blocks:
        if isinstance(block, Line):
            block.left = left
            block.right = right
            if is_right_to_left(block.text):  # as in a mirror: it begins at the right
                block.x0, block.x1 = left + right - block.x1, left + right - block.x0
    return blocks


def _lines(words: Sequence[Word]) -> list[Block]:
    """Return lines and tables without borders. Text of another size that stands apart
    in its row is another line.
    """
    blocks: list[Block] = []
    for part in aligned_tables(rows_of(words)):
        if isinstance(part, PageTable):
            blocks.append(part)
            continue
        first, *others = pieces_of(part, 2.0)
        lines = [first]
        for piece in others:
            if abs(piece[0].size - lines[-1][0].size) > 0.2 * piece[0].size:
                lines.append(piece)
            else:
                lines[-1] += piece
        blocks += map(line_of, lines)
    return blocks


def order_columns(items: Sequence[Box], gutters: Sequence[Gutter]) -> list[list[Box]]:
    """Order the items in columns: above the tallest gutter, left of it, right of it,
    below it.
    """
    for gutter in gutters:
        above = list[Box]()
        left = list[Box]()
        right = list[Box]()
        below = list[Box]()
        for item in items:
            y = (item.top + item.bottom) / 2
            if y < gutter.top:
                above.append(item)
            elif y > gutter.bottom:
                below.append(item)
            else:
                (left if item.x0 + item.x1 < gutter.x0 + gutter.x1 else right).append(
                    item
                )
        if left and right:
            return [
                column
                for part in (above, left, right, below)
                for column in order_columns(part, gutters)
            ]
    if items:
        return [list(items)]
    return []


# A page is split at its gutters, recursively, so that text across columns keeps its
# place. Gutters are tall white stripes with prose on both sides. Words on one side only
# (a label column, numbers) make no gutter: such a page is read row by row.
_MIN_GUTTER = read_measure("page.gutter")
_MIN_LINES = 4  # height of a gutter
_SAME_GUTTER = read_measure("page.same_gutter")


@dataclass(slots=True)
class _ColumnRow:
    """One baseline of the page. ``spans``: the stretches with text; ``middles``: of the
    words; ``boxes``: those that pass through it.
    """

    top: float
    bottom: float
    spans: list[Span]
    words: Sequence[Word] = ()
    middles: Sequence[float] = ()
    boxes: list[Box] = field(default_factory=list)


class Columns:
    """Finds gutters page after page. A certain one also counts on later pages with
    little text.
    """

    def __init__(self) -> None:
        self._certain: list[float] = []

    def gutters(
        self, words: Sequence[Word], boxes: Sequence[Box], walls: Sequence[float]
    ) -> list[Gutter]:
        """Return gutters that do not overlap, tallest first. ``walls``: heights of
        rules across the whole page.
        """
        if not words:
            return []
        left = min(box.x0 for box in (*words, *boxes))
        right = max(box.x1 for box in (*words, *boxes))
        rows = _rows_with_boxes(words, boxes)
        rows.extend(_ColumnRow(y, y, [(left, right)]) for y in walls)
        rows.sort(key=lambda row: row.top + row.bottom)
        size = median(word.size for word in words)
        stripes = _white_stripes(rows, left, right, max(_MIN_GUTTER, 0.5 * size))
        gutters = [gutter for gutter in stripes if self._is_supported(gutter, rows)]
        return [_without_centred(gutter, rows) for gutter in _apart(gutters)]

    def _is_supported(self, gutter: Gutter, rows: Sequence[_ColumnRow]) -> bool:
        """Return whether enough lines of prose stand on both sides; a table counts as
        prose.
        """
        x = (gutter.x0 + gutter.x1) / 2
        continued = any(abs(x - other) < _SAME_GUTTER for other in self._certain)
        # Fewer lines do where earlier pages had a gutter.
        min_lines = 2 if continued else _MIN_LINES
        beside = [
            row
            for row in rows
            if gutter.top - 1 <= row.top and row.bottom <= gutter.bottom + 1
        ]
        if len(beside) < min_lines:
            return False
        lefts = _words_together(beside, gutter, on_left=True)
        rights = _words_together(beside, gutter, on_left=False)
        lines = min(len(lefts), len(rights))
        # Lines of a column of text have more than two words.
        if lines < min_lines or min(fmean(lefts), fmean(rights)) < 2.5:
            return False
        if not continued and lines >= 3 * _MIN_LINES:
            self._certain.append(x)
        return True


def _rows_with_boxes(words: Sequence[Word], boxes: Sequence[Box]) -> list[_ColumnRow]:
    """Return a row for each line of text, and one for each box."""
    rows = []
    for line in rows_of(words):
        top = min(word.top for word in line)
        bottom = max(word.bottom for word in line)
        spans = merge_spans(((word.x0, word.x1) for word in line), _MIN_GUTTER - 1)
        middles = sorted(word.x for word in line)
        rows.append(_ColumnRow(top, bottom, spans, line, middles))
    rows.extend(_ColumnRow(box.top, box.top + 1, []) for box in boxes)
    for row in rows:
        row.boxes = [
            box for box in boxes if box.top < row.bottom and box.bottom > row.top
        ]
        taken = [(box.x0, box.x1) for box in row.boxes]
        row.spans = merge_spans([*row.spans, *taken], 0)
    return rows


def _apart(gutters: Sequence[Gutter]) -> list[Gutter]:
    """Return the gutters that do not overlap, tallest first."""
    chosen: list[Gutter] = []
    for gutter in sorted(gutters, key=lambda g: (g.top - g.bottom, g.x0 - g.x1)):
        if not any(_overlap(gutter, other) for other in chosen):
            chosen.append(gutter)
    return chosen


def _overlap(gutter: Gutter, other: Gutter) -> bool:
    """Return whether two gutters share a height without the 40 points of a column
    between them.
    """
    between = max(gutter.x0 - other.x1, other.x0 - gutter.x1)
    return between <= 40.0 and gutter.top < other.bottom and other.top < gutter.bottom


def _words_together(
    rows: Sequence[_ColumnRow], gutter: Gutter, *, on_left: bool
) -> list[int]:
    """Return for each row that has something on this side of the gutter how many words
    stand together there.
    """
    counts = []
    for row in rows:
        if on_left:
            words = row.words[: bisect_right(row.middles, gutter.x0)][::-1]
            has_box = any(box.x1 <= gutter.x0 + 1 for box in row.boxes)
        else:
            words = row.words[bisect_left(row.middles, gutter.x1) :]
            has_box = any(box.x0 >= gutter.x1 - 1 for box in row.boxes)
        if has_box:
            counts.append(2 * _MIN_LINES)
        elif words:
            counts.append(_together(words))
    return counts


def _white_stripes(
    rows: Sequence[_ColumnRow], left: float, right: float, min_width: float
) -> list[Gutter]:
    """Return maximal white stripes between text, as tall as possible."""
    stripes = []
    open_stripes: dict[Span, float] = {}
    for row in rows:
        still_open: dict[Span, float] = {}
        for stripe, top in ({(left, right): row.top} | open_stripes).items():
            rest = _uncovered(stripe, row.spans, min_width)
            if rest != [stripe]:
                stripes.append(Gutter(*stripe, top, row.top))
            for piece in rest:
                still_open[piece] = min(top, still_open.get(piece, top))
        open_stripes = still_open
    end = max((row.bottom for row in rows), default=0.0)
    stripes += [Gutter(*stripe, top, end) for stripe, top in open_stripes.items()]
    return [
        g
        for g in stripes
        if g.x0 > left and g.x1 < right and g.bottom - g.top > 2 * min_width
    ]


def _uncovered(stripe: Span, spans: Sequence[Span], min_width: float) -> list[Span]:
    """Return the parts of a stripe that no span covers and that are wide enough."""
    left, right = stripe
    within = [span for span in spans if span[1] > left and span[0] < right]
    edges = [left, *chain.from_iterable(within), right]
    parts = zip(edges[::2], edges[1::2], strict=True)
    return [(x0, x1) for x0, x1 in parts if x1 - x0 >= min_width]


def _together(words: Sequence[Word]) -> int:
    for count, (before, word) in enumerate(pairwise(words), start=1):
        if max(before.x0, word.x0) - min(before.x1, word.x1) > word.size:
            return count
    return len(words)


def _without_centred(gutter: Gutter, rows: Sequence[_ColumnRow]) -> Gutter:
    """Shorten a gutter by a heading at its foot that is centred on the page and only
    happens to leave it free.
    """
    inside = [
        row
        for row in rows
        if gutter.top <= row.top and row.bottom <= gutter.bottom and row.words
    ]
    if not inside:
        return gutter
    centre = (
        min(row.words[0].x0 for row in inside) + max(row.words[-1].x1 for row in inside)
    ) / 2
    bottom = gutter.bottom
    for row in reversed(inside):
        x0 = row.words[0].x0
        x1 = row.words[-1].x1
        clear = x0 - gutter.x1 > _SAME_GUTTER or gutter.x0 - x1 > _SAME_GUTTER
        if abs((x0 + x1) / 2 - centre) > 2.5 or not clear or len(row.spans) > 1:
            break
        bottom = row.top - 0.1
    return Gutter(gutter.x0, gutter.x1, gutter.top, bottom)


_MARGIN = read_measure("page.margin")
_MIN_REPEATED = 2
_PAGE_NUMBER = re.compile(
    r"^\W*(?:(?:page|seite|página|p\.)\s*)?(\d{1,5}|[ivxlc]{1,6})(?:\s*(?:/|of|von|de)\s*\d+)?\W*$",
    re.IGNORECASE,
)
_OUTER_NUMBER = re.compile(r"^(\d{1,5})\b|\b(\d{1,5})$")
_NO_LETTER = re.compile(r"[\W\d_]+")


def without_running_lines(pages: Sequence[PageText]) -> tuple[str, ...]:
    """Remove running headers and footers and page numbers, in place. Return the removed
    texts, each once.
    """
    removed: dict[str, str] = {}
    margins = _Margins(pages)
    for page in pages:
        running = _contents_lines(page)
        for line in _margin_lines(page):
            if margins.is_running(line, page.number):
                running.add(id(line))
                removed.setdefault(_key(line), line.text)
        if running:
            kept = [
                [block for block in column if id(block) not in running]
                for column in page.columns
            ]
            page.columns = [column for column in kept if column]
    return tuple(removed.values())


class _Margins:
    """What stands in the margins of all pages, to tell what repeats there."""

    def __init__(self, pages: Sequence[PageText]) -> None:
        self._pages = len(pages)
        self._tops: dict[tuple[str, int], list[float]] = defaultdict(list)
        for page in pages:
            for line in _margin_lines(page):
                self._tops[_key(line), page.number].append(line.top)
        self._counts = Counter(key for key, _ in self._tops)
        self._offset = _page_offset(pages)

    def is_running(self, line: Line, page: int) -> bool:
        """Return whether a line in the margin of a page is a running header or footer
        or its number.
        """
        number = _PAGE_NUMBER.match(line.text)
        printed = int(number[1]) if number and number[1].isdigit() else None
        if printed is not None and printed - page == self._offset:
            return True
        if self._repeated_near(line, page) >= (2 if self._pages > 3 else 1):
            return True
        # A whole line of words that is in the margin of many pages may move.
        key = _key(line)
        share = 1 / 3 if len(key) >= 12 else 2 / 3
        needed = max(_MIN_REPEATED, share * self._pages)
        return key.isalpha() and self._counts[key] - 1 >= needed

    def _repeated_near(self, line: Line, page: int) -> int:
        """Return how many of the eight pages around have the line at the same height:
        headers change with the chapter, and differ between left and right pages.
        """
        repeated = 0
        for number in range(page - 4, page + 5):
            if number == page:
                continue
            tops = self._tops.get((_key(line), number), ())
            repeated += any(abs(top - line.top) <= 4.0 for top in tops)
        return repeated


def _page_offset(pages: Sequence[PageText]) -> int | None:
    """Return the printed page number minus the page's place in the file, if most pages
    agree on it.
    """
    offsets: Counter[int] = Counter()
    for page in pages:
        numbers = {
            int(first or last)
            for line in _margin_lines(page)
            for first, last in _OUTER_NUMBER.findall(line.text)
        }
        offsets.update(number - page.number for number in numbers)
    ((offset, count),) = offsets.most_common(1) or [(0, 0)]
    return offset if count > max(1, len(pages) / 2) else None


_CONTENTS_LINE = re.compile(r"(?:\.\s?){5,}\s*(?:(\d{1,3})|[ivxlc]{1,6})\s*$")


def _contents_lines(page: PageText) -> set[int]:
    """Return the ids of the lines of a table of contents: dot leaders to page numbers
    that never sink.
    """
    lines = [
        (int(match[1] or 0), id(block))
        for block in page.blocks()
        if isinstance(block, Line) and (match := _CONTENTS_LINE.search(block.text))
    ]
    rising = all(before <= after for (before, _), (after, _) in pairwise(lines))
    return (
        {line for _, line in lines} if rising and len(lines) > _MIN_REPEATED else set()
    )


def _margin_lines(page: PageText) -> Iterator[Line]:
    low = _MARGIN * page.height
    high = (1 - _MARGIN) * page.height
    for block in page.blocks():
        if isinstance(block, Line) and (block.bottom < low or block.top > high):
            yield block


def _key(line: Line) -> str:
    """Return a line without its numbers, to compare it between pages; "" for a page
    number alone.
    """
    return (
        ""
        if _PAGE_NUMBER.match(line.text)
        else _NO_LETTER.sub("", line.text).lower() or line.text
    )
