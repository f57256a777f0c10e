"""Which characters of a PDF page a reader sees: not those off the page, of no size, unpainted or white on white."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import TYPE_CHECKING

from pdfminer.layout import LTComponent, LTCurve, LTImage
from pdfminer.pdfcolor import PDFColorSpace

if TYPE_CHECKING:
    from .drawing import Char

Box = tuple[float, float, float, float]
"""Left, top, right and bottom."""
_WHITE = 0.95
_CELL = 4.0
"""Points: so finely it is known what of the page is painted."""
_SMALLEST, _READ = 1.0, 4.0
"""Points: letters below the first are not read, unless so are most of the page: then its unit is another."""
_MOST_CELLS = 4_000_000


_UNPAINTED = {3, 7}
"""The modes of text that only a program reads (ISO 32000-1, table 106)."""


class Paint(IntEnum):
    """How a character is painted."""

    SHOWN = 0
    WHITE = 1
    NONE = 2
    """The invisible mode of a text layer: what was recognised in the picture of a page."""


_SPACES = {"DeviceGray", "CalGray", "DeviceRGB", "CalRGB", "DeviceCMYK", "ICCBased"}
"""In others, 1 may be the full ink of a printer's own colour."""


def paint_of(color: object, space: PDFColorSpace, mode: int) -> Paint:
    """``color`` as pdfminer has it: grey, or red, green and blue, or cyan, magenta, yellow and black, from 0 to 1."""
    if mode in _UNPAINTED:
        return Paint.NONE
    return Paint.WHITE if space.name in _SPACES and _is_white(color) else Paint.SHOWN


def _is_white(color: object) -> bool:
    parts = color if isinstance(color, tuple | list) else (color,)
    if not all(isinstance(part, int | float) for part in parts):
        return False  # a pattern
    return max(parts, default=1) <= 1 - _WHITE if len(parts) == 4 else min(parts, default=0) >= _WHITE


def seen(chars: list[Char], shapes: Iterable[LTComponent], page: Box, crop: Box) -> list[Char]:
    """The characters that a reader sees; ``shapes`` are measured from the page's lower left corner, in points.

    ``crop``: what is shown of the page; a damaged file may say that it is nothing.
    """
    on_page = _within(crop, chars) or _within(page, chars)
    tiny = [char for char in on_page if char.size < _SMALLEST]
    if tiny and 2 * len(tiny) < sum(char.size >= _READ for char in on_page):
        on_page = [char for char in on_page if char.size >= _SMALLEST]
    if not any(char.paint for char in on_page):
        return on_page
    painted = _Painted(shapes, page)
    return [char for char in on_page if not char.paint or painted.behind(char)]


def _within(box: Box, chars: list[Char]) -> list[Char]:
    x0, top, x1, bottom = box
    return [char for char in chars if char.x1 > x0 and char.x0 < x1 and char.bottom > top and char.top < bottom]


class _Painted:
    """The places of a page that are not plain white paper."""

    def __init__(self, shapes: Iterable[LTComponent], page: Box) -> None:
        import numpy as np  # few pages need it

        self._left, _, right, self._bottom = page
        rows, columns = int((page[3] - page[1]) / _CELL) + 1, int((right - self._left) / _CELL) + 1
        known = rows * columns <= _MOST_CELLS
        self._colored = np.full((rows, columns) if known else (1, 1), not known)
        self._pictured = self._colored.copy()
        for shape in shapes if known else ():
            x0, x1, y0, y1 = (max(0, int(at / _CELL)) for at in (shape.x0, shape.x1, shape.y0, shape.y1))
            if isinstance(shape, LTImage):
                self._pictured[y0 : y1 + 1, x0 : x1 + 1] = True
            elif (
                isinstance(shape, LTCurve)
                and shape.fill
                and not (isinstance(shape.non_stroking_color, tuple) and _is_white(shape.non_stroking_color))
            ):
                self._colored[y0 : y1 + 1, x0 : x1 + 1] = True

    def behind(self, char: Char) -> bool:
        rows, columns = self._colored.shape
        x = min(columns - 1, max(0, int(((char.x0 + char.x1) / 2 - self._left) / _CELL)))
        y = min(rows - 1, max(0, int((self._bottom - (char.top + char.bottom) / 2) / _CELL)))
        return bool(self._pictured[y, x] or (char.paint == Paint.WHITE and self._colored[y, x]))
