"""The characters that a reader of a PDF page sees, and its lines and pictures as pdfplumber has them.

pdfminer interprets the page. pdfplumber's own page makes a dictionary of every attribute of every character, which
takes ten times as long as reading them: here a character has only what words are made of, and a shape what edges are.
PDFium's characters were measured too: on 33 files they took as long as all of this (2.7 s to 2.9 s for 163 pages,
without shapes and visibility) and differed on 19 of them, up to 223 of 364 characters missing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from pdfminer.encodingdb import name2unicode
from pdfminer.layout import LTChar, LTComponent, LTContainer, LTCurve, LTImage, LTItem, LTLine, LTRect
from pdfminer.pdfcolor import PDFColorSpace
from pdfminer.pdfdevice import PDFTextSeq
from pdfminer.pdffont import PDFFont, PDFUnicodeNotDefined
from pdfminer.pdfinterp import PDFGraphicState, PDFPageInterpreter, PDFResourceManager, PDFTextState
from pdfminer.pdfpage import PDFPage
from pdfminer.pdftypes import resolve1
from pdfminer.psparser import PSLiteral
from pdfminer.utils import Matrix
from pdfplumber.page import Page
from pdfplumber.pdf import PDF

from .content import ContentDevice, ContentInterpreter, UnusualError

_BOLD = re.compile(r"bold|black|heavy|demi|cmbx", re.IGNORECASE)
_KINDS = {LTLine: "line", LTRect: "rect", LTCurve: "curve", LTImage: "image"}
Box = tuple[float, float, float, float]
"""Left, top, right and bottom, in points."""
Glyph = tuple[str, bool, float, float]
"""Its text, whether it is bold, its width and the font's descent."""


class Paint(IntEnum):
    """How a character is painted."""

    VISIBLE = 0
    WHITE = 1
    NONE = 2
    """The invisible mode of a text layer: text recognised in the picture of a page."""


@dataclass(slots=True)
class Placed:
    """Text at its place on the page, in points; ``top`` and ``bottom`` from the page's top."""

    text: str
    x0: float
    x1: float
    top: float
    bottom: float
    size: float
    bold: bool


@dataclass(slots=True)
class Char(Placed):
    """A character. ``turn``: 0 = upright, 1 = it runs up the page, -1 = down or mirrored."""

    turn: int
    paint: Paint = Paint.VISIBLE


def pages_of(pdf: PDF) -> Iterator[DrawnPage]:
    """Yield the pages, numbered from 1. pdfminer's errors about damage are passed on."""
    fonts = _MendedFonts()
    for number, page in enumerate(PDFPage.create_pages(pdf.doc), start=1):
        yield DrawnPage(pdf, page, number, fonts)


class DrawnPage(Page):
    """pdfplumber's page with `letters` instead of its ``chars``. `close` releases everything that was read."""

    def __init__(self, pdf: PDF, page: PDFPage, number: int, fonts: PDFResourceManager) -> None:
        super().__init__(pdf, page, number)
        self.letters: list[Char] = []
        self._fonts = fonts

    def parse_objects(self) -> dict[str, list[dict[str, Any]]]:
        device = _Device(self._fonts, self)
        try:
            ContentInterpreter(self._fonts, device).process_page(self.page_obj)
        except UnusualError:
            device = _Device(self._fonts, self)
            PDFPageInterpreter(self._fonts, device).process_page(self.page_obj)
        shapes = list(_shapes(device.get_result()))
        self.letters = device.letters
        if not device.shaded:
            self.letters = visible_characters(device.letters, shapes, self.bbox, self.cropbox)
        objects: dict[str, list[dict[str, Any]]] = {}
        for shape in shapes:
            objects.setdefault(_KINDS[type(shape)], []).append(self.process_object(shape))
        return objects

    def process_object(self, obj: LTItem) -> dict[str, Any]:
        """Return a shape with the attributes that pdfplumber makes edges and tables of."""
        assert isinstance(obj, LTComponent)
        left, above = self.mediabox[:2]
        top = (self.height - obj.y1) + above
        shape = {"object_type": _KINDS[type(obj)], "x0": obj.x0 + left, "x1": obj.x1 + left, "y0": obj.y0, "y1": obj.y1}
        shape |= {"top": top, "doctop": top, "bottom": (self.height - obj.y0) + above}
        shape |= {"width": obj.width, "height": obj.height}
        if isinstance(obj, LTCurve):
            shape["pts"] = list(map(self.point2coord, obj.pts))
        return shape

    def upright(self) -> list[Char]:
        """Return the characters in the page's main direction; a page printed sideways is turned."""
        upright = [char for char in self.letters if not char.turn]
        if 2 * len(upright) >= len(self.letters):
            return upright
        sideways = [char for char in self.letters if char.turn]
        height, width = float(self.height), float(self.width)
        turned = []
        counter_clockwise = sum(char.turn for char in sideways) > 0
        for char in sideways:
            if counter_clockwise:
                x0, x1, top, bottom = height - char.bottom, height - char.top, char.x0, char.x1
            else:
                x0, x1, top, bottom = char.top, char.bottom, width - char.x1, width - char.x0
            turned.append(Char(char.text, x0, x1, top, bottom, char.x1 - char.x0, char.bold, 0))
        return turned

    def close(self) -> None:
        super().close()
        self.letters = []


