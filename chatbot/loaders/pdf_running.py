"""Running headers, footers and page numbers: lines in the margins that come again on pages near by."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from .pdf_page import PageText
from .pdf_words import Line

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
    """What is the same on every page: the line without its numbers; "" for a page number alone."""
    return "" if _PAGE_NUMBER.match(line.text) else _NO_LETTER.sub("", line.text).lower() or line.text


def _again(places: Iterable[tuple[int, float]], number: int, top: float) -> int:
    """On how many other pages near by the line stands at the same height."""
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
