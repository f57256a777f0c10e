"""Which lines of a PDF are headings, and how deep: by size against the body text, and by bold where short."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from .pdf_page import PageText
from .pdf_ruled import CAPTION
from .pdf_words import Line

_LARGER = 1.1  # times the body size
_LINES = 3
_WORDS = 25
_BOLD_WORDS = 14
_LETTERS = re.compile(r"[^\W\d_].*[^\W\d_]")
_NO_HEADING = re.compile(r"^[•◦▪■●‣►]|[.;,]$|^\[[^\]]*\]$|^\([^)]*\)$")

Style = tuple[float, bool]


@dataclass(frozen=True, slots=True)
class Styles:
    """The document's body text, and its heading styles from the highest to the lowest."""

    body: float
    bold_body: bool
    levels: tuple[Style, ...]

    def heading(self, lines: Sequence[Line], at: int) -> int:
        """How many lines from ``at`` on make one heading; 0 = none begins here."""
        first = lines[at]
        if style_of(first) not in self.levels:
            return 0
        end = at + 1
        while end < len(lines) and style_of(lines[end]) == style_of(first) and _close(lines[end - 1], lines[end]):
            end += 1
        text = " ".join(line.text for line in lines[at:end])
        return end - at if self._reads_as_heading(text, end - at, first) else 0

    def _reads_as_heading(self, text: str, lines: int, first: Line) -> bool:
        most = _WORDS if first.size >= self.larger_than else _BOLD_WORDS
        if CAPTION.match(text):
            return lines <= _LINES + 1
        return (
            lines <= _LINES
            and len(text.split()) <= most
            and bool(_LETTERS.search(text))
            and not _NO_HEADING.search(text)
        )

    @property
    def larger_than(self) -> float:
        return _LARGER * self.body

    def level(self, line: Line) -> int:
        """0 = the highest."""
        return self.levels.index(style_of(line))


def style_of(line: Line) -> Style:
    return line.size, line.bold


def styles_of(pages: Sequence[PageText]) -> Styles:
    letters: Counter[Style] = Counter()
    for page in pages:
        for column in page.columns:
            for block in column:
                if isinstance(block, Line):
                    letters[style_of(block)] += len(block.text)
    sizes: Counter[float] = Counter()
    for (size, _), count in letters.items():
        sizes[size] += count
    body = max(sizes, key=sizes.__getitem__, default=0.0)
    bold_body = 2 * letters[body, True] > letters[body, False] + letters[body, True]
    levels = [
        (size, bold)
        for size, bold in letters
        if size >= _LARGER * body or (bold and not bold_body and size > 0.85 * body)
    ]
    return Styles(body, bold_body, tuple(sorted(levels, key=lambda style: (-style[0], not style[1]))))


def _close(upper: Line, lower: Line) -> bool:
    return 0 < lower.bottom - upper.bottom < 1.5 * lower.size
