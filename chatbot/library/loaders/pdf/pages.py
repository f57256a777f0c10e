"""The pages of a PDF, none of them lost: each is read by its layout, and the letters
kept are held against those that PDFium sees. Where too few arrive, or the layout cannot
be read, the page is PDFium's plain text.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from io import SEEK_END, BufferedReader
from pathlib import Path

from pdfminer.pdfdocument import (
    PDFDocument,
    PDFEncryptionError,
    PDFNoPageLabels,
    PDFPasswordIncorrect,
    PDFXRefFallback,
)
from pdfminer.pdfparser import PDFParser
from pdfplumber.utils.pdfinternals import resolve_and_decode

from ....domain.errors import LoadError
from .damage import DAMAGE
from .drawing import DrawnPage, Loss, pages_of
from .measures import read_measure
from .page import PageText, PdfPageReader
from .pdfium import PdfiumText, letters_of, printed_well
from .xmp import xmp_properties

_MIN_KEPT = read_measure("pages.kept")
_MIN_UNNOTED = read_measure("pages.noted")
_END_BYTES = int(read_measure("pages.end"))
_MAX_NAMED = int(read_measure("pages.named"))
PLAIN_NOTE = (
    "Read as plain text, without tables and columns, because the layout could not be "
    "read: {pages}."
)
UNREAD_NOTE = "Not read, because they are damaged: {pages}."
LOSS_NOTE = "Letters left out because they {why}: {count:,} ({pages})."
MISSING_NOTE = "Letters that are printed and could not be read: {count:,} ({pages})."
_NOTED = (Loss.HIDDEN, Loss.SLANTED, Loss.NO_UNICODE)


@dataclass(slots=True)
class PdfPages:
    """A file's pages in order, a page with text in several directions several times.
    ``properties``: what the file states about itself, by the names of
    `Loaded.properties`.
    """

    properties: dict[str, str]
    texts: list[PageText] = field(default_factory=list)
    count: int = 0
    plain: list[int] = field(default_factory=list)
    """The pages of which PDFium's text was taken."""
    unread: list[int] = field(default_factory=list)
    losses: dict[Loss, Counter[int]] = field(
        default_factory=lambda: defaultdict(Counter)
    )
    """How many letters are missing on each page."""
    printed: int = 0
    """The letters that PDFium sees on the pages that were read by their layout."""
    missing: Counter[int] = field(default_factory=Counter)
    """How many of them were not read on each page."""

    def notes(self) -> Iterator[str]:
        """Yield a sentence for each kind of loss."""
        if self.plain:
            yield PLAIN_NOTE.format(pages=_named(self.plain))
        if self.unread:
            yield UNREAD_NOTE.format(pages=_named(self.unread))
        for loss in _NOTED:
            letters = self.losses[loss]
            if count := letters.total():
                pages = _named(sorted(number for number in letters if letters[number]))
                yield LOSS_NOTE.format(count=count, why=loss, pages=pages)
        count = self.missing.total()
        if count > (1 - _MIN_UNNOTED) * self.printed:
            pages = _named(sorted(+self.missing))
            yield MISSING_NOTE.format(count=count, pages=pages)


def _named(pages: list[int]) -> str:
    """Return the numbers of pages as a person would name them."""
    shown = ", ".join(map(str, pages[:_MAX_NAMED]))
    more = len(pages) - _MAX_NAMED
    noun = "page" if len(pages) == 1 else "pages"
    if more > 0:
        return f"{noun} {shown} and {more} more"
    return f"{noun} {shown}"


class _Document(PDFDocument):
    """pdfminer's document without the printed numbers of its pages, which are not
    used and may be damaged.
    """

    def get_page_labels(self) -> Iterator[str]:
        raise PDFNoPageLabels


@dataclass(slots=True)
class _OpenFile:
    doc: PDFDocument
    laparams: None = None


def read_pages(
    file: BufferedReader, path: Path, note: Callable[[int, int], None]
) -> PdfPages:
    """Read all pages. ``note`` is called with the number of pages read and of all.
    Raises LoadError: no page can be read, the file's end is missing, or it is
    protected.
    """
    drawn, properties = _drawn_pages(file, path)
    pages = PdfPages(properties)
    pdfium = PdfiumText(path)
    try:
        pages.count = max(len(drawn), pdfium.pages)
        for number, texts in enumerate(_texts(pages, drawn, pdfium), start=1):
            pages.texts += texts
            note(number, pages.count)
    finally:
        pdfium.close()
    if len(pages.unread) == pages.count:
        raise _damaged(path)
    return pages


