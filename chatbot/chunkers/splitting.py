"""Cutting a text at its best borders: paragraphs, then lines, sentences, words, and a hard cut at last."""

from __future__ import annotations

import re
from collections.abc import Callable

Span = tuple[int, int]

BORDERS = (
    re.compile(r"\n\s*\n"),
    re.compile(r"\n"),
    re.compile(r"(?<=[.!?;])\s+"),
    re.compile(r"\s+"),
)


def split(text: str, fits: Callable[[str], bool]) -> list[Span]:
    """Spans (start, end) that fit, stripped and non-empty, in order, with only white space between them.

    ``fits`` must hold for any single character, else nothing could ever be cut small enough.
    """
    return [span for span in _split(text, 0, len(text), fits, BORDERS) if span[0] < span[1]]


def _split(
    text: str, start: int, end: int, fits: Callable[[str], bool], borders: tuple[re.Pattern[str], ...]
) -> list[Span]:
    start, end = _strip(text, start, end)
    if start >= end:
        return []
    if fits(text[start:end]):
        return [(start, end)]
    if not borders:
        return _hard_cut(text, start, end, fits)
    pieces = _pieces(text, start, end, borders[0])
    spans: list[Span] = []
    current: Span | None = None
    for piece in pieces:
        if current is not None and fits(text[current[0] : piece[1]]):
            current = (current[0], piece[1])
            continue
        if current is not None:
            spans.append(current)
        if fits(text[piece[0] : piece[1]]):
            current = piece
        else:
            spans.extend(_split(text, *piece, fits, borders[1:]))
            current = None
    return spans if current is None else [*spans, current]


def _pieces(text: str, start: int, end: int, border: re.Pattern[str]) -> list[Span]:
    cuts = [start]
    for match in border.finditer(text, start, end):
        cuts += [match.start(), match.end()]
    cuts.append(end)
    stripped = (_strip(text, cuts[i], cuts[i + 1]) for i in range(0, len(cuts), 2))
    return [span for span in stripped if span[0] < span[1]]


def _hard_cut(text: str, start: int, end: int, fits: Callable[[str], bool]) -> list[Span]:
    spans = []
    while start < end:
        low, high = start + 1, end
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if fits(text[start:middle]) else (low, middle - 1)
        spans.append((start, low))
        start = low
    return spans


def _strip(text: str, start: int, end: int) -> Span:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end