def _shapes(container: LTContainer[Any]) -> Iterator[LTComponent]:
    for item in container:
        if isinstance(item, LTContainer):
            yield from _shapes(item)
        else:
            yield item


_UNPAINTED_MODES = {3, 7}
"""Render modes of text that only a program reads (ISO 32000-1, table 106)."""
_COLOR_SPACES = {"DeviceGray", "CalGray", "DeviceRGB", "CalRGB", "DeviceCMYK", "ICCBased"}
"""In others, 1 may be the full ink of a printer's own colour."""


class _Device(ContentDevice):
    """Takes characters from pdfminer's interpreter; shapes go to the layout, as pdfminer does it."""

    def __init__(self, fonts: PDFResourceManager, page: DrawnPage) -> None:
        super().__init__(fonts, pageno=page.page_number)
        self.letters: list[Char] = []
        self._left, self._above = page.mediabox[:2]
        self._height = page.height
        self._glyphs: dict[tuple[PDFFont, int], Glyph] = {}
        self._paint = Paint.VISIBLE

    def render_string(
        self, textstate: PDFTextState, seq: PDFTextSeq, ncs: PDFColorSpace, graphicstate: PDFGraphicState
    ) -> None:
        if textstate.render in _UNPAINTED_MODES:
            self._paint = Paint.NONE
        else:
            white = ncs.name in _COLOR_SPACES and _is_white(graphicstate.ncolor)
            self._paint = Paint.WHITE if white else Paint.VISIBLE
        super().render_string(textstate, seq, ncs, graphicstate)

    def render_char(
        self, matrix: Matrix, font: PDFFont, fontsize: float, scaling: float, rise: float, cid: int,
        ncs: PDFColorSpace, graphicstate: PDFGraphicState,
    ) -> float:  # fmt: skip
        """Place one glyph where `LTChar` would, and return the way to the next one. `LTChar` places turned ones."""
        text, bold, width, descent = self._glyphs.get((font, cid)) or self._glyph(font, cid)
        a, b, c, d, e, f = matrix
        turn, advance = 0, width * fontsize * scaling
        if b or c or min(a, d, scaling) <= 0 or min(advance, fontsize) < 0 or font.is_vertical():
            at = LTChar(matrix, font, fontsize, scaling, rise, text, width, font.char_disp(cid), ncs, graphicstate)
            x0, y0, x1, y1, size = *at.bbox, at.size
            if not at.upright:
                turn = 1 if b > 0 else -1
        else:
            low = descent * fontsize + rise
            x0, y0, x1, y1 = e, d * low + f, a * advance + e, d * (low + fontsize) + f
            size = y1 - y0
        top, bottom = (self._height - y1) + self._above, (self._height - y0) + self._above
        self.letters.append(Char(text, x0 + self._left, x1 + self._left, top, bottom, size, bold, turn, self._paint))
        return advance

    def _glyph(self, font: PDFFont, cid: int) -> Glyph:
        try:
            text = font.to_unichr(cid)
        except PDFUnicodeNotDefined:
            text = self.handle_undefined_char(font, cid)
        bold = _BOLD.search(str(font.fontname)) is not None
        glyph = self._glyphs[font, cid] = (text, bold, font.char_width(cid), font.get_descent())
        return glyph


class _MendedFonts(PDFResourceManager):
    """pdfminer's font cache. The name of a ligature's glyph overrides a map that has lost letters of it."""

    def get_font(self, objid: object, spec: Mapping[str, object]) -> PDFFont:
        font = super().get_font(objid, spec)
        letters = getattr(getattr(font, "unicode_map", None), "cid2unichr", None)
        if letters:
            for code, text in _ligatures(spec).items():
                if letters.get(code, text[-1]) == text[-1]:
                    letters[code] = text
        return font


