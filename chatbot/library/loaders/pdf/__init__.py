"""PDF and pictures of pages: `page` reads one page, its `drawing` to `words`, `tables`
and columns in reading order; `outline` makes sections of all pages. No permissively
licensed library kept as many table rows whole (benchmarks/table_structure.py).
"""

import logging
import re
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from ....domain import Loaded, Section
from ....domain.documents import lay_out
from ....domain.errors import LoadError
from .. import Fit, Sample
from ..ocr import PIXELS, Ocr
from ..office import FILLED_IN, MAX_MARGINS
from ..text import opened

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
        from .pages import read_pages

        with opened(path) as file:
            read = read_pages(file, path, self.ocr.note)
        pages = read.texts
        margins = without_running_lines(pages)
        # A page without a real text layer of which a picture takes 30 % is a scan.
        scans = [page for page in pages if page.letters < 25 and page.pictured >= 0.3]
        if scans and not self.ocr.missing:
            for page in scans[: self.ocr.pages]:
                words, page.confidence = self.ocr.page_words(path, page.number)
                page.columns = columns_of_words(words)
            margins += without_running_lines(pages)
        unread = [page for page in scans if page.confidence is None]
        if not any(page.columns for page in pages) or len(unread) == read.count:
            raise LoadError(
                f"{path.name} has no text: it is a scan or holds pictures only. "
                f"{self._remedy}"
            )
        about = {
            name: " ".join(_CONTROL.sub(" ", value).split())
            for name, value in read.properties.items()
        }
        if not _is_title(about["title"], path):
            about["title"] = ""
        title, sections = sections_of(pages, about["title"])
        ocr_notes = self._notes(len(scans), len(unread), read.count)
        return Loaded(
            title or path.stem,
            lay_out(sections),
            pages=read.count,
            margins=margins[:MAX_MARGINS],
            properties=about,
            notes=(*read.notes(), *ocr_notes),
        )

    @property
    def _remedy(self) -> str:
        """What to do with a file that has no text."""
        if self.ocr.missing:
            return (
                f"{self.ocr.missing}, or run OCR on it first: ocrmypdf in.pdf out.pdf."
            )
        return "OCR found nothing to read in it."

    def _notes(self, scans: int, unread: int, pages: int) -> Iterator[str]:
        """Yield what is to be said of pages that are pictures."""
        if unread:
            yield PICTURES_NOTE.format(
                count=unread, pages=pages, remedy=self.ocr.missing
            )
        if scans > unread:
            yield OCR_NOTE.format(count=scans - unread, pages=pages)


def _is_title(title: str, path: Path) -> bool:
    """Return False for what a program has filled in: the name of the file, or its
    own.
    """
    if len(title) > 200 or title == path.stem or FILLED_IN.match(title):
        return False
    is_code = " " not in title and _CODE.search(title)
    return bool(_LETTERS.search(title)) and not is_code


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
