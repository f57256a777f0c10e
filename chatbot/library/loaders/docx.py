"""Word files: headings to section paths, without footers, deleted and hidden text. Of
the headers those that tell parts of the document apart are read.

The XML is read here: python-docx leaves out content controls, tracked insertions and
text boxes, which forms have.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from lxml.etree import _Element

from ...domain import Section
from .docx_signs import SYMBOLS, VALUE, WordNumbering, value_of, w
from .html import page_sections
from .office import EMBEDDED_NOTE, OfficeLoader, diagram_texts, left_out, parse_part
from .sections import (
    LINE,
    PARAGRAPH,
    HeadingOutline,
    apart,
    label,
    labelled_row,
    one_line,
)

if TYPE_CHECKING:
    from docx.document import Document


TITLE = 0
"""The level of a paragraph in the style Title."""
_HEADING_NAME = re.compile(r"heading ([1-9])", re.IGNORECASE)
_CONTENTS_NAME = re.compile(r"toc (\d|heading)|table of figures", re.IGNORECASE)
_TRANSPARENT = {
    w(name) for name in ("sdt", "sdtContent", "customXml", "ins", "moveTo", "smartTag")
}
# A reader does not see deleted text, the second version of a drawing for old programs,
# and properties.
_SKIPPED = {
    w(name) for name in ("del", "moveFrom", "pPr", "rPr", "sdtPr", "rt", "txbxContent")
} | {"{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"}
_SIGNS = {w("tab"): " ", w("br"): "\n", w("cr"): "\n", w("noBreakHyphen"): "-"}
_TEXTS = {w("t"), "{http://schemas.openxmlformats.org/officeDocument/2006/math}t"}
_REFERENCE = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_WHITE = re.compile(r"f[a-f]f[a-f]f[a-f]", re.IGNORECASE)
_PRIVATE = {0xF000 + int(code, 16): sign for code, sign in SYMBOLS.items()}
"""Word stores what is typed in the font Symbol as private characters."""
_WORD = re.compile(r"[^\W\d_]{3}")
_EMBEDDED = "The embedded page"
_SCRIPTS = {"superscript", "subscript"}
_NOTES = ("footnote", "endnote")


class DocxLoader(OfficeLoader):
    """Word breaks pages anew on each machine, so a section has no page."""

    noun = "a Word document"
    suffixes = (".docx",)
    parts = "word/"
    nothing = "text. Pictures of text are not read."

    def library(self) -> tuple[Callable[[IO[bytes]], Any], tuple[type[Exception], ...]]:
        import docx
        from docx.exceptions import PythonDocxError
        from docx.opc.exceptions import OpcError
        from docx.opc.part import Part, PartFactory

        # An embedded document has the content type of a whole one, as which python-docx
        # cannot read it.
        PartFactory.part_class_selector = lambda content_type, relation: (
            Part if relation.endswith(("/aFChunk", "/image")) else None
        )
        return docx.Document, (PythonDocxError, OpcError)

    def read(
        self, document: "Document", path: Path
    ) -> tuple[str, Iterator[Section], None, list[str]]:
        numbers = [
            part.element
            for part in document.part.package.iter_parts()
            if part.partname == "/word/numbering.xml"
        ]
        numbering = WordNumbering(numbers[0] if numbers else None)
        reader = WordReader(
            read_styles(document.styles.element),
            dict(_notes(document)),
            numbering,
            document.part,
            _volumes(document),
        )
        reader.read(document.element.body)
        sections = reader.outline.sections(keep_title=bool(reader.title))
        return (
            reader.title or reader.outline.title(),
            sections,
            None,
            [*left_out((EMBEDDED_NOTE, reader.unread)), *reader.page_notes],
        )

    def margins(self, document: "Document") -> Iterator[str]:
        for part in document.part.package.iter_parts():
            if part.partname.startswith(("/word/header", "/word/footer")):
                yield from filter(
                    None, map(paragraph_text, parse_part(part.blob).iter(w("p")))
                )


def _volumes(document: "Document") -> list[str]:
    """Return what the header of each section says that those of others do not: "Volume
    II: Inland Region". A section without a header has that of the one before.
    """
    headers: list[list[str]] = []
    for section in document.element.body.iter(w("sectPr")):
        if section.getparent().tag not in {w("pPr"), w("body")}:
            continue
        lines = headers[-1] if headers else []
        for reference in section.iterchildren(w("headerReference")):
            relation = document.part.rels.get(reference.get(_REFERENCE, ""))
            if relation is None or relation.is_external:
                continue
            if reference.get(w("type")) == "default":
                header = parse_part(relation.target_part.blob)
                lines = list(map(paragraph_text, header.iter(w("p"))))
        headers.append(lines)
    common = set(headers[0]).intersection(*headers[1:]) if headers else set[str]()
    volumes: list[str] = []
    for lines in headers:
        own = [line for line in lines if line not in common and _WORD.search(line)]
        volumes.append(label(one_line(" ".join(own))))
    return volumes


def _notes(document: "Document") -> Iterator[tuple[tuple[str, str], str]]:
    """Yield footnotes and endnotes as ((kind, id), text)."""
    for relation in document.part.rels.values():
        kind = relation.reltype.rpartition("/")[2].removesuffix("s")
        if kind not in _NOTES or relation.is_external:
            continue
        notes = parse_part(relation.target_part.blob)
        for note in notes.iterchildren(w(kind)):
            texts = (
                paragraph_text(paragraph) for paragraph in note.iterchildren(w("p"))
            )
            yield (kind, note.get(w("id"), "")), one_line(" ".join(texts))


@dataclass(frozen=True, slots=True)
class Style:
    """A paragraph style. ``level``: of a heading (0 = title, None = no heading)."""

    level: int | None = None
    numbering: _Element | None = None
    skipped: bool = False


def read_styles(root: _Element) -> dict[str, Style]:
    """Return the paragraph styles by id, with what they inherit."""
    elements = {style.get(w("styleId"), ""): style for style in root.iter(w("style"))}
    styles = {}
    for style_id, style in elements.items():
        level = None
        numbering = None
        name = style_id
        visited = set[str]()
        while name in elements and name not in visited:
            visited.add(name)
            element = elements[name]
            if level is None:
                style_name = value_of(element, "name")
                level = (
                    TITLE
                    if style_name.lower() == "title"
                    else _level(element, style_name)
                )
            numbering = (
                numbering
                if numbering is not None
                else element.find(f"{w('pPr')}/{w('numPr')}")
            )
            name = value_of(element, "basedOn")
        styles[style_id] = Style(
            level,
            numbering,
            skipped=bool(_CONTENTS_NAME.match(value_of(style, "name"))),
        )
    return styles


def _level(element: _Element, style_name: str) -> int | None:
    """Return a heading's level by the built-in style's name (the same in every language
    of Word) or its outline.
    """
    if match := _HEADING_NAME.fullmatch(style_name):
        return int(match[1])
    outline = element.find(f"{w('pPr')}/{w('outlineLvl')}")
    value = outline.get(VALUE, "") if outline is not None else ""
    return int(value) + 1 if value in set("012345678") else None


class WordReader:
    """``notes``: texts of footnotes and endnotes by kind and id. Each goes below the
    paragraph that refers to it. ``volumes``: what the header of each section adds to
    its headings.
    """

    def __init__(
        self,
        styles: Mapping[str, Style],
        notes: Mapping[tuple[str, str], str],
        numbering: WordNumbering,
        part: Any,
        volumes: Sequence[str] = (),
    ) -> None:
        self._volumes = list(volumes)
        self._styles = styles
        self._notes = dict(notes)
        self._numbering = numbering
        self._part = part
        self.outline = HeadingOutline()
        self.title = ""
        self.unread = 0
        """The number of embedded files in other formats."""
        self.page_notes: dict[str, None] = {}
        """Those on embedded pages, each once."""
        self._after_item = False
        self._begin_volume()

    def _begin_volume(self) -> None:
        if self._volumes:
            self.outline.volume(self._volumes.pop(0))

    def read(self, parent: _Element) -> None:
        for block in children(parent):
            if block.tag == w("p"):
                self._paragraph(block)
            elif block.tag == w("tbl"):
                self._table(block)
            elif block.tag == w("altChunk"):
                self._embedded(block)

    def _paragraph(self, paragraph: _Element) -> None:
        properties = paragraph.find(w("pPr"))
        style = self._styles.get(value_of(properties, "pStyle"), Style())
        text = paragraph_text(paragraph)
        level = style.level if style.level is not None else _level(paragraph, "")
        numbering = None if properties is None else properties.find(w("numPr"))
        listed = numbering if numbering is not None else style.numbering
        number = (
            self._numbering.next(listed, value_of(properties, "pStyle")) if text else ""
        )
        if text and not style.skipped:
            if level == TITLE and not self.title:
                self.title = one_line(text)
            elif level:
                self.outline.heading(level, one_line(f"{number} {text}"))
            else:
                self._text(text, listed, number)
        for box in _text_boxes(paragraph):
            self.read(box)
        for line in diagram_texts(paragraph, self._part):
            self.outline.add(f"- {line}", gap=LINE)
        self._notes_of(paragraph)
        if properties is not None and properties.find(w("sectPr")) is not None:
            self._begin_volume()

    def _notes_of(self, element: _Element) -> None:
        """Add the notes that an element refers to, each once: a hostile file may refer
        to one a million times.
        """
        for kind in _NOTES:
            for reference in element.iter(w(f"{kind}Reference")):
                if note := self._notes.pop((kind, reference.get(w("id"), "")), ""):
                    self.outline.add(f"Note: {note}", gap=LINE)

    def _embedded(self, chunk: _Element) -> None:
        """Add the text of an embedded web page or text file."""
        relation = self._part.rels.get(chunk.get(_REFERENCE, ""))
        if (
            relation is None
            or relation.is_external
            or "html" not in relation.target_part.content_type
        ):
            self.unread += 1
            return
        page = page_sections(relation.target_part.blob, name=_EMBEDDED)
        self.page_notes |= dict.fromkeys(page.notes)
        for section in page.sections:
            self.outline.add("".join(section.path[-1:]))
            self.outline.add_section(section)

    def _text(self, text: str, numbering: _Element | None, number: str) -> None:
        # The number 0 removes the style's numbering.
        item = numbering is not None and value_of(numbering, "numId") != "0"
        depth = value_of(numbering, "ilvl")
        indent = "  " * int(depth) if depth in set("12345678") else ""
        gap = LINE if item and self._after_item else PARAGRAPH
        self.outline.add(f"{indent}{number or '-'} {text}" if item else text, gap=gap)
        self._after_item = item

    def _table(self, table: _Element) -> None:
        rows = [list(children(row, "tc")) for row in children(table, "tr")]
        if all(len(row) <= 1 for row in rows):  # a frame around text
            for row in rows:
                for cell in row:
                    self.read(cell)
        else:
            cells, heads = _table_cells(table)
            self.outline.table(cells, heads=heads or None)
            self._notes_of(table)
        self._after_item = False


def _text_boxes(paragraph: _Element) -> Iterator[_Element]:
    """Yield the text boxes that are anchored in a paragraph, without those in them."""
    for box in paragraph.iter(w("txbxContent")):
        between = takewhile(lambda parent: parent is not paragraph, box.iterancestors())
        if not any(parent.tag in _SKIPPED for parent in between):
            yield box


def children(parent: _Element, name: str = "") -> Iterator[_Element]:
    """Yield the visible children (of this name), also those in content controls and
    tracked insertions.
    """
    for child in parent.iterchildren("*"):
        if child.tag in _TRANSPARENT:
            yield from children(child, name)
        elif child.tag not in _SKIPPED and (not name or child.tag == w(name)):
            yield child


def paragraph_text(paragraph: _Element) -> str:
    pieces: list[str] = []
    for piece, place in _pieces(paragraph):
        pieces.append(
            apart(piece, pieces[-1], lowered=place == "subscript")
            if place and pieces
            else piece
        )
    return "\n".join(map(one_line, "".join(pieces).split("\n"))).strip()


def _pieces(parent: _Element, *, place: str = "") -> Iterator[tuple[str, str]]:
    """Yield texts, each with "superscript", "subscript" or ""."""
    for child in children(parent):
        if child.tag in _TEXTS:
            fonts = parent.find(f"{w('rPr')}/{w('rFonts')}")
            in_symbols = fonts is not None and fonts.get(w("ascii")) == "Symbol"
            yield (child.text or "").translate(_PRIVATE if in_symbols else {}), place
        elif child.tag in _SIGNS:
            yield _SIGNS[child.tag], ""
        elif child.tag == w("sym"):
            code = child.get(w("char"), "")[-2:].lower()
            yield (
                (SYMBOLS.get(code, "") if child.get(w("font")) == "Symbol" else ""),
                "",
            )
        elif not _is_hidden(child):
            align = value_of(
                child.find(w("rPr")) if child.tag == w("r") else None, "vertAlign"
            )
            yield from _pieces(child, place=align if align in _SCRIPTS else "")


def _is_hidden(run: _Element) -> bool:
    """Return whether a run is marked as hidden, tiny, or white on white by the
    properties around it.
    """
    properties = run.find(w("rPr"))
    if properties is None:
        return False
    vanish = properties.find(w("vanish"))
    if vanish is not None and vanish.get(VALUE, "1") not in {"0", "false", "off"}:
        return True
    size = value_of(properties, "sz")
    # In half points: smaller letters are hidden.
    if size.isdecimal() and len(size) < 4 and int(size) <= 3:
        return True
    return bool(_WHITE.fullmatch(value_of(properties, "color"))) and not any(
        map(_has_background, (run, *run.iterancestors()))
    )


def _has_background(element: _Element) -> bool:
    """Return whether the text in it may have its own background: shading, a table's
    style, a shape.
    """
    if element.tag in {w("txbxContent"), w("body")}:
        return (
            element.tag == w("txbxContent")
            or element.getparent().find(w("background")) is not None
        )
    properties = element.find(w(f"{element.tag.rpartition('}')[2]}Pr"))
    if properties is None:
        return False
    shading = properties.find(w("shd"))
    fill = "auto" if shading is None else shading.get(w("fill"), "auto")
    has_style = properties.find(w("tblStyle")) is not None
    return (
        has_style
        or properties.find(w("highlight")) is not None
        or not (fill == "auto" or _WHITE.fullmatch(fill))
    )


def _table_cells(table: _Element) -> tuple[list[list[str]], int]:
    """Return the cells, and how many rows the file calls heads. A cell over several
    columns comes once, one over several rows in each of them.
    """
    lines: list[list[str]] = []
    heads = 0
    for row in children(table, "tr"):
        above = lines[-1] if lines else []
        line = list[str]()
        for cell in children(row, "tc"):
            properties = cell.find(w("tcPr"))
            merge = None if properties is None else properties.find(w("vMerge"))
            continues = (
                merge is not None
                and merge.get(VALUE, "continue") == "continue"
                and len(line) < len(above)
            )
            span = value_of(properties, "gridSpan")
            text = label(above[len(line)]) if continues else _cell_text(cell)
            line += [text] + [""] * (min(int(span), 64) - 1 if span.isdecimal() else 0)
        is_head = row.find(f"{w('trPr')}/{w('tblHeader')}") is not None
        if is_head and heads == len(lines):
            heads += 1
        lines.append(line)
    return lines, heads


def _cell_text(cell: _Element) -> str:
    texts: list[str] = []
    for block in children(cell):
        if block.tag == w("tbl"):
            rows, _ = _table_cells(block)
            texts.append("; ".join(map(labelled_row, rows)))
            continue
        texts.append(paragraph_text(block))
        for box in _text_boxes(block):
            texts += map(paragraph_text, children(box, "p"))
    return " ".join(filter(None, texts))