def _texts(
    pages: PdfPages, drawn: list[DrawnPage], pdfium: PdfiumText
) -> Iterator[list[PageText]]:
    """Yield the text of each page, and note what is lost."""
    reader = PdfPageReader()
    # pdfminer leaves damaged pages out: those after them have other numbers.
    left_out = pages.count - len(drawn)
    waiting = iter(drawn)
    page = next(waiting, None)
    texts = _read(reader, page)
    for number in range(1, pages.count + 1):
        printed = pdfium.text(number)
        missing = _missing(texts or (), printed)
        seen = letters_of(printed).total()
        if texts is not None and seen - missing >= _MIN_KEPT * seen:
            chosen = texts
        else:
            chosen = _plain(pages, number, pdfium, texts)
        if chosen is texts:
            pages.printed += seen
            pages.missing[number] = missing
        is_next = left_out > 0 and page is not None and chosen is not texts
        for text in chosen:
            text.number = number
            for loss, letters in text.losses.items():
                pages.losses[loss][number] += letters
        yield chosen
        if is_next:
            left_out -= 1
            continue
        page = next(waiting, None)
        texts = _read(reader, page)


def _read(reader: PdfPageReader, page: DrawnPage | None) -> list[PageText] | None:
    """Return the page by its layout; None if that cannot be read."""
    if page is None:
        return None
    try:
        return reader.read(page)
    except DAMAGE:
        return None


def _missing(texts: Sequence[PageText], printed: str) -> int:
    """Return how many of the letters that PDFium sees were not read, nor left out for a
    reason that is noted.
    """
    seen = letters_of(printed)
    read = Counter[str]()
    unknown = 0
    for text in texts:
        for block in text.blocks():
            read += letters_of(block.text)
        read += letters_of(text.left_out)
        # PDFium guesses letters without a value. Signs that nobody can read show it.
        if not printed_well(printed):
            unknown += text.losses[Loss.NO_UNICODE]
    return max(0, (seen - read).total() - unknown)


def _plain(
    pages: PdfPages, number: int, pdfium: PdfiumText, texts: list[PageText] | None
) -> list[PageText]:
    """Return PDFium's text of a page, or the page's own if that has more letters."""
    height, lines = pdfium.lines(number)
    plain = PageText(number, height, [[*lines]] if lines else [], pictured=0.0)
    if texts is not None and plain.letters <= sum(text.letters for text in texts):
        return texts
    (pages.plain if lines else pages.unread).append(number)
    return [plain]


def _drawn_pages(
    file: BufferedReader, path: Path
) -> tuple[list[DrawnPage], dict[str, str]]:
    """Return the pages that pdfminer finds, and the file's properties. Raises
    LoadError: the end of the file is missing, or it is protected.
    """
    properties = dict.fromkeys(("title", "subject", "created", "authors"), "")
    drawn: list[DrawnPage] = []
    rebuilt = True
    try:
        document = _Document(PDFParser(file))
        rebuilt = all(isinstance(xref, PDFXRefFallback) for xref in document.xrefs)
        properties = _properties(document)
        drawn.extend(pages_of(_OpenFile(document)))
    except (PDFPasswordIncorrect, PDFEncryptionError) as error:
        advice = "Save it without one and load that file."
        raise LoadError(
            f"{path.name} is protected with a password. {advice}"
        ) from error
    except DAMAGE:
        pass  # PDFium may find the other pages
    # If the file's end is missing, pages may be too. A complete file has its end mark
    # in its last bytes.
    file.seek(max(file.seek(0, SEEK_END) - _END_BYTES, 0))
    if rebuilt and b"%%EOF" not in file.read():
        raise _damaged(path)
    return drawn, properties


def _properties(document: PDFDocument) -> dict[str, str]:
    stated: dict[str, object] = {}
    for info in document.info:
        if isinstance(info, dict):
            stated |= info
    properties = {
        "title": _property(stated, "Title"),
        "subject": _property(stated, "Subject"),
        # "D:20240509172559Z00'00'": only the year matters.
        "created": _property(stated, "CreationDate").removeprefix("D:")[:4],
        "authors": _property(stated, "Author"),
    }
    with suppress(*DAMAGE):
        properties |= xmp_properties(document)
    return properties


def _property(stated: dict[str, object], name: str) -> str:
    try:
        return str(resolve_and_decode(stated.get(name)) or "")
    except DAMAGE:
        return ""


def _damaged(path: Path) -> LoadError:
    return LoadError(
        f"{path.name} cannot be read as a PDF: it is damaged or cut short. Save or "
        "export it again."
    )
