"""A drawing as SVG text: a few shapes, readable on a light and on a dark page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

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


class Drawing:
    """Coordinates in pixels from the top left."""

    def __init__(self, width: int, height: int, *, title: str) -> None:
        self._size = width, height
        self._title = title
        self._shapes: list[str] = []

    def text(self, x: float, y: float, text: str, *, kind: str = "", anchor: str = "start") -> None:
        """``y`` is the base line; ``anchor`` start, middle or end; ``kind`` the classes of the style."""
        self._shapes.append(
            f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">{escape(text)}</text>'
        )

    def bar(self, x: float, y: float, width: float, height: float, *, kind: str) -> None:
        self._shapes.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{max(height, 0):.1f}" class="{kind}"/>'
        )

    def line(self, start: Sequence[float], end: Sequence[float], *, kind: str = "") -> None:
        (x1, y1), (x2, y2) = start, end
        self._shapes.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>')

    def to_svg(self) -> str:
        width, height = self._size
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
            f'height="{height}" role="img">\n<title>{escape(self._title)}</title>\n<style>{STYLE}</style>\n'
            + "\n".join(self._shapes)
            + "\n</svg>\n"
        )
