"""PDF and pictures of pages: `page` reads one page, its `drawing` to `words`, `tables`
and columns in reading order; `outline` makes sections of all pages. No permissively
licensed library kept as many table rows whole (benchmarks/table_structure.py).
"""

import logging
import re
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import SEEK_END, BufferedReader
from pathlib import Path
from typing import IO, TYPE_CHECKING

from ....domain import Loaded, Section
from ....domain.documents import lay_out
from ....domain.errors import LoadError
from .. import FAULTS, Fit, Sample
from ..ocr import PIXELS, Ocr
from ..office import FILLED_IN, MAX_MARGINS
from ..text import opened

if TYPE_CHECKING:
    from .page import PageText

# pdfminer reports each oddity of a file, thousands for some. The serious ones arrive as
# exceptions.
logging.getLogger("pdfminer").setLevel(logging.CRITICAL)
logging.getLogger("pdfplumber").setLevel(logging.CRITICAL)

_LETTERS = re.compile(r"[^\W\d_]{3}")
_CODE = re.compile(r"[\d_]")
PICTURES_NOTE = "{count} of {pages} pages are images. {remedy}."
OCR_NOTE = "OCR read {count} of {pages} pages, which are images."
_IMAGE_MAGIC = (b"\x89PNG\r\n", b"\xff\xd8\xff")
_MAX_PIXELS = 100_000_000
_POINT = 0.42  # in a pixel, if the picture is a page of A4
_CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff\ufffd]+")


class PdfLoader:
    noun = "a PDF"
    suffixes = (".pdf",)
    isolated = True
    ocr = Ocr()

    def fit(self, sample: Sample) -> Fit:
        # Other programs put mail headers and the like before a PDF.
        start = sample.head.find(b"%PDF-", 0, 1024)
        if start < 0:
            return Fit.NO
        # A text may contain "%PDF-" as well.
        first = not sample.head[:start].strip(b"\xef\xbb\xbf \t\r\n")
        return (
            Fit.CERTAIN
            if first or sample.is_named(self.suffixes) or b"\0" in sample.head
            else Fit.NO
        )

    def load(self, path: Path) -> Loaded:
        """``Section.page`` counts the pages of the file from 1."""
        from .outline import sections_of
        from .page import columns_of_words, without_running_lines

        with opened(path) as file:
            properties, pages = _read(file, path, self.ocr)
        margins = without_running_lines(pages)
        # A page without a real text layer of which a picture takes 30 % is a scan.
        pictures = [
            page for page in pages if page.letters < 25 and page.pictured >= 0.3
        ]
        if pictures and not self.ocr.missing:
            for page in pictures[: self.ocr.pages]:
                words, page.confidence = self.ocr.page_words(path, page.number)
                page.columns = columns_of_words(words)
            margins += without_running_lines(pages)
        scanned = sum(page.confidence is None for page in pictures)
        remedy = "OCR found nothing to read in it."
        if self.ocr.missing:
            remedy = (
                f"{self.ocr.missing}, or run OCR on it first: ocrmypdf in.pdf out.pdf."
            )
        if not any(page.columns for page in pages) or scanned == len(pages):
            raise LoadError(
                f"{path.name} has no text: it is a scan or holds pictures only. "
                f"{remedy}"
            )
        title = " ".join(_CONTROL.sub(" ", properties["title"]).split())
        no_words = not _LETTERS.search(title) or (
            " " not in title and _CODE.search(title)
        )
        if len(title) > 200 or no_words or FILLED_IN.match(title) or title == path.stem:
            title = ""  # a program filled it in with a file's name or its own
        properties["title"] = title
        title, sections = sections_of(pages, title)
        about = {
            name: " ".join(_CONTROL.sub(" ", value).split())
            for name, value in properties.items()
        }
        notes = (
            [
                PICTURES_NOTE.format(
                    count=scanned, pages=len(pages), remedy=self.ocr.missing
                )
            ]
            if scanned
            else []
        )
        if len(pictures) > scanned:
            notes.append(
                OCR_NOTE.format(count=len(pictures) - scanned, pages=len(pages))
            )
        return Loaded(
            title or path.stem,
            lay_out(sections),
            pages=len(pages),
            margins=margins[:MAX_MARGINS],
            properties=about,
            notes=tuple(notes),
        )


class ImageLoader:
    """Photographs and scans, with the extra `ocr`."""

    noun = "a PNG or JPEG image"
    suffixes = (".png", ".jpg", ".jpeg")
    isolated = True
    ocr = Ocr()

    def fit(self, sample: Sample) -> Fit:
        return Fit.CERTAIN if sample.head.startswith(_IMAGE_MAGIC) else Fit.NO

    def load(self, path: Path) -> Loaded:
        """Raises LoadError: the file cannot be opened, or as `read_picture`."""
        with opened(path) as file:
            title, sections = read_picture(file, path.name, self.ocr)
        return Loaded(title or path.stem, lay_out(sections), pages=1)


