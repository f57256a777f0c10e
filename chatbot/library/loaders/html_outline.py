"""The part of a web page with its content, to an outline: headings, paragraphs, lists,
tables.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lxml import etree
from lxml.etree import _Element
from lxml.html import HtmlElement

from ...domain.errors import read_table
from .sections import LINE, PARAGRAPH, HeadingOutline, label

_ELEMENTS = read_table(__package__, "elements")
NEVER_CONTENT = _ELEMENTS["never_content"]
_FURNITURE_ROLES = _ELEMENTS["furniture_roles"]
# Whole words of class and id, without words that reports are about ("social", "share",
# "related").
_FURNITURE = re.compile(
    r"(?<![a-z])(?:cookies?|consent|gdpr|breadcrumbs?|navbar|sidebar|newsletter|skip-?link|editsection|headerlink)(?![a-z])",
    re.IGNORECASE,
)
_LINK_LISTS = re.compile(
    r"(?<![a-z])(?:nav|menu|footer|header|toc|share|social|related|pager)(?![a-z])",
    re.IGNORECASE,
)
_CONTENT = {"main", "article", "section", "blockquote"}
_MOSTLY = 0.5
"""Share of the page's text above which an element is content, and share of links above
which a list is furniture.
"""


@dataclass(slots=True)
class _Measure:
    """An element's length in characters, and that of the links in it."""

    text: int = 0
    linked: int = 0
    content: int = 0
    """Number of content elements around it: a <header> in an <article> is not the
    site's.
    """


def main_part(page: HtmlElement) -> HtmlElement:
    """Return the element with the content, and empty the elements in it that are not
    content.
    """
    for element in _furniture(page):
        element.clear(keep_tail=True)  # removing each would copy the text around it
    body = page.find("body")
    body = page if body is None else body
    size = len(body.text_content())
    mains = body.xpath(
        "//*[(self::main or @role='main') and not(ancestor::main or "
        "ancestor::*[@role='main'])]"
    )
    articles = body.xpath("//article[not(ancestor::article)]")
    best = max(mains, key=lambda element: len(element.text_content()), default=None)
    # Some pages mark up only their opening picture as <main>.
    if best is not None and len(best.text_content()) >= 0.2 * size:
        return best
    if len(articles) == 1 and len(articles[0].text_content()) >= _MOSTLY * size:
        return articles[0]
    return body


def _furniture(page: HtmlElement) -> list[HtmlElement]:
    """Return the elements that are not content, such as navigation, in one pass: a
    hostile page may have many.
    """
    furniture: list[HtmlElement] = []
    doubtful: list[tuple[HtmlElement, int]] = []
    open_elements = [_Measure()]
    walk = etree.iterwalk(page, events=("start", "end"))
    for event, element in walk:
        if event == "start":
            content = open_elements[-1].content + (
                element.tag in _CONTENT or element.get("role") == "main"
            )
            measure = _Measure(len((element.text or "").strip()), content=content)
            if _is_never_content(element):
                furniture.append(element)
                walk.skip_subtree()
                measure.text = 0
            open_elements.append(measure)
            continue
        measure = open_elements.pop()
        measure.linked = measure.text if element.tag == "a" else measure.linked
        if element.tag not in {"main", "body", "html"} and _may_be_furniture(
            element, measure
        ):
            doubtful.append((element, measure.text))
        around = open_elements[-1]
        around.text += measure.text + len((element.tail or "").strip())
        around.linked += measure.linked
    whole = open_elements[0].text
    return furniture + [element for element, size in doubtful if size < _MOSTLY * whole]


def _is_never_content(element: HtmlElement) -> bool:
    return (
        element.get("aria-hidden") == "true"
        or element.tag in NEVER_CONTENT
        or element.get("role", "") in _FURNITURE_ROLES
    )


