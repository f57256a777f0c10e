"""Damaged and hostile files, the same ones for the same seed: what strangers upload, by
accident or not.
"""

import io
import random
import re
import struct
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.library.loaders.pdfs import Page, content_of
from tests.library.loaders.samples import good_files

ZIPPED = (".docx", ".xlsx", ".pptx")
CONTAINERS = (*ZIPPED, ".pdf")
MAIN_PART = {
    ".docx": "word/document.xml",
    ".xlsx": "xl/worksheets/sheet1.xml",
    ".pptx": "ppt/slides/slide1.xml",
}
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


@dataclass(frozen=True, slots=True)
class Damaged:
    """``hopeless``: no loader may make a document of it."""

    name: str
    content: bytes
    hopeless: bool = False


def damaged_files(seed: int, count: int) -> list[Damaged]:
    """``count`` files: each planned attack once, the rest good files damaged at
    random.
    """
    dice = random.Random(seed)
    good = good_files()
    files = list(_planned(good))
    while len(files) < count:
        files.append(_damaged_at_random(dice, *dice.choice(sorted(good.items()))))
    return [
        Damaged(f"{n:03}-{f.name}", f.content, f.hopeless)
        for n, f in enumerate(files[:count])
    ]


def _planned(good: dict[str, bytes]) -> Iterator[Damaged]:
    own = {
        Path(name).suffix: content
        for name, content in good.items()
        if name.startswith("a.")
    }
    for suffix, content in own.items():
        yield Damaged(f"empty{suffix}", b"", hopeless=True)
        yield Damaged(f"zeros{suffix}", b"\0" * 5000, hopeless=True)
        yield Damaged(f"encrypted{suffix}", encrypted_office(), hopeless=True)
        yield Damaged(
            f"wrong-magic{suffix}", b"\0\1\2\3\4\5\6\7" + content[8:], hopeless=True
        )
        if suffix != ".html":
            yield Damaged(f"page{suffix}", own[".html"], hopeless=True)
        for other in CONTAINERS:
            if other != suffix:
                yield Damaged(f"really{other}{suffix}", own[other], hopeless=True)
    sealed = content_of(
        [Page().text(72, 92, "People")], user="open sesame", owner="secret"
    )
    yield Damaged("encrypted-inside.pdf", sealed, hopeless=True)
    yield from _bombs(own)
    yield from _texts(own)


def encrypted_office() -> bytes:
    names = b"".join(
        name.encode("utf-16-le").ljust(128, b"\0")
        for name in ("Root Entry", "EncryptedPackage")
    )
    return OLE.ljust(512, b"\xff") + names + bytes(range(256)) * 20


def _bombs(own: dict[str, bytes]) -> Iterator[Damaged]:
    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    laughs = f'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY l0 "ha">{laughs}]><x>&l9;</x>'
    inner = zipped({f"{n}.bin": b"\0" * 1024**2 for n in range(20)})
    for suffix in ZIPPED:
        part, content = MAIN_PART[suffix], own[suffix]
        yield Damaged(
            f"bomb{suffix}",
            with_part(content, part, b"<x>" + b"a" * 40 * 1024**2),
            hopeless=True,
        )
        yield Damaged(
            f"bomb-nested{suffix}",
            with_part(content, part, zipped({"a.zip": inner})),
            hopeless=True,
        )
        yield Damaged(
            f"bomb-picture{suffix}",
            with_part(content, "media/a.png", b"\0" * 40 * 1024**2),
            hopeless=True,
        )
        yield Damaged(
            f"bomb-overlapping{suffix}", overlapping(content, 4000), hopeless=True
        )
        yield Damaged(
            f"bomb-lying{suffix}",
            lying(with_part(content, part, b"a" * 10 * 1024**2)),
            hopeless=True,
        )
        for encoding in ("utf-8", "utf-16"):
            hostile = with_part(content, part, laughs.encode(encoding))
            yield Damaged(f"laughs-{encoding}{suffix}", hostile, hopeless=True)
        yield Damaged(
            f"deep{suffix}",
            with_part(content, part, b"<x>" * 50_000 + b"</x>" * 50_000),
            hopeless=True,
        )
        yield Damaged(
            f"gone{suffix}",
            zipped({f"{part.split('/')[0]}/other.xml": b"<x/>"}),
            hopeless=True,
        )
    yield Damaged("laughs.html", laughs.replace("DOCTYPE x", "DOCTYPE html").encode())
    yield Damaged("laughs.txt", laughs.encode())


