"""OpenDocument files: texts (.odt), spreadsheets (.ods) and presentations (.odp), as
the program shows them.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any
from zipfile import ZipFile

from ...domain import Section
from ...domain.documents import lay_out
from ...domain.errors import LoadError
from .office import (
    ROWS_NOTE,
    SHEETS_NOTE,
    SLIDES_NOTE,
    OfficeLoader,
    parse_part,
)
from .sections import (
    LINE,
    MAX_COLUMNS,
    PARAGRAPH,
    HeadingOutline,
    apart,
    on_page,
    one_line,
)
from .xlsx import (
    MAX_CELLS,
    SheetNotes,
    drop_columns,
    fill_merged,
    sheet_sections,
    spare_columns,
)

_STANDARD = {
    name: name for name in ("office", "style", "text", "table", "presentation", "meta")
} | {"draw": "drawing"}
NAMESPACES = {
    prefix: f"urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"
    for prefix, name in _STANDARD.items()
} | {
    "calcext": "urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0",
    "xlink": "http://www.w3.org/1999/xlink",
    "dc": "http://purl.org/dc/elements/1.1/",
}
_PROPERTIES = {
    "title": "dc:title",
    "description": "dc:description",
    "keywords": "meta:keyword",
    "subject": "dc:subject",
    "created": "meta:creation-date",
    "author": "meta:initial-creator",
    "creator": "dc:creator",
}


def q(name: str) -> str:
    """Return a name with its namespace, as lxml writes it."""
    prefix, _, local = name.partition(":")
    return f"{{{NAMESPACES[prefix]}}}{local}"


_SKIPPED = frozenset(
    map(
        q,
        (
            "text:tracked-changes",
            "text:table-of-content",
            "text:note-citation",
            "text:note",
            "office:annotation",
            "text:sequence-decls",
            "office:forms",
        ),
    )
)
_SIGNS = {q("text:tab"): " ", q("text:s"): " ", q("text:line-break"): "\n"}


class OpenDocument:
    """The parts of a file. ``body``: the text, the spreadsheet or the presentation."""

    def __init__(self, file: IO[bytes]) -> None:
        self._archive = ZipFile(file)
        self.body: Any = None
        if b"encryption-data" not in self._archive.read("META-INF/manifest.xml"):
            self.content = self.part("content.xml")
            self.body = next(self.content.iter(q("office:body")))[0]
        meta = self.optional("meta.xml")
        texts = {
            name: "; ".join(each.text or "" for each in meta.iter(q(tag)))
            for name, tag in _PROPERTIES.items()
        }
        self.core_properties = SimpleNamespace(**texts)

    def part(self, name: str) -> Any:
        return parse_part(self._archive.read(name))

    def optional(self, name: str) -> Any:
        """Return a part that small files lack: then one without any text."""
        return self.part(
            name if name in self._archive.namelist() else "META-INF/manifest.xml"
        )

    def charts(self, reference: Any) -> Iterator[Any]:
        """Yield the tables with the figures of an embedded chart."""
        name = f"{reference.get(q('xlink:href'), '').removeprefix('./')}/content.xml"
        if name in self._archive.namelist():
            yield from self.part(name).iter(q("table:table"))

    @cached_property
    def styles(self) -> dict[str, dict[str, str]]:
        """The properties of the file's own styles, by the style's name."""
        return {
            style.get(q("style:name"), ""): dict(
                chain.from_iterable(each.attrib.items() for each in (style, *style))
            )
            for style in self.content.iter(q("style:style"))
        }


class OdfLoader(OfficeLoader):
    noun = "an OpenDocument file"
    suffixes = (".odt", ".ods", ".odp")
    parts = "META-INF/manifest.xml"
    nothing = "text that can be seen."

    def library(self) -> tuple[Callable[[IO[bytes]], Any], tuple[type[Exception], ...]]:
        return OpenDocument, ()

    def read(
        self, document: Any, path: Path
    ) -> tuple[str, list[Section], int | None, list[str]]:
        if document.body is None:
            raise LoadError(
                f"{path.name} is protected by a password. Save it without one and "
                "try again."
            )
        notes = SheetNotes()
        reader = _Reader(document, notes)
        title = ""
        sections = list[Section]()
        pages = None
        if document.body.tag == q("office:spreadsheet"):
            for sheet in document.body.iterchildren(q("table:table")):
                if (
                    document.styles.get(sheet.get(q("table:style-name"), ""), {}).get(
                        q("table:display")
                    )
                    == "false"
                ):
                    notes.hidden[SHEETS_NOTE] += 1
                else:
                    sections += sheet_sections(
                        sheet.get(q("table:name"), ""), reader.rows(sheet, path), notes
                    )
        elif document.body.tag == q("office:presentation"):
            slides = document.body.findall(q("draw:page"))
            pages = len(slides)
            sections = [
                section
                for number, slide in enumerate(slides, 1)
                for section in reader.slide(slide, number)
            ]
        else:
            reader.walk(document.body)
            title = reader.title or reader.outline.title()
            sections = list(reader.outline.sections(keep_title=bool(reader.title)))
        return title, sections, pages, notes.sentences()

    def margins(self, document: Any) -> Iterator[str]:
        for margin in document.optional("styles.xml").iter(
            q("style:header"), q("style:footer")
        ):
            yield from filter(
                None,
                (
                    one_line("".join(line.itertext()))
                    for line in margin.iter(q("text:p"))
                ),
            )


@dataclass
class _Reader:
    """Reads elements of one file. ``notes`` counts what is left out."""

    document: OpenDocument
    notes: SheetNotes

    def __post_init__(self) -> None:
        self.outline = HeadingOutline()
        self.title = ""

    def walk(self, parent: Any, depth: int = 0) -> None:
        """Add the headings, paragraphs, items and tables below an element. ``depth``:
        of lists around it.
        """
        for element in (
            self.document.charts(parent)
            if parent.tag == q("draw:object")
            else parent.iterchildren("*")
        ):
            if element.tag == q("text:h"):
                self.outline.heading(
                    int(element.get(q("text:outline-level"), "1")),
                    one_line(self.text(element)),
                )
            elif element.tag == q("text:p"):
                item = f"{'  ' * (depth - 1)}- " if depth else ""
                text = self.text(element)
                style = element.get(q("text:style-name"), "")
                if "Title" in {
                    style,
                    self.document.styles.get(style, {}).get(
                        q("style:parent-style-name")
                    ),
                }:
                    self.title = self.title or one_line(text)
                    continue
                self.outline.add(
                    item + text if text else "", gap=LINE if depth else PARAGRAPH
                )
                for box in element.iter(q("draw:text-box"), q("draw:object")):
                    self.walk(box)
                for note in element.iter(q("text:note-body")):
                    self.outline.add(
                        f"Note: {one_line(' '.join(map(self.text, note)))}", gap=LINE
                    )
            elif element.tag == q("table:table"):
                self.outline.table(self.rows(element, Path()))
            elif element.tag not in _SKIPPED:
                self.walk(element, depth + (element.tag == q("text:list")))

    def slide(self, slide: Any, number: int) -> Iterator[Section]:
        style = self.document.styles.get(slide.get(q("draw:style-name"), ""), {})
        if style.get(q("presentation:visibility")) == "hidden":
            self.notes.hidden[SLIDES_NOTE] += 1
            return
        titles = [
            frame
            for frame in slide.iter(q("draw:frame"))
            if frame.get(q("presentation:class")) == "title"
        ]
        title = one_line(
            " ".join(
                self.text(line) for frame in titles for line in frame.iter(q("text:p"))
            )
        )
        for frame in titles:
            frame.getparent().remove(frame)
        self.outline = HeadingOutline()
        self.walk(slide)
        sections = lay_out(self.outline.sections())
        yield from on_page(sections, title, number)

    def text(self, element: Any) -> str:
        """Return the visible text of a paragraph, without notes and text boxes in
        it.
        """
        written = element.text or ""
        for child in element.iterchildren("*"):
            style = self.document.styles.get(child.get(q("text:style-name"), ""), {})
            if child.tag in _SIGNS:
                written += _SIGNS[child.tag]
            elif (
                child.tag not in _SKIPPED
                and not child.tag.startswith(q("draw:"))
                and q("text:display") not in style
            ):
                inner = self.text(child)
                is_raised = style.get(q("style:text-position"), "").startswith("super")
                written += apart(inner, written) if is_raised else inner
            written += child.tail or ""
        return written

    def rows(self, table: Any, path: Path) -> Iterator[list[str]]:
        """Yield the shown texts of the visible rows and columns; a merged cell fills
        its range. Raises LoadError.
        """
        hidden = set[int]()
        at = 1
        for column in _own(table, "table:table-column"):
            repeated = int(column.get(q("table:number-columns-repeated"), "1"))
            width = min(repeated, MAX_COLUMNS)
            if column.get(q("table:visibility"), "visible") != "visible":
                hidden.update(range(at, at + width))
            at += width
        rows: dict[int, list[str]] = {}
        merged = list[tuple[int, int, int, int]]()
        number = 0
        cells = 0
        for row in _own(table, "table:table-row"):
            texts = self._cells(row, number + 1, merged)
            # A repeated row fills the sheet to its end, or has a value that was copied
            # down.
            times = int(row.get(q("table:number-rows-repeated"), "1"))
            if row.get(q("table:visibility"), "visible") != "visible":
                self.notes.hidden[ROWS_NOTE] += times if any(texts) else 0
            else:
                for again in range(times if any(texts) else 1):
                    rows[number + 1 + again] = list(texts)
                    cells += len(texts)
                    if cells > MAX_CELLS:
                        raise LoadError(
                            f"{path.name} has more than {MAX_CELLS:,} cells. Split "
                            "it into smaller files."
                        )
            number += times
        for left, top, right, bottom in merged:
            fill_merged(rows, left, top, right, bottom)
        drop_columns(rows, hidden, self.notes)
        if not hidden:
            drop_columns(rows, spare_columns(rows, merged), SheetNotes())
        yield from rows.values()

    def _cells(
        self, row: Any, number: int, merged: list[tuple[int, int, int, int]]
    ) -> list[str]:
        texts: list[str] = []
        for cell in row.iterchildren(
            q("table:table-cell"), q("table:covered-table-cell")
        ):
            lines = (
                *cell.iterchildren(q("text:p"), q("text:h")),
                *cell.iterfind(f"{q('text:list')}//{q('text:p')}"),
            )
            text = one_line(" ".join(map(self.text, lines)))
            if cell.get(q("calcext:value-type")) == "error":
                text = ""
            elif (
                cell.get(q("table:formula"))
                and not text
                and cell.get(q("office:value-type")) != "string"
            ):
                self.notes.formulas += 1
            times = int(cell.get(q("table:number-columns-repeated"), "1"))
            down, across = (
                int(cell.get(q(f"table:number-{way}-spanned"), "1"))
                for way in ("rows", "columns")
            )
            if text and (down > 1 or across > 1):
                merged.append(
                    (len(texts) + 1, number, len(texts) + across, number + down - 1)
                )
            texts += [text] * min(times, MAX_COLUMNS + 1 - len(texts))
        while texts and not texts[-1]:
            texts.pop()
        return texts


def _own(table: Any, tag: str) -> Iterator[Any]:
    """Yield the rows or columns of a table, without those of tables in its cells."""
    return (
        each
        for each in table.iter(q(tag))
        if next(each.iterancestors(q("table:table"))) is table
    )
