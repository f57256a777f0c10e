"""Files to text with sections. The content decides which loader reads a file; the name
must not contradict it.

A loader is one file and one line here. It answers what the rest needs to know of its
format (`FileLoader`). The libraries that read foreign formats are imported with the
first file.
"""

import re
import traceback
from abc import ABC
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cache
from io import BytesIO
from operator import methodcaller
from pathlib import Path, PurePath
from typing import ClassVar, Protocol, runtime_checkable
from zipfile import BadZipFile, ZipFile

from ...domain import Loaded, Section
from ...domain.documents import lay_out
from ...domain.errors import LoadError, ReaderFailedError
from ...domain.registry import Registry
from ...domain.tables import Texts
from ...language.characters import visible
from ...language.table_text import rows_text
from .ocr import INSTALL_NOTE, INSTALLED, Ocr
from .sections import WidthError
from .text import decode_sample, opened


class Fit(IntEnum):
    """The fit of a file's beginning to a format. The loader with the best fit reads the
    file.
    """

    NO = 0
    ANY_TEXT = 1
    """The file is text, and any text can be read as this format."""
    LOOKS_SO = 2
    """The beginning has marks of the format, which other texts may have too."""
    NAMED = 3
    """The file's name says so. Nothing was checked."""
    WELL_FORMED = 4
    """The file follows the rules of the format."""
    DECLARED = 5
    """The file's name says so, and such a file is always read as this format."""
    CERTAIN = 6
    """The file's first bytes, or the parts of the archive, say so."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The beginning of a file. ``text``: decoded, None if it is binary; ``parts``:
    names in a ZIP archive.
    """

    path: Path
    head: bytes
    text: str | None
    parts: Sequence[str] = ()

    def is_named(self, suffixes: Sequence[str]) -> bool:
        return self.path.suffix.lower() in suffixes


class FileLoader(Protocol):
    """Reads the text of a document from a file.

    ``noun``: the format with its article, for messages. ``suffixes`` of its files are
    lower case, with the dot; the first is proposed to people. ``isolated``: the file is
    only read in a process of its own, because foreign libraries read files that
    strangers made.
    """

    noun: str
    suffixes: Texts
    isolated: bool

    def fit(self, sample: Sample) -> Fit: ...

    def load(self, path: Path) -> Loaded:
        """The title falls back to the file's stem; sections are laid out
        (`schema.lay_out`) and not empty. Raises LoadError: naming the file, what is
        wrong with it and what to do.
        """


class ArchiveLoader(ABC):
    """A loader of files with parts. ``parts``: beginnings of the names of parts that
    only this format has; "" = only the file's name tells the format.
    """

    suffixes: ClassVar[Texts]
    parts: ClassVar[str | Texts]

    def fit(self, sample: Sample) -> Fit:
        if not self.parts:
            return (
                Fit.DECLARED
                if sample.text is not None and sample.is_named(self.suffixes)
                else Fit.NO
            )
        return (
            Fit.CERTAIN
            if any(map(methodcaller("startswith", self.parts), sample.parts))
            else Fit.NO
        )


@runtime_checkable
class PictureLoader(Protocol):
    """A loader that also reads pictures of text."""

    ocr: Ocr


