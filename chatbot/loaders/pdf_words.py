"""The words and the ruled lines of one PDF page. Lengths are PDF points, y runs down from the top of the page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from pdfplumber.page import Page
from pdfplumber.utils.text import extract_words

from .pdf_text import mended

_BOLD = re.compile(r"bold|black|heavy|demi|cmbx", re.IGNORECASE)
_UNREADABLE = re.compile(r"(?:\(cid:\d+\))+|[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\ufffd]+")
_SPACE = 0.15  # of the font size: narrower gaps are kerning
_SPREAD = 0.3  # the same on a page whose words are parted by space characters: there, letters may be spread
_SPACES = 0.08  # of a page's characters
_SHARE = 0.15  # of a line's letters: so many in a size make it the line's; small capitals do not
_DOUBLED = 0.1  # so many letters printed on top of themselves: bold by double printing, not chance


@dataclass(slots=True)
class Word:
    text: str
    x0: float
    x1: float
    top: float
    bottom: float
    size: float
    bold: bool

    @property
    def x(self) -> float:
        return (self.x0 + self.x1) / 2

    @property
    def y(self) -> float:
        return (self.top + self.bottom) / 2


@dataclass(frozen=True, slots=True)
class Rule:
    """A horizontal ruled line."""

    x0: float
    x1: float
    y: float


@dataclass(slots=True)
class Line:
    """Words on one baseline. ``width``: of the column it stands in; ``size``: of its larger letters."""

    text: str
    x0: float
    x1: float
    top: float
    bottom: float
    size: float
    bold: bool
    left: float = 0.0
    right: float = 0.0


def page_words(page: Page) -> list[Word]:
    """The page's words, unordered. Text across the reading direction (stamps in a margin) is left out."""
    chars = _upright(page)
    if len({(char["text"], round(char["x0"]), round(char["top"])) for char in chars}) < (1 - _DOUBLED) * len(chars):
        chars = page.dedupe_chars().chars if all(char["upright"] for char in chars) else chars
    spaced = sum(char["text"] == " " for char in chars) > _SPACES * len(chars)
    found = extract_words(chars, x_tolerance_ratio=_SPREAD if spaced else _SPACE, return_chars=True)
    words = (_word(word) for word in found)
    return [word for word in words if word.text]


def _upright(page: Page) -> list[dict[str, Any]]:
    """The characters in the page's main direction; a page printed sideways is turned."""
    chars: list[dict[str, Any]] = page.chars
    upright = [char for char in chars if char["upright"]]
    if 2 * len(upright) >= len(chars):
        return upright
    counter_clockwise = sum(1 if char["matrix"][1] > 0 else -1 for char in chars if not char["upright"]) > 0
    return [_turned(char, page, counter_clockwise) for char in chars if not char["upright"]]


def _turned(char: dict[str, Any], page: Page, counter_clockwise: bool) -> dict[str, Any]:
    height, width = float(page.height), float(page.width)
    if counter_clockwise:
        x0, x1, top, bottom = height - char["bottom"], height - char["top"], char["x0"], char["x1"]
    else:
        x0, x1, top, bottom = char["top"], char["bottom"], width - char["x1"], width - char["x0"]
    size = char["x1"] - char["x0"]
    return char | {"size": size, "x0": x0, "x1": x1, "top": top, "bottom": bottom, "doctop": top, "upright": True}


def _word(found: dict[str, Any]) -> Word:
    chars = found["chars"]
    bold = sum(_BOLD.search(char["fontname"]) is not None for char in chars)
    size = max(char["size"] for char in chars)
    text = mended(_UNREADABLE.sub("", found["text"]))
    return Word(text, found["x0"], found["x1"], found["top"], found["bottom"], size, 2 * bold > len(chars))


def rows_of(words: Iterable[Word]) -> list[list[Word]]:
    """Words grouped by baseline, from top to bottom, each row from left to right. A superscript joins its row."""
    rows: list[list[Word]] = []
    for word in sorted(words, key=lambda word: (word.bottom, word.x0)):
        for row in rows[:-4:-1]:
            first = row[0]
            if abs(word.bottom - first.bottom) <= 0.35 * first.size or _raised(word, first) or _raised(first, word):
                row.append(word)
                break
        else:
            rows.append([word])
    for row in rows:
        row.sort(key=lambda word: word.x0)
    return sorted(rows, key=lambda row: max(word.bottom for word in row))


def _raised(small: Word, word: Word) -> bool:
    return small.size < 0.85 * word.size and word.top - 0.3 * word.size < small.y < word.bottom


def line_of(row: Sequence[Word]) -> Line:
    sizes: Counter[float] = Counter()
    for word in row:
        sizes[round(2 * word.size) / 2] += len(word.text)
    letters = sum(sizes.values())
    lettered = [word.bold for word in row if any(map(str.isalpha, word.text))]
    bold = bool(lettered) and all(lettered)
    text = " ".join(word.text for word in row)
    top, bottom = min(word.top for word in row), max(word.bottom for word in row)
    size = max(size for size, count in sizes.items() if count >= _SHARE * letters)
    return Line(text, row[0].x0, max(word.x1 for word in row), top, bottom, size, bold)


def pieces_of(row: Sequence[Word], gap: float) -> list[list[Word]]:
    """The row cut where two words stand more than ``gap`` times the font size apart."""
    pieces = [[row[0]]]
    for before, word in pairwise(row):
        if word.x0 - before.x1 > gap * min(before.size, word.size):
            pieces.append([])
        pieces[-1].append(word)
    return pieces


def page_rules(page: Page, *, joined: float) -> list[Rule]:
    """Horizontal ruled lines, from top to bottom; segments at one height up to ``joined`` points apart are one."""
    edges = sorted((edge["top"], edge["x0"], edge["x1"]) for edge in page.horizontal_edges)
    heights: list[tuple[float, list[tuple[float, float]]]] = []
    for y, x0, x1 in edges:
        if not heights or y - heights[-1][0] > 1.5:
            heights.append((y, []))
        heights[-1][1].append((x0, x1))
    return [Rule(x0, x1, y) for y, segments in heights for x0, x1 in merged(segments, joined) if x1 - x0 > 20]


def merged(spans: Iterable[tuple[float, float]], gap: float) -> list[tuple[float, float]]:
    """Intervals, sorted, with those joined that are up to ``gap`` apart."""
    result: list[tuple[float, float]] = []
    for x0, x1 in sorted(spans):
        if result and x0 - result[-1][1] <= gap:
            result[-1] = (result[-1][0], max(x1, result[-1][1]))
        else:
            result.append((x0, x1))
    return result
