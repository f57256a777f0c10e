"""Office files from outside: which kind a ZIP or OLE2 container holds, without unpacking anything."""

from __future__ import annotations

import struct
from pathlib import Path

from ..errors import LoadError

TAIL_BYTES = 1024 * 1024
"""What is read of a ZIP's end. The list of parts of an Office file is far smaller."""
MAX_OLE_BYTES = 256 * 1024 * 1024
_END = b"PK\x05\x06"
_ENTRY = b"PK\x01\x02"
_MAIN_FOLDERS = {b"word/": "docx", b"xl/": "xlsx", b"ppt/": "pptx"}
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


def zip_format(path: Path) -> str:
    """``docx``, ``xlsx`` or ``pptx``, by the parts that the file lists at its end.

    Raises:
        LoadError: the end is missing, or it is another archive.
    """
    with path.open("rb") as file:
        start = file.read(256)
        size = file.seek(0, 2)
        file.seek(max(0, size - TAIL_BYTES))
        tail = file.read(TAIL_BYTES)
    names = _part_names(tail)
    if names is None:
        raise LoadError(f"{path.name} is damaged or incomplete: its end is missing. Get a whole copy and try again.")
    for name in names:
        for folder, kind in _MAIN_FOLDERS.items():
            if name.startswith(folder):
                return kind
    if _OPEN_DOCUMENT in start:
        raise LoadError(f"{path.name} is an OpenDocument file, which is not read. Save it as .docx or .pdf instead.")
    raise LoadError(f"{path.name} is a ZIP archive, not a document. Unpack it and add the files in it one by one.")


def _part_names(tail: bytes) -> list[bytes] | None:
    """The names in a ZIP's central directory; None where the directory's end is not there."""
    end = tail.rfind(_END)
    if end < 0 or end + 22 > len(tail):
        return None
    (directory_size,) = struct.unpack_from("<I", tail, end + 12)
    names = []
    # The directory only: an embedded workbook that is stored as it is has a directory of its own further up.
    at = tail.find(_ENTRY, max(0, end - directory_size), end)
    while at >= 0 and at + 46 <= end:
        length, extra, comment = struct.unpack_from("<HHH", tail, at + 28)
        names.append(tail[at + 46 : at + 46 + length])
        at = tail.find(_ENTRY, at + 46 + length + extra + comment, end)
    return names


def ole_problem(path: Path) -> LoadError:
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
