"""Web pages: the main content with its headings as section paths, without navigation,
banners and hidden text. trafilatura 2.3 kept 63 to 75 % of the words of a page of short
entries (nigeria-2024.html); this keeps all.
"""

import codecs
import re
from pathlib import Path

from lxml import etree
from lxml.html import HtmlElement, HTMLParser

from ...domain import Loaded
from ...domain.documents import lay_out
from ...domain.errors import LoadError
from . import Fit, Sample
from .css_computed import drop_hidden
from .html_metadata import publication_properties
from .html_outline import NEVER_CONTENT, HtmlReader, main_part
from .sections import apart, one_line
from .text import clean, decode, opened

MAX_MARKUP = 2_000_000
"""Tags and attributes. libxml2 needs 120 bytes for each. The longest pages of Wikipedia
have some 100,000.
"""
STYLES_NOTE = (
    "Its styles were too large to be followed, so it may hold text that browsers hide."
)
# By a lookahead, which is tried once: a few comments could be split in millions of
# ways. Possessive groups skip too little in Python up to 3.11.4 (gh-106052).
_START = re.compile(
    r"(?is)(?=((?:\s|<!--(?:(?!-->).)*-->|<\?xml[^>]*\?>)*))\1<(?:!doctype\s+html|html|head|body)\b"
)
_TAG = re.compile(r"<[a-z][^<>]*>", re.IGNORECASE)
_CHARSET = re.compile(
    rb"""<(?:meta[^>]{0,200}?charset|\?xml[^>]{0,100}?encoding)\s*=\s*["']?\s*([\w.:-]{1,40})""",
    re.IGNORECASE,
)
_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
# As browsers do: pages that declare these use the larger set, and UTF-16 could not
# declare itself in ASCII.
_EFFECTIVE_ENCODINGS = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "utf-16": "utf-8",
    "utf-16-le": "utf-8",
    "utf-16-be": "utf-8",
    "utf-32": "utf-8",
}


class HtmlLoader:
    noun = "an HTML page"
    suffixes = (".html", ".htm", ".xhtml")
    isolated = True

    def fit(self, sample: Sample) -> Fit:
        if sample.text is None:
            return Fit.NO
        if _START.match(sample.text):
            return Fit.CERTAIN
        # A fragment without <html> is still a page.
        return (
            Fit.DECLARED
            if sample.is_named(self.suffixes) and _TAG.search(sample.text)
            else Fit.NO
        )

    def load(self, path: Path) -> Loaded:
        with opened(path) as file:
            return page_sections(file.read(), name=path.name)


def page_sections(html: bytes, *, name: str) -> Loaded:
    """Read a page. ``name`` is its name in messages; the stem is the title if there is
    no other. Raises LoadError: it is not a page, has no text, or is too large.
    """
    page = _parsed(html_text(html, name), name)
    if page is None:
        raise LoadError(f"{name} has no text.")
    notes = () if drop_hidden(page) else (STYLES_NOTE,)
    _part_scripts(page)
    properties = publication_properties(page)
    titles = [
        _meta(page, "og:title"),
        *(one_line(page.findtext(f".//{tag}") or "") for tag in ("title", "h1")),
    ]
    description = _meta(page, "description") or _meta(page, "og:description")
    labels = [label.strip() for label in _meta(page, "keywords").split(",")]
    reader = HtmlReader()
    reader.read(main_part(page))
    sections = lay_out(reader.outline.sections())
    if not sections:
        raise LoadError(
            f"{name} has no text. A page that is built by scripts has to be saved "
            "as seen, or as PDF."
        )
    title = next(filter(None, [reader.outline.title(), *titles]), Path(name).stem)
    return Loaded(
        title,
        sections,
        labels=tuple(dict.fromkeys(filter(None, labels))),
        description=description,
        properties=properties,
        notes=notes,
    )


def read_fragment(html: str, name: str, reader: HtmlReader) -> None:
    """Read a part of a page, as far as it is seen. Raises LoadError as `page_sections`
    does.
    """
    page = _parsed(html, name) if html.strip() else None
    if page is None:
        return
    drop_hidden(page)
    _part_scripts(page)
    for element in page.iter(*NEVER_CONTENT):
        element.clear(keep_tail=True)
    reader.read(page)


def _parsed(text: str, name: str) -> HtmlElement | None:
    """Return the root of what a page shows, None if it is empty."""
    if text.count("<") + text.count("=") > MAX_MARKUP:
        raise LoadError(
            f"{name} is too large to be read at once. Split it into smaller pages."
        )
    parser = HTMLParser(
        encoding="utf-8",
        huge_tree=True,
        remove_comments=True,
        remove_pis=True,
        no_network=True,
    )
    try:
        page: HtmlElement | None = etree.fromstring(text.encode(), parser)
    except etree.XMLSyntaxError as error:
        raise LoadError(f"{name} is not an HTML page.") from error
    # libxml2 drops deeper elements, and reports it in its log only.
    if any(
        entry.type == etree.ErrorTypes.ERR_RESOURCE_LIMIT for entry in parser.error_log
    ):
        raise LoadError(
            f"{name} nests its elements too deep to be read. Save it as text or "
            "PDF and try again."
        )
    return page


def _part_scripts(page: HtmlElement) -> None:
    """Rewrite superscripts and subscripts that follow a number, in place, so that they
    are not read as its digits.
    """
    for element in page.iter("sup", "sub"):
        before = element.getprevious()
        parent = element.getparent()
        if before is not None:
            text = before.tail or before.text_content()
        else:
            text = "" if parent is None else parent.text or ""
        if (signs := element.text_content()) != (
            written := apart(signs, text, lowered=element.tag == "sub")
        ):
            element.clear(keep_tail=True)
            element.text = written


def html_text(html: bytes, name: str) -> str:
    """Decode a page by its byte order mark, as UTF-8, as declared in it, or by a guess.
    Raises LoadError: it is not text, or no encoding fits.
    """
    # Browsers look in the first 1,024 bytes; some pages have it later.
    declared = _CHARSET.search(html[:4096])
    if html.startswith(_MARKS) or declared is None:
        return decode(html, name)
    try:
        return clean(html.decode())
    except UnicodeDecodeError:
        pass  # the declared encoding comes next
    try:
        encoding = codecs.lookup(declared[1].decode("ascii", "replace")).name
        # As in a browser, a wrong byte becomes a replacement character.
        return clean(
            html.decode(_EFFECTIVE_ENCODINGS.get(encoding, encoding), errors="replace")
        )
    except (
        LookupError,
        AssertionError,
    ):  # a made-up name, or a codec that makes no text
        return decode(html, name)


def _meta(page: HtmlElement, name: str) -> str:
    values = page.xpath("//meta[@name=$name or @property=$name]/@content", name=name)
    return one_line(values[0]) if values else ""