def _ligatures(spec: Mapping[str, object]) -> dict[int, str]:
    """Return the letters of the font's ligature glyphs by code, from their names (``fi``, ``f_f_i``, ``T_h``)."""
    encoding = resolve1(spec.get("Encoding"))
    differences: Any = resolve1(encoding.get("Differences")) if isinstance(encoding, dict) else None
    ligatures: dict[int, str] = {}
    code = 0
    for entry in differences if isinstance(differences, list) else []:
        if isinstance(entry, int):
            code = entry
        elif isinstance(entry, PSLiteral):
            try:
                text = unicodedata.normalize("NFKC", name2unicode(str(entry.name)))
            except (KeyError, ValueError):  # a name of the font maker's own
                text = ""
            if len(text) > 1:
                ligatures[code] = text
            code += 1
    return ligatures


_MIN_WHITE = 0.95
_CELL = 4.0
"""Points: the resolution at which the painted places of a page are known."""
_MIN_SIZE, _READABLE_SIZE = 1.0, 4.0
"""Points. Letters below the first are hidden, unless most of the page is below the second: its unit is another."""
_MAX_CELLS = 4_000_000


def visible_characters(chars: list[Char], shapes: Iterable[LTComponent], page: Box, crop: Box) -> list[Char]:
    """Return the characters that are on the page, of a size, painted, and not white on white.

    ``shapes`` are measured from the page's lower left corner, in points. ``crop``: the visible part of the page. It is
    ignored if nothing is in it, as in a damaged file.
    """
    on_page = _within(crop, chars) or _within(page, chars)
    tiny = [char for char in on_page if char.size < _MIN_SIZE]
    if tiny and 2 * len(tiny) < sum(char.size >= _READABLE_SIZE for char in on_page):
        on_page = [char for char in on_page if char.size >= _MIN_SIZE]
    if not any(char.paint for char in on_page):
        return on_page
    painted = _PaintedPlaces(shapes, page)
    return [char for char in on_page if not char.paint or painted.has_background(char)]


def _within(box: Box, chars: list[Char]) -> list[Char]:
    x0, top, x1, bottom = box
    return [char for char in chars if char.x1 > x0 and char.x0 < x1 and char.bottom > top and char.top < bottom]


def _is_white(color: object) -> bool:
    """Return whether the components of a grey, RGB or CMYK colour, from 0 to 1, are nearly white."""
    parts = color if isinstance(color, tuple | list) else (color,)
    if not all(isinstance(part, int | float) for part in parts):
        return False  # a pattern
    return max(parts, default=1) <= 1 - _MIN_WHITE if len(parts) == 4 else min(parts, default=0) >= _MIN_WHITE


class _PaintedPlaces:
    """The places of a page that are not plain white paper."""

    def __init__(self, shapes: Iterable[LTComponent], page: Box) -> None:
        import numpy as np  # few pages need it

        self._left, _, right, self._bottom = page
        rows, columns = int((page[3] - page[1]) / _CELL) + 1, int((right - self._left) / _CELL) + 1
        measured = rows * columns <= _MAX_CELLS
        self._colored = np.full((rows, columns) if measured else (1, 1), not measured)
        self._pictured = self._colored.copy()
        for shape in shapes if measured else ():
            x0, x1, y0, y1 = (max(0, int(at / _CELL)) for at in (shape.x0, shape.x1, shape.y0, shape.y1))
            if isinstance(shape, LTImage):
                self._pictured[y0 : y1 + 1, x0 : x1 + 1] = True
            elif isinstance(shape, LTCurve) and shape.fill:
                color = shape.non_stroking_color
                if not (isinstance(color, tuple) and _is_white(color)):
                    self._colored[y0 : y1 + 1, x0 : x1 + 1] = True

    def has_background(self, char: Char) -> bool:
        """Return whether the character stands on a picture, or is white on a coloured shape."""
        rows, columns = self._colored.shape
        x = min(columns - 1, max(0, int(((char.x0 + char.x1) / 2 - self._left) / _CELL)))
        y = min(rows - 1, max(0, int((self._bottom - (char.top + char.bottom) / 2) / _CELL)))
        return bool(self._pictured[y, x] or (char.paint == Paint.WHITE and self._colored[y, x]))
