"""What is drawn on a PDF page: its characters, and its lines and pictures as pdfplumber has them.

pdfminer interprets the page. pdfplumber's own page makes a dictionary of every attribute of every character, which
takes ten times as long as reading them: here a character is what the words are made of, and a shape what edges are.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pdfminer.converter import PDFPageAggregator
from pdfminer.encodingdb import name2unicode
from pdfminer.layout import LTComponent, LTContainer, LTCurve, LTImage, LTItem, LTLine, LTRect
from pdfminer.pdfcolor import PDFColorSpace
from pdfminer.pdffont import PDFFont, PDFUnicodeNotDefined
from pdfminer.pdfinterp import PDFGraphicState, PDFPageInterpreter, PDFResourceManager
from pdfminer.pdfpage import PDFPage
from pdfminer.pdftypes import resolve1
from pdfminer.psparser import PSLiteral
from pdfminer.utils import Matrix, apply_matrix_rect
from pdfplumber.page import Page
from pdfplumber.pdf import PDF

from .content import ContentInterpreter, UnusualError

_BOLD = re.compile(r"bold|black|heavy|demi|cmbx", re.IGNORECASE)
_KINDS = {LTLine: "line", LTRect: "rect", LTCurve: "curve", LTImage: "image"}


@dataclass(slots=True)
class Char:
    """``turn``: 0 = upright, 1 = it runs up the page, -1 = down or as in a mirror."""

    text: str
    x0: float
    x1: float
    top: float
    bottom: float
    size: float
    bold: bool
    turn: int


@dataclass(frozen=True, slots=True)
class _Glyph:
    """What a font says of a character. ``hangs``: of a font that runs down the page, where it is held."""

    text: str
    width: float
    bold: bool
    descent: float
    hangs: object


def pages_of(pdf: PDF) -> Iterator[DrawnPage]:
    """The pages, numbered from 1. What pdfminer raises for damage is raised."""
    fonts = _MendedFonts()
    for number, page in enumerate(PDFPage.create_pages(pdf.doc), start=1):
        yield DrawnPage(pdf, page, number, fonts)


class DrawnPage(Page):
    """pdfplumber's page with `letters` instead of its ``chars``. `close` drops all that was read."""

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
        self.letters = device.letters
        objects: dict[str, list[dict[str, Any]]] = {}
        for shape in _shapes(device.get_result()):
            objects.setdefault(_KINDS[type(shape)], []).append(self.process_object(shape))
        return objects

    def process_object(self, obj: LTItem) -> dict[str, Any]:
        """A shape with what pdfplumber's edges and tables are made of."""
        assert isinstance(obj, LTComponent)
        left, above = self.mediabox[:2]
        top = (self.height - obj.y1) + above
        found = {"object_type": _KINDS[type(obj)], "x0": obj.x0 + left, "x1": obj.x1 + left, "y0": obj.y0, "y1": obj.y1}
        found |= {"top": top, "doctop": top, "bottom": (self.height - obj.y0) + above}
        found |= {"width": obj.width, "height": obj.height}
        if isinstance(obj, LTCurve):
            found["pts"] = list(map(self.point2coord, obj.pts))
        return found

    def close(self) -> None:
        super().close()
        self.letters = []


def _shapes(container: LTContainer[Any]) -> Iterator[LTComponent]:
    for item in container:
        if isinstance(item, LTContainer):
            yield from _shapes(item)
        else:
            yield item


class _Device(PDFPageAggregator):
    """Takes characters from pdfminer's interpreter; shapes go to the layout, as pdfminer does it."""

    def __init__(self, fonts: PDFResourceManager, page: DrawnPage) -> None:
        super().__init__(fonts, pageno=page.page_number)
        self.letters: list[Char] = []
        self._left, self._above = page.mediabox[:2]
        self._height = page.height
        self._glyphs: dict[tuple[PDFFont, int], _Glyph] = {}

    def render_char(
        self, matrix: Matrix, font: PDFFont, fontsize: float, scaling: float, rise: float, cid: int,
        ncs: PDFColorSpace, graphicstate: PDFGraphicState,
    ) -> float:  # fmt: skip
        """Places one glyph as `pdfminer.layout.LTChar` does; how far the next one stands."""
        glyph = self._glyphs.get((font, cid)) or self._glyph(font, cid)
        advance = glyph.width * fontsize * scaling
        a, b, c, d, e, f = matrix
        left, low, right = 0.0, glyph.descent * fontsize + rise, advance
        high = low + fontsize
        if glyph.hangs is not None:
            left, low = _hung(glyph.hangs, fontsize)
            right, low, high = left + fontsize, low + rise + advance, low + rise
        if b or c:
            x0, y0, x1, y1 = apply_matrix_rect(matrix, (left, low, right, high))
        else:
            x0, x1, y0, y1 = a * left + e, a * right + e, d * low + f, d * high + f
            x0, x1 = (x0, x1) if x0 <= x1 else (x1, x0)
            y0, y1 = (y0, y1) if y0 <= y1 else (y1, y0)
        turn = 0 if a * d * scaling > 0 and b * c <= 0 else (1 if b > 0 else -1)
        size = y1 - y0 if glyph.hangs is None else x1 - x0
        top, bottom = (self._height - y1) + self._above, (self._height - y0) + self._above
        self.letters.append(Char(glyph.text, x0 + self._left, x1 + self._left, top, bottom, size, glyph.bold, turn))
        return advance

    def _glyph(self, font: PDFFont, cid: int) -> _Glyph:
        try:
            text = font.to_unichr(cid)
        except PDFUnicodeNotDefined:
            text = self.handle_undefined_char(font, cid)
        bold = _BOLD.search(str(font.fontname)) is not None
        displaced = font.char_disp(cid) if font.is_vertical() else None
        glyph = _Glyph(text, font.char_width(cid), bold, font.get_descent(), displaced)
        self._glyphs[font, cid] = glyph
        return glyph


def _hung(place: object, fontsize: float) -> tuple[float, float]:
    """Where a glyph of a font that runs down the page begins, from the point that it hangs at."""
    assert isinstance(place, tuple)
    vx, vy = place
    left = fontsize * 0.5 if vx is None else vx * fontsize * 0.001
    return -left, (1000 - vy) * fontsize * 0.001


class _MendedFonts(PDFResourceManager):
    """pdfminer's font cache; what a glyph is called has the last word over a map that lost letters of it."""

    def get_font(self, objid: object, spec: Mapping[str, object]) -> PDFFont:
        font = super().get_font(objid, spec)
        letters = getattr(getattr(font, "unicode_map", None), "cid2unichr", None)
        if letters:
            for code, text in _ligatures(spec).items():
                if letters.get(code, text[-1]) == text[-1]:
                    letters[code] = text
        return font


def _ligatures(spec: Mapping[str, object]) -> dict[int, str]:
    """Codes of the font's ligature glyphs, by their names (``fi``, ``f_f_i``, ``T_h``)."""
    encoding = resolve1(spec.get("Encoding"))
    differences: Any = resolve1(encoding.get("Differences")) if isinstance(encoding, dict) else None
    found: dict[int, str] = {}
    code = 0
    for entry in differences if isinstance(differences, list) else []:
        if isinstance(entry, int):
            code = entry
        elif isinstance(entry, PSLiteral):
            if len(text := _letters(str(entry.name))) > 1:
                found[code] = text
            code += 1
    return found


def _letters(glyph: str) -> str:
    try:
        return unicodedata.normalize("NFKC", name2unicode(glyph))
    except (KeyError, ValueError):  # a name of the font maker's own
        return ""
