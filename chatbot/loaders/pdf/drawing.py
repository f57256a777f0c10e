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
from .shown import Paint, paint_of, seen

_BOLD = re.compile(r"bold|black|heavy|demi|cmbx", re.IGNORECASE)
_Glyph = tuple[str, bool, float, float]  # its text, whether it is bold, its width and the font's descent
_KINDS = {LTLine: "line", LTRect: "rect", LTCurve: "curve", LTImage: "image"}


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
    """``turn``: 0 = upright, 1 = it runs up the page, -1 = down or as in a mirror."""

    turn: int
    paint: Paint = Paint.SHOWN


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
        shapes = list(_shapes(device.get_result()))
        self.letters = device.letters if device.shaded else seen(device.letters, shapes, self.bbox, self.cropbox)
        objects: dict[str, list[dict[str, Any]]] = {}
        for shape in shapes:
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

    def upright(self) -> list[Char]:
        """The characters in the page's main direction; a page printed sideways is turned."""
        upright = [char for char in self.letters if not char.turn]
        if 2 * len(upright) >= len(self.letters):
            return upright
        sideways = [char for char in self.letters if char.turn]
        counter_clockwise = sum(char.turn for char in sideways) > 0
        return [self._turned(char, counter_clockwise) for char in sideways]

    def _turned(self, char: Char, counter_clockwise: bool) -> Char:
        height, width = float(self.height), float(self.width)
        if counter_clockwise:
            x0, x1, top, bottom = height - char.bottom, height - char.top, char.x0, char.x1
        else:
            x0, x1, top, bottom = char.top, char.bottom, width - char.x1, width - char.x0
        return Char(char.text, x0, x1, top, bottom, char.x1 - char.x0, char.bold, 0)

    def close(self) -> None:
        super().close()
        self.letters = []


def _shapes(container: LTContainer[Any]) -> Iterator[LTComponent]:
    for item in container:
        if isinstance(item, LTContainer):
            yield from _shapes(item)
        else:
            yield item


class _Device(ContentDevice):
    """Takes characters from pdfminer's interpreter; shapes go to the layout, as pdfminer does it."""

    def __init__(self, fonts: PDFResourceManager, page: DrawnPage) -> None:
        super().__init__(fonts, pageno=page.page_number)
        self.letters: list[Char] = []
        self._left, self._above = page.mediabox[:2]
        self._height = page.height
        self._glyphs: dict[tuple[PDFFont, int], _Glyph] = {}
        self._paint = Paint.SHOWN

    def render_string(
        self, textstate: PDFTextState, seq: PDFTextSeq, ncs: PDFColorSpace, graphicstate: PDFGraphicState
    ) -> None:
        self._paint = paint_of(graphicstate.ncolor, ncs, textstate.render)
        super().render_string(textstate, seq, ncs, graphicstate)

    def render_char(
        self, matrix: Matrix, font: PDFFont, fontsize: float, scaling: float, rise: float, cid: int,
        ncs: PDFColorSpace, graphicstate: PDFGraphicState,
    ) -> float:  # fmt: skip
        """Places one glyph where `LTChar` would, which is asked itself for what is turned; the way to the next one."""
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

    def _glyph(self, font: PDFFont, cid: int) -> _Glyph:
        try:
            text = font.to_unichr(cid)
        except PDFUnicodeNotDefined:
            text = self.handle_undefined_char(font, cid)
        bold = _BOLD.search(str(font.fontname)) is not None
        glyph = self._glyphs[font, cid] = (text, bold, font.char_width(cid), font.get_descent())
        return glyph


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
