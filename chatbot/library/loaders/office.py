"""The common part of DOCX, XLSX and PPTX: their loader, a ZIP archive of untrusted XML,
and its properties.
"""

import re
import shutil
import stat
import struct
import subprocess
import warnings
import zlib
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from itertools import islice
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import IO, Any, ClassVar
from xml.etree.ElementTree import ParseError
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from lxml import etree

from ...domain import Loaded, Section
from ...domain.documents import lay_out
from ...domain.errors import LoadError
from ...domain.tables import Texts
from . import OFFICE_STREAMS, ArchiveLoader, all_loaders, ole_streams
from .sections import one_line
from .text import unreadable

MAX_ENTRIES = 10_000
"""Parts in one archive. A presentation of 500 slides with pictures has some 3,000."""
MAX_BYTES = 256 * 1024**2
"""Uncompressed, all parts together: python-pptx holds them all in memory at once."""
MAX_RATIO = 200
"""Uncompressed to compressed, over the whole file. Office XML packs 5 to 30 times,
sparse sheets up to 100 times.
"""
RATIO_FROM = 8 * 1024**2
"""Bytes. Below this unpacked size any ratio is allowed: a small file does no harm."""
MAX_MARKUP = 5_000_000
"""Tags and attributes, all XML parts together. libxml2 needs 120 bytes for each,
whatever the file's size.
"""

_BLOCK = 256 * 1024
_XML = (".xml", ".rels")
# Office files never have a document type (ECMA-376-2, 10.1.2). Only an attack declares
# entities there.
_DOCTYPES = tuple(
    "<!DOCTYPE".encode(encoding) for encoding in ("utf-8", "utf-16-le", "utf-16-be")
)
_MAX_DOCTYPE_BYTES = max(map(len, _DOCTYPES))

_DAMAGED = (
    BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    etree.XMLSyntaxError,
    ParseError,
)
"""Errors of zipfile and the XML parsers about a damaged file. Any other error is a
fault of the reader.
"""
_STRICT = b"http://purl.oclc.org/ooxml/"
_STRICT_NAME = re.compile(rb"http://purl\.oclc\.org/ooxml/(\w+)/")


MAX_MARGINS = 20
_PROPERTIES = ("title", "comments", "description", "subject", "keywords")
"""Properties of documents; ``comments`` is the description where a library calls it
so.
"""
FILLED_IN = re.compile(
    r"(?:untitled|microsoft (?:word|excel|powerpoint)|powerpoint presentation|word "
    r"document|generated (?:by|using) "
    r"|activereports document|pdfill|(?:book|sheet|presentation|folie|classeur)\s*\d*$"
    r"|\(?unspecified|\(?anonymous|https?:|file:|about:\S|(?:document|slide|title)\s*\d*$)"
    r"|.*\.(?:docx?|pdf|xlsx?|pptx?|indd|qxd|tex|dvi|ps|rtf|odt|wpd|txt|html?|fm|pub|ai|eps|psd|cdr|prn)$",
    re.IGNORECASE,
)
"""Titles and descriptions that programs write by themselves."""


class OfficeLoader(ArchiveLoader):
    """Implements `loaders.FileLoader` for a format with a library that opens it."""

    noun: ClassVar[str]
    suffixes: ClassVar[Texts]
    isolated = True
    nothing: ClassVar[str]
    """The error for a file without text, after its name."""

    def load(self, path: Path) -> Loaded:
        kind = f"{self.noun} ({self.suffixes[0]})"
        open_document, errors = self.library()
        with warnings.catch_warnings(), office_file(path, kind, *errors) as file:
            # The libraries warn of each feature that they would not write back. Nothing
            # is written here.
            warnings.simplefilter("ignore", category=UserWarning)
            with office_errors(
                path, kind, KeyError, ValueError
            ):  # a part is missing, or it is another kind of file
                document = open_document(file)
                stated = (
                    document.properties
                    if self.parts == "xl/"
                    else document.core_properties
                )
            title, sections, pages, notes = self.read(document, path)
            placed = lay_out(sections)
            margins = tuple(islice(self.margins(document), MAX_MARGINS))
        if not placed:
            raise LoadError(f"{path.name} has no {self.nothing}")
        texts = [one_line(getattr(stated, name, None) or "") for name in _PROPERTIES]
        named, *described, keywords = (
            "" if FILLED_IN.match(text) else text for text in texts
        )
        created = str(getattr(stated, "created", None) or "")
        authors = getattr(stated, "author", None) or getattr(stated, "creator", None)
        labels = dict.fromkeys(
            filter(None, map(str.strip, re.split(r"[;,]", keywords)))
        )
        about = next(filter(None, described), "")
        return Loaded(
            title or named or path.stem,
            placed,
            pages,
            labels=tuple(labels),
            description=about,
            notes=tuple(notes),
            margins=margins,
            properties={
                "title": named,
                "subject": described[-1],
                "created": created,
                "authors": one_line(authors or ""),
            },
        )

    @abstractmethod
    def library(self) -> tuple[Callable[[IO[bytes]], Any], tuple[type[Exception], ...]]:
        """Import the library. Return the function that opens a file, and its errors
        about damaged files.
        """

    @abstractmethod
    def read(
        self, document: Any, path: Path
    ) -> tuple[str, Iterable[Section], int | None, Sequence[str]]:
        """Return the title in the text ("" if there is none), the sections, the number
        of pages if it is fixed, and the notes.
        """

    def margins(self, document: Any) -> Iterable[str]:
        """Return the lines of the running heads and feet."""
        return ()


