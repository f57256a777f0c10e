"""Open a PDF and read its pages; refuse what is damaged, cut short, protected or without text."""

from __future__ import annotations

import logging
import re
import struct
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import SEEK_END, BufferedReader
from pathlib import Path

import pdfplumber
from pdfminer.pdfdocument import PDFEncryptionError, PDFPasswordIncorrect, PDFXRefFallback
from pdfminer.psexceptions import PSException
from pdfplumber.utils.exceptions import MalformedPDFException, PdfminerException

from ....domain import Loaded, lay_out
from ....domain.errors import LoadError
from ..formats import FAULTS
from ..text import unreadable
from .drawing import pages_of
from .outline import sections_of
from .page import PageText, PdfPageReader, without_running_lines
from .words import Line

# pdfminer reports each oddity of a file, thousands for some. The serious ones arrive as exceptions.
logging.getLogger("pdfminer").setLevel(logging.CRITICAL)
logging.getLogger("pdfplumber").setLevel(logging.CRITICAL)

# pdfminer's errors about a damaged file; pdfplumber wraps them when it opens one. Errors of our own code say nothing
# about the file: `formats.read_file` reports them as a fault of the reader.
_DAMAGE = (PdfminerException, MalformedPDFException, PSException, struct.error, zlib.error, *FAULTS)
_TAIL_BYTES = 4096  # in which a complete file has its end mark
_MIN_LETTERS = 25  # a page with fewer has no real text layer
_SCANNED = 0.3  # of a page: with a picture of this size and few letters it is a scan
_NO_TITLE = re.compile(
    r"(?:untitled|microsoft|powerpoint|document|slide|title|\(?unspecified|\(?anonymous|https?:|file:|about:\S)"
    r"|.*\.(?:docx?|pdf|xlsx?|pptx?|indd|qxd|tex|dvi|ps|rtf|odt|wpd|txt|html?|fm|pub|ai|eps)$",
    re.IGNORECASE,
)
_LETTERS = re.compile(r"[^\W\d_]{3}")
_CODE = re.compile(r"[\d_]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff\ufffd]+")


def read_pdf(path: Path) -> Loaded:
    """Return the document. ``Section.page`` counts the pages of the file from 1.

    Raises:
        LoadError: it cannot be opened, is damaged, cut short, protected, or has no text layer.
    """
    try:
        with path.open("rb") as file:
            metadata_title, pages = _read(file, path)
    except OSError as error:
        raise unreadable(path, error) from error
    without_running_lines(pages)
    _check_text(pages, path)
    title, sections = sections_of(pages, _sensible_title(metadata_title, path))
    return Loaded(title or path.stem, lay_out(sections), pages=len(pages))


def _read(file: BufferedReader, path: Path) -> tuple[str, list[PageText]]:
    """Return the title in the file's metadata, and its pages.

    Raises:
        LoadError: damaged, cut short or protected.
    """
    with _damage_named(path):
        pdf = pdfplumber.open(file)
        drawn = list(pages_of(pdf))
        # If the file's end is missing, pages may be too: pdfminer then reads what it still finds.
        file.seek(max(file.seek(0, SEEK_END) - _TAIL_BYTES, 0))
        rebuilt = all(isinstance(table, PDFXRefFallback) for table in pdf.doc.xrefs)
        whole = bool(drawn) and not (rebuilt and b"%%EOF" not in file.read())
    if not whole:
        raise LoadError(_damaged(path))
    reader = PdfPageReader()
    pages = []
    for page in drawn:
        with _damage_named(path):  # only while pdfminer works: our own faults must not look like a damaged file
            _ = page.objects, page.edges  # pdfplumber keeps them until the page is closed
        pages.append(reader.read(page))
    return str(pdf.metadata.get("Title") or ""), pages


@contextmanager
def _damage_named(path: Path) -> Iterator[None]:
    protected = f"{path.name} is protected with a password. Save it without one and load that file."
    try:
        yield
    except _DAMAGE as error:
        cause = error.args[0] if isinstance(error, PdfminerException) and error.args else error
        is_protected = isinstance(cause, PDFPasswordIncorrect | PDFEncryptionError)
        raise LoadError(protected if is_protected else _damaged(path)) from error


def _damaged(path: Path) -> str:
    return f"{path.name} cannot be read as a PDF: it is damaged or cut short. Save or export it again."


def _check_text(pages: Sequence[PageText], path: Path) -> None:
    """Raise LoadError for a scan: most pages are pictures without text."""
    empty = []
    for page in pages:
        blocks = [block for column in page.columns for block in column]
        letters = (len(block.text) if isinstance(block, Line) else sum(map(len, block.lines)) for block in blocks)
        if sum(letters) < _MIN_LETTERS:
            empty.append(page)
    scanned = sum(page.pictured >= _SCANNED for page in empty)
    remedy = "Run OCR on it first, for example: ocrmypdf in.pdf out.pdf."
    if not any(page.columns for page in pages) or scanned == len(pages):
        raise LoadError(f"{path.name} has no text: it is a scan or holds pictures only. {remedy}")
    if 2 * scanned > len(pages):
        raise LoadError(f"{path.name}: {scanned} of {len(pages)} pages are scans without text. {remedy}")


def _sensible_title(title: str, path: Path) -> str:
    """Return the title, or "" if a program filled it in with a file's name or its own."""
    title = " ".join(_CONTROL.sub(" ", title).split())
    no_words = not _LETTERS.search(title) or (" " not in title and _CODE.search(title))
    if len(title) > 200 or no_words or _NO_TITLE.match(title) or title == path.stem:
        return ""
    return title
