"""The adaptive threshold (seed 003, R-D5)."""

from __future__ import annotations

from collections.abc import Iterable

from ..schema import Threshold

SCALE = 10_000
"""Thresholds are stepped as integers, so that .7, .6, ... never drift."""


def adaptive_threshold(scores: Iterable[float], *, start: float, step: float, floor: float) -> Threshold:
    """The highest of start, start - step, ... (never below ``floor``) that some score exceeds (strictly).

    The best score decides, so nothing is searched twice. No scores: the start, at once. Nothing above the floor:
    the floor, relaxed.
    """
    best = max(scores, default=None)
    first, last, stride = round(start * SCALE), round(floor * SCALE), max(round(step * SCALE), 1)
    if best is None:
        return Threshold(start=start, used=start, relaxed=False)
    used = first
    while best <= used / SCALE and used > last:
        used = max(used - stride, last)
    return Threshold(start=start, used=used / SCALE, relaxed=used != first)
