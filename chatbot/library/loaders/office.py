"""What DOCX, XLSX and PPTX share: their loader, a ZIP archive of XML made by strangers, and its properties."""

from __future__ import annotations

import re
import stat
import struct
import warnings
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import IO, Any, ClassVar
from xml.etree.ElementTree import ParseError
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from lxml import etree

from ...domain import Loaded, Section, lay_out
from ...domain.errors import LoadError
from . import Fit, Sample
from .sections import one_line
from .text import unreadable

MAX_ENTRIES = 10_000
"""Parts in one archive. A presentation of 500 slides with pictures has some 3,000."""
MAX_BYTES = 256 * 1024**2
"""Uncompressed, all parts together: python-pptx holds them all in memory at once."""
MAX_RATIO = 200
"""Uncompressed to compressed, over the whole file. Office XML packs 5 to 30 times, sparse sheets up to 100 times."""
RATIO_FROM = 8 * 1024**2
"""Bytes. Below this unpacked size any ratio is allowed: a small file does no harm."""
MAX_MARKUP = 5_000_000
"""Tags and attributes, all XML parts together. libxml2 needs 120 bytes for each, whatever the file's size."""

_BLOCK = 256 * 1024
_XML = (".xml", ".rels")
# Office files never have a document type (ECMA-376-2, 10.1.2). Only an attack declares entities there.
_DOCTYPES = tuple("<!DOCTYPE".encode(encoding) for encoding in ("utf-8", "utf-16-le", "utf-16-be"))
_MAX_DOCTYPE_BYTES = max(map(len, _DOCTYPES))

_DAMAGED = (BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, etree.XMLSyntaxError, ParseError)
"""Errors of zipfile and the XML parsers about a damaged file. Any other error is a fault of the reader."""
_STRICT = b"http://purl.oclc.org/ooxml/"
_STRICT_NAME = re.compile(rb"http://purl\.oclc\.org/ooxml/(\w+)/")


class OfficeLoader(ABC):
    """Implements `loaders.FileLoader` for a format with a library that opens it."""

    noun: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]]
    isolated = True
    folder: ClassVar[str]
    """The main folder in the archive: each program has its own."""
    nothing: ClassVar[str]
    """The error for a file without text, after its name."""

    def fit(self, sample: Sample) -> Fit:
        return Fit.CERTAIN if any(part.startswith(self.folder) for part in sample.parts) else Fit.NO

    def load(self, path: Path) -> Loaded:
        kind = f"{self.noun} ({self.suffixes[0]})"
        open_document, errors = self.library()
        with warnings.catch_warnings(), office_file(path, kind, *errors) as file:
            # The libraries warn of each feature that they would not write back. Nothing is written here.
            warnings.simplefilter("ignore", category=UserWarning)
            properties = read_properties(file)
            with office_errors(path, kind, KeyError, ValueError):  # a part is missing, or it is another kind of file
                document = open_document(file)
            title, sections, pages = self.read(document, path)
            placed = lay_out(sections)
        if not placed:
            raise LoadError(f"{path.name} has no {self.nothing}")
        return replace(properties, title=title or properties.title or path.stem, sections=placed, pages=pages)

    @abstractmethod
    def library(self) -> tuple[Callable[[IO[bytes]], Any], tuple[type[Exception], ...]]:
        """Import the library. Return the function that opens a file, and its errors about damaged files."""

    @abstractmethod
    def read(self, document: Any, path: Path) -> tuple[str, Iterable[Section], int | None]:
        """Return the title in the text ("" if there is none), the sections, and the number of pages if it is fixed."""


@contextmanager
def office_errors(path: Path, kind: str, *errors: type[Exception]) -> Iterator[None]:
    """Turn errors about a damaged or missing file into a LoadError.

    ``kind``: the expected file, e.g. "a Word document (.docx)"; ``errors``: exceptions of the library that reads it.
    """
    try:
        yield
    except OSError as error:
        if error.strerror is None:  # not the system's: openpyxl and the OPC packages raise it for a missing part
            raise _damaged(path, kind) from error
        raise unreadable(path, error) from error
    except (*_DAMAGED, *errors) as error:
        raise _damaged(path, kind) from error


