"""What DOCX, XLSX and PPTX have in common: a zip archive of XML, made by strangers, read by foreign libraries."""

from __future__ import annotations

import stat
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from lxml.etree import LxmlError

from ..errors import LoadError

MAX_ENTRIES = 10_000
"""Parts in one archive. A presentation of 500 slides with pictures has some 3,000."""
MAX_BYTES = 256 * 1024**2
"""Uncompressed, all parts together: python-pptx holds them all in memory at once."""
MAX_RATIO = 200
"""Uncompressed to compressed, over the whole file. Office XML packs 5 to 30 times, sparse sheets up to 100 times."""
RATIO_FROM = 8 * 1024**2
"""Bytes. Below this size the ratio is not looked at: a small file does no harm, however well it packs."""
MAX_MARKUP = 5_000_000
"""Tags and attributes, all XML parts together. libxml2 needs 120 bytes for each: what a size limit does not bound."""

_BLOCK = 256 * 1024
_XML = (".xml", ".rels")
# Office files never have a document type (ECMA-376-2, 10.1.2): nothing but an attack declares entities there.
_DOCTYPES = tuple("<!DOCTYPE".encode(encoding) for encoding in ("utf-8", "utf-16-le", "utf-16-be"))
_LONGEST_MARK = max(map(len, _DOCTYPES))

DAMAGED = (
    # zipfile: a directory or a part that does not decompress, and what it does not support
    BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError,
    # lxml: a part that is not XML; the standard library's parser raises SyntaxError for the sheets of a workbook
    LxmlError, SyntaxError,
    # the libraries look up parts and relations and convert what they find, without checks of their own: a part that is
    # missing (KeyError), has another type (AttributeError, TypeError), holds a wrong number (ValueError,
    # OverflowError), has fewer children than it should (IndexError), or refers to itself (RecursionError)
    LookupError, AttributeError, TypeError, ValueError, ArithmeticError, RecursionError,
)  # fmt: skip
"""What reading a damaged archive raises, as found by feeding damaged files to the libraries (tests/loaders)."""


@contextmanager
def readable(path: Path, what: str, *own: type[Exception]) -> Iterator[None]:
    """Turns whatever reading a damaged file raises into a LoadError.

    ``what`` the file should be, e.g. "a Word document (.docx)"; ``own``: exceptions of the library that reads it.
    """
    try:
        yield
    except OSError as error:
        if error.strerror is None:  # not the system's: openpyxl and the OPC packages raise it for a missing part
            raise _damaged(path, what) from error
        raise LoadError(f"{path.name} cannot be read: {error.strerror}.") from error
    except (*DAMAGED, *own) as error:
        raise _damaged(path, what) from error


def _damaged(path: Path, what: str) -> LoadError:
    return LoadError(
        f"{path.name} is damaged or is not {what}. Open it in the program it comes from, save it again and try again."
    )


def check_archive(path: Path) -> None:
    """Refuse what would exhaust memory or leave the archive, before any library opens the file.

    Sizes are counted while decompressing: what the archive says of itself is not trusted.

    Raises:
        LoadError: naming the file and the limit.
    """
    with readable(path, "an Office file"), ZipFile(path) as archive:
        entries = archive.infolist()
        if len(entries) > MAX_ENTRIES:
            raise _refused(path, f"has {len(entries):,} parts; up to {MAX_ENTRIES:,} are read")
        for entry in entries:
            _check_entry(path, entry)
        _check_contents(path, archive, entries)


def _check_entry(path: Path, entry: ZipInfo) -> None:
    name = PurePosixPath(entry.filename.replace("\\", "/"))
    if name.is_absolute() or ".." in name.parts or entry.filename[1:2] == ":":
        raise _refused(path, "has a part that points outside of the file")
    if stat.S_ISLNK(entry.external_attr >> 16):
        raise _refused(path, "has a part that is a link")
    if entry.flag_bits & 0x1:
        raise LoadError(f"{path.name} is protected by a password. Save it without one and try again.")
    if entry.compress_type not in {ZIP_STORED, ZIP_DEFLATED}:  # others expand without a bound, and Office has none
        raise _refused(path, "is packed in a way that Office does not use")


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
                seen = end + block
                if any(mark in seen for mark in _DOCTYPES):
                    raise _refused(path, "declares a document type, which Office files never do")
                end = seen[-_LONGEST_MARK:]


def _refused(path: Path, reason: str) -> LoadError:
    return LoadError(f"{path.name} {reason}. It is refused.")
