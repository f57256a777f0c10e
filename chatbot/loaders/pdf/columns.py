"""Reading order: a page is split at its gutters, recursively, so that text across columns keeps its place.

Gutters are tall white stripes with prose on both sides. Words on one side only (a label column, numbers) make no
gutter: such a page is read row by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import fmean, median
from typing import Protocol

from .words import Word, merge_spans, rows_of


class Box(Protocol):
    """A word or a table on a page."""

    @property
    def x0(self) -> float: ...
    @property
    def x1(self) -> float: ...
    @property
    def top(self) -> float: ...
    @property
    def bottom(self) -> float: ...


@dataclass(frozen=True, slots=True)
class Gutter:
    x0: float
    x1: float
    top: float
    bottom: float


def order_columns(items: Sequence[Box], gutters: Sequence[Gutter]) -> list[list[Box]]:
    """Order the items in columns: above the tallest gutter, left of it, right of it, below it."""
    for gutter in gutters:
        above, left, right, below = list[Box](), list[Box](), list[Box](), list[Box]()
        for item in items:
            y = (item.top + item.bottom) / 2
            if y < gutter.top:
                above.append(item)
            elif y > gutter.bottom:
                below.append(item)
            else:
                (left if item.x0 + item.x1 < gutter.x0 + gutter.x1 else right).append(item)
        if left and right:
            return [column for part in (above, left, right, below) for column in order_columns(part, gutters)]
    return [list(items)] if items else []


_MIN_GUTTER = 5.0  # points: wider than any space of justified prose
_MIN_LINES = 4  # height of a gutter
_MIN_KNOWN_LINES = 2  # the same where earlier pages had a gutter
_MIN_WORDS = 2.5  # a line, on either side
_MIN_COLUMN = 40.0  # points
_NEAR = 8.0  # points: the same gutter on another page


@dataclass(slots=True)
class _ColumnRow:
    """One baseline of the page. ``spans``: the stretches with text; ``boxes``: those that pass through it."""

    top: float
    bottom: float
    spans: list[tuple[float, float]]
    words: Sequence[Word] = ()
    boxes: list[Box] = field(default_factory=list)


class Columns:
    """Finds gutters page after page. A certain one also counts on later pages with little text."""

    def __init__(self) -> None:
        self._known: list[float] = []

    def gutters(self, words: Sequence[Word], boxes: Sequence[Box], walls: Sequence[float]) -> list[Gutter]:
        """Return gutters that do not overlap, tallest first. ``walls``: heights of rules across the whole page."""
        if not words:
            return []
        left = min(box.x0 for box in (*words, *boxes))
        right = max(box.x1 for box in (*words, *boxes))
        rows = _rows(words, boxes, walls, left, right)
        size = median(word.size for word in words)
        stripes = _white_stripes(rows, left, right, max(_MIN_GUTTER, 0.5 * size))
        gutters = [gutter for gutter in stripes if self._is_supported(gutter, rows)]
        chosen: list[Gutter] = []
        for gutter in sorted(gutters, key=lambda g: (g.top - g.bottom, g.x0 - g.x1)):
            if not any(_overlap(gutter, other) for other in chosen):
                chosen.append(gutter)
        return [_without_centred(gutter, rows) for gutter in chosen]

    def _is_supported(self, gutter: Gutter, rows: Sequence[_ColumnRow]) -> bool:
        """Whether enough lines of prose stand on both sides; a table counts as prose."""
        x = (gutter.x0 + gutter.x1) / 2
        known = any(abs(x - other) < _NEAR for other in self._known)
        min_lines = _MIN_KNOWN_LINES if known else _MIN_LINES
        beside = [row for row in rows if gutter.top - 1 <= row.top and row.bottom <= gutter.bottom + 1]
        if len(beside) < min_lines:
            return False
        lefts, rights = list[int](), list[int]()  # words that stand together on each side, by line
        for row in beside:
            left = [word for word in row.words if word.x <= gutter.x0]
            right = [word for word in row.words if word.x >= gutter.x1]
            if any(box.x1 <= gutter.x0 + 1 for box in row.boxes):
                lefts.append(2 * _MIN_LINES)
            elif left:
                lefts.append(_together(left[::-1]))
            if any(box.x0 >= gutter.x1 - 1 for box in row.boxes):
                rights.append(2 * _MIN_LINES)
            elif right:
                rights.append(_together(right))
        lines = min(len(lefts), len(rights))
        if lines < min_lines or min(fmean(lefts), fmean(rights)) < _MIN_WORDS:
            return False
        if not known and lines >= 3 * _MIN_LINES:
            self._known.append(x)
        return True


def _rows(
    words: Sequence[Word], boxes: Sequence[Box], walls: Sequence[float], left: float, right: float
) -> list[_ColumnRow]:
    rows = []
    for line in rows_of(words):
        spans = merge_spans(((word.x0, word.x1) for word in line), _MIN_GUTTER - 1)
        rows.append(_ColumnRow(min(word.top for word in line), max(word.bottom for word in line), spans, line))
    rows += [_ColumnRow(box.top, box.top + 1, []) for box in boxes]
    for row in rows:
        row.boxes = [box for box in boxes if box.top < row.bottom and box.bottom > row.top]
        row.spans = merge_spans([*row.spans, *((box.x0, box.x1) for box in row.boxes)], 0)
    rows += [_ColumnRow(y, y, [(left, right)]) for y in walls]
    return sorted(rows, key=lambda row: row.top + row.bottom)


def _white_stripes(rows: Sequence[_ColumnRow], left: float, right: float, min_width: float) -> list[Gutter]:
    """Return maximal white stripes between text, as tall as possible."""
    stripes = []
    open_stripes: dict[tuple[float, float], float] = {}
    for row in rows:
        still_open: dict[tuple[float, float], float] = {}
        for stripe, top in ({(left, right): row.top} | open_stripes).items():
            rest = _between(stripe, row.spans, min_width)
            if rest != [stripe]:
                stripes.append(Gutter(*stripe, top, row.top))
            for piece in rest:
                still_open[piece] = min(top, still_open.get(piece, top))
        open_stripes = still_open
    end = max((row.bottom for row in rows), default=0.0)
    stripes += [Gutter(*stripe, top, end) for stripe, top in open_stripes.items()]
    return [g for g in stripes if g.x0 > left and g.x1 < right and g.bottom - g.top > 2 * min_width]


def _between(
    stripe: tuple[float, float], spans: Sequence[tuple[float, float]], min_width: float
) -> list[tuple[float, float]]:
    """Return the parts of a stripe that no span covers, if they are at least ``min_width`` wide."""
    pieces = []
    start = stripe[0]
    for x0, x1 in spans:
        if x1 <= start or x0 >= stripe[1]:
            continue
        pieces.append((start, x0))
        start = x1
    pieces.append((start, stripe[1]))
    return [(x0, x1) for x0, x1 in pieces if x1 - x0 >= min_width]


def _together(words: Sequence[Word]) -> int:
    for count, (before, word) in enumerate(pairwise(words), start=1):
        if max(before.x0, word.x0) - min(before.x1, word.x1) > word.size:
            return count
    return len(words)


def _overlap(one: Gutter, other: Gutter) -> bool:
    beside = one.x0 - other.x1 > _MIN_COLUMN or other.x0 - one.x1 > _MIN_COLUMN
    return not beside and one.top < other.bottom and other.top < one.bottom


def _without_centred(gutter: Gutter, rows: Sequence[_ColumnRow]) -> Gutter:
    """Shorten a gutter by a heading at its foot that is centred on the page and only happens to leave it free."""
    inside = [row for row in rows if gutter.top <= row.top and row.bottom <= gutter.bottom and row.words]
    if not inside:
        return gutter
    centre = (min(row.words[0].x0 for row in inside) + max(row.words[-1].x1 for row in inside)) / 2
    bottom = gutter.bottom
    for row in reversed(inside):
        x0, x1 = row.words[0].x0, row.words[-1].x1
        clear = x0 - gutter.x1 > _NEAR or gutter.x0 - x1 > _NEAR
        if abs((x0 + x1) / 2 - centre) > 2.5 or not clear or len(row.spans) > 1:
            break
        bottom = row.top - 0.1
    return Gutter(gutter.x0, gutter.x1, gutter.top, bottom)