def read_picture(file: IO[bytes], name: str, ocr: Ocr) -> tuple[str, list[Section]]:
    """Read a picture as one page. Return its title, which may be "", and its sections.
    Raises LoadError: it is damaged, too large, or shows no text, or no OCR reads it;
    OSError.
    """
    import numpy as np
    from PIL import Image, ImageOps

    from .outline import sections_of
    from .page import PageText, columns_of_words

    if ocr.missing:
        raise LoadError(f"{name} is an image. {ocr.missing}.")
    Image.MAX_IMAGE_PIXELS = _MAX_PIXELS // 2  # Pillow refuses twice as many
    try:
        with Image.open(file, formats=("PNG", "JPEG")) as image:
            image.draft("RGB", (2 * PIXELS, 2 * PIXELS))
            picture = ImageOps.exif_transpose(image).convert("RGB")
    except Image.DecompressionBombError as error:
        raise LoadError(
            f"{name} has more than {_MAX_PIXELS:,} pixels. Save it smaller."
        ) from error
    except (SyntaxError, ValueError, struct.error, zlib.error, OSError) as error:
        if isinstance(error, OSError) and error.errno:
            raise
        raise LoadError(
            f"{name} is damaged or cut short. Save or export it again."
        ) from error
    picture.thumbnail((PIXELS, PIXELS))
    words, confidence = ocr.words(np.asarray(picture), 1, _POINT)
    if not words:
        raise LoadError(f"{name} shows no text that can be read.")
    return sections_of(
        [
            PageText(
                1, picture.height * _POINT, columns_of_words(words), 1.0, confidence
            )
        ],
        "",
    )


def _read(
    file: BufferedReader, path: Path, ocr: Ocr
) -> "tuple[dict[str, str], list[PageText]]":
    """Return the file's properties, and its pages. Raises LoadError: damaged, cut short
    or protected.
    """
    import pdfplumber
    from pdfminer.pdfdocument import PDFXRefFallback

    from .drawing import pages_of
    from .page import PdfPageReader
    from .xmp import xmp_properties

    with _damage_named(path):
        pdf = pdfplumber.open(file)
        drawn = list(pages_of(pdf))
        # If the file's end is missing, pages may be too: pdfminer then reads what it
        # still finds.
        # A complete file has its end mark in its last 4,096 bytes.
        file.seek(max(file.seek(0, SEEK_END) - 4096, 0))
        rebuilt = all(isinstance(table, PDFXRefFallback) for table in pdf.doc.xrefs)
        if not drawn or (rebuilt and b"%%EOF" not in file.read()):
            raise ValueError("pages are missing")
    reader = PdfPageReader()
    pages = []
    for page in drawn:
        with _damage_named(
            path
            # only while pdfminer works: our own faults must not look like a damaged file  # noqa: E501
        ):
            _ = (
                page.objects,
                page.edges,
            )  # pdfplumber keeps them until the page is closed
        pages.append(reader.read(page))
        ocr.note(len(pages), len(drawn))
    stated = {"title": "Title", "subject": "Subject", "created": "CreationDate"}
    properties = {
        name: str(pdf.metadata.get(key) or "") for name, key in stated.items()
    }
    # "D:20240509172559Z00'00'": only the year matters.
    properties["created"] = properties["created"].removeprefix("D:")[:4]
    properties["authors"] = str(pdf.metadata.get("Author") or "")
    return properties | xmp_properties(pdf.doc), pages


@contextmanager
def _damage_named(path: Path) -> Iterator[None]:
    """Turn pdfminer's errors about a damaged file, which pdfplumber wraps when it opens
    one, into a LoadError.
    """
    from pdfminer.pdfdocument import PDFEncryptionError, PDFPasswordIncorrect
    from pdfminer.psexceptions import PSException
    from pdfplumber.utils.exceptions import MalformedPDFException, PdfminerException

    try:
        yield
    except (
        PdfminerException,
        MalformedPDFException,
        PSException,
        struct.error,
        zlib.error,
        *FAULTS,
    ) as error:
        cause = (
            error.args[0]
            if isinstance(error, PdfminerException) and error.args
            else error
        )
        if isinstance(cause, PDFPasswordIncorrect | PDFEncryptionError):
            advice = "Save it without one and load that file."
            raise LoadError(
                f"{path.name} is protected with a password. {advice}"
            ) from error
        problem = (
            "cannot be read as a PDF: it is damaged or cut short. Save or export it "
            "again."
        )
        raise LoadError(f"{path.name} {problem}") from error
