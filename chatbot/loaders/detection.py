"""The format of a file, by its first and last bytes and its name. Only a bounded part of it is read."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path

from ..errors import LoadError
from .formats import FileLoader, Fit, Sample
from .text import decode_sample, unreadable

HEAD_BYTES = 64 * 1024
TAIL_BYTES = 1024 * 1024
"""What is read of a ZIP's end. The list of parts of an Office file is far smaller."""
MAX_OLE_BYTES = 256 * 1024 * 1024
_END = b"PK\x05\x06"
_ENTRY = b"PK\x01\x02"
_OPEN_DOCUMENT = b"mimetypeapplication/vnd.oasis.opendocument"
_OLE_STREAMS = {
    "EncryptedPackage": "is protected with a password. Remove the password in Office (File, Info) and try again.",
    "WordDocument": "is an old Word document (.doc). Save it as .docx and try again.",
    "Workbook": "is an old Excel workbook (.xls). Save it as .xlsx and try again.",
    "Book": "is an old Excel workbook (.xls). Save it as .xlsx and try again.",
    "PowerPoint Document": "is an old PowerPoint presentation (.ppt). Save it as .pptx and try again.",
    "__properties_version1.0": "is an Outlook message. Save it as text or HTML and try again.",
}
"""Names of streams that tell what an OLE2 file is. An encrypted file is one whatever else it holds."""
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


def format_of(path: Path, loaders: Mapping[str, FileLoader]) -> str:
    """The name of the one of ``loaders`` that reads the file.

    Raises:
        LoadError: it cannot be opened, is empty, is of a format that is not read, or contradicts its name.
    """
    sample = _sample(path)
    fits = {name: loader.fit(sample) for name, loader in loaders.items()}
    found = max(fits, key=fits.__getitem__)
    named = next((name for name, loader in loaders.items() if sample.is_named(loader.suffixes)), None)
    if fits[found] < Fit.CERTAIN:
        _refuse_foreign(sample, loaders, named)
    if named not in {None, found}:
        raise _contradiction(path, loaders[found], loaders[named or found])
    return found


def _sample(path: Path) -> Sample:
    try:
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError as error:
        raise unreadable(path, error) from error
    if not head:
        raise LoadError(f"{path.name} is empty: there is nothing to read in it.")
    parts = _zip_parts(path) if head.startswith((b"PK\x03\x04", _END)) else []
    return Sample(path, head, decode_sample(head), parts)


def _refuse_foreign(sample: Sample, loaders: Mapping[str, FileLoader], named: str | None) -> None:
    """Raises LoadError where a file is no text of any kind: which format it is, and what to do."""
    path, head = sample.path, sample.head
    if head.startswith((b"PK\x03\x04", _END)):
        if _OPEN_DOCUMENT in head[:256]:
            raise LoadError(
                f"{path.name} is an OpenDocument file, which is not read. Save it as .docx or .pdf instead."
            )
        raise LoadError(f"{path.name} is a ZIP archive, not a document. Unpack it and add the files in it one by one.")
    if head.startswith(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"):
        raise _ole_problem(path)
    if head.startswith(b"{\\rtf"):
        raise LoadError(f"{path.name} is an RTF document, which is not read. Save it as .docx and try again.")
    if head.startswith(b"%!PS"):
        raise LoadError(f"{path.name} is a PostScript file, which is not read. Save it as .pdf and try again.")
    if sample.text is None:
        noun = next((noun for magic, noun in _MAGIC if head.startswith(magic)), "a binary file")
        noun = "a video or image" if head[4:8] == b"ftyp" else noun
        expected = f", not {loaders[named].noun}" if named else ""
        readable = ", ".join(sorted(suffix for loader in loaders.values() for suffix in loader.suffixes))
        raise LoadError(f"{path.name} is {noun}{expected}, or is damaged. It cannot be read. Readable: {readable}.")
    if not sample.text.strip() and path.stat().st_size <= HEAD_BYTES:
        raise LoadError(f"{path.name} has no text.")


def _contradiction(path: Path, found: FileLoader, named: FileLoader) -> LoadError:
    renamed = f"{path.stem}{found.suffixes[0]}"
    return LoadError(f"{path.name} is {found.noun}, not {named.noun}. Rename it to {renamed} and try again.")


def _zip_parts(path: Path) -> list[str]:
    """The names in a ZIP's central directory, without unpacking anything.

    Raises:
        LoadError: the directory's end is not there.
    """
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - TAIL_BYTES))
        tail = file.read(TAIL_BYTES)
    end = tail.rfind(_END)
    if end < 0 or end + 22 > len(tail):
        raise LoadError(f"{path.name} is damaged or incomplete: its end is missing. Get a whole copy and try again.")
    (directory_size,) = struct.unpack_from("<I", tail, end + 12)
    names = []
    # The directory only: an embedded workbook that is stored as it is has a directory of its own further up.
    at = tail.find(_ENTRY, max(0, end - directory_size), end)
    while at >= 0 and at + 46 <= end:
        length, extra, comment = struct.unpack_from("<HHH", tail, at + 28)
        names.append(tail[at + 46 : at + 46 + length].decode("utf-8", "replace"))
        at = tail.find(_ENTRY, at + 46 + length + extra + comment, end)
    return names


def _ole_problem(path: Path) -> LoadError:
    """Why an OLE2 file is not read: encrypted, or of an old format; what to do about it."""
    with path.open("rb") as file:
        content = file.read(MAX_OLE_BYTES)
    for stream, problem in _OLE_STREAMS.items():
        if _has_stream(content, stream):
            return LoadError(f"{path.name} {problem}")
    return LoadError(f"{path.name} is an old Office file or damaged. Save it in a present format and try again.")


def _has_stream(content: bytes, name: str) -> bool:
    """Whether a directory entry has this name: 64 bytes, filled up with zeros, entries of 128 bytes."""
    field = name.encode("utf-16-le").ljust(64, b"\0")
    at = content.find(field)
    while at >= 0 and at % 128:
        at = content.find(field, at + 1)
    return at >= 0