@contextmanager
def office_file(path: Path, kind: str, *errors: type[Exception]) -> Iterator[IO[bytes]]:
    """Open the file for a library, checked (`check_archive`) and with translated errors (`office_errors`).

    The Strict variant of the format, which no library reads, is copied with the namespaces of the usual variant
    (ISO/IEC 29500-1 and -4, annex A).
    """
    check_archive(path)
    with office_errors(path, kind, *errors), path.open("rb") as file:
        with ZipFile(file) as archive:
            if not any(_STRICT in archive.read(name) for name in archive.namelist() if name == "_rels/.rels"):
                file.seek(0)
                yield file
                return
            copy = BytesIO()
            with ZipFile(copy, "w", ZIP_DEFLATED, compresslevel=1) as usual:
                for entry in archive.infolist():
                    part = archive.read(entry)
                    if entry.filename.lower().endswith(_XML):
                        part = _STRICT_NAME.sub(rb"http://schemas.openxmlformats.org/\1/2006/", part)
                        part = part.replace(b"extendedProperties", b"extended-properties")
                    usual.writestr(entry.filename, part)
        copy.seek(0)
        yield copy


def _damaged(path: Path, kind: str) -> LoadError:
    return LoadError(
        f"{path.name} is damaged or is not {kind}. Open it in the program it comes from, save it again and try again."
    )


def check_archive(path: Path) -> None:
    """Refuse archives that would exhaust memory or write outside of it, before any library opens the file.

    Sizes are counted while decompressing, because the archive may declare wrong ones.

    Raises:
        LoadError: naming the file and the limit.
    """
    with office_errors(path, "an Office file"), ZipFile(path) as archive:
        entries = archive.infolist()
        if len(entries) > MAX_ENTRIES:
            raise _refused(path, f"has {len(entries):,} parts; up to {MAX_ENTRIES:,} are read")
        for entry in entries:
            name = PurePosixPath(entry.filename.replace("\\", "/"))
            if name.is_absolute() or ".." in name.parts or entry.filename[1:2] == ":":
                raise _refused(path, "has a part that points outside of the file")
            if stat.S_ISLNK(entry.external_attr >> 16):
                raise _refused(path, "has a part that is a link")
            if entry.flag_bits & 0x1:
                raise LoadError(f"{path.name} is protected by a password. Save it without one and try again.")
            if entry.compress_type not in {ZIP_STORED, ZIP_DEFLATED}:  # others expand without bound
                raise _refused(path, "is packed in a way that Office does not use")
        _check_contents(path, archive, entries)


def _check_contents(path: Path, archive: ZipFile, entries: list[ZipInfo]) -> None:
    size, markup = 0, 0
    bound = max(RATIO_FROM, MAX_RATIO * path.stat().st_size)
    for entry in entries:
        is_xml, end = entry.filename.lower().endswith(_XML), b""
        with archive.open(entry) as part:
            while block := part.read(_BLOCK):
                size += len(block)
                if size > bound:
                    raise _refused(path, f"unpacks to more than {MAX_RATIO} times its size")
                if size > MAX_BYTES:
                    raise _refused(path, f"unpacks to more than {MAX_BYTES // 1024**2} MB. Split it into smaller files")
                if not is_xml:
                    continue
                markup += block.count(b"<") + block.count(b"=")
                if markup > MAX_MARKUP:
                    raise _refused(path, "is too large to be read at once. Split it into smaller files")
                text = end + block
                if any(mark in text for mark in _DOCTYPES):
                    raise _refused(path, "declares a document type, which Office files never do")
                end = text[-_MAX_DOCTYPE_BYTES:]


def _refused(path: Path, reason: str) -> LoadError:
    return LoadError(f"{path.name} {reason}. It is refused.")


_PART = "docProps/core.xml"
_DC = "{http://purl.org/dc/elements/1.1/}"
_CP = "{http://schemas.openxmlformats.org/package/2006/metadata/core-properties}"
_FILLED_IN = {
    "generated by python-docx", "generated using python-pptx", "powerpoint presentation", "word document", "untitled",
}  # fmt: skip
"""Values that programs fill in by themselves."""


def read_properties(file: IO[bytes]) -> Loaded:
    """Return title, description and labels in an `office_file`; empty if it has none."""
    with ZipFile(file) as archive:
        content = archive.read(_PART) if _PART in archive.namelist() else b"<none/>"
    file.seek(0)
    root = parse_part(content)
    labels = re.split(r"[;,]", _text(root, _CP + "keywords"))
    return Loaded(
        _text(root, _DC + "title"),
        sections=(),
        description=_text(root, _DC + "description") or _text(root, _DC + "subject"),
        labels=tuple(dict.fromkeys(label.strip() for label in labels if label.strip())),
    )


def parse_part(content: bytes) -> etree._Element:
    """Parse an XML part without resolving anything outside of it."""
    return etree.fromstring(content, etree.XMLParser(resolve_entities=False, no_network=True))


def _text(root: etree._Element, tag: str) -> str:
    text = one_line(root.findtext(tag) or "")
    return "" if text.lower() in _FILLED_IN else text
