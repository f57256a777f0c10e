"""Web pages: the main content with its headings as section paths, without navigation, banners and hidden text.

trafilatura 2.3 kept 63 to 75 % of the words of a page of short entries (nigeria-2024.html); this keeps all.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from pathlib import Path

from lxml import etree
from lxml.html import HtmlElement, HTMLParser

from ..errors import LoadError
from ..schema import Loaded, lay_out
from .formats import Fit, Sample
from .html_hidden import drop_hidden
from .html_outline import HtmlReader
from .sections import one_line
from .text import clean, decode, unreadable

MAX_MARKUP = 2_000_000
"""Tags and attributes. libxml2 needs 120 bytes for each. The longest pages of Wikipedia have some 100,000."""
# Possessive, and no comment reaches beyond its end: otherwise a few of them could be split in millions of ways.
_START = re.compile(
    r"(?:\s|<!--(?:(?!-->).)*+-->|<\?xml[^>]*\?>)*+<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL
)
_TAG = re.compile(r"<[a-z][^<>]*>", re.IGNORECASE)
_CHARSET = re.compile(
    rb"""<(?:meta[^>]{0,200}?charset|\?xml[^>]{0,100}?encoding)\s*=\s*["']?\s*([\w.:-]{1,40})""", re.IGNORECASE
)
_DECLARATION_BYTES = 4096
"""Browsers look for the declaration in the first 1,024; some pages have it later."""
_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
# As browsers do: pages that declare these use the larger set, and UTF-16 could not declare itself in ASCII.
_EFFECTIVE_ENCODINGS = {
    "ascii": "cp1252", "iso8859-1": "cp1252", "gb2312": "gb18030", "gbk": "gb18030",
    "utf-16": "utf-8", "utf-16-le": "utf-8", "utf-16-be": "utf-8", "utf-32": "utf-8",
}  # fmt: skip


class HtmlLoader:
    """Implements `formats.FileLoader`."""

    noun = "an HTML page"
    suffixes = (".html", ".htm", ".xhtml")
    isolated = True

    def fit(self, sample: Sample) -> Fit:
        if sample.text is None:
            return Fit.NO
        if _START.match(sample.text):
            return Fit.CERTAIN
        # A fragment without <html> is still a page.
        return Fit.DECLARED if sample.is_named(self.suffixes) and _TAG.search(sample.text) else Fit.NO

    def load(self, path: Path) -> Loaded:
        try:
            content = path.read_bytes()
        except OSError as error:
            raise unreadable(path, error) from error
        return page_sections(content, name=path.name)


def page_sections(html: bytes, *, name: str) -> Loaded:
    """Read a page. ``name`` is its name in messages; the stem is the title if there is no other.

    Raises:
        LoadError: it is not a page, has no text, or is too large.
    """
    page = _parsed(html_text(html, name), name)
    drop_hidden(page)
    titles = [_meta(page, "og:title"), *(one_line(page.findtext(f".//{tag}") or "") for tag in ("title", "h1"))]
    description = _meta(page, "description") or _meta(page, "og:description")
    labels = [label.strip() for label in _meta(page, "keywords").split(",")]
    reader = HtmlReader()
    reader.read(main_part(page))
    sections = lay_out(reader.outline.sections())
    if not sections:
        raise LoadError(f"{name} has no text. A page that is built by scripts has to be saved as seen, or as PDF.")
    title = next(filter(None, [reader.outline.title(), *titles]), Path(name).stem)
    return Loaded(title, sections, labels=tuple(dict.fromkeys(filter(None, labels))), description=description)


def html_text(html: bytes, name: str) -> str:
    """Decode a page by its byte order mark, as UTF-8, as declared in it, or by a guess.

    Raises:
        LoadError: it is not text, or no encoding fits.
    """
    declared = _CHARSET.search(html[:_DECLARATION_BYTES])
    if html.startswith(_MARKS) or declared is None:
        return decode(html, name)
    try:
        return clean(html.decode())
    except UnicodeDecodeError:
        pass  # the declared encoding comes next
    try:
        encoding = codecs.lookup(declared[1].decode("ascii", "replace")).name
        # As in a browser, a wrong byte becomes a replacement character.
        return clean(html.decode(_EFFECTIVE_ENCODINGS.get(encoding, encoding), errors="replace"))
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
    # libxml2 drops deeper elements, and reports it in its log only.
    if any(entry.type == etree.ErrorTypes.ERR_RESOURCE_LIMIT for entry in parser.error_log):
        raise LoadError(f"{name} nests its elements too deep to be read. Save it as text or PDF and try again.")
    return page