ROWS_NOTE = "Hidden rows left out: {count}."
COLUMNS_NOTE = "Hidden columns left out: {count}."
SHEETS_NOTE = "Hidden sheets left out: {count}."
SLIDES_NOTE = "Hidden slides left out: {count}."
EMBEDDED_NOTE = "Embedded files left out: {count}."
BLANK_NOTE = "Pages without text: {count}."


def left_out(*counts: tuple[str, int]) -> list[str]:
    """Return the notes on things that a file has and that were not read."""
    return [note.format(count=count) for note, count in counts if count]


_DIAGRAM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}"
_MAIN = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_RELATIONSHIP = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"


def diagram_texts(element: Any, part: Any) -> Iterator[str]:
    """Yield the paragraphs of the SmartArt graphics in an element. ``part``: that of
    the file with the element.
    """
    for reference in element.iter(f"{_DIAGRAM}relIds"):
        relation = part.rels.get(reference.get(f"{_RELATIONSHIP}dm", ""))
        if relation is None or relation.is_external:
            continue
        data = parse_part(part.related_part(relation.rId).blob)
        for text in (
            text
            for point in data.iter(f"{_DIAGRAM}pt")
            for text in point.iterchildren(f"{_DIAGRAM}t")
        ):
            lines = (
                "".join(run.text or "" for run in line.iter(f"{_MAIN}t"))
                for line in text.iter(f"{_MAIN}p")
            )
            yield from filter(None, map(one_line, lines))


def parse_part(blob: bytes) -> Any:
    """Parse the XML of a part that the library does not read."""
    return etree.fromstring(
        blob, etree.XMLParser(resolve_entities=False, no_network=True)
    )


@contextmanager
def office_errors(path: Path, kind: str, *errors: type[Exception]) -> Iterator[None]:
    """Turn errors about a damaged or missing file into a LoadError.

    ``kind``: the expected file, e.g. "a Word document (.docx)"; ``errors``: exceptions
    of the library that reads it.
    """
    try:
        yield
    except OSError as error:
        if (
            error.strerror is None
            # not the system's: openpyxl and the OPC packages raise it for a missing part  # noqa: E501
        ):
            raise _damaged(path, kind) from error
        raise unreadable(path, error) from error
    except (*_DAMAGED, *errors) as error:
        raise _damaged(path, kind) from error


@contextmanager
def office_file(path: Path, kind: str, *errors: type[Exception]) -> Iterator[IO[bytes]]:
    """Open the file for a library, checked (`check_archive`) and with translated errors
    (`office_errors`). The Strict variant of the format, which no library reads, is
    copied with the namespaces of the usual variant (ISO/IEC 29500-1 and -4, annex A).
    """
    check_archive(path)
    with office_errors(path, kind, *errors), path.open("rb") as file:
        with ZipFile(file) as archive:
            if not any(
                _STRICT in archive.read(name)
                for name in archive.namelist()
                if name == "_rels/.rels"
            ):
                file.seek(0)
                yield file
                return
            copy = BytesIO()
            with ZipFile(copy, "w", ZIP_DEFLATED, compresslevel=1) as usual:
                for entry in archive.infolist():
                    part = archive.read(entry)
                    if entry.filename.lower().endswith(_XML):
                        part = _STRICT_NAME.sub(
                            rb"http://schemas.openxmlformats.org/\1/2006/", part
                        )
                        part = part.replace(
                            b"extendedProperties", b"extended-properties"
                        )
                    usual.writestr(entry.filename, part)
        copy.seek(0)
        yield copy


def _damaged(path: Path, kind: str) -> LoadError:
    return LoadError(
        f"{path.name} is damaged or is not {kind}. Open it in the program it comes "
        "from, save it again and try again."
    )


