"""What a file is, by content; and that a name that says otherwise is an error that
helps.
"""

import io
import zipfile
from pathlib import Path

import pytest

from chatbot.domain.errors import LoadError
from chatbot.library.loaders import HEAD_BYTES, detect, loader_for
from chatbot.library.loaders.ocr import INSTALLED
from tests.data import cases
from tests.library.helpers import written


def archive(*names: str, content: bytes = b"<x/>") -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name in names:
            file.writestr(name, content)
    return buffer.getvalue()


def ole(*streams: str) -> bytes:
    """The magic, a header block and a directory with these streams."""
    entries = b"".join(
        name.encode("utf-16-le").ljust(128, b"\0") for name in ("Root Entry", *streams)
    )
    return b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".ljust(512, b"\xff") + entries


PDF = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n"
DOCX, XLSX, PPTX = (
    archive("[Content_Types].xml", f"{part}/{main}.xml")
    for part, main in (
        ("word", "document"),
        ("xl", "workbook"),
        ("ppt", "presentation"),
    )
)
HTML = b"<!DOCTYPE html><html><body>Hello</body></html>"
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"


MADE = {"PDF": PDF, "DOCX": DOCX, "XLSX": XLSX, "PPTX": PPTX, "HTML": HTML, "PNG": PNG}


def rows(table: str) -> dict[str, tuple[str, bytes, str]]:
    """Name, content and what is expected. The content is one of `MADE`, or has a byte
    for each character.
    """
    return {
        case: (name, MADE.get(content) or content.encode("latin-1"), expected)
        for case, (name, content, expected) in cases(__file__)[table].items()
    }


BY_CONTENT = {
    **rows("by_content"),
    "pdf below a mail header": ("a.pdf", b"Content-Type: x\r\n\r\n" + PDF, "pdf"),
    "pdf behind a byte order mark": ("report", b"\xef\xbb\xbf\n" + PDF, "pdf"),
    "docx with a workbook in it": (
        "a",
        archive("word/document.xml", "word/embeddings/a.xlsx", content=XLSX),
        "docx",
    ),
    "html in utf-16": ("page", "<html>é".encode("utf-16"), "html"),
    "long json without a name": (
        "data",
        b'[{"a": "' + b"x" * HEAD_BYTES + b'"}]',
        "json",
    ),
    "a document about encryption": (
        "a.doc",
        ole("WordDocument")
        + b"x"
        + "EncryptedPackage".encode("utf-16-le").ljust(64, b"\0"),
        "legacy",
    ),
    "text without a name": ("notes", "Über".encode(), "text"),
}


@pytest.mark.parametrize(
    ("name", "content", "expected"), BY_CONTENT.values(), ids=BY_CONTENT
)
def test_the_content_decides(
    tmp_path: Path, name: str, content: bytes, expected: str
) -> None:
    assert detect(written(tmp_path, content, name)) == expected


REFUSED = {
    **rows("refused"),
    "unknown bytes": ("a.bin", bytes(range(32)), "a.bin is a binary file"),
    "zip": (
        "a.zip",
        archive("a.txt"),
        "a.zip is a ZIP archive, not a document. Unpack it",
    ),
    "zip called docx": (
        "a.docx",
        archive("a.txt"),
        "a.docx is a ZIP archive, not a document.",
    ),
    "empty zip": ("a.docx", archive(), "a.docx is a ZIP archive, not a document."),
    "cut docx": (
        "a.docx",
        DOCX[:-30],
        "a.docx is damaged or incomplete: its end is missing.",
    ),
    "encrypted": (
        "a.docx",
        ole("EncryptionInfo", "EncryptedPackage"),
        "a.docx is protected with a password. Remove the password",
    ),
    "encrypted before anything else": (
        "a.xlsx",
        ole("Workbook", "EncryptedPackage"),
        "a.xlsx is protected with",
    ),
    "old and unknown": ("a.doc", ole(), "a.doc is an old Office file or damaged."),
}


@pytest.mark.skipif(INSTALLED, reason="the extra ocr reads images")
def test_an_image_names_the_extra_that_reads_it(tmp_path: Path) -> None:
    with pytest.raises(
        LoadError, match=r"a\.png is a PNG image, .* Install the extra ocr to read it"
    ):
        loader_for(written(tmp_path, b"\x89PNG\r\n\x1a\n\0\0", "a.png"))


@pytest.mark.parametrize(("name", "content", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_read_is_named_with_what_to_do(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    with pytest.raises(LoadError) as raised:
        loader_for(written(tmp_path, content, name))
    assert raised.value.message.startswith(message)
    assert str(tmp_path) not in raised.value.message


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match=r"^gone\.pdf cannot be read: No such file"):
        loader_for(tmp_path / "gone.pdf")
    with pytest.raises(LoadError, match=r"cannot be read: Is a directory"):
        loader_for(tmp_path)


def test_a_sniff_reads_a_bounded_part(tmp_path: Path) -> None:
    path = written(tmp_path, b"", "big.txt")
    with path.open("wb") as file:
        file.write(b"Hello\n")
        file.truncate(40 * 1024**3)  # sparse: 40 GB that are not there
    with pytest.raises(LoadError, match=r"big\.txt is a binary file"):
        detect(path)