LOADERS: Registry[FileLoader] = Registry(
    "file format",
    {
        "csv": "chatbot.library.loaders.records:CsvLoader",
        "eml": "chatbot.library.loaders.mail:MailLoader",
        "docx": "chatbot.library.loaders.docx:DocxLoader",
        "epub": "chatbot.library.loaders.epub:EpubLoader",
        "html": "chatbot.library.loaders.html:HtmlLoader",
        **({"image": "chatbot.library.loaders.pdf:ImageLoader"} if INSTALLED else {}),
        "json": "chatbot.library.loaders.records:JsonLoader",
        "legacy": "chatbot.library.loaders.office:LegacyOfficeLoader",
        "markdown": "chatbot.library.loaders.markdown:MarkdownLoader",
        "odf": "chatbot.library.loaders.odf:OdfLoader",
        "pdf": "chatbot.library.loaders.pdf:PdfLoader",
        "pptx": "chatbot.library.loaders.pptx:PptxLoader",
        "text": "chatbot.library.loaders.markdown:TextLoader",
        "xlsx": "chatbot.library.loaders.xlsx:XlsxLoader",
    },
    group="loaders",
)
ARCHIVE = ".zip"
HEAD_BYTES = 64 * 1024
TAIL_BYTES = 1024 * 1024
"""Bytes read from the end of a ZIP archive. The list of parts of an Office file is far
smaller.
"""
MAX_OLE_BYTES = 256 * 1024 * 1024
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_OLE_STREAMS = {
    "EncryptedPackage": (
        "is protected with a password. Remove the password in Office (File, Info) and "
        "try again."
    ),
    "__properties_version1.0": "is an Outlook message. Save it as .eml or HTML and try again.",  # noqa: E501
}
"""Names of streams that identify an OLE2 file. An encrypted file has other streams too,
so it comes first.
"""
OFFICE_STREAMS = {
    "WordDocument": "docx",
    "Workbook": "xlsx",
    "Book": "xlsx",
    "PowerPoint Document": "pptx",
}
"""Names of streams of old Office files, with the present format of each."""
_PICTURES = {"a PNG image", "a JPEG image"}
_MAGIC = (
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"II*\0", "a TIFF image"),
    (b"MM\0*", "a TIFF image"),
    (b"BM", "a BMP image"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ", "an xz archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"Rar!", "a RAR archive"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive"),
)


@cache
def all_loaders() -> dict[str, FileLoader]:
    return {name: LOADERS.builder(name)() for name in LOADERS.names()}


def suffixes() -> Texts:
    """Suffixes of readable files, sorted, in lower case with the dot. Files without one
    are read by content.
    """
    return tuple(
        sorted(
            suffix for loader in all_loaders().values() for suffix in loader.suffixes
        )
    )


def loader_for(path: Path) -> FileLoader:
    """Return the loader that reads the file's content. Raises as `detect` does."""
    return all_loaders()[detect(path)]


def detect(path: Path) -> str:
    """Return the name of the loader that reads the file's content. Only a bounded part
    of the file is read. Raises LoadError: it cannot be opened, is empty, is of a format
    that is not read, or contradicts its name.
    """
    with opened(path) as file:
        head = file.read(HEAD_BYTES)
    if not head:
        raise LoadError(f"{path.name} is empty: there is nothing to read in it.")
    parts = (
        _zip_parts(path)
        if head.startswith(_ZIP)
        else ole_streams(path)[:1]
        if head.startswith(_OLE)
        else []
    )
    sample = Sample(path, head, decode_sample(head), parts)
    loaders = all_loaders()
    fits = {name: loader.fit(sample) for name, loader in loaders.items()}
    best = max(fits, key=fits.__getitem__)
    named = next(
        (name for name, loader in loaders.items() if sample.is_named(loader.suffixes)),
        None,
    )
    if fits[best] < Fit.CERTAIN:
        _refuse_foreign(sample, loaders[named].noun if named else "")
    if named not in {None, best}:
        loader = loaders[best]
        noun = loaders[named or best].noun
        renamed = f"{path.stem}{loader.suffixes[0]}"
        raise LoadError(
            f"{path.name} is {loader.noun}, not {noun}. Rename it to {renamed} and "
            "try again."
        )
    return best


def _refuse_foreign(sample: Sample, expected: str) -> None:
    """Raise LoadError unless the file is text. ``expected``: the format that its name
    promises, if any.
    """
    path = sample.path
    head = sample.head
    if head.startswith(_ZIP):
        problem = (
            "is a ZIP archive, not a document. Unpack it and add the files in it one "
            "by one."
        )
    elif head.startswith(_OLE):
        damaged = (
            "is an old Office file or damaged. Save it in a present format and try "
            "again."
        )
        problem = _OLE_STREAMS.get(next(iter(sample.parts), ""), damaged)
    elif head.startswith(b"{\\rtf"):
        problem = (
            "is an RTF document, which is not read. Save it as .docx and try again."
        )
    elif head.startswith(b"%!PS"):
        problem = (
            "is a PostScript file, which is not read. Save it as .pdf and try again."
        )
    elif sample.text is None:
        noun = next(
            (noun for magic, noun in _MAGIC if head.startswith(magic)), "a binary file"
        )
        noun = "a video or image" if head[4:8] == b"ftyp" else noun
        noun += f", not {expected}" if expected else ""
        readable = f"It cannot be read. Readable: {', '.join(suffixes())}."
        problem = (
            f"is {noun}, or is damaged. "
            f"{f'{INSTALL_NOTE}.' if noun in _PICTURES else readable}"
        )
    elif not sample.text.strip() and path.stat().st_size <= HEAD_BYTES:
        problem = "has no text."
    else:
        return
    raise LoadError(f"{path.name} {problem}")


