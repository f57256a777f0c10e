"""Files to text with sections. The content decides which loader reads a file; the name must not contradict it.

A loader is one file and one line here. It answers what the rest needs to know of its format (`formats.FileLoader`).
The libraries that read foreign formats are imported with the first file.
"""

from __future__ import annotations

import re
from functools import cache
from io import BytesIO
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from ...config.registry import Registry
from ...domain.errors import LoadError
from .formats import FileLoader, Fit, Sample
from .text import decode_sample, unreadable

LOADERS: Registry[FileLoader] = Registry(
    "file format",
    {
        "csv": "chatbot.library.loaders.csv:CsvLoader",
        "docx": "chatbot.library.loaders.docx:DocxLoader",
        "html": "chatbot.library.loaders.html:HtmlLoader",
        "json": "chatbot.library.loaders.json:JsonLoader",
        "markdown": "chatbot.library.loaders.markdown:MarkdownLoader",
        "pdf": "chatbot.library.loaders.pdf:PdfLoader",
        "pptx": "chatbot.library.loaders.pptx:PptxLoader",
        "text": "chatbot.library.loaders.text:TextLoader",
        "xlsx": "chatbot.library.loaders.xlsx:XlsxLoader",
    },
)
HEAD_BYTES = 64 * 1024
TAIL_BYTES = 1024 * 1024
"""Bytes read from the end of a ZIP archive. The list of parts of an Office file is far smaller."""
MAX_OLE_BYTES = 256 * 1024 * 1024
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_OPEN_DOCUMENT = b"mimetypeapplication/vnd.oasis.opendocument"
_OLE_STREAMS = {
    "EncryptedPackage": "is protected with a password. Remove the password in Office (File, Info) and try again.",
    "WordDocument": "is an old Word document (.doc). Save it as .docx and try again.",
    "Workbook": "is an old Excel workbook (.xls). Save it as .xlsx and try again.",
    "Book": "is an old Excel workbook (.xls). Save it as .xlsx and try again.",
    "PowerPoint Document": "is an old PowerPoint presentation (.ppt). Save it as .pptx and try again.",
    "__properties_version1.0": "is an Outlook message. Save it as text or HTML and try again.",
}
"""Names of streams that identify an OLE2 file. An encrypted file has other streams too, so it comes first."""
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


@cache
def all_loaders() -> dict[str, FileLoader]:
    return {name: LOADERS.builder(name)() for name in LOADERS.names()}


def suffixes() -> tuple[str, ...]:
    """Suffixes of readable files, sorted, in lower case with the dot. Files without one are read by content."""
    return tuple(sorted(suffix for loader in all_loaders().values() for suffix in loader.suffixes))


def loader_for(path: Path) -> FileLoader:
    """Return the loader that reads the file's content. Raises as `detect` does."""
    return all_loaders()[detect(path)]


def detect(path: Path) -> str:
    """Return the name of the loader that reads the file's content. Only a bounded part of the file is read.

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
    parts = _zip_parts(path) if head.startswith(_ZIP) else []
    sample = Sample(path, head, decode_sample(head), parts)
    loaders = all_loaders()
    fits = {name: loader.fit(sample) for name, loader in loaders.items()}
    best = max(fits, key=fits.__getitem__)
    named = next((name for name, loader in loaders.items() if sample.is_named(loader.suffixes)), None)
    if fits[best] < Fit.CERTAIN:
        _refuse_foreign(sample, loaders[named].noun if named else "")
    if named not in {None, best}:
        loader, noun = loaders[best], loaders[named or best].noun
        renamed = f"{path.stem}{loader.suffixes[0]}"
        raise LoadError(f"{path.name} is {loader.noun}, not {noun}. Rename it to {renamed} and try again.")
    return best


def _refuse_foreign(sample: Sample, expected: str) -> None:
    """Raise LoadError unless the file is text. ``expected``: the format that its name promises, if any."""
    path, head = sample.path, sample.head
    if head.startswith(_ZIP) and _OPEN_DOCUMENT in head[:256]:
        problem = "is an OpenDocument file, which is not read. Save it as .docx or .pdf instead."
    elif head.startswith(_ZIP):
        problem = "is a ZIP archive, not a document. Unpack it and add the files in it one by one."
    elif head.startswith(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"):
        with path.open("rb") as file:
            content = file.read(MAX_OLE_BYTES)
        problem = "is an old Office file or damaged. Save it in a present format and try again."
        for name, advice in reversed(_OLE_STREAMS.items()):
            # A directory entry: 128 bytes, which begin with the name, padded with zeros to 64.
            entry = re.escape(name.encode("utf-16-le").ljust(64, b"\0"))
            if any(match.start() % 128 == 0 for match in re.finditer(entry, content)):
                problem = advice
    elif head.startswith(b"{\\rtf"):
        problem = "is an RTF document, which is not read. Save it as .docx and try again."
    elif head.startswith(b"%!PS"):
        problem = "is a PostScript file, which is not read. Save it as .pdf and try again."
    elif sample.text is None:
        noun = next((noun for magic, noun in _MAGIC if head.startswith(magic)), "a binary file")
        noun = "a video or image" if head[4:8] == b"ftyp" else noun
        noun += f", not {expected}" if expected else ""
        problem = f"is {noun}, or is damaged. It cannot be read. Readable: {', '.join(suffixes())}."
    elif not sample.text.strip() and path.stat().st_size <= HEAD_BYTES:
        problem = "has no text."
    else:
        return
    raise LoadError(f"{path.name} {problem}")


def _zip_parts(path: Path) -> list[str]:
    """Return the names in a ZIP's central directory, without unpacking anything.

    Raises:
        LoadError: the directory is missing or damaged.
    """
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - TAIL_BYTES))
        tail = BytesIO(file.read())
    try:
        with ZipFile(tail) as archive:
            return archive.namelist()
    except BadZipFile as error:
        problem = "is damaged or incomplete: its end is missing. Get a whole copy and try again."
        raise LoadError(f"{path.name} {problem}") from error
