"""A text as lines: their marks, their sentences, and those that only hold others."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..text import sentences

_NUMBERS = re.compile(r"(?:\[\d{1,3}(?:\s*,\s*\d{1,3})*\]\s*)+")
_MARK = re.compile(r"[ \t>]*(?:(?:[-*+]|\(?\d{1,3}[.)])[ \t]+)?")
_LAID_OUT = re.compile(r"\s*+(?:#{1,6}\s|\||[-:| ]+$|(?:[^|]*(?<!\\)\|){2})")
"""A heading, a row of a table, a line across."""
_HEADING = re.compile(r"\s*#{1,6}\s")
_FENCE = re.compile(r"\s*(?:`{3}|~{3})")


def tells(text: str) -> bool:
    """Whether it says anything: headings do not."""
    return any(line.strip() and not _HEADING.match(line) for line in text.splitlines())


class Kept:
    """The lines that stay. What leads in to lines of which none stays, does not stay either."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._taken_out = False
        self._leads_in_to_nothing = False

    def add(self, line: str) -> None:
        if not line.strip():
            if not self._taken_out or (self._lines and self._lines[-1].strip()):
                self._lines.append(line)
            return
        mark = _MARK.match(line)
        if not (mark and mark[0].strip()) and not _LAID_OUT.match(line) and not _FENCE.match(line):
            self._end_lead_in()
        self._leads_in_to_nothing = False
        self._lines.append(line)

    def leave_out(self) -> None:
        self._taken_out = True
        above = next((line for line in reversed(self._lines) if line.strip()), "")
        self._leads_in_to_nothing = above.rstrip(" *_").endswith(":") and not _LAID_OUT.match(above)

    def text(self) -> str:
        self._end_lead_in()
        return "\n".join(self._lines).strip()

    def _end_lead_in(self) -> None:
        """What comes now is none of its lines."""
        if self._leads_in_to_nothing:
            while self._lines and not self._lines[-1].strip():
                self._lines.pop()
            self._lines.pop()


def lines_of(text: str) -> Iterator[tuple[str, str, list[str]]]:
    """Each line as it is, the mark it begins with, and its sentences; none of what is laid out, or has items below."""
    lines = text.splitlines()
    in_code = False
    for place, line in enumerate(lines):
        fence = _FENCE.match(line) is not None
        in_code = in_code != fence
        match = _MARK.match(line)
        mark = match[0] if match else ""
        below = lines[place + 1] if place + 1 < len(lines) else ""
        has_items = mark.strip() and len(below) - len(below.lstrip()) > len(line) - len(line.lstrip())
        is_kept = fence or in_code or has_items or _LAID_OUT.match(line)
        yield line, mark, [] if is_kept else _sentences(line[len(mark) :])


def _sentences(text: str) -> list[str]:
    """A quotation is never cut; numbers after a full stop belong to what precedes them."""
    whole: list[str] = []
    for piece in sentences(text):
        numbers = _NUMBERS.match(piece)
        if whole and (whole[-1].count("“") > whole[-1].count("”") or whole[-1].count('"') % 2):
            whole[-1] = f"{whole[-1]} {piece}"
        elif whole and numbers:
            whole[-1] = f"{whole[-1]} {numbers[0].strip()}"
            whole += filter(None, [piece[numbers.end() :]])
        else:
            whole.append(piece)
    return whole