def ole_streams(path: Path) -> list[str]:
    """Return the names of streams that identify an OLE2 file, the one that says most
    first.
    """
    with path.open("rb") as file:
        content = file.read(MAX_OLE_BYTES)
    names: list[str] = []
    for name in (*_OLE_STREAMS, *OFFICE_STREAMS):
        # A directory entry: 128 bytes, which begin with the name, padded with zeros to
        # 64.
        entry = re.escape(name.encode("utf-16-le").ljust(64, b"\0"))
        if any(match.start() % 128 == 0 for match in re.finditer(entry, content)):
            names.append(name)
    return names


def _zip_parts(path: Path) -> list[str]:
    """Return the names in a ZIP's central directory, without unpacking anything. Raises
    LoadError: the directory is missing or damaged.
    """
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - TAIL_BYTES))
        tail = BytesIO(file.read())
    try:
        with ZipFile(tail) as archive:
            return archive.namelist()
    except BadZipFile as error:
        problem = (
            "is damaged or incomplete: its end is missing. Get a whole copy and try "
            "again."
        )
        raise LoadError(f"{path.name} {problem}") from error


FAULTS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    NameError,
    RecursionError,
    RuntimeError,
    TypeError,
    ValueError,
    ImportError,
)
"""Exceptions of code that met something it was not written for: a fault of the reader,
whatever the file is.
"""


def read_file(loader: FileLoader, path: Path) -> Loaded:
    """Read a file with a loader, without invisible characters. Raises LoadError: as the
    loader raises it, or nothing in the file is visible; ReaderFailedError: the reader
    failed on the file, which may be intact.
    """
    try:
        loaded = _visible(loader.load(path))
    except WidthError as error:
        raise LoadError(f"{path.name} {error}.") from error
    except FAULTS as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = (
            f"{type(error).__name__} in {PurePath(place.filename).name}, line "
            f"{place.lineno}"
        )
        raise reader_failed(path, where) from error
    if not loaded.sections:
        raise LoadError(f"{path.name} has no text that can be seen.")
    return loaded


MAX_NAME_CHARACTERS = 300
"""Of a title or heading: it is embedded with every passage below it."""
MAX_HEADINGS = 12
"""Above a passage."""


def _visible(loaded: Loaded) -> Loaded:
    """Drop invisible characters, shorten long headings, and put these in full before
    the text of their section.
    """
    sections: list[Section] = []
    before: Texts = ()
    for section in loaded.sections:
        path = tuple(map(visible, section.path))
        text = visible(section.text)
        new = [
            name
            for at, name in enumerate(path, 1)
            if path[:at] != before[:at] and len(name) > MAX_NAME_CHARACTERS
        ]
        kept = tuple(
            map(
                _shortened,
                path
                if len(path) <= MAX_HEADINGS
                else (*path[: MAX_HEADINGS - 1], path[-1]),
            )
        )
        full = "\n\n".join([*new, text])
        rows = section.rows
        if rows is not None and new:
            # The text stays a view of the rows.
            rows = replace(rows, head="\n".join(filter(None, [*new, rows.head])))
            full = rows_text(rows)
        sections.append(replace(section, path=kept, text=full, rows=rows))
        before = path
    title = loaded.title
    description = visible(loaded.description)
    labels = tuple(map(visible, loaded.labels))
    shown = loaded.sections if tuple(sections) == loaded.sections else lay_out(sections)
    return replace(
        loaded,
        title=_shortened(visible(title)),
        sections=shown,
        description=description,
        labels=labels,
    )


def _shortened(name: str) -> str:
    return (
        name
        if len(name) <= MAX_NAME_CHARACTERS
        else f"{name[:MAX_NAME_CHARACTERS].rstrip()} …"
    )


def reader_failed(path: Path, what: str) -> ReaderFailedError:
    """Return the error for a reader that failed on a file. ``what``: the fault, for
    whoever fixes the reader.
    """
    return ReaderFailedError(
        f"{path.name} was not read: the reader failed on it ({what}). That is a "
        "fault of this program; the file may be "
        "intact. Please report it. Until then, try saving the file again, or in "
        "another format."
    )
