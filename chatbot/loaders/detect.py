"""What a file is: told by its first and last bytes, and compared with its name. Reads a bounded part of it only."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from ..errors import LoadError
from .containers import ole_problem, zip_format
from .decoding import decode_sample, unreadable

HEAD_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Format:
    """``noun`` with its article, as a sentence about a file needs it; the first suffix is the proposed one."""

    noun: str
    suffixes: tuple[str, ...]


FORMATS = {
    "csv": Format("a CSV table", (".csv", ".tsv")),
    "docx": Format("a Word document", (".docx",)),
    "html": Format("an HTML page", (".html", ".htm", ".xhtml")),
    "json": Format("JSON", (".json", ".jsonl", ".ndjson")),
    "markdown": Format("Markdown", (".md", ".markdown")),
    "pdf": Format("a PDF", (".pdf",)),
    "pptx": Format("a PowerPoint presentation", (".pptx",)),
    "text": Format("plain text", (".txt", ".text")),
    "xlsx": Format("an Excel workbook", (".xlsx",)),
}
"""By loader name. A test compares the suffixes with the loaders', which need not be imported to be listed."""

BINARY = ("pdf", "docx", "xlsx", "pptx")
_SUFFIXES = {suffix: name for name, kind in FORMATS.items() for suffix in kind.suffixes}
_HTML_START = re.compile(
    r"(?:\s|<!--.*?-->|<\?xml[^>]*\?>)*<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL
)
_TAG = re.compile(r"<[a-z][^<>]*>", re.IGNORECASE)
_JSON_START = re.compile(r'\s*(?:\{\s*["}]|\[\s*[{"\]])')
_HEADING = re.compile(r"^#{1,6} \S", re.MULTILINE)

_MAGIC = (
    (b"\x89PNG", "a PNG image"), (b"\xff\xd8\xff", "a JPEG image"), (b"GIF8", "a GIF image"),
    (b"II*\0", "a TIFF image"), (b"MM\0*", "a TIFF image"), (b"BM", "a BMP image"),
    (b"RIFF", "an image, sound or video"), (b"OggS", "a sound"), (b"ID3", "a sound"), (b"fLaC", "a sound"),
    (b"\x1f\x8b", "a gzip archive"), (b"BZh", "a bzip2 archive"), (b"\xfd7zXZ", "an xz archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"), (b"Rar!", "a RAR archive"), (b"\x28\xb5\x2f\xfd", "a zstd archive"),
    (b"\x7fELF", "a program"), (b"MZ", "a program"), (b"\xcf\xfa\xed\xfe", "a program"),
    (b"\xca\xfe\xba\xbe", "a program"), (b"SQLite format 3\0", "an SQLite database"), (b"PAR1", "a Parquet table"),
    (b"wOF", "a font"), (b"\0asm", "a program"),
)  # fmt: skip


def detect(path: Path) -> str:
    """The name of the loader that reads the file.

    Raises:
        LoadError: it cannot be opened, is empty, is of a format that is not read, or contradicts its name.
    """
    try:
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError as error:
        raise unreadable(path, error) from error
    if not head:
        raise LoadError(f"{path.name} is empty: there is nothing to read in it.")
    named = _SUFFIXES.get(path.suffix.lower())
    found = _binary_format(path, head, named)
    if found is None:
        found = _text_format(path, _text_head(path, head, named), named)
    if named not in {None, found}:
        raise _contradiction(path, found, named)
    return found


def _binary_format(path: Path, head: bytes, named: str | None) -> str | None:
    """The format of a file that is known by its bytes, None where it must be text or nothing."""
    pdf = head.find(b"%PDF-", 0, 1024)
    # Other programs put mail headers and the like before a PDF; a text may speak of "%PDF-" as well.
    if pdf >= 0 and (named == "pdf" or not head[:pdf].strip(b"\xef\xbb\xbf \t\r\n") or b"\0" in head):
        return "pdf"
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return zip_format(path)
    if head.startswith(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"):
        raise ole_problem(path)
    if head.startswith(b"{\\rtf"):
        raise LoadError(f"{path.name} is an RTF document, which is not read. Save it as .docx and try again.")
    if head.startswith(b"%!PS"):
        raise LoadError(f"{path.name} is a PostScript file, which is not read. Save it as .pdf and try again.")
    return None


def _text_head(path: Path, head: bytes, named: str | None) -> str:
    text = decode_sample(head)
    if text is not None:
        return text
    noun = next((noun for magic, noun in _MAGIC if head.startswith(magic)), "a binary file")
    if head[4:8] == b"ftyp":
        noun = "a video or image"
    expected = f", not {FORMATS[named].noun}" if named else ""
    readable = ", ".join(sorted(_SUFFIXES))
    raise LoadError(f"{path.name} is {noun}{expected}, or is damaged. It cannot be read. Readable: {readable}.")


def _text_format(path: Path, text: str, named: str | None) -> str:
    if not text.strip() and path.stat().st_size <= HEAD_BYTES:
        raise LoadError(f"{path.name} has no text.")
    if _HTML_START.match(text):
        return "html"
    if named == "html":  # a fragment without <html> is still a page
        return "html" if _TAG.search(text) else "text"
    if named in {None, "csv", *BINARY} and _is_json(text):
        return "json"
    if named is None or named in BINARY:
        return "markdown" if _HEADING.search(text) else "text"
    return named


def _is_json(text: str) -> bool:
    """Whether it starts as an object or a list does, and its first value is whole or goes on beyond the sample."""
    if not _JSON_START.match(text):
        return False
    try:
        json.JSONDecoder().raw_decode(text.strip())
    except RecursionError:
        return True
    except ValueError:
        return len(text) * 4 > HEAD_BYTES
    return True


def _contradiction(path: Path, found: str, named: str | None) -> LoadError:
    expected = FORMATS[named].noun if named else ""
    renamed = f"{path.stem}{FORMATS[found].suffixes[0]}"
    return LoadError(f"{path.name} is {FORMATS[found].noun}, not {expected}. Rename it to {renamed} and try again.")
