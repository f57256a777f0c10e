"""Web pages (.html): the main content, its headings as section paths; navigation, banners and hidden text are left out.

lxml only: of a page of short entries trafilatura 2.3 kept 63 to 75 % of the words (nigeria-2024.html), this 100 %.
"""

from __future__ import annotations

import codecs
import re
from pathlib import Path

from lxml import etree
from lxml.html import HtmlElement, HTMLParser

from ..errors import LoadError
from ..schema import Loaded, lay_out
from .decoding import clean, decode
from .html_main import main_part
from .html_text import PageReader

MAX_MARKUP = 2_000_000
"""Tags and attributes: libxml2 needs 120 bytes for each. The longest pages of Wikipedia have some 100,000."""
_CHARSET = re.compile(
    rb"""<(?:meta[^>]{0,200}?charset|\?xml[^>]{0,100}?encoding)\s*=\s*["']?\s*([\w.:-]{1,40})""", re.IGNORECASE
)
_DECLARED_WITHIN = 4096
"""Bytes. Browsers look for the declaration in the first 1,024; some pages have it later."""
_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
# As browsers read them: pages that declare these are in the larger set, and UTF-16 could not be read up to here.
_MEANT = {
    "ascii": "cp1252", "iso8859-1": "cp1252", "gb2312": "gb18030", "gbk": "gb18030",
    "utf-16": "utf-8", "utf-16-le": "utf-8", "utf-16-be": "utf-8", "utf-32": "utf-8",
}  # fmt: skip


class HtmlLoader:
    """Implements `protocols.Loader`."""

    suffixes = (".html", ".htm", ".xhtml")

    def load(self, path: Path) -> Loaded:
        try:
            content = path.read_bytes()
        except OSError as error:
            raise LoadError(f"{path.name} cannot be read: {error.strerror}.") from error
        return page_sections(content, name=path.name)


def page_sections(html: bytes, *, name: str) -> Loaded:
    """A page as it came from a file or an address. ``name`` is what messages call it; its stem is the last resort
    for a title.

    Raises:
        LoadError: it is no page, has no text, or is too large.
    """
    page = _parsed(html_text(html, name), name)
    titles = [_meta(page, "og:title"), _line(page.findtext(".//title") or ""), _line(page.findtext(".//h1") or "")]
    description = _meta(page, "description") or _meta(page, "og:description")
    labels = [label.strip() for label in _meta(page, "keywords").split(",")]
    reader = PageReader()
    reader.read(main_part(page))
    sections = lay_out(reader.outline.sections())
    if not sections:
        raise LoadError(f"{name} has no text. A page that is built by scripts has to be saved as seen, or as PDF.")
    title = next(filter(None, [reader.outline.title(), *titles]), Path(name).stem)
    return Loaded(title, sections, labels=tuple(dict.fromkeys(filter(None, labels))), description=description)


def html_text(html: bytes, name: str) -> str:
    """The characters of a page: by its byte order mark, as UTF-8, as declared in it, or guessed.

    Raises:
        LoadError: it is not text, or no encoding fits.
    """
    declared = _CHARSET.search(html[:_DECLARED_WITHIN])
    if html.startswith(_MARKS) or declared is None:
        return decode(html, name)
    try:
        return clean(html.decode())
    except UnicodeDecodeError:
        pass  # then it is in what it declares
    try:
        encoding = codecs.lookup(declared[1].decode("ascii", "replace")).name
        # One wrong byte does not make a page unreadable: as in a browser, it shows as a sign for that.
        return clean(html.decode(_MEANT.get(encoding, encoding), errors="replace"))
    except (LookupError, AssertionError):  # a made-up name, or a codec that makes no text
        return decode(html, name)


def _parsed(text: str, name: str) -> HtmlElement:
    if text.count("<") + text.count("=") > MAX_MARKUP:
        raise LoadError(f"{name} is too large to be read at once. Split it into smaller pages.")
    parser = HTMLParser(encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True, no_network=True)
    try:
        page: HtmlElement | None = etree.fromstring(text.encode(), parser)
    except etree.XMLSyntaxError as error:
        raise LoadError(f"{name} is not an HTML page.") from error
    if page is None:
        raise LoadError(f"{name} has no text.")
    # libxml2 drops what is nested deeper, and only says so in its log.
    if any(entry.type == etree.ErrorTypes.ERR_RESOURCE_LIMIT for entry in parser.error_log):
        raise LoadError(f"{name} nests its elements too deep to be read. Save it as text or PDF and try again.")
    return page


def _meta(page: HtmlElement, name: str) -> str:
    found = page.xpath("//meta[@name=$name or @property=$name]/@content", name=name)
    return _line(found[0]) if found else ""


def _line(text: str) -> str:
    return " ".join(text.split())


def build() -> HtmlLoader:
    return HtmlLoader()
