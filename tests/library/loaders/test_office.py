"""Archives made to harm are refused before a library opens them; damaged ones end in a
LoadError.
"""

import random
import re
import stat
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from chatbot.domain.errors import LoadError
from chatbot.library.loaders import FileLoader
from chatbot.library.loaders.docx import DocxLoader
from chatbot.library.loaders.office import MAX_ENTRIES, check_archive
from chatbot.library.loaders.pptx import PptxLoader
from chatbot.library.loaders.xlsx import XlsxLoader
from tests.library.loaders.damage import MAIN_PART, unzipped, with_part, zipped
from tests.library.loaders.samples import good_files

LOADERS: dict[str, FileLoader] = {
    "docx": DocxLoader(),
    "xlsx": XlsxLoader(),
    "pptx": PptxLoader(),
}


@pytest.fixture(scope="module")
def samples() -> dict[str, bytes]:
    files = good_files()
    return {kind: files[f"a.{kind}"] for kind in LOADERS}


def refusal(path: Path) -> str:
    with pytest.raises(LoadError) as raised:
        check_archive(path)
    assert str(path.parent) not in raised.value.message
    return raised.value.message


@pytest.mark.parametrize(
    "name",
    ["/etc/passwd", "../up.xml", "word/../../up.xml", "..\\up.xml", "C:\\up.xml"],
)
def test_a_part_that_points_outside_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.docx"
    with zipfile.ZipFile(path, "w") as archive:
        entry = zipfile.ZipInfo()
        entry.filename = name
        archive.writestr(entry, "x")
    assert refusal(path).startswith("a.docx has a part that points outside of the file")


def test_links_passwords_and_foreign_packings_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.docx"
    entry = zipfile.ZipInfo("word/link")
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(entry, "/etc/passwd")
    assert "is a link" in refusal(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("word/document.xml", "x")
    assert "is not read" in refusal(path)
    content = bytearray(zipped({"a.xml": b"x"}))
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.find(mark) + offset] |= 1
    path.write_bytes(content)
    assert "password" in refusal(path)


def test_too_many_parts_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.docx"
    path.write_bytes(
        zipped({f"{number}.txt": b"" for number in range(MAX_ENTRIES + 1)})
    )
    assert "has 10,001 parts; up to 10,000 are read" in refusal(path)


def repeated(path: Path, name: str, block: bytes, times: int) -> None:
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open(name, "w", force_zip64=True) as part,
    ):
        for _ in range(times):
            part.write(block)


def test_a_bomb_is_refused_without_being_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "a.docx"
    repeated(path, "word/media/image1.png", bytes(1024**2), 100)
    tracemalloc.start()
    message = refusal(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "unpacks to more than 200 times its size" in message
    assert peak < 5 * 1024**2


def test_a_bomb_that_lies_about_its_size_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.docx"
    repeated(path, "word/document.xml", bytes(1024**2), 30)
    content = bytearray(path.read_bytes())
    at = content.find(b"PK\x01\x02")
    content[at + 24 : at + 28] = (100).to_bytes(
        4, "little"
    )  # the size in the directory
    path.write_bytes(content)
    assert refusal(path).startswith("a.docx is damaged")


def test_many_small_parts_count_together(tmp_path: Path) -> None:
    path = tmp_path / "a.docx"
    path.write_bytes(
        zipped({f"word/media/{number}.png": bytes(100_000) for number in range(200)})
    )
    assert "unpacks to more than" in refusal(path)


def test_a_part_of_nothing_but_tags_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.docx"
    noise = random.Random(1).randbytes(300_000)  # so that the ratio is an ordinary one
    path.write_bytes(
        zipped({"word/document.xml": b"<a/>" * 5_000_001, "word/media/a.png": noise})
    )
    assert "too large to be read at once" in refusal(path)


LAUGHS = b"".join(
    b'<!ENTITY l%d "%s">' % (level, b"&l%d;" % (level - 1) * 10 if level else b"lol")
    for level in range(10)
)


def with_doctype(part: bytes, doctype: bytes) -> bytes:
    """The part with a document type, and its first text (or attribute) made of the
    entity ``l9``.
    """
    head = part.index(b"?>") + 2 if part.startswith(b"<?xml") else 0
    text = re.sub(rb">(?:People|Country)<", b">&l9;<", part[head:], count=1)
    assert text != part[head:]
    return part[:head] + doctype + text


@pytest.mark.parametrize("kind", LOADERS)
@pytest.mark.parametrize(
    "doctype",
    [
        b"<!DOCTYPE x [" + LAUGHS + b"]>",
        b'<!DOCTYPE x [<!ENTITY l9 SYSTEM "file:///etc/passwd">]>',
    ],
    ids=["billion laughs", "a file of the server"],
)
def test_entities_are_refused(
    tmp_path: Path, samples: dict[str, bytes], kind: str, doctype: bytes
) -> None:
    name = MAIN_PART[f".{kind}"]
    path = tmp_path / f"a.{kind}"
    path.write_bytes(
        with_part(
            samples[kind], name, with_doctype(unzipped(samples[kind])[name], doctype)
        )
    )
    with pytest.raises(LoadError, match="declares a document type"):
        LOADERS[kind].load(path)


def test_a_doctype_across_blocks_or_in_utf_16_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "a.docx"
    for part in (
        b" " * (256 * 1024 - 5) + b"<!DOCTYPE x>",
        "<!DOCTYPE x>".encode("utf-16"),
    ):
        path.write_bytes(zipped({"word/document.xml": part}))
        assert "declares a document type" in refusal(path)


@pytest.mark.parametrize("kind", LOADERS)
def test_another_format_is_named(
    tmp_path: Path, samples: dict[str, bytes], kind: str
) -> None:
    other = next(content for name, content in samples.items() if name != kind)
    (tmp_path / f"a.{kind}").write_bytes(other)
    with pytest.raises(
        LoadError, match=rf"a\.{kind} is damaged or is not an? \w+ \w+ \(\.{kind}\)"
    ):
        LOADERS[kind].load(tmp_path / f"a.{kind}")


def test_a_strict_file_is_read(tmp_path: Path, samples: dict[str, bytes]) -> None:
    names = rb"http://schemas\.openxmlformats\.org/(officeDocument|wordprocessingml|drawingml)/2006/"
    parts = {
        name: re.sub(names, rb"http://purl.oclc.org/ooxml/\1/", part)
        if name.endswith((".xml", ".rels"))
        else part
        for name, part in unzipped(samples["docx"]).items()
    }
    (tmp_path / "strict.docx").write_bytes(zipped(parts))
    assert (
        "Many people live in Kenya."
        in DocxLoader().load(tmp_path / "strict.docx").sections[-1].text
    )