def _texts(own: dict[str, bytes]) -> Iterator[Damaged]:
    yield Damaged(
        "deep.html", b"<!DOCTYPE html>" + b"<div>" * 20_000 + b"Many people live here."
    )
    yield Damaged("wide.html", b"<!DOCTYPE html><p>" + b"<b>x</b>" * 20_000)
    yield Damaged("deep.json", b"[" * 50_000, hopeless=True)
    yield Damaged("number.json", b'{"a": ' + b"9" * 10_000 + b"}", hopeless=True)
    yield Damaged("quote.csv", b'a,b\n"' + b"x,y\n" * 10_000, hopeless=True)
    for suffix in (".md", ".txt", ".csv", ".html"):
        yield Damaged(
            f"line{suffix}", own[suffix].replace(b"\n", b" ") + b" word" * 400_000
        )
        yield Damaged(
            f"utf-16-bare{suffix}",
            own[suffix].decode().encode("utf-16-be"),
            hopeless=True,
        )
        yield Damaged(f"utf-16{suffix}", own[suffix].decode().encode("utf-16"))
        yield Damaged(f"latin-1{suffix}", own[suffix].decode().encode("latin-1"))
        yield Damaged(
            f"mixed{suffix}",
            own[suffix] + "日本語 Größe\n".encode() + "Größe".encode("latin-1"),
        )
    yield Damaged("marks.md", b"**a `b $c " * 20_000)
    yield Damaged("headings.md", b"# a\n" * 20_000)


def _damaged_at_random(dice: random.Random, name: str, content: bytes) -> Damaged:
    suffix = Path(name).suffix
    if suffix in ZIPPED and dice.random() < 0.5:
        return Damaged(f"inner{suffix}", _damaged_inside(dice, content))
    damage = dice.choice(DAMAGES)
    return Damaged(
        f"{damage.__name__.strip('_')}{suffix}",
        damage(dice, content),
        damage is _cut and suffix in CONTAINERS,
    )


def _damaged_inside(dice: random.Random, content: bytes) -> bytes:
    """A sound archive in which a part is missing, swapped, has a wrong value, or is
    damaged at random.
    """
    parts = unzipped(content)
    names = [
        name
        for name in parts
        if name.endswith((".xml", ".rels")) and "Layout" not in name
    ]
    name, way = dice.choice(names), dice.randrange(4)
    if way == 0:
        return zipped({kept: part for kept, part in parts.items() if kept != name})
    if way == 1:
        return with_part(content, name, parts[dice.choice(names)])
    values = [
        match.span(1)
        for match in re.finditer(rb'(?:="|>)([^"<>]+)(?:"|<)', parts[name])
    ]
    if way == 2 and values:
        start, end = dice.choice(values)
        value = dice.choice([b"", b"-1", b"9" * 20, b"abc", b"1e999", b"nan"])
        return with_part(content, name, parts[name][:start] + value + parts[name][end:])
    return with_part(content, name, dice.choice(DAMAGES)(dice, parts[name]))


def _cut(dice: random.Random, content: bytes) -> bytes:
    return content[: dice.randrange(1, len(content) * 9 // 10)]


def _flipped(dice: random.Random, content: bytes) -> bytes:
    changed = bytearray(content)
    for _ in range(dice.choice((1, 5, 50))):
        changed[dice.randrange(len(changed))] ^= 1 << dice.randrange(8)
    return bytes(changed)


def _holed(dice: random.Random, content: bytes) -> bytes:
    start = dice.randrange(len(content))
    return content[:start] + content[start + dice.randrange(1, 200) :]


def _repeated(dice: random.Random, content: bytes) -> bytes:
    start = dice.randrange(len(content))
    end = start + dice.randrange(1, 500)
    return content[:end] + content[start:end] * dice.choice((1, 3)) + content[end:]


def _mixed(dice: random.Random, content: bytes) -> bytes:
    start = dice.randrange(len(content))
    return content[:start] + dice.randbytes(dice.randrange(1, 100)) + content[start:]


DAMAGES: tuple[Callable[[random.Random, bytes], bytes], ...] = (
    _cut,
    _flipped,
    _holed,
    _repeated,
    _mixed,
)


def zipped(parts: dict[str, bytes]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return content.getvalue()


def unzipped(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def with_part(content: bytes, name: str, part: bytes) -> bytes:
    """The archive with one part replaced or added."""
    return zipped(unzipped(content) | {name: part})


def overlapping(content: bytes, times: int) -> bytes:
    """A megabyte that the archive lists over and over again under new names: huge, and
    hardly packed.
    """
    packed = with_part(content, "x", b"\0" * 1024**2)
    end = packed.rfind(b"PK\5\6")
    (size, start) = struct.unpack_from("<II", packed, end + 12)
    directory = packed[start : start + size]
    entry = directory[directory.rfind(b"PK\1\2") :]
    directory += entry * times
    count = struct.unpack_from("<H", packed, end + 10)[0] + times
    return (
        packed[:start]
        + directory
        + b"PK\5\6"
        + struct.pack("<HHHHIIH", 0, 0, count, count, len(directory), start, 0)
    )


def lying(content: bytes) -> bytes:
    """The same archive, saying that each of its large parts unpacks to a hundred
    bytes.
    """
    changed = bytearray(content)
    for mark, place in ((b"PK\3\4", 22), (b"PK\1\2", 24)):
        at = changed.find(mark)
        while at >= 0:
            if struct.unpack_from("<I", changed, at + place)[0] > 1024**2:
                struct.pack_into("<I", changed, at + place, 100)
            at = changed.find(mark, at + 4)
    return bytes(changed)