def _may_be_furniture(element: HtmlElement, measure: _Measure) -> bool:
    if element.tag in {"header", "footer", "aside"} and not measure.content:
        return True
    names = f"{element.get('class', '')} {element.get('id', '')}"
    if names != " " and _FURNITURE.search(names):
        return True
    links = measure.text > 0 and measure.linked >= _MOSTLY * measure.text
    return links and (
        element.tag in {"header", "footer", "aside"} or bool(_LINK_LISTS.search(names))
    )


_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_PARAGRAPHS = _ELEMENTS["paragraphs"]
_LINES = _ELEMENTS["lines"]
_LINK_MARKS = " ¶"
"""Signs that site generators put after a heading as a link to it."""


class HtmlReader:
    """Reads the content of a page with a loop, not by recursion: pages nest deeper than
    Python's stack.
    """

    def __init__(self) -> None:
        self.outline = HeadingOutline()
        self._pieces: list[str] = []
        self._gap = PARAGRAPH
        self._prefix = ""
        self._lists = 0
        self._heads = False  # in a heading, which line breaks do not end
        self._term = False  # after a term, whose definition continues in the same line

    def read(self, root: HtmlElement) -> None:
        walk = etree.iterwalk(root, events=("start", "end"))
        for event, element in walk:
            if event == "end":
                self._leave(element)
                self._pieces.append((element.tail or "") if element is not root else "")
            elif element.tag == "pre":
                self._end(PARAGRAPH)
                self.outline.add(element.text_content().strip("\n"), gap=PARAGRAPH)
                walk.skip_subtree()
            elif element.tag == "table" and is_data_table(element):
                self._end(PARAGRAPH)
                self._table(element)
                walk.skip_subtree()
            else:
                self._enter(element)
                self._pieces.append(element.text or "")
        self._end(PARAGRAPH)

    def _table(self, table: _Element) -> None:
        """Add a table. A heading cell names its column, or its row if it comes
        first.
        """
        rows = list(_rows(table))
        title = " ".join(map(_text, table.iterchildren("caption")))
        is_pair = rows[0].names == [True, False] or not any(rows[0].cells)
        heads = 0
        for row in rows:
            # Below others, a heading alone is the name of a group of rows.
            if not all(row.names) or (heads and len(row.names) == 1):
                break
            if not any(row.cells):
                break
            heads += 1
        self.outline.table(
            [row.cells for row in rows],
            heads=heads if heads or is_pair else None,
            title=title,
        )

    def _enter(self, element: HtmlElement) -> None:
        tag = element.tag
        if tag == "br":  # ends the line; a second one ends the paragraph
            self._end(LINE if "".join(self._pieces).strip() else PARAGRAPH)
        elif tag in _HEADINGS:
            self._end(PARAGRAPH)
            # A heading that is not closed would contain the rest of the page.
            self._heads = len(element.text_content()) <= 500
        elif tag in _PARAGRAPHS or tag in _LINES:
            if tag == "dd" and self._term:
                self._term = False
                return
            self._end(LINE if tag in _LINES else PARAGRAPH)
            self._lists += tag in {"ul", "ol"}
            if tag == "li":
                self._prefix = "  " * (self._lists - 1) + "- "

    def _leave(self, element: HtmlElement) -> None:
        tag = element.tag
        if tag in _HEADINGS and self._heads:
            if text := self._take_text().rstrip(_LINK_MARKS):
                self.outline.heading(_HEADINGS[tag], text)
            self._heads = False
            self._gap = PARAGRAPH
        elif tag == "dt":
            if text := self._take_text():
                self._pieces = [f"{text.rstrip(' :')}: "]
                self._term = True
        elif tag in _PARAGRAPHS or tag in _LINES or tag in _HEADINGS:
            self._lists -= tag in {"ul", "ol"}
            self._end(LINE if tag in _LINES else PARAGRAPH)

    def _end(self, gap: str) -> None:
        """End the current line. ``gap`` separates it from the next one. Paragraphs in a
        list stay lines.
        """
        if self._heads:
            self._pieces.append(" ")
            return
        gap = LINE if self._lists else gap
        self._term = False
        if text := self._take_text():
            self.outline.add(self._prefix + text, gap=self._gap)
            self._prefix = ""
            self._gap = gap
        elif gap == PARAGRAPH:
            self._gap = gap

    def _take_text(self) -> str:
        text = " ".join("".join(self._pieces).split())
        self._pieces = []
        return text


