"""What arrived: is its type one that is read, what is the file called, in which encoding is its text."""

from __future__ import annotations

import re
import unicodedata
from email.message import Message
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

from .fetch_addresses import FetchProblem

_OFFICE = "application/vnd.openxmlformats-officedocument"
_SUFFIXES = {
    "text/html": ".html",
    "application/xhtml+xml": ".html",
    "application/pdf": ".pdf",
    "application/x-pdf": ".pdf",
    f"{_OFFICE}.wordprocessingml.document": ".docx",
    f"{_OFFICE}.spreadsheetml.sheet": ".xlsx",
    f"{_OFFICE}.presentationml.presentation": ".pptx",
    "text/csv": ".csv",
    "application/csv": ".csv",
    "application/json": ".json",
    "text/json": ".json",
    "text/markdown": ".md",
    "text/x-markdown": ".md",
    "text/plain": ".txt",
}
# Types that say nothing, or that some servers give to any download: the name decides.
_UNTOLD = {
    "",
    "application/octet-stream",
    "binary/octet-stream",
    "application/x-download",
    "application/force-download",
    "application/vnd.ms-excel",
}
_SAME = {".htm": ".html", ".xhtml": ".html", ".markdown": ".md", ".text": ".txt"}
_READABLE = frozenset(_SUFFIXES.values())
_TEXTUAL = frozenset({".html", ".csv", ".json", ".md", ".txt"})
_WANTED = "HTML, PDF, Word (.docx), Excel (.xlsx), PowerPoint (.pptx), CSV, JSON, Markdown, plain text"

_MEDIA_TYPE = re.compile(r"[\w.+-]{1,80}/[\w.+-]{1,80}", re.ASCII)
_CHARSET = re.compile(r";\s*charset\s*=\s*[\"']?([\w-]+)", re.IGNORECASE | re.ASCII)
# Not every encoding of Python's: some (punycode) take time without measure.
_ENCODING = re.compile(
    r"iso-8859-\d{1,2}|windows-\d{3,4}|shift_jis|euc-(jp|kr)|gb(k|2312|18030)|big5|koi8-[ru]|utf-16(le|be)?"
)
_EXTENDED_NAME = re.compile(r"filename\*\s*=\s*utf-8'[^']*'([^;\s]+)", re.IGNORECASE)
_PLAIN_NAME = re.compile(r'filename\s*=\s*(?:"([^"]*)"|([^;\s]+))', re.IGNORECASE)
_RESERVED = frozenset('/\\:*?"<>|%')
_STEM_BYTES = 100


def media_type(headers: Message) -> str:
    """Lower case, without parameters; empty where none is given."""
    return str(headers.get("Content-Type", "")).partition(";")[0].strip().lower()


def file_name(headers: Message, url: str) -> tuple[str, str]:
    """A stem that is safe on any file system (at most 100 bytes), and the suffix of what the server says it sent.

    Raises:
        FetchProblem: of a type that is not read.
    """
    parts = urlsplit(url)
    given = _given_name(headers) or unquote(PurePosixPath(parts.path).name) or parts.hostname or ""
    named = PurePosixPath(given.lower()).suffix
    named = _SAME.get(named, named)
    kind = media_type(headers)
    # Raw files of any text format are often served as plain text.
    by_name = kind in _UNTOLD or (kind == "text/plain" and named in _TEXTUAL)
    suffix = named if by_name else _SUFFIXES.get(kind, "")
    if suffix not in _READABLE:
        said = f"its type is {kind}" if _MEDIA_TYPE.fullmatch(kind) else "the server does not say what it is"
        raise FetchProblem(f"{said}, which is not read. Readable: {_WANTED}.")
    stem = given[: given.rindex(".")] if named in _READABLE else given
    return _safe(stem) or "page", suffix


def _given_name(headers: Message) -> str:
    disposition = str(headers.get("Content-Disposition", ""))
    if extended := _EXTENDED_NAME.search(disposition):
        return unquote(extended[1])
    plain = _PLAIN_NAME.search(disposition)
    return (plain[1] or plain[2] or "") if plain else ""


def _safe(stem: str) -> str:
    """No path, nothing invisible (line breaks, text that runs backwards), nothing that a file system reserves."""
    kept = []
    for character in unicodedata.normalize("NFC", stem):
        category = unicodedata.category(character)[0]
        kept.append(" " if category == "Z" else "-" if category == "C" or character in _RESERVED else character)
    text = re.sub(r"-{2,}", "-", " ".join("".join(kept).split()))
    return text.strip(" .-").encode()[:_STEM_BYTES].decode(errors="ignore").strip(" .-")


def as_utf8(path: Path, headers: Message) -> None:
    """Only the server's header may say how a text is encoded, and a file has no header: write the text as UTF-8.

    What is UTF-8 already, or is not what the header says, stays as it is for the loader to judge.
    """
    found = _CHARSET.search(str(headers.get("Content-Type", "")))
    name = found[1].lower() if found else ""
    if path.suffix not in _TEXTUAL or not _ENCODING.fullmatch(name):
        return
    data = path.read_bytes()
    if b"\0" not in data and _decoded(data, "utf-8") is not None:
        return
    # On the web Latin-1 means its superset, as in every browser.
    text = _decoded(data, "windows-1252" if name == "iso-8859-1" else name)
    if text is not None:
        path.write_text(text, encoding="utf-8-sig", newline="")  # the mark outweighs what the page says of itself


def _decoded(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        return None
