"""Small PDFs, written by hand: what stands where on a page is what a test says. y runs
down from the top, in points.
"""

import hashlib
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field as with_default
from pathlib import Path

from pdfminer.arcfour import Arcfour

WIDTH, HEIGHT = 612, 792
BODY = 10
_PADDING = bytes.fromhex(
    "28bf4e5e4e758a4164004e56fffa01082e2e00b6d0683e802f0ca9fe6453697a"
)


@dataclass
class Page:
    """Drawing operators, added one by one."""

    ops: list[str] = with_default(default_factory=list)
    picture: bool = False
    fields: list[str] = with_default(default_factory=list)

    def text(
        self, x: float, y: float, text: str, *, size: float = BODY, bold: bool = False
    ) -> "Page":
        font = "F2" if bold else "F1"
        self.ops.append(
            f"BT /{font} {size} Tf {x} {HEIGHT - y} Td "
            f"<{text.encode('cp1252').hex()}> Tj ET"
        )
        return self

    def lines(
        self,
        x: float,
        y: float,
        lines: Sequence[str],
        *,
        size: float = BODY,
        leading: float = 12,
    ) -> "Page":
        """Lines below each other; ``y`` is the first baseline."""
        for at, line in enumerate(lines):
            self.text(x, y + at * leading, line, size=size)
        return self

    def row(
        self,
        y: float,
        cells: Sequence[tuple[float, str]],
        *,
        size: float = BODY,
        bold: bool = False,
    ) -> "Page":
        for x, cell in cells:
            self.text(x, y, cell, size=size, bold=bold)
        return self

    def rule(self, x0: float, y0: float, x1: float, y1: float) -> "Page":
        self.ops.append(f"{x0} {HEIGHT - y0} m {x1} {HEIGHT - y1} l S")
        return self

    def grid(self, xs: Sequence[float], ys: Sequence[float]) -> "Page":
        """The borders of a table: columns between ``xs``, rows between ``ys``."""
        for y in ys:
            self.rule(xs[0], y, xs[-1], y)
        for x in xs:
            self.rule(x, ys[0], x, ys[-1])
        return self

    def sideways(
        self, x: float, y: float, text: str, *, turn: int = 1, bold: bool = False
    ) -> "Page":
        """Text that runs up the page; upside down with 2 quarter turns, down the page
        with 3.
        """
        matrix = {1: "0 1 -1 0", 2: "-1 0 0 -1", 3: "0 -1 1 0"}[turn]
        font = "F2" if bold else "F1"
        self.ops.append(
            f"BT /{font} {BODY} Tf {matrix} {x} {HEIGHT - y} Tm "
            f"<{text.encode('cp1252').hex()}> Tj ET"
        )
        return self

    def field(self, x: float, y: float, value: str, *, flags: int = 4) -> "Page":
        """A form's field with its value; ``y`` is its upper edge."""
        box = f"/Rect [{x} {HEIGHT - y - 16} {x + 200} {HEIGHT - y}]"
        self.fields.append(
            f"<< /Type /Annot /Subtype /Widget /FT /Tx /V ({value}) /F {flags} {box} >>"
        )
        return self

    def scan(self) -> "Page":
        """A picture over the whole page."""
        self.ops.append(f"q {WIDTH} 0 0 {HEIGHT} 0 0 cm /I1 Do Q")
        self.picture = True
        return self


def prose(words: str, lines: int, *, each: int = 40) -> list[str]:
    """``lines`` lines of about ``each`` characters, numbered so that their order
    shows.
    """
    return [
        f"{words} {at:02d} {'lorem ipsum dolor sit amet ' * 4}"[:each].strip()
        for at in range(lines)
    ]


def write(
    path: Path,
    pages: Sequence[Page],
    *,
    title: str = "",
    user: str | None = None,
    owner: str = "",
) -> Path:
    path.write_bytes(content_of(pages, title=title, user=user, owner=owner))
    return path