_MAX_SPAN = 32
"""Columns that one cell may span, and columns from the left in which cells may span
rows: a hostile page may claim thousands in each of thousands of rows.
"""
_FRAME_OF = ("table", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol")
_BLOCKS = {"br", "p", "div", "td", "th"}
_ITEM = "\x01"
_ITEMS = {"li", "tr", "h1", "h2", "h3", "h4", "h5", "h6"}


@dataclass(frozen=True, slots=True)
class _Row:
    cells: list[str]
    names: list[bool]
    """True for each cell of this row that is a heading (<th>)."""


def is_data_table(table: _Element) -> bool:
    """Return False for a table for layout: it has one column, or contains blocks and
    names no column.
    """
    if table.get("role", "") in {"presentation", "none"}:
        return False
    rows = list(_table_rows(table))
    if not any(len(list(row.iterchildren("td", "th"))) > 1 for row in rows):
        return False
    if next(table.iterdescendants(*_FRAME_OF), None) is None:
        return True
    return any(next(row.iterchildren("th"), None) is not None for row in rows[:2])


def _table_rows(table: _Element) -> Iterator[_Element]:
    """Yield a table's rows, without those of tables in its cells."""
    for child in table.iterchildren("tr", "thead", "tbody", "tfoot"):
        yield from [child] if child.tag == "tr" else child.iterchildren("tr")


def _rows(table: _Element) -> Iterator[_Row]:
    hanging: dict[
        int, tuple[int, str]
    ] = {}  # cells that span rows, by column: remaining rows, text
    for row in _table_rows(table):
        cells = list[str]()
        names = list[bool]()
        for cell in row.iterchildren("td", "th"):
            _fill_spanned(hanging, cells)
            text = _text(cell)
            heads = cell.tag == "th"
            width = _span(cell, "colspan")
            height = _span(cell, "rowspan")
            for place in range(len(cells), len(cells) + min(width, _MAX_SPAN)):
                if height > 1 and place < _MAX_SPAN:
                    # A cell that spans rows is repeated in the first columns only: it
                    # names the rows.
                    hanging[place] = (
                        height - 1,
                        label(text) if place == len(cells) < 4 else "",
                    )
            # A heading over several columns names each of them.
            spread = label(text) if heads else ""
            cells += [text, *[spread] * (min(width, _MAX_SPAN) - 1)]
            names.append(heads)
        if names == [True]:
            # It is the caption of the table, or the name of the rows below it.
            cells = [text]
        if names:
            _fill_spanned(hanging, cells)
            yield _Row(cells, names)


def _fill_spanned(hanging: dict[int, tuple[int, str]], cells: list[str]) -> None:
    """Fill the next columns that a cell of a row above still covers."""
    while (place := len(cells)) in hanging:
        rows, text = hanging.pop(place)
        if rows > 1:
            hanging[place] = (rows - 1, text)
        cells.append(text)


def _span(cell: _Element, name: str) -> int:
    value = cell.get(name, "1").strip()
    return int(value) if value.isdecimal() and len(value) < 6 and int(value) else 1


def _text(cell: _Element) -> str:
    """Return a cell's text on one line. Commas separate the items of lists and the rows
    of tables in it.
    """
    pieces = []
    for element in cell.iter():
        if element is not cell:
            pieces.append(
                _ITEM
                if element.tag in _ITEMS
                else " "
                if element.tag in _BLOCKS
                else ""
            )
        pieces.append(element.text or "")
        pieces.append((element.tail or "") if element is not cell else "")
    return ", ".join(
        filter(None, (" ".join(item.split()) for item in "".join(pieces).split(_ITEM)))
    )
