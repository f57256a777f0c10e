"""The table as a picture: a bar for each figure, with its 95 % interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .runner import METRICS
from .svg import Drawing

NAMES, COLUMN, GAP, ROW, TOP, BOTTOM = 210, 150, 22, 36, 84, 40
BAR = 14


def picture(dataset: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """SVG. Rows are configurations, columns metrics, each from 0 to 1; ``rows`` have their intervals."""
    width = NAMES + len(METRICS) * (COLUMN + GAP) + GAP
    height = TOP + len(rows) * ROW + BOTTOM
    drawing = Drawing(width, height, title=f"Retrieval on {dataset}")
    drawing.text(GAP, 30, f"Retrieval on {dataset}", kind="bold")
    drawing.text(GAP, 50, f"{rows[0]['questions']} questions; the thin line is the 95 % interval", kind="small quiet")
    for place, metric in enumerate(METRICS):
        x = NAMES + place * (COLUMN + GAP)
        drawing.text(x, TOP - 10, metric, kind="bold")
        _axis(drawing, x, TOP + len(rows) * ROW)
        for number, row in enumerate(rows):
            _bar(drawing, x, TOP + number * ROW + 12, row[metric], row["intervals"][metric], own=number == 0)
    for number, row in enumerate(rows):
        drawing.text(GAP, TOP + number * ROW + 12 + BAR - 3, row["name"])
    return drawing.to_svg()


def _bar(drawing: Drawing, x: float, y: float, value: float, bounds: Sequence[float], *, own: bool) -> None:
    low, high = (x + bound * COLUMN for bound in bounds)
    middle = y + BAR / 2
    drawing.bar(x, y, COLUMN, BAR, kind="track")
    drawing.bar(x, y, value * COLUMN, BAR, kind="one" if own else "one half")
    drawing.line((low, middle), (high, middle), kind="mark")
    for end in (low, high):
        drawing.line((end, middle - 4), (end, middle + 4), kind="mark")
    drawing.text(x + COLUMN, y - 3, f"{value:.3f}", kind="small", anchor="end")


def _axis(drawing: Drawing, x: float, bottom: float) -> None:
    for share in (0.0, 0.5, 1.0):
        drawing.line((x + share * COLUMN, TOP), (x + share * COLUMN, bottom + 4), kind="grid")
        drawing.text(x + share * COLUMN, bottom + 18, f"{share:g}", kind="small quiet", anchor="middle")
