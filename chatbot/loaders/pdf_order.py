"""Reading order: a page is cut at its gutters, recursively, so that what spans columns keeps its place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


class Box(Protocol):
    """What stands on a page as one piece: a word, a table."""

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


def in_order(items: Sequence[Box], gutters: Sequence[Gutter]) -> list[list[Box]]:
    """The items as columns in reading order: above the tallest gutter, left of it, right of it, below it."""
    gutter = next((gutter for gutter in gutters if _parts(items, gutter)), None)
    if gutter is None:
        return [list(items)] if items else []
    middle = (gutter.x0 + gutter.x1) / 2
    inside = [item for item in items if gutter.top <= _y(item) <= gutter.bottom]
    above = [item for item in items if _y(item) < gutter.top]
    below = [item for item in items if _y(item) > gutter.bottom]
    left = [item for item in inside if item.x1 <= middle or item.x0 + item.x1 < 2 * middle]
    right = [item for item in inside if not (item.x1 <= middle or item.x0 + item.x1 < 2 * middle)]
    return [column for part in (above, left, right, below) for column in in_order(part, gutters)]


def _y(item: Box) -> float:
    return (item.top + item.bottom) / 2


def _parts(items: Sequence[Box], gutter: Gutter) -> bool:
    middle = (gutter.x0 + gutter.x1) / 2
    inside = [item.x0 + item.x1 < 2 * middle for item in items if gutter.top <= _y(item) <= gutter.bottom]
    return any(inside) and not all(inside)
