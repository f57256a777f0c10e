"""What a file is, by content; and that a name that says otherwise is an error that helps."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from chatbot.domain.errors import LoadError
from chatbot.library.loaders import HEAD_BYTES, detect, loader_for


def archive(*names: str, content: bytes = b"<x/>") -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name in names:
            file.writestr(name, content)
    return buffer.getvalue()


def ole(*streams: str) -> bytes:
    """The magic, a header block and a directory with these streams."""
    entries = b"".join(name.encode("utf-16-le").ljust(128, b"\0") for name in ("Root Entry", *streams))
    return b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".ljust(512, b"\xff") + entries


PDF = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n"
DOCX, XLSX, PPTX = (
    archive("[Content_Types].xml", f"{part}/{main}.xml")
    for part, main in (("word", "document"), ("xl", "workbook"), ("ppt", "presentation"))
)
HTML = b"<!DOCTYPE html><html><body>Hello</body></html>"
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"

BY_CONTENT = {
    "pdf": ("a.pdf", PDF, "pdf"),
    "pdf in upper case": ("A.PDF", PDF, "pdf"),
    "pdf below a mail header": ("a.pdf", b"Content-Type: x\r\n\r\n" + PDF, "pdf"),
    "pdf without a name": ("report", PDF, "pdf"),
    "pdf behind a byte order mark": ("report", b"\xef\xbb\xbf\n" + PDF, "pdf"),
    "docx": ("a.docx", DOCX, "docx"),
    "xlsx": ("a.xlsx", XLSX, "xlsx"),
    "pptx": ("a.pptx", PPTX, "pptx"),
    "docx of an unknown name": ("a.backup", DOCX, "docx"),
    "docx with a workbook in it": ("a", archive("word/document.xml", "word/embeddings/a.xlsx", content=XLSX), "docx"),
    "html": ("a.html", HTML, "html"),
    "html by htm": ("a.htm", HTML, "html"),
    "html without a name": ("page", HTML, "html"),
    "html below comments": ("page", b"\xef\xbb\xbf\n <!-- <x> -->\n<!-- b --> <HTML lang='en'>", "html"),
    "xhtml": ("page", b'<?xml version="1.0"?>\n<html xmlns="http://www.w3.org/1999/xhtml">', "html"),
    "an html fragment": ("a.html", b"<p>Hello</p>", "html"),
    "html in utf-16": ("page", "<html>é".encode("utf-16"), "html"),
    "json": ("a.json", b'{"a": 1}', "json"),
    "json lines": ("a.jsonl", b'{"a": 1}\n{"a": 2}', "json"),
    "json without a name": ("data", b' [{"a": 1}]', "json"),
    "json lines without a name": ("data", b'{"a": 1}\n{"a": 2}\n', "json"),
    "long json without a name": ("data", b'[{"a": "' + b"x" * HEAD_BYTES + b'"}]', "json"),
    "no json after all": ("data", b'{"a": he said', "text"),
    "a wiki link is no json": ("data", b"[[Kenya]] is a country", "text"),
    "broken json by its name": ("a.json", b'{"a": ', "json"),
    "csv": ("a.csv", b"a,b\n1,2", "csv"),
    "tsv": ("a.tsv", b"a\tb\n1\t2", "csv"),
    "markdown": ("a.md", b"Just text", "markdown"),
    "markdown without a name": ("readme", b"Hello\n\n## Part\n\nText", "markdown"),
    "text": ("a.txt", b"# not a heading", "text"),
    "text without a name": ("notes", "Über".encode(), "text"),
    "text of an unknown name": ("report.2024", b"Hello", "text"),
    "a text about pdf": ("a.txt", b"A PDF starts with %PDF-1.7, they say.", "text"),
    "markdown with html in it": ("a.md", b'<div align="center"><body-part/></div>', "markdown"),
    "a text of money": ("a.txt", b"BMW and MZ are makers. BZh", "text"),
}  # fmt: skip


def written(tmp_path: Path, name: str, content: bytes) -> Path:
    path = tmp_path / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(("name", "content", "expected"), BY_CONTENT.values(), ids=BY_CONTENT)
def test_the_content_decides(tmp_path: Path, name: str, content: bytes, expected: str) -> None:
    assert detect(written(tmp_path, name, content)) == expected


REFUSED = {
    "html called pdf": (
        "report.pdf", HTML, "report.pdf is an HTML page, not a PDF. Rename it to report.html and try again."
    ),
    "pdf called docx": ("a.docx", PDF, "a.docx is a PDF, not a Word document. Rename it to a.pdf and try again."),
    "pdf called txt": ("a.txt", PDF, "a.txt is a PDF, not plain text. Rename it to a.pdf and try again."),
    "docx called pdf": ("a.pdf", DOCX, "a.pdf is a Word document, not a PDF. Rename it to a.docx and try again."),
    "xlsx called docx": (
        "a.docx", XLSX, "a.docx is an Excel workbook, not a Word document. Rename it to a.xlsx and try again."
    ),
    "xlsx called csv": ("a.csv", XLSX, "a.csv is an Excel workbook, not a CSV table. Rename it to a.xlsx"),
    "text called pdf": ("a.pdf", b"Hello", "a.pdf is plain text, not a PDF. Rename it to a.txt and try again."),
    "markdown called docx": ("a.docx", b"# Title\n\nText", "a.docx is Markdown, not a Word document. Rename it to"),
    "json called pptx": ("a.pptx", b'{"a": 1}', "a.pptx is JSON, not a PowerPoint presentation. Rename it to a.json"),
    "json called csv": ("a.csv", b'[{"a": 1}]', "a.csv is JSON, not a CSV table. Rename it to a.json and try again."),
    "html called md": ("a.md", HTML, "a.md is an HTML page, not Markdown. Rename it to a.html and try again."),
    "text called html": ("a.html", b"Hello", "a.html is plain text, not an HTML page. Rename it to a.txt"),
    "image called txt": ("a.txt", PNG, "a.txt is a PNG image, not plain text, or is damaged. It cannot be read."),
    "image called pdf": ("a.pdf", b"\xff\xd8\xff\xe0\0", "a.pdf is a JPEG image, not a PDF, or is damaged."),

    "empty": ("a.md", b"", "a.md is empty: there is nothing to read in it."),
    "blank": ("a.md", b"\xef\xbb\xbf \r\n\t", "a.md has no text."),
    "image": ("a.png", PNG, "a.png is a PNG image, or is damaged. It cannot be read. Readable: .csv, .docx, .htm,"),
    "gzip": ("a.csv.gz", b"\x1f\x8b\x08\0\0", "a.csv.gz is a gzip archive"),
    "program": ("a", b"\x7fELF\x02\x01\x01\0", "a is a program"),
    "video": ("a.mp4", b"\0\0\0\x20ftypisom", "a.mp4 is a video or image"),
    "unknown bytes": ("a.bin", bytes(range(32)), "a.bin is a binary file"),
    "control characters in text": ("a.txt", b"abc\x01", "a.txt is a binary file"),
    "zip": ("a.zip", archive("a.txt"), "a.zip is a ZIP archive, not a document. Unpack it"),
    "zip called docx": ("a.docx", archive("a.txt"), "a.docx is a ZIP archive, not a document."),
    "empty zip": ("a.docx", archive(), "a.docx is a ZIP archive, not a document."),
    "OpenDocument": (
        "a.odt", archive("mimetype", content=b"application/vnd.oasis.opendocument.text"), "a.odt is an OpenDocument"
    ),
    "cut docx": ("a.docx", DOCX[:-30], "a.docx is damaged or incomplete: its end is missing."),
    "encrypted": (
        "a.docx", ole("EncryptionInfo", "EncryptedPackage"), "a.docx is protected with a password. Remove the password"
    ),
    "encrypted before anything else": ("a.xlsx", ole("Workbook", "EncryptedPackage"), "a.xlsx is protected with"),
    "old Word": ("a.doc", ole("WordDocument"), "a.doc is an old Word document (.doc). Save it as .docx and try again."),
    "old Excel": ("a.xls", ole("Workbook"), "a.xls is an old Excel workbook (.xls). Save it as .xlsx"),
    "older Excel": ("a.xls", ole("Book"), "a.xls is an old Excel workbook"),
    "old PowerPoint": ("a.ppt", ole("PowerPoint Document"), "a.ppt is an old PowerPoint presentation (.ppt)."),
    "old and unknown": ("a.doc", ole(), "a.doc is an old Office file or damaged."),
    "a document about encryption": (
        "a.doc", ole("WordDocument") + b"x" + "EncryptedPackage".encode("utf-16-le").ljust(64, b"\0"), "a.doc is an old"
    ),
    "RTF": ("a.rtf", b"{\\rtf1 Hello}", "a.rtf is an RTF document, which is not read. Save it as .docx"),
    "PostScript": ("a.ps", b"%!PS-Adobe-3.0", "a.ps is a PostScript file"),
}  # fmt: skip


@pytest.mark.parametrize(("name", "content", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_read_is_named_with_what_to_do(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    with pytest.raises(LoadError) as raised:
        loader_for(written(tmp_path, name, content))
    assert raised.value.message.startswith(message)
    assert str(tmp_path) not in raised.value.message


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match=r"^gone\.pdf cannot be read: No such file"):
        loader_for(tmp_path / "gone.pdf")
    with pytest.raises(LoadError, match=r"cannot be read: Is a directory"):
        loader_for(tmp_path)


def test_a_sniff_reads_a_bounded_part(tmp_path: Path) -> None:
    path = written(tmp_path, "big.txt", b"")
    with path.open("wb") as file:
        file.write(b"Hello\n")
        file.truncate(40 * 1024**3)  # sparse: 40 GB that are not there
    with pytest.raises(LoadError, match=r"big\.txt is a binary file"):
        detect(path)