def content_of(
    pages: Sequence[Page], *, title: str = "", user: str | None = None, owner: str = ""
) -> bytes:
    """``user``: the password to open the file with; "" = protected against changes
    only, by ``owner``.
    """
    objects = _objects(pages, title)
    encryption = b""
    if user is not None:
        key, encryption = _encryption(user, owner)
        objects = {
            number: _encrypted(number, body, key) for number, body in objects.items()
        }
    return _file(objects, encryption)


Object = tuple[bytes, bytes | None]  # its dictionary, and its stream


def _objects(pages: Sequence[Page], title: str) -> dict[int, Object]:
    font = "<< /Type /Font /Subtype /Type1 /BaseFont /{} /Encoding /WinAnsiEncoding >>"
    kids = " ".join(f"{10 + 2 * at} 0 R" for at in range(len(pages)))
    picture = (
        b"<< /Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceGray "
        b"/BitsPerComponent 8"
    )
    objects: dict[int, Object] = {
        1: (b"<< /Type /Catalog /Pages 2 0 R >>", None),
        2: (f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(), None),
        3: (font.format("Helvetica").encode(), None),
        4: (font.format("Helvetica-Bold").encode(), None),
        5: (picture, b"\x80"),
        6: (title.encode("cp1252"), None),
    }
    for at, page in enumerate(pages):
        resources = (
            "/Font << /F1 3 0 R /F2 4 0 R >>"
            + " /XObject << /I1 5 0 R >>" * page.picture
        )
        box = (
            f"/MediaBox [0 0 {WIDTH} {HEIGHT}] /Annots [{' '.join(page.fields)}] "
            f"/Contents {11 + 2 * at} 0 R"
        )
        objects[10 + 2 * at] = (
            f"<< /Type /Page /Parent 2 0 R {box} /Resources << {resources} >> >>".encode(),  # noqa: E501
            None,
        )
        objects[11 + 2 * at] = (
            b"<< /Filter /FlateDecode",
            zlib.compress("\n".join(page.ops).encode()),
        )
    return objects


def _file(objects: dict[int, Object], encryption: bytes) -> bytes:
    out = bytearray(b"%PDF-1.4\n")
    places = {}
    for number, (body, stream) in sorted(objects.items()):
        places[number] = len(out)
        out += b"%d 0 obj\n" % number
        out += b"<< /Title <" + body.hex().encode() + b"> >>" if number == 6 else body
        if stream is not None:
            out += b" /Length %d >>\nstream\n" % len(stream) + stream + b"\nendstream"
        out += b"\nendobj\n"
    start = len(out)
    size = max(objects) + 1
    out += b"xref\n0 %d\n" % size
    for number in range(size):
        out += (
            b"%010d 00000 n \n" % places[number]
            if number in places
            else b"0000000000 65535 f \n"
        )
    out += b"trailer\n<< /Size %d /Root 1 0 R /Info 6 0 R %s >>\n" % (size, encryption)
    return bytes(out + b"startxref\n%d\n%%%%EOF\n" % start)


def _encryption(user: str, owner: str) -> tuple[bytes, bytes]:
    """The 40-bit key of the standard handler (revision 2), and what the trailer says of
    it.
    """
    padded = (user.encode() + _PADDING)[:32]
    owner_key = hashlib.md5((owner.encode() + _PADDING)[:32]).digest()[:5]
    o = _rc4(owner_key, padded)
    file_id = b"0123456789abcdef"
    key = hashlib.md5(
        padded + o + (-4 & 0xFFFFFFFF).to_bytes(4, "little") + file_id
    ).digest()[:5]
    u = _rc4(key, _PADDING)
    entry = (
        f"/Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <{o.hex()}> /U <{u.hex()}> "
        ">> "
    )
    return key, f"{entry}/ID [<{file_id.hex()}> <{file_id.hex()}>]".encode()


def _encrypted(number: int, body: Object, key: bytes) -> Object:
    object_key = hashlib.md5(key + number.to_bytes(3, "little") + b"\0\0").digest()[:10]
    text, stream = body
    return (_rc4(object_key, text) if number == 6 else text), (
        None if stream is None else _rc4(object_key, stream)
    )


def _rc4(key: bytes, data: bytes) -> bytes:
    return Arcfour(key).encrypt(data)