def check_archive(path: Path) -> None:
    """Refuse archives that would exhaust memory or write outside of it, before any
    library opens the file. Sizes are counted while decompressing, because the archive
    may declare wrong ones. Raises LoadError: naming the file and the limit.
    """
    with office_errors(path, "an Office file"), ZipFile(path) as archive:
        check_entries(path, archive.infolist())
        _check_contents(path, archive, archive.infolist())


def check_entries(path: Path, entries: list[ZipInfo]) -> None:
    """Raise LoadError for an archive with too many parts, or with one that is no
    ordinary file inside of it.
    """
    if len(entries) > MAX_ENTRIES:
        raise _refused(
            path, f"has {len(entries):,} parts; up to {MAX_ENTRIES:,} are read"
        )
    for entry in entries:
        name = PurePosixPath(entry.filename.replace("\\", "/"))
        if name.is_absolute() or ".." in name.parts or entry.filename[1:2] == ":":
            raise _refused(path, "has a part that points outside of the file")
        if stat.S_ISLNK(entry.external_attr >> 16):
            raise _refused(path, "has a part that is a link")
        if entry.flag_bits & 0x1:
            raise LoadError(
                f"{path.name} is protected by a password. Save it without one and "
                "try again."
            )
        if entry.compress_type not in {
            ZIP_STORED,
            ZIP_DEFLATED,
        }:  # others expand without bound
            raise _refused(path, "is packed in a way that is not read")


def _check_contents(path: Path, archive: ZipFile, entries: list[ZipInfo]) -> None:
    size = 0
    markup = 0
    bound = max(RATIO_FROM, MAX_RATIO * path.stat().st_size)
    for entry in entries:
        is_xml = entry.filename.lower().endswith(_XML)
        end = b""
        with archive.open(entry) as part:
            while block := part.read(_BLOCK):
                size += len(block)
                if size > bound:
                    raise _refused(
                        path, f"unpacks to more than {MAX_RATIO} times its size"
                    )
                if size > MAX_BYTES:
                    raise _refused(
                        path,
                        (
                            f"unpacks to more than {MAX_BYTES // 1024**2} MB. Split it "
                            "into smaller files"
                        ),
                    )
                if not is_xml:
                    continue
                markup += block.count(b"<") + block.count(b"=")
                if markup > MAX_MARKUP:
                    raise _refused(
                        path,
                        "is too large to be read at once. Split it into smaller files",
                    )
                text = end + block
                if any(mark in text for mark in _DOCTYPES):
                    raise _refused(
                        path, "declares a document type, which Office files never do"
                    )
                end = text[-_MAX_DOCTYPE_BYTES:]


def _refused(path: Path, reason: str) -> LoadError:
    return LoadError(f"{path.name} {reason}. It is refused.")


_SETTINGS = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry">
<item oor:path="/org.openoffice.Office.Common/Security/Scripting">
<prop oor:name="DisableMacrosExecution" oor:op="fuse"><value>true</value></prop>
<prop oor:name="BlockUntrustedRefererLinks" oor:op="fuse"><value>true</value></prop></item></oor:items>"""  # noqa: E501
"""A document may neither run its macros nor fetch what it links to."""


class LegacyOfficeLoader(ArchiveLoader):
    noun = "an old Office file"
    suffixes = (".doc", ".xls", ".ppt")
    parts = tuple(OFFICE_STREAMS)
    isolated = True

    def load(self, path: Path) -> Loaded:
        kind = next(
            (
                OFFICE_STREAMS[stream]
                for stream in ole_streams(path)
                if stream in OFFICE_STREAMS
            ),
            "",
        )
        if not kind:
            raise LoadError(
                f"{path.name} is damaged or is not {self.noun}. Save it in a "
                "present format and try again."
            )
        program = shutil.which("soffice")
        if program is None:
            advice = (
                f"Save it as .{kind}, or install LibreOffice on the server, and try "
                "again."
            )
            raise LoadError(f"{path.name} is {self.noun}. {advice}")
        with TemporaryDirectory(prefix="report-chat-") as folder:
            Path(folder, "user").mkdir()
            Path(folder, "user", "registrymodifications.xcu").write_text(
                _SETTINGS, encoding="utf-8"
            )
            options = [
                "--headless",
                "--norestore",
                "--convert-to",
                kind,
                "--outdir",
                folder,
            ]
            command = [
                program,
                f"-env:UserInstallation={Path(folder).as_uri()}",
                *options,
                str(path),
            ]
            subprocess.run(  # noqa: S603
                command, stdin=subprocess.DEVNULL, capture_output=True, check=False
            )
            converted = Path(folder, f"{path.stem}.{kind}")
            if not converted.exists():
                raise LoadError(
                    f"LibreOffice cannot read {path.name}. Save it as .{kind} and "
                    "try again."
                )
            return all_loaders()[kind].load(converted)
