"""Figures as SVG, readable on a light and on a dark page: the quality of retrieval, the scores of a calibration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from ..schema.documents import Calibration
from .runner import METRICS
from .scores import Scores

STYLE = """
svg { font: 13px system-ui, sans-serif; background: #fff; color: #1a1a1a }
text { fill: currentColor } .small { font-size: 11px } .quiet { opacity: .7 } .bold { font-weight: 600 }
line { stroke: currentColor } .grid { stroke-opacity: .15 } .mark { stroke-width: 2 } .dashed { stroke-dasharray: 6 4 }
.one { fill: #1f6fb2 } .other { fill: #d9822b } .track { fill: currentColor; fill-opacity: .08 }
.half { fill-opacity: .6 }
@media (prefers-color-scheme: dark) {
  svg { background: #15181c; color: #e8e8e8 } .one { fill: #5aa9e6 } .other { fill: #f0a45d }
}
""".strip()
NAMES, COLUMN, GAP, ROW, HEAD, BAR = 210, 150, 22, 36, 84, 14
"""Pixels of a plot of quality."""
LEFT, TOP, WIDTH, PLOT, PANEL, BIN = 64, 96, 672, 190, 308, 0.02
"""Pixels of a plot of scores, and what one of its bars spans."""
Kind = tuple[str, Sequence[float]]


class Drawing:
    """Coordinates in pixels from the top left; ``kind`` = the classes of the style."""

    def __init__(self, width: int, height: int, *, title: str, about: str, left: int) -> None:
        self._size, self._title, self._shapes = (width, height), title, list[str]()
        self.text(left, 30, title, kind="bold")
        self.text(left, 50, about, kind="small quiet")

    def text(self, x: float, y: float, text: str, *, kind: str = "", anchor: str = "start") -> None:
        """``y`` is the base line; ``anchor`` start, middle or end."""
        place = f'x="{x:.1f}" y="{y:.1f}"'
        self._shapes.append(f'<text {place} class="{kind}" text-anchor="{anchor}">{escape(text)}</text>')

    def bar(self, x: float, y: float, width: float, height: float, *, kind: str) -> None:
        """Draw a rectangle whose upper left corner is at ``x``, ``y``."""
        size = f'width="{max(width, 0):.1f}" height="{max(height, 0):.1f}"'
        self._shapes.append(f'<rect x="{x:.1f}" y="{y:.1f}" {size} class="{kind}"/>')

    def line(self, x1: float, y1: float, x2: float, y2: float, *, kind: str = "") -> None:
        """Draw a line from the first point to the second."""
        self._shapes.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>')

    def to_svg(self) -> str:
        """The drawing as an SVG document."""
        width, height = self._size
        head = f'xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        about = f'role="img">\n<title>{escape(self._title)}</title>\n<style>{STYLE}</style>'
        return "\n".join([f"<svg {head} {about}", *self._shapes, "</svg>\n"])


def quality_plot(dataset: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """SVG. Rows are configurations, columns metrics, each from 0 to 1; ``rows`` have their 95 % intervals."""
    bottom = HEAD + len(rows) * ROW
    about = f"{rows[0]['questions']} questions; the thin line is the 95 % interval"
    width = NAMES + len(METRICS) * (COLUMN + GAP) + GAP
    drawing = Drawing(width, bottom + 40, title=f"Retrieval on {dataset}", about=about, left=GAP)
    for place, metric in enumerate(METRICS):
        x = NAMES + place * (COLUMN + GAP)
        drawing.text(x, HEAD - 10, metric, kind="bold")
        for share in (0.0, 0.5, 1.0):
            drawing.line(x + share * COLUMN, HEAD, x + share * COLUMN, bottom + 4, kind="grid")
            drawing.text(x + share * COLUMN, bottom + 18, f"{share:g}", kind="small quiet", anchor="middle")
        for number, row in enumerate(rows):
            kind = "one half" if number else "one"
            _quality_bar(drawing, x, HEAD + number * ROW + 12, row[metric], row["intervals"][metric], kind)
    for number, row in enumerate(rows):
        drawing.text(GAP, HEAD + number * ROW + 12 + BAR - 3, row["name"])
    return drawing.to_svg()


def _quality_bar(drawing: Drawing, x: float, y: float, value: float, bounds: Sequence[float], kind: str) -> None:
    low, high = (x + bound * COLUMN for bound in bounds)
    middle = y + BAR / 2
    drawing.bar(x, y, COLUMN, BAR, kind="track")
    drawing.bar(x, y, value * COLUMN, BAR, kind=kind)
    drawing.line(low, middle, high, middle, kind="mark")
    for end in (low, high):
        drawing.line(end, middle - 4, end, middle + 4, kind="mark")
    drawing.text(x + COLUMN, y - 3, f"{value:.3f}", kind="small", anchor="end")


def score_plot(scores: Scores, calibration: Calibration) -> str:
    """SVG: a panel for each line that a calibration draws, with histograms of what it parts."""
    title, about = f"Scores of {calibration.model_id}", f"{calibration.dataset}, {calibration.date}"
    drawing = Drawing(LEFT + WIDTH + 24, TOP + 2 * PANEL - 40, title=title, about=about, left=LEFT)
    every = [score for kind in Scores.__slots__ for score in getattr(scores, kind)]
    low, high = np.floor(min(every) * 10) / 10, np.ceil(max(every) * 10) / 10
    ends = float(low), float(max(high, low + 0.1))
    found = ("the reports answer it", scores.answerable), ("about something else", scores.unrelated)
    drawing.text(LEFT, TOP - 14, "Best passage found for a question", kind="bold")
    _panel(drawing, TOP, ends, found, f"relevance floor {calibration.floor:.2f}", calibration.floor)
    single = ("it has the answer", scores.relevant), ("of another report", scores.irrelevant)
    drawing.text(LEFT, TOP + PANEL - 14, "Question and one passage", kind="bold")
    _panel(drawing, TOP + PANEL, ends, single, f"threshold {calibration.threshold:.2f}", calibration.threshold)
    return drawing.to_svg()


def _panel(
    drawing: Drawing, top: int, ends: tuple[float, float], kinds: tuple[Kind, Kind], name: str, value: float
) -> None:
    """Two histograms over each other, and a line that parts them."""
    low, high = ends
    edges = np.linspace(low, high, round((high - low) / BIN) + 1)
    shares = [np.histogram(scores, bins=edges)[0] / max(len(scores), 1) for _, scores in kinds]
    highest = max(0.1, np.ceil(max(float(share.max()) for share in shares) * 10) / 10)
    _axes(drawing, top, ends, highest)
    step, x = WIDTH / (len(edges) - 1), float(LEFT + WIDTH)
    for share, kind in zip(shares, ("one half", "other half"), strict=True):
        for place, part in enumerate(share):
            tall = float(part) / highest * PLOT
            drawing.bar(LEFT + place * step, top + PLOT - tall, step - 1, tall, kind=kind)
    for (label, scores), kind in zip(kinds[::-1], ("other half", "one half"), strict=True):
        text = f"{label} ({len(scores)})"
        drawing.text(x, top - 14, text, kind="small", anchor="end")
        x -= 5.9 * len(text) + 14
        drawing.bar(x, top - 24, 11, 11, kind=kind)
        x -= 16
    x = LEFT + (value - low) / (high - low) * WIDTH
    drawing.line(x, top, x, top + PLOT, kind="mark dashed")
    left_of = x > LEFT + WIDTH / 2
    drawing.text(x + (-6 if left_of else 6), top + 12, name, anchor="end" if left_of else "start")


def _axes(drawing: Drawing, top: int, ends: tuple[float, float], highest: float) -> None:
    (low, high), base = ends, top + PLOT
    drawing.line(LEFT, base, LEFT + WIDTH, base)
    for tick in np.arange(low, high + 0.001, 0.1):
        x = LEFT + (tick - low) / (high - low) * WIDTH
        drawing.line(x, base, x, base + 5)
        drawing.text(x, base + 20, f"{tick:.1f}", kind="small", anchor="middle")
    for part in (0.0, 0.5, 1.0):
        drawing.line(LEFT, base - part * PLOT, LEFT + WIDTH, base - part * PLOT, kind="grid")
        drawing.text(LEFT - 8, base - part * PLOT + 4, f"{part * highest:.0%}", kind="small", anchor="end")
    about = "score = (1 + cosine) / 2; height: share of the scores"
    drawing.text(LEFT + WIDTH / 2, base + 38, about, kind="small quiet", anchor="middle")
