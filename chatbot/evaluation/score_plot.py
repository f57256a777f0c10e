"""The score distributions of a calibration as a picture: two histograms each, and where the line is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..schema.calibrations import Calibration
from .scores import Scores
from .svg import Drawing

WIDTH, PLOT, LEFT, RIGHT, TOP = 760, 190, 64, 24, 96
PANEL = PLOT + 118
BIN = 0.02


@dataclass(frozen=True, slots=True)
class Panel:
    """``belongs`` and ``other`` are two kinds of scores with their names; ``line`` parts them."""

    title: str
    belongs: tuple[str, Sequence[float]]
    other: tuple[str, Sequence[float]]
    line: tuple[str, float]


def score_plot(scores: Scores, calibration: Calibration) -> str:
    """SVG."""
    title = f"Scores of {calibration.model_id}"
    drawing = Drawing(WIDTH, TOP + 2 * PANEL - 40, title=title)
    drawing.text(LEFT, 30, title, kind="bold")
    drawing.text(LEFT, 50, f"{calibration.dataset}, {calibration.date}", kind="small quiet")
    panels = (
        Panel(
            "Best passage found for a question",
            ("the reports answer it", scores.answerable),
            ("about something else", scores.unrelated),
            ("relevance floor", calibration.floor),
        ),
        Panel(
            "Question and one passage",
            ("it has the answer", scores.relevant),
            ("of another report", scores.irrelevant),
            ("threshold", calibration.threshold),
        ),
    )
    every = [score for panel in panels for _, kind in (panel.belongs, panel.other) for score in kind]
    low, high = np.floor(min(every) * 10) / 10, np.ceil(max(every) * 10) / 10
    for number, panel in enumerate(panels):
        _draw(drawing, panel, TOP + number * PANEL, (float(low), float(max(high, low + 0.1))))
    return drawing.to_svg()


def _draw(drawing: Drawing, panel: Panel, top: float, bounds: tuple[float, float]) -> None:
    low, high = bounds
    base, width = top + PLOT, WIDTH - LEFT - RIGHT
    edges = np.linspace(low, high, round((high - low) / BIN) + 1)
    shares = [_shares(scores, edges) for _, scores in (panel.belongs, panel.other)]
    highest = max(0.1, np.ceil(max(float(share.max()) for share in shares) * 10) / 10)
    drawing.text(LEFT, top - 14, panel.title, kind="bold")
    _axes(drawing, (top, base), bounds, highest)
    step = width / (len(edges) - 1)
    for share, kind in zip(shares, ("one half", "other half"), strict=True):
        for place, part in enumerate(share):
            tall = float(part) / highest * PLOT
            drawing.bar(LEFT + place * step, base - tall, step - 1, tall, kind=kind)
    _legend(drawing, panel, top)
    name, value = panel.line
    x = LEFT + (value - low) / (high - low) * width
    drawing.line((x, top), (x, base), kind="mark dashed")
    left_of = x > LEFT + width / 2
    drawing.text(x + (-6 if left_of else 6), top + 12, f"{name} {value:.2f}", anchor="end" if left_of else "start")


def _axes(drawing: Drawing, ends: tuple[float, float], bounds: tuple[float, float], highest: float) -> None:
    (top, base), (low, high) = ends, bounds
    width = WIDTH - LEFT - RIGHT
    drawing.line((LEFT, base), (LEFT + width, base))
    for tick in np.arange(low, high + 0.001, 0.1):
        x = LEFT + (tick - low) / (high - low) * width
        drawing.line((x, base), (x, base + 5))
        drawing.text(x, base + 20, f"{tick:.1f}", kind="small", anchor="middle")
    for part in (0.5, 1.0):
        drawing.line((LEFT, base - part * (base - top)), (LEFT + width, base - part * (base - top)), kind="grid")
        drawing.text(LEFT - 8, base - part * (base - top) + 4, f"{part * highest:.0%}", kind="small", anchor="end")
    drawing.text(LEFT - 8, base + 4, "0%", kind="small", anchor="end")
    about = "score = (1 + cosine) / 2; height: share of the scores"
    drawing.text(LEFT + width / 2, base + 38, about, kind="small quiet", anchor="middle")


def _legend(drawing: Drawing, panel: Panel, top: float) -> None:
    x = float(WIDTH - RIGHT)
    for (name, scores), kind in ((panel.other, "other half"), (panel.belongs, "one half")):
        label = f"{name} ({len(scores)})"
        drawing.text(x, top - 14, label, kind="small", anchor="end")
        x -= 5.9 * len(label) + 14
        drawing.bar(x, top - 24, 11, 11, kind=kind)
        x -= 16


def _shares(scores: Sequence[float], edges: np.ndarray) -> np.ndarray:
    counts, _ = np.histogram(scores, bins=edges)
    return counts / max(len(scores), 1)
