"""PDFium's text of a page: what the page's own reading is compared with, and what
stands in its place where that lost letters. PDFium reads some 700 pages a second and
opens files that pdfminer does not, but knows nothing of columns and tables.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from ctypes import byref, c_int, c_uint
from math import hypot
from pathlib import Path
from typing import Any

import pypdfium2
from pypdfium2 import raw

from .drawing import UNPAINTED_MODES, Char, Paint, is_white, visible_characters
from .measures import read_measure
from .words import Line, mend_word

_PARTS = read_measure("pdfium.parts")
_LINE_ENDS = "\r\n"


def letters_of(text: str) -> Counter[str]:
    """Return how often each letter and digit occurs, ligatures and other forms of
    presentation spelled out.
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return Counter(filter(str.isalnum, text))


def printed_well(text: str) -> bool:
    """Return whether a text has no signs without a meaning, such as PDFium puts where a
    letter has no Unicode value.
    """
    return not _NO_MEANING.search(text)


_NO_MEANING = re.compile(r"[^\s\x20-\ud7ff\uf900-\ufffc\U00010000-\U0010ffff]")


class PdfiumText:
    """The pages of a file as PDFium reads them. A file that it cannot open has none."""

    def __init__(self, path: Path) -> None:
        self._pdf: Any = None
        try:
            self._pdf = pypdfium2.PdfDocument(path)
        except pypdfium2.PdfiumError:
            return

    @property
    def pages(self) -> int:
        return len(self._pdf) if self._pdf else 0

    def close(self) -> None:
        if self._pdf:
            self._pdf.close()

    def text(self, number: int) -> str:
        """Return the text of a page, numbered from 1; "" if it cannot be read."""
        if not 0 < number <= self.pages:
            return ""
        try:
            text: str = self._pdf[number - 1].get_textpage().get_text_range()
        except pypdfium2.PdfiumError:
            return ""
        return text

    def lines(self, number: int) -> tuple[float, list[Line]]:
        """Return the height of a page in points and its lines in PDFium's order,
        without what a reader cannot see. No lines if the page cannot be read.
        """
        if not 0 < number <= self.pages:
            return 0.0, []
        try:
            page = _Page(self._pdf[number - 1])
        except pypdfium2.PdfiumError:
            return 0.0, []
        return page.height, page.lines()


class _Page:
    """A page and its coordinates as this package uses them: y runs down from the top
    of the page as it is shown.
    """

    def __init__(self, page: Any) -> None:
        self._page = page
        self._text = page.get_textpage()
        self._width, self.height = page.get_size()

    def lines(self) -> list[Line]:
        rows: list[list[Char]] = [[]]
        printed = []
        for char in self._characters():
            if char.text in _LINE_ENDS:
                rows.append([])
                continue
            rows[-1].append(char)
            if char.size:
                printed.append(char)
        shown = set(map(id, self._visible(printed)))
        lines = []
        for row in rows:
            kept = [char for char in row if not char.size or id(char) in shown]
            if any(char.size for char in kept):
                lines.append(_line_of(kept))
        return lines

    def _visible(self, printed: list[Char]) -> list[Char]:
        page = (0.0, 0.0, self._width, self.height)
        if all(char.paint == Paint.VISIBLE for char in printed):
            return visible_characters(printed, {}, page, page)
        shapes = {"shape": list(self._shapes())}
        return visible_characters(printed, shapes, page, page)

    def _characters(self) -> Iterator[Char]:
        """Yield the characters in PDFium's order. Blanks and line ends that it adds
        have no size.
        """
        box = raw.FS_RECTF()
        matrix = raw.FS_MATRIX()
        for at in range(self._text.count_chars()):
            text = chr(raw.FPDFText_GetUnicode(self._text, at))
            is_added = raw.FPDFText_IsGenerated(self._text, at) == 1
            if is_added or text in _LINE_ENDS:
                yield Char(text, 0.0, 0.0, 0.0, 0.0, 0.0, bold=False, turn=0)
                continue
            drawn = raw.FPDFText_GetTextObject(self._text, at)
            raw.FPDFText_GetLooseCharBox(self._text, at, byref(box))
            raw.FPDFPageObj_GetMatrix(drawn, byref(matrix))
            scale = hypot(matrix.c, matrix.d)
            weight = raw.FPDFText_GetFontWeight(self._text, at)
            x0, top, x1, bottom = self._place(box.left, box.bottom, box.right, box.top)
            yield Char(
                text,
                x0,
                x1,
                top,
                bottom,
                size=scale * raw.FPDFText_GetFontSize(self._text, at),
                bold=weight >= raw.FXFONT_FW_BOLD,
                turn=0,
                paint=self._paint(at, drawn),
            )

    def _place(
        self, left: float, low: float, right: float, high: float
    ) -> tuple[float, float, float, float]:
        """Return left, top, right and bottom as the page is shown, from the corners of
        a box in its own coordinates.
        """
        x0, y0 = self._shown_at(left, low)
        x1, y1 = self._shown_at(right, high)
        return min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)

    def _shown_at(self, x: float, y: float) -> tuple[float, float]:
        # PDFium gives whole numbers: these are parts of a point.
        width = int(self._width * _PARTS)
        height = int(self.height * _PARTS)
        across = c_int()
        down = c_int()
        upright = 0  # it turns the page as it is shown
        place = (x, y, byref(across), byref(down))
        raw.FPDF_PageToDevice(self._page, 0, 0, width, height, upright, *place)
        return across.value / _PARTS, down.value / _PARTS

    def _paint(self, at: int, drawn: Any) -> Paint:
        if raw.FPDFTextObj_GetTextRenderMode(drawn) in UNPAINTED_MODES:
            return Paint.NONE
        color = [c_uint() for _ in range(4)]
        raw.FPDFText_GetFillColor(self._text, at, *map(byref, color))
        return Paint.WHITE if _is_white(color) else Paint.VISIBLE

    def _shapes(self) -> Iterator[dict[str, Any]]:
        """Yield pictures and filled shapes as `visible_characters` needs them."""
        kinds = (raw.FPDF_PAGEOBJ_PATH, raw.FPDF_PAGEOBJ_IMAGE)
        for shape in self._page.get_objects(filter=kinds):
            try:
                x0, top, x1, bottom = self._place(*shape.get_bounds())
            except pypdfium2.PdfiumError:
                continue
            color = [c_uint() for _ in range(4)]
            raw.FPDFPageObj_GetFillColor(shape, *map(byref, color))
            is_picture = shape.type == raw.FPDF_PAGEOBJ_IMAGE
            yield {
                "object_type": "image" if is_picture else "path",
                "x0": x0,
                "x1": x1,
                "y0": self.height - bottom,
                "y1": self.height - top,
                "fill": not _is_white(color),
                "color": None,
            }


def _is_white(color: list[c_uint]) -> bool:
    """``color``: red, green, blue and opacity, from 0 to 255."""
    red, green, blue, _ = color
    return is_white((red.value / 255, green.value / 255, blue.value / 255))


def _line_of(row: list[Char]) -> Line:
    """Return a line of characters in reading order. Added blanks have no place."""
    text = ""
    placed = []
    for char in row:
        if char.text.isprintable():
            text += char.text
        if char.size:
            placed.append(char)
    bold = sum(char.bold for char in placed)
    return Line(
        text=" ".join(mend_word(text).split()),
        x0=min(char.x0 for char in placed),
        x1=max(char.x1 for char in placed),
        top=min(char.top for char in placed),
        bottom=max(char.bottom for char in placed),
        size=max(char.size for char in placed),
        bold=2 * bold > len(placed),
    )
