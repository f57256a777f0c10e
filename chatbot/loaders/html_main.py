"""Which part of a web page is its content: what is hidden, and what is furniture of the site, goes first."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lxml import etree
from lxml.html import HtmlElement

_NEVER_TEXT = {
    "script", "style", "template", "noscript", "nav", "dialog", "svg", "iframe", "object", "embed", "canvas", "audio",
    "video", "button", "select", "textarea", "input", "datalist", "map", "head",
}  # fmt: skip
_FURNITURE_ROLES = {"navigation", "banner", "contentinfo", "search", "dialog", "alertdialog", "menu", "menubar"}
_HIDDEN_STYLE = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)
# Whole words of class and id. Words that reports are about ("social", "share", "related") are not among them.
_FURNITURE = re.compile(
    r"(?<![a-z])(?:cookies?|consent|gdpr|breadcrumbs?|navbar|sidebar|newsletter|skip-?link|editsection|headerlink)(?![a-z])",
    re.IGNORECASE,
)
_LINK_LISTS = re.compile(r"(?<![a-z])(?:nav|menu|footer|header|toc|share|social|related|pager)(?![a-z])", re.IGNORECASE)
_CONTENT = {"main", "article", "section", "blockquote"}
_MOSTLY = 0.5
"""Share of the page's text that no furniture has, and share of links from which a list of links is furniture."""
_MAIN_SHARE = 0.2
"""Share of the text that <main> must have: some pages mark up only their opening picture as that."""


@dataclass(slots=True)
class _Measure:
    """Of one element: characters, and those in links."""

    text: int = 0
    linked: int = 0
    content: int = 0
    """Elements around it that hold content: a <header> in an <article> is not the site's."""


def main_part(page: HtmlElement) -> HtmlElement:
    """The element with the content; what is not content is emptied."""
    for element in _furniture(page):
        element.clear(keep_tail=True)  # taking it out would copy the text around it, once for each
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
    """In one pass, however deep elements are nested: a page may be made to take time."""
    found: list[HtmlElement] = []
    doubtful: list[tuple[HtmlElement, int]] = []
    open_elements = [_Measure()]
    walk = etree.iterwalk(page, events=("start", "end"))
    for event, element in walk:
        if event == "start":
            content = open_elements[-1].content + (element.tag in _CONTENT or element.get("role") == "main")
            measure = _Measure(len((element.text or "").strip()), content=content)
            if _never_shows(element):
                found.append(element)
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
    return found + [element for element, size in doubtful if size < _MOSTLY * whole]


def _never_shows(element: HtmlElement) -> bool:
    return (
        element.tag in _NEVER_TEXT
        or "hidden" in element.attrib
        or element.get("aria-hidden") == "true"
        or element.get("role", "") in _FURNITURE_ROLES
        or bool(_HIDDEN_STYLE.search(element.get("style", "")))
    )


def _may_be_furniture(element: HtmlElement, measure: _Measure) -> bool:
    if element.tag in {"header", "footer", "aside"} and not measure.content:
        return True
    names = f"{element.get('class', '')} {element.get('id', '')}"
    if names != " " and _FURNITURE.search(names):
        return True
    links = measure.text > 0 and measure.linked >= _MOSTLY * measure.text
    return links and (element.tag in {"header", "footer", "aside"} or bool(_LINK_LISTS.search(names)))
