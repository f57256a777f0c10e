"""The content of a web page to an outline: headings, paragraphs, lists, tables."""

from __future__ import annotations

from lxml import etree
from lxml.html import HtmlElement

from .html_tables import html_table_text, is_data_table
from .office_outline import LINE, PARAGRAPH, Outline

_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_PARAGRAPHS = {
    "address", "article", "aside", "blockquote", "body", "center", "details", "dialog", "div", "dl", "fieldset",
    "figure", "footer", "form", "header", "hgroup", "hr", "main", "ol", "p", "section", "table", "td", "th", "ul",
}  # fmt: skip
_LINES = {"caption", "dd", "dt", "figcaption", "legend", "li", "summary", "tr"}
_LONGEST_HEADING = 500
"""Characters. A heading that is not closed would swallow the page."""
_MARKS_OF_LINKS = " ¶"
"""Signs that site generators put behind a heading, as a link to it."""


class PageReader:
    """Reads with a loop, not by recursion: pages nest deeper than Python's stack."""

    def __init__(self) -> None:
        self.outline = Outline()
        self._pieces: list[str] = []
        self._gap = PARAGRAPH
        self._prefix = ""
        self._lists = 0
        self._heads = False  # in a heading: what is in it does not part it
        self._term = False  # behind a term: its definition goes on in the same line

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
                self.outline.add(html_table_text(element), gap=PARAGRAPH)
                walk.skip_subtree()
            else:
                self._enter(element)
                self._pieces.append(element.text or "")
        self._end(PARAGRAPH)

    def _enter(self, element: HtmlElement) -> None:
        tag = element.tag
        if tag == "br":
            self._break()
        elif tag in _HEADINGS:
            self._end(PARAGRAPH)
            self._heads = len(element.text_content()) <= _LONGEST_HEADING
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
            if text := self._taken().rstrip(_MARKS_OF_LINKS):
                self.outline.heading(_HEADINGS[tag], text)
            self._heads = False
            self._gap = PARAGRAPH
        elif tag == "dt":
            if text := self._taken():
                self._pieces = [f"{text.rstrip(' :')}: "]
                self._term = True
        elif tag in _PARAGRAPHS or tag in _LINES or tag in _HEADINGS:
            self._lists -= tag in {"ul", "ol"}
            self._end(LINE if tag in _LINES else PARAGRAPH)

    def _break(self) -> None:
        """One line break ends a line, two make a paragraph."""
        if self._heads:
            self._pieces.append(" ")
        else:
            empty = not "".join(self._pieces).strip()
            self._end(PARAGRAPH if empty else LINE)

    def _end(self, gap: str) -> None:
        """Ends the running line; ``gap`` is what parts it from the next one. Paragraphs in a list stay lines."""
        if self._heads:
            self._pieces.append(" ")
            return
        gap = LINE if self._lists else gap
        self._term = False
        if text := self._taken():
            self.outline.add(self._prefix + text, gap=self._gap)
            self._prefix = ""
            self._gap = gap
        elif gap == PARAGRAPH:
            self._gap = gap

    def _taken(self) -> str:
        text = " ".join("".join(self._pieces).split())
        self._pieces = []
        return text
