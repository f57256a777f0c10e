"""What lines of a PDF make: paragraphs, by distance, indent and list marks; headings, by size and weight."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from .page import PageText
from .spelling import join_lines
from .tables import CAPTION
from .words import Line

_BULLET = re.compile(r"[•◦▪■●○‣►–—·*†‡§¶-]\s?\S")
_NUMBERED = re.compile(
    r"\((?:\d{1,3}|[a-zA-Z]|[ivx]{2,5})\)\s|[a-z]\)\s|(?:\d{1,3}(?:\.\d{1,2})*[.)]|[A-Z]\.|[ivx]{1,5}\.)\s|\d{1,3}\s[A-Z]"
)
_SENTENCE_END = re.compile(r"[.!?:;。！？][\"'”’)\]]*$")
_INDENT = 0.7  # of the font size
_SHORT = 0.3  # of the column: a line that leaves so much free is short


@dataclass(slots=True)
class Paragraph:
    """Joined lines. ``opens``: the first line begins, ``ends_full``: the last one ends at the column's edge."""

    text: str
    size: float
    opens: bool
    ends_full: bool


def paragraphs_of(lines: Sequence[Line], hyphenated: Collection[str]) -> list[Paragraph]:
    """The lines, of one column and in order, as paragraphs."""
    groups: list[list[Line]] = []
    pitch = _pitch(lines) if lines else 0.0
    for at, line in enumerate(lines):
        after = lines[at + 1] if at + 1 < len(lines) else None
        if not groups or _breaks(groups[-1], line, after, pitch):
            groups.append([])
        groups[-1].append(line)
    return [_paragraph(group, hyphenated) for group in groups]


def continues(before: Paragraph, after: Paragraph) -> bool:
    """The paragraph at the top of a column goes on from the one at the foot of the column before."""
    unfinished = before.ends_full and not _SENTENCE_END.search(before.text)
    return unfinished and after.opens and abs(before.size - after.size) < 0.6 and not _BULLET.match(after.text)


def _paragraph(lines: Sequence[Line], hyphenated: Collection[str]) -> Paragraph:
    text = ""
    for line in lines:
        text = join_lines(text, line.text, hyphenated)
    first, last = lines[0], lines[-1]
    opens = first.x0 - first.left < _INDENT * first.size
    return Paragraph(text, first.size, opens, last.x1 > last.right - _SHORT * (last.right - last.left))


def _pitch(lines: Sequence[Line]) -> float:
    """The usual distance between two lines of the column."""
    steps = [b.bottom - a.bottom for a, b in pairwise(lines) if 0 < b.bottom - a.bottom < 2.2 * a.size]
    return median(steps) if steps else 1.3 * lines[0].size


def _breaks(group: Sequence[Line], line: Line, after: Line | None, pitch: float) -> bool:
    """Whether a line begins a new paragraph after those in ``group``."""
    before, ended = group[-1], bool(_SENTENCE_END.search(group[-1].text))
    step = line.bottom - before.bottom
    if step < 0 or step > 1.25 * max(min(pitch, 1.6 * line.size), line.size) or abs(line.size - before.size) > 0.9:
        return True
    if _BULLET.match(line.text) or (_NUMBERED.match(line.text) and ended):
        return True
    indent = (line.x0 - before.x0) / line.size
    if indent < -_INDENT and len(group) > 1:
        return True
    if indent > _INDENT and not _hanging(group):
        return ended or after is None or after.x0 < line.x0 - _INDENT * line.size
    return ended and before.x1 < before.right - _SHORT * (before.right - before.left) and not line.text[0].islower()


def _hanging(group: Sequence[Line]) -> bool:
    """A list item whose further lines stand below its text."""
    item = _BULLET.match(group[0].text) or _NUMBERED.match(group[0].text)
    return bool(item) and all(line.x0 > group[0].x0 for line in group[1:2])


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
        """The level of a heading line, 0 for the highest."""
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
    return Styles(body, tuple(sorted(levels, key=lambda style: (-style[0], not style[1]))))


def _close(upper: Line, lower: Line) -> bool:
    return 0 < lower.bottom - upper.bottom < 1.5 * lower.size
