"""The drawing operators of a PDF page: the characters that a reader sees, lines and
pictures.

pdfminer interprets the page. Its own lexer took half the time of a page: here one
expression separates the same tokens (ISO 32000-1, 7.2 and 7.3). A character has only
what words are made of: pdfplumber's took ten times as long. PDFium's took as long as
all of this, and up to 223 of 364 characters were missing.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol, cast

from pdfminer.converter import PDFPageAggregator
from pdfminer.encodingdb import name2unicode
from pdfminer.layout import (
    LTChar,
    LTComponent,
    LTCurve,
    LTImage,
    LTItem,
    LTLine,
    LTPage,
    LTRect,
)
from pdfminer.pdfcolor import PDFColorSpace
from pdfminer.pdfdevice import PDFTextSeq
from pdfminer.pdfdocument import PDFDocument
from pdfminer.pdffont import PDFFont, PDFUnicodeNotDefined
from pdfminer.pdfinterp import (
    PDFGraphicState,
    PDFPageInterpreter,
    PDFResourceManager,
    PDFStackT,
    PDFTextState,
)
from pdfminer.pdfpage import PDFPage
from pdfminer.pdftypes import PDFStream, resolve1, resolve_all, stream_value
from pdfminer.psparser import ESC_STRING, LIT, PSLiteral
from pdfminer.utils import Matrix, Point
from pdfplumber.page import Page

from ....domain.errors import LoadError
from .measures import read_measure

if TYPE_CHECKING:
    from pdfplumber.pdf import PDF

_BOLD = re.compile(r"bold|black|heavy|demi|cmbx", re.IGNORECASE)
_TOKEN = re.compile(
    rb"""[\0\s]*+ (?: %[^\r\n]*[\r\n] [\0\s]*+ )*+ (?:
      ( [-+]?(?: \d+(?:\.\d*)? | \.\d+) )                # 1: a number
    | ( [A-Za-z][^\#/%\[\]()<>{}\s]* | ['"] )            # 2: an operator
    | \( ( [^()\\]*(?: \\.[^()\\]* )* ) \)               # 3: a string
    | < ( (?: [0-9A-Fa-f]{2} | \s )* ) >                 # 4: one in hexadecimal digits
    | (\[) | (\])                                        # 5, 6: an array, nearly always of strings and numbers
    | / ( [^\#/%\[\]()<>{}\s]*+ ) (?!\#)                 # 7: a name
    | ( <<(?: [^<>()] | \([^()\\]*(?:\\.[^()\\]*)*\) | <[0-9A-Fa-f\s]*> )*>> )  # 8: properties of marked content
    | ( \Z ) )""",  # noqa: E501
    re.VERBOSE | re.DOTALL,
)
_WORD = re.compile(rb"(?<![^\s\])>}])[A-Za-z'\"][A-Za-z0*]{0,2}(?![^\s\[(</])")
"""An operator, or a short word of a text."""
MAX_OPERATORS = 1_000_000
"""Of one page. The compressed file may have a thousandth of their bytes."""
(
    _NUMBER,
    _OPERATOR,
    _STRING,
    _HEXADECIMAL,
    _ARRAY,
    _ARRAY_END,
    _NAME,
    _PROPERTIES,
    _END,
) = range(1, 10)
_ESCAPED = re.compile(rb"\\([0-7]{1,3}|\r\n|.)", re.DOTALL)
_UNSUPPORTED = {b"BI", b"ID", b"EI", b"true", b"false"}


_KINDS = {LTLine: "line", LTRect: "rect", LTCurve: "curve", LTImage: "image"}
Box = tuple[float, float, float, float]
"""Left, top, right and bottom, in points."""
Glyph = tuple[str, bool, float]
"""Its text, whether it is bold, and its width."""
Shapes = Mapping[str, Sequence[Mapping[str, Any]]]
"""pdfplumber's objects of a page by kind."""


class Paint(IntEnum):
    """The painting mode of a character."""

    VISIBLE = 0
    WHITE = 1
    NONE = 2
    """The invisible mode of a text layer: text recognised in the picture of a page."""


@dataclass(slots=True)
class Placed:
    """Text at its place on the page, in points; ``top`` and ``bottom`` from the page's
    top.
    """

    text: str
    x0: float
    x1: float
    top: float
    bottom: float
    size: float
    bold: bool


@dataclass(slots=True)
class Char(Placed):
    """A character. ``turn``: the quarter turns clockwise that make it upright: 0 for
    upright text, 1 if it runs up the page, 2 if it is upside down, 3 if it runs down.
    """

    turn: int
    paint: Paint = Paint.VISIBLE


class OpenedFile(Protocol):
    """What a page needs to know of its file."""

    doc: PDFDocument
    laparams: None


class Loss(StrEnum):
    """Why letters of a page are in none of its words."""

    HIDDEN = "cannot be seen"
    SLANTED = "are set at an angle, as a watermark is"
    NO_UNICODE = "have no Unicode value"
    DOUBLED = "are printed twice"


def pages_of(pdf: OpenedFile) -> "Iterator[DrawnPage]":
    """Yield the pages, numbered from 1. pdfminer's errors about damage are passed
    on.
    """
    fonts = _MendedFonts()
    for number, page in enumerate(PDFPage.create_pages(pdf.doc), start=1):
        _mend_boxes(page)
        yield DrawnPage(pdf, page, number, fonts)


def _mend_boxes(page: PDFPage) -> None:
    """Order the corners of the page's boxes, which may be any two (ISO 32000-1, 7.9.5).
    A page whose box or rotation cannot be understood is an upright letter.
    """
    whole = _box_of(page.attrs.get("MediaBox")) or _LETTER
    visible = _box_of(page.attrs.get("CropBox")) or whole
    page.mediabox, page.cropbox = whole, visible
    page.rotate = page.rotate if page.rotate % 90 == 0 else 0
    page.attrs |= {
        "MediaBox": list(whole),
        "CropBox": list(visible),
        "Rotate": page.rotate,
    }
    for name in ("TrimBox", "BleedBox", "ArtBox"):
        page.attrs.pop(name, None)


_LETTER: Box = (0.0, 0.0, 612.0, 792.0)


def _box_of(stated: object) -> Box | None:
    corners = resolve_all(stated)
    if not isinstance(corners, list | tuple) or len(corners) != 4:
        return None
    if not all(isinstance(corner, int | float) for corner in corners):
        return None
    x0, x1 = sorted((float(corners[0]), float(corners[2])))
    y0, y1 = sorted((float(corners[1]), float(corners[3])))
    if x1 - x0 >= 1 and y1 - y0 >= 1:
        return (x0, y0, x1, y1)
    return None


class DrawnPage(Page):
    """pdfplumber's page with `letters` instead of its ``chars``. `close` releases
    everything that was read.
    """

    def __init__(
        self, pdf: OpenedFile, page: PDFPage, number: int, fonts: PDFResourceManager
    ) -> None:
        super().__init__(cast("PDF", pdf), page, number)
        self.letters: list[Char] = []
        self.losses: dict[Loss, list[str]] = {loss: [] for loss in Loss}
        """The letters that are in no word."""
        self._fonts = fonts

    def draw(self) -> None:
        """Interpret the page: it has letters and shapes from now on."""
        _ = self.objects

    @property
    def layout(self) -> LTPage:
        """Interpret the page. pdfplumber asks once, and makes its objects of the shapes
        in it.
        """
        device = _Device(self._fonts, self)
        try:
            ContentInterpreter(self._fonts, device).process_page(self.page_obj)
        except UnusualError:
            device = _Device(self._fonts, self)
            PDFPageInterpreter(self._fonts, device).process_page(self.page_obj)
        self.letters = device.letters
        self.losses[Loss.SLANTED] = device.slanted
        self._shaded = device.shaded
        return device.get_result()

    def process_object(self, obj: LTItem) -> dict[str, Any]:
        """Return a shape with the attributes that pdfplumber makes edges and tables
        of.
        """
        assert isinstance(obj, LTComponent)
        left, above = self.mediabox[:2]
        top = (self.height - obj.y1) + above
        shape = {
            "object_type": _KINDS[type(obj)],
            "x0": obj.x0 + left,
            "x1": obj.x1 + left,
            "y0": obj.y0,
            "y1": obj.y1,
        }
        shape |= {"top": top, "doctop": top, "bottom": (self.height - obj.y0) + above}
        shape |= {"width": obj.width, "height": obj.height}
        if isinstance(obj, LTCurve):
            shape |= {
                "pts": list(map(self.point2coord, obj.pts)),
                "fill": obj.fill,
                "color": obj.non_stroking_color,
            }
        return shape

    def parse_objects(self) -> dict[str, list[dict[str, Any]]]:
        shapes = super().parse_objects()
        if not self._shaded:
            visible = visible_characters(self.letters, shapes, self.bbox, self.cropbox)
            if len(visible) < len(self.letters):
                shown = set(map(id, visible))
                self.losses[Loss.HIDDEN] = [
                    char.text for char in self.letters if id(char) not in shown
                ]
            self.letters = visible
        return shapes

    def turned(self, turn: int) -> "DrawnPage":
        """Return the page after that many quarter turns clockwise, with the shapes and
        all letters at their new places. The losses are shared.
        """
        if not turn:
            return self
        _, _, width, height = map(float, self.bbox)
        page = copy(self)
        page.flush_cache()
        page._objects = {
            kind: [_turned_shape(shape, turn, width, height) for shape in shapes]
            for kind, shapes in self.objects.items()
        }
        page.letters = []
        for char in self.letters:
            x0, top, x1, bottom = turned_box(
                (char.x0, char.top, char.x1, char.bottom), turn, width, height
            )
            left = (char.turn - turn) % 4
            page.letters.append(
                Char(char.text, x0, x1, top, bottom, char.size, char.bold, left)
            )
        if turn % 2:
            page.bbox = (0.0, 0.0, height, width)
        return page

    def close(self) -> None:
        super().close()
        self.letters = []


def turned_box(box: Box, turn: int, width: float, height: float) -> Box:
    """Return the place of a box on a page of this size after quarter turns
    clockwise.
    """
    x0, top, x1, bottom = box
    if turn == 1:
        return height - bottom, x0, height - top, x1
    if turn == 2:
        return width - x1, height - bottom, width - x0, height - top
    if turn == 3:
        return top, width - x1, bottom, width - x0
    return box


def _turned_shape(
    shape: dict[str, Any], turn: int, width: float, height: float
) -> dict[str, Any]:
    box = (shape["x0"], shape["top"], shape["x1"], shape["bottom"])
    x0, top, x1, bottom = turned_box(box, turn, width, height)
    above = width if turn % 2 else height
    turned = shape | {
        "x0": x0,
        "x1": x1,
        "top": top,
        "doctop": top,
        "bottom": bottom,
        "y0": above - bottom,
        "y1": above - top,
        "width": x1 - x0,
        "height": bottom - top,
    }
    if "pts" in shape:
        points = (
            turned_box((x, y, x, y), turn, width, height) for x, y in shape["pts"]
        )
        turned["pts"] = [(x, y) for x, y, _, _ in points]
    return turned


class UnusualError(Exception):
    """The page needs pdfminer's own lexer: it has pictures within the operators, or
    damage.
    """


class ContentInterpreter(PDFPageInterpreter):
    """pdfminer's interpreter. Raises `UnusualError` for a page that it cannot read to
    its end.
    """

    def execute(self, streams: Sequence[object]) -> None:
        """Run the drawing operators; as in pdfminer, a form that contains itself is not
        drawn again.
        """
        content = b"\n".join(stream.get_data() for stream in self._new(streams))
        _require_few_operators(content)
        array: list[Any] | None = None
        position = 0
        match = _TOKEN.match
        end = len(content)
        while position < end:
            token = match(content, position)
            if token is None:
                raise UnusualError
            kind = token.lastindex or _END
            position = token.end()
            if kind in _OPERANDS:
                operands = self.argstack if array is None else array
                operands.append(_OPERANDS[kind](token[kind]))
            elif kind == _OPERATOR and array is None:
                self._run(token[_OPERATOR])
            elif kind == _ARRAY and array is None:
                array = []
            elif kind == _ARRAY_END and array is not None:
                self.argstack.append(array)
                array = None
            elif kind != _END:
                raise UnusualError

    def _new(self, streams: Sequence[object]) -> list[PDFStream]:
        """Return the streams that are not drawn already, and remember them."""
        drawn = {None, *self.parent_stream_ids}
        new = [
            stream for stream in map(stream_value, streams) if stream.objid not in drawn
        ]
        self.stream_ids = {stream.objid for stream in new if stream.objid is not None}
        return new

    def _run(self, operator: bytes) -> None:
        if operator in _UNSUPPORTED:
            raise UnusualError
        if operator == b"sh" and isinstance(self.device, _Device):
            self.device.shaded = True
        method, count = _method(operator)
        if method is None:
            return
        operands = self.pop(count)
        if len(operands) == count:
            method(self, *operands)


def _require_few_operators(content: bytes) -> None:
    """Raise LoadError for a page of too many operators, before any is run: some take
    memory.
    """
    # An operator and a blank are two bytes.
    if len(content) <= 2 * MAX_OPERATORS:
        return
    operators = sum(1 for _ in _WORD.finditer(content))
    if operators > MAX_OPERATORS:
        raise LoadError(
            f"A page of this PDF has more than {MAX_OPERATORS:,} drawing operators."
        )


@lru_cache(maxsize=256)
def _method(operator: bytes) -> tuple[Callable[..., None] | None, int]:
    """Return pdfminer's method for the operator, if any, and its number of operands."""
    name = (
        operator.decode("latin-1")
        .replace("*", "_a")
        .replace('"', "_w")
        .replace("'", "_q")
    )
    method = getattr(PDFPageInterpreter, f"do_{name}", None)
    return method, method.__code__.co_argcount - 1 if method else 0


def _unescaped(match: re.Match[bytes]) -> bytes:
    code = int(match[1], 8) if match[1][0] in b"01234567" else ESC_STRING.get(match[1])
    if code is None:
        return b""
    return bytes((code,))


def _name(text: bytes) -> PSLiteral:
    try:
        return LIT(text.decode())
    except UnicodeDecodeError:
        return LIT(text)


_OPERANDS: dict[int, Callable[[bytes], PDFStackT]] = {
    _NUMBER: lambda text: float(text) if b"." in text else int(text),
    _STRING: lambda text: _ESCAPED.sub(_unescaped, text) if b"\\" in text else text,
    _HEXADECIMAL: lambda text: bytes.fromhex(text.decode()),
    _NAME: _name,
    _PROPERTIES: lambda _: {},  # they are never used
}


UNPAINTED_MODES = {3, 7}
"""Render modes of text that only a program reads (ISO 32000-1, table 106)."""
_COLOR_SPACES = {
    "DeviceGray",
    "CalGray",
    "DeviceRGB",
    "CalRGB",
    "DeviceCMYK",
    "ICCBased",
}
"""In others, 1 may be the full ink of a printer's own colour."""


class _Device(PDFPageAggregator):
    """Takes characters from pdfminer's interpreter; shapes go to the layout, as
    pdfminer does it.
    """

    # whether something is filled with a gradient, which pdfminer does not report
    shaded = False

    def __init__(self, fonts: PDFResourceManager, page: DrawnPage) -> None:
        super().__init__(fonts, pageno=page.page_number)
        self.letters: list[Char] = []
        self.slanted: list[str] = []
        self._left, self._above = page.mediabox[:2]
        self._height = page.height
        self._glyphs: dict[PDFFont, dict[int, Glyph]] = defaultdict(dict)
        self._paint = Paint.VISIBLE

    def render_string(
        self,
        textstate: PDFTextState,
        seq: PDFTextSeq,
        ncs: PDFColorSpace,
        graphicstate: PDFGraphicState,
    ) -> None:
        if textstate.render in UNPAINTED_MODES:
            self._paint = Paint.NONE
        else:
            white = ncs.name in _COLOR_SPACES and is_white(graphicstate.ncolor)
            self._paint = Paint.WHITE if white else Paint.VISIBLE
        super().render_string(textstate, seq, ncs, graphicstate)

    def render_string_horizontal(
        self,
        seq: PDFTextSeq,
        matrix: Matrix,
        pos: Point,
        font: PDFFont,
        fontsize: float,
        scaling: float,
        charspace: float,
        wordspace: float,
        rise: float,
        dxscale: float,
        ncs: PDFColorSpace,
        graphicstate: PDFGraphicState,
    ) -> Point:
        """Place the glyphs of a string where `LTChar` would, and return where the next
        string begins. Upright letters have all their heights in common.
        """
        a, b, c, d, e, f = matrix
        is_upright = not (b or c) and a > 0 and d > 0
        if not is_upright or scaling <= 0 or fontsize < 0:
            return super().render_string_horizontal(
                seq,
                matrix,
                pos,
                font,
                fontsize,
                scaling,
                charspace,
                wordspace,
                rise,
                dxscale,
                ncs,
                graphicstate,
            )
        x, y = pos
        low = font.get_descent() * fontsize + rise
        baseline = y * d + f
        y0 = d * low + baseline
        y1 = d * (low + fontsize) + baseline
        size = y1 - y0
        top = (self._height - y1) + self._above
        bottom = (self._height - y0) + self._above
        paint = self._paint
        left = self._left
        glyphs = self._glyphs[font]
        add = self.letters.append
        space = 0.0
        for part in seq:
            if not isinstance(part, bytes):
                x -= part * dxscale
                space = charspace
                continue
            for cid in font.decode(part):
                x += space
                glyph = glyphs.get(cid) or self._glyph(font, cid)
                text, bold, width = glyph
                advance = width * fontsize * scaling
                x0 = x * a + e
                x1 = a * advance + x0 + left
                add(Char(text, x0 + left, x1, top, bottom, size, bold, 0, paint))
                x += advance
                if cid == 32:
                    x += wordspace
                space = charspace
        return x, y

    def _glyph(self, font: PDFFont, cid: int) -> Glyph:
        try:
            text = font.to_unichr(cid)
        except PDFUnicodeNotDefined:
            text = self.handle_undefined_char(font, cid)
        bold = _BOLD.search(str(font.fontname)) is not None
        glyph = (text, bold, font.char_width(cid))
        self._glyphs[font][cid] = glyph
        return glyph

    def render_char(
        self,
        matrix: Matrix,
        font: PDFFont,
        fontsize: float,
        scaling: float,
        rise: float,
        cid: int,
        ncs: PDFColorSpace,
        graphicstate: PDFGraphicState,
    ) -> float:
        """Place a glyph that is turned, mirrored or of a vertical font, and return the
        way to the next one.
        """
        text, bold, width = self._glyphs[font].get(cid) or self._glyph(font, cid)
        a, b = matrix[:2]
        # A smaller angle: the page was scanned askew, or the text runs along an edge.
        if b and min(abs(a), abs(b)) > 0.1 * max(abs(a), abs(b)):
            self.slanted.append(text)
            return width * fontsize * scaling
        at = LTChar(
            matrix,
            font,
            fontsize,
            scaling,
            rise,
            text,
            width,
            font.char_disp(cid),
            ncs,
            graphicstate,
        )
        forward = -1 if fontsize * scaling < 0 else 1
        turn = 0
        size = at.size
        if abs(b) > abs(a):
            turn = 1 if b * forward > 0 else 3
            size = at.width
        elif a * forward < 0:
            turn = 2
        self.letters.append(
            Char(
                text,
                at.x0 + self._left,
                at.x1 + self._left,
                self._height - at.y1 + self._above,
                self._height - at.y0 + self._above,
                size,
                bold,
                turn,
                self._paint,
            )
        )
        return at.adv


class _MendedFonts(PDFResourceManager):
    """pdfminer's font cache. The name of a ligature's glyph (``fi``, ``T_h``) overrides
    a map that has lost letters.
    """

    def get_font(self, objid: object, spec: Mapping[str, object]) -> PDFFont:
        font = super().get_font(objid, spec)
        letters = getattr(getattr(font, "unicode_map", None), "cid2unichr", None)
        encoding = resolve1(spec.get("Encoding")) if letters else None
        differences: Any = (
            resolve1(encoding.get("Differences"))
            if isinstance(encoding, dict)
            else None
        )
        code = 0
        for entry in differences if isinstance(differences, list) else []:
            if isinstance(entry, int):
                code = entry
            elif isinstance(entry, PSLiteral):
                try:
                    text = unicodedata.normalize("NFKC", name2unicode(str(entry.name)))
                except (KeyError, ValueError):  # a name of the font maker's own
                    text = ""
                if (
                    letters
                    and len(text) > 1
                    and letters.get(code, text[-1]) == text[-1]
                ):
                    letters[code] = text
                code += 1
        return font


_MIN_WHITE = read_measure("drawing.white")
_CELL = read_measure("drawing.cell")
_MIN_SIZE, _READABLE_SIZE = 1.0, 4.0
"""Points. Letters below the first are hidden, unless most of the page is below the
second: its unit is another.
"""


def visible_characters(
    chars: list[Char], shapes: Shapes, page: Box, crop: Box
) -> list[Char]:
    """Return the characters that are on the page, of a size, painted, and not white on
    white. ``crop``: the visible part of the page; it is ignored if nothing is in it, as
    in a damaged file.
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
    return [
        char
        for char in chars
        if char.x1 > x0 and char.x0 < x1 and char.bottom > top and char.top < bottom
    ]


def is_white(color: object) -> bool:
    """Return whether the components of a grey, RGB or CMYK colour, from 0 to 1, are
    nearly white.
    """
    parts = color if isinstance(color, tuple | list) else (color,)
    if not all(isinstance(part, int | float) for part in parts):
        return False  # a pattern
    return (
        max(parts, default=1) <= 1 - _MIN_WHITE
        if len(parts) == 4
        else min(parts, default=0) >= _MIN_WHITE
    )


class _PaintedPlaces:
    """The places of a page that are not plain white paper."""

    def __init__(self, shapes: Shapes, page: Box) -> None:
        import numpy as np  # few pages need it

        self._left, _, right, self._bottom = page
        rows = int((page[3] - page[1]) / _CELL) + 1
        columns = int((right - self._left) / _CELL) + 1
        # The places of a larger page would take too much memory.
        measured = rows * columns <= 4_000_000
        self._colored = np.full((rows, columns) if measured else (1, 1), not measured)
        self._pictured = self._colored.copy()
        for shape in chain.from_iterable(shapes.values()) if measured else ():
            sides = (
                shape["x0"] - self._left,
                shape["x1"] - self._left,
                shape["y0"],
                shape["y1"],
            )
            x0, x1, y0, y1 = (max(0, int(at / _CELL)) for at in sides)
            if shape["object_type"] == "image":
                self._pictured[y0 : y1 + 1, x0 : x1 + 1] = True
            elif shape.get("fill") and not (
                isinstance(shape["color"], tuple) and is_white(shape["color"])
            ):
                self._colored[y0 : y1 + 1, x0 : x1 + 1] = True

    def has_background(self, char: Char) -> bool:
        """Return whether the character stands on a picture, or is white on a coloured
        shape.
        """
        rows, columns = self._colored.shape
        x = min(
            columns - 1, max(0, int(((char.x0 + char.x1) / 2 - self._left) / _CELL))
        )
        y = min(
            rows - 1, max(0, int((self._bottom - (char.top + char.bottom) / 2) / _CELL))
        )
        return bool(
            self._pictured[y, x] or (char.paint == Paint.WHITE and self._colored[y, x])
        )