def _meta(page: HtmlElement, name: str) -> str:
    values = page.xpath("//meta[@name=$name or @property=$name]/@content", name=name)
    return one_line(values[0]) if values else ""


_NEVER_CONTENT = {
    "script", "style", "template", "noscript", "nav", "dialog", "svg", "iframe", "object", "embed", "canvas", "audio",
    "video", "button", "select", "textarea", "input", "datalist", "map", "head",
}  # fmt: skip
_FURNITURE_ROLES = {"navigation", "banner", "contentinfo", "search", "dialog", "alertdialog", "menu", "menubar"}
# Whole words of class and id, without words that reports are about ("social", "share", "related").
_FURNITURE = re.compile(
    r"(?<![a-z])(?:cookies?|consent|gdpr|breadcrumbs?|navbar|sidebar|newsletter|skip-?link|editsection|headerlink)(?![a-z])",
    re.IGNORECASE,
)
_LINK_LISTS = re.compile(r"(?<![a-z])(?:nav|menu|footer|header|toc|share|social|related|pager)(?![a-z])", re.IGNORECASE)
_CONTENT = {"main", "article", "section", "blockquote"}
_MOSTLY = 0.5
"""Share of the page's text above which an element is content, and share of links above which a list is furniture."""
_MAIN_SHARE = 0.2
"""Share of the text that <main> must have: some pages mark up only their opening picture so."""


@dataclass(slots=True)
class _Measure:
    """An element's length in characters, and that of the links in it."""

    text: int = 0
    linked: int = 0
    content: int = 0
    """Number of content elements around it: a <header> in an <article> is not the site's."""


def main_part(page: HtmlElement) -> HtmlElement:
    """Return the element with the content, and empty the elements in it that are not content."""
    for element in _furniture(page):
        element.clear(keep_tail=True)  # removing each would copy the text around it
    body = page.find("body")
    body = page if body is None else body
    size = len(body.text_content())
    mains = body.xpath("//*[(self::main or @role='main') and not(ancestor::main or ancestor::*[@role='main'])]")
    articles = body.xpath("//article[not(ancestor::article)]")
    best = max(mains, key=lambda element: len(element.text_content()), default=None)
    if best is not None and len(best.text_content()) >= _MAIN_SHARE * size:
        return best
    if len(articles) == 1 and len(articles[0].text_content()) >= _MOSTLY * size:
        return articles[0]
    return body


def _furniture(page: HtmlElement) -> list[HtmlElement]:
    """Return the elements that are not content, such as navigation, in one pass: a hostile page may have many."""
    furniture: list[HtmlElement] = []
    doubtful: list[tuple[HtmlElement, int]] = []
    open_elements = [_Measure()]
    walk = etree.iterwalk(page, events=("start", "end"))
    for event, element in walk:
        if event == "start":
            content = open_elements[-1].content + (element.tag in _CONTENT or element.get("role") == "main")
            measure = _Measure(len((element.text or "").strip()), content=content)
            if _is_never_content(element):
                furniture.append(element)
                walk.skip_subtree()
                measure.text = 0
            open_elements.append(measure)
            continue
        measure = open_elements.pop()
        measure.linked = measure.text if element.tag == "a" else measure.linked
        if element.tag not in {"main", "body", "html"} and _may_be_furniture(element, measure):
            doubtful.append((element, measure.text))
        around = open_elements[-1]
        around.text += measure.text + len((element.tail or "").strip())
        around.linked += measure.linked
    whole = open_elements[0].text
    return furniture + [element for element, size in doubtful if size < _MOSTLY * whole]


def _is_never_content(element: HtmlElement) -> bool:
    return (
        element.tag in _NEVER_CONTENT
        or "hidden" in element.attrib
        or element.get("aria-hidden") == "true"
        or element.get("role", "") in _FURNITURE_ROLES
    )


def _may_be_furniture(element: HtmlElement, measure: _Measure) -> bool:
    if element.tag in {"header", "footer", "aside"} and not measure.content:
        return True
    names = f"{element.get('class', '')} {element.get('id', '')}"
    if names != " " and _FURNITURE.search(names):
        return True
    links = measure.text > 0 and measure.linked >= _MOSTLY * measure.text
    return links and (element.tag in {"header", "footer", "aside"} or bool(_LINK_LISTS.search(names)))
