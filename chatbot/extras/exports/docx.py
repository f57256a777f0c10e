"""A conversation as a Word file: headings, lists, tables and charts, citations as
footnotes with report, page and link, and places that the passages do not support
highlighted.
"""

import io
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from docx import Document
from docx.document import Document as WordFile
from docx.enum.text import WD_COLOR_INDEX
from docx.opc.constants import CONTENT_TYPE, NAMESPACE, RELATIONSHIP_TYPE
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import parse_xml
from docx.shared import Inches
from docx.text.paragraph import Paragraph
from markdown_it.token import Token

from ...app.web.exports import (
    NO_ANSWER,
    FileFormat,
    ShownFigures,
    about_question,
    original_address,
    publication_words,
)
from ...app.web.files import DOCX
from ...database.core import Json
from ...database.repositories.conversations import BRIEF, Conversation
from .charts import FigureChart, charts_of, shown_charts
from .marked import END, MARK, clean, parse_answer

_W = f'xmlns:w="{NAMESPACE.WML_MAIN}" xmlns:r="{NAMESPACE.OFC_RELATIONSHIPS}"'
_DRAWING = "http://schemas.openxmlformats.org/drawingml/2006"
_PIECE = re.compile(rf"(\[\d+(?:, ?\d+)*\]|{MARK}|{END})")
_SEPARATORS = "".join(
    (
        f'<w:footnote w:type="{kind}" '
        f'w:id="{id}"><w:p><w:r><w:{kind}/></w:r></w:p></w:footnote>'
    )
    for id, kind in enumerate(("separator", "continuationSeparator"))
)


class WordWriter:
    """Writes one file. ``link`` gives the address of a citation's original."""

    def __init__(self, title: str, link: Callable[[Json], str]) -> None:
        self._file: WordFile = Document()
        self._file.core_properties.title = clean(title)
        self._file.core_properties.author = "Ask your reports"
        self._file.add_heading(clean(title), 0)
        self._link = link
        self._notes: list[str] = []
        self._links: dict[str, str] = {}
        self._charts = 0

    def add_question(self, text: str, about: str) -> None:
        if text:
            self._file.add_heading(clean(" ".join(text.split())), 1)
        if about:
            self._file.add_paragraph(clean(about), "Subtitle")

    def add_answer(self, markdown: str, answer: Mapping[str, Any]) -> None:
        """``answer``: its citations, marks and figures, as the API shows them."""
        cited = {one["number"]: one for one in answer.get("citations") or ()}
        self._blocks(parse_answer(markdown, answer), cited)
        if answer.get("marks"):
            self._file.add_paragraph(
                "Highlighted: the cited passages do not support this.", "Caption"
            )
        has_figures = answer.get("figures") or answer.get("card")
        for chart in charts_of(answer) if has_figures else ():
            self.add_chart(chart, cited)

    def add_chart(self, chart: FigureChart, cited: Mapping[int, Json]) -> None:
        """``cited``: the passages of its figures, by their numbers."""
        self._chart(chart)
        sources = self._file.add_paragraph("Sources:", "Caption")
        for number in dict.fromkeys(figure["citation"] for figure in chart.figures):
            if number in cited:
                self._footnote(sources, cited[number])

    def bytes(self) -> bytes:
        """Return the file."""
        notes = f"<w:footnotes {_W}>{_SEPARATORS}{''.join(self._notes)}</w:footnotes>".encode()  # noqa: E501
        kind = CONTENT_TYPE.WML_FOOTNOTES
        package = self._file.part.package
        part = Part(PackURI("/word/footnotes.xml"), kind, notes, package)
        for address in self._links:
            part.relate_to(address, RELATIONSHIP_TYPE.HYPERLINK, is_external=True)
        self._file.part.relate_to(part, RELATIONSHIP_TYPE.FOOTNOTES)
        stream = io.BytesIO()
        self._file.save(stream)
        return stream.getvalue()

    def _blocks(self, tokens: Sequence[Token], cited: Mapping[int, Json]) -> None:
        style = "Normal"
        depth = 0
        rows: list[list[Token]] = []
        for token in tokens:
            match token.type:
                case "bullet_list_open":
                    depth += 1
                    style = "List Bullet"
                case "ordered_list_open":
                    depth += 1
                    style = "List Number"
                case "bullet_list_close" | "ordered_list_close":
                    depth -= 1
                    if not depth:
                        style = "Normal"
                case "heading_open":
                    style = f"Heading {min(int(token.tag[1]) + 1, 9)}"
                case "blockquote_open":
                    style = "Quote"
                case "heading_close" | "blockquote_close":
                    style = "Normal"
                case "fence" | "code_block":
                    self._file.add_paragraph(token.content.rstrip("\n"), "macro")
                case "tr_open":
                    rows.append([])
                case "table_close":
                    self._table(rows, cited)
                    rows = []
                case "inline" if rows:
                    rows[-1].append(token)
                case "inline":
                    paragraph = self._file.add_paragraph(style=_level(style, depth))
                    self._inline(paragraph, token, cited)

    def _table(
        self, rows: Sequence[Sequence[Token]], cited: Mapping[int, Json]
    ) -> None:
        width = max(len(texts) for texts in rows)
        table = self._file.add_table(len(rows), width, "Light Grid Accent 1")
        for row, texts in zip(table.rows, rows, strict=True):
            for cell, text in zip(row.cells, texts, strict=False):
                self._inline(cell.paragraphs[0], text, cited)
        self._file.add_paragraph()

    def _inline(
        self, paragraph: Paragraph, token: Token, cited: Mapping[int, Json]
    ) -> None:
        bold = italic = marked = False
        for child in token.children or ():
            match child.type:
                case "strong_open" | "strong_close":
                    bold = child.type == "strong_open"
                case "em_open" | "em_close":
                    italic = child.type == "em_open"
                case "softbreak":
                    paragraph.add_run(" ")
                case "hardbreak":
                    paragraph.add_run("\n")
                case "text" | "code_inline":
                    for piece in _PIECE.split(child.content):
                        if piece in (MARK, END):
                            marked = piece == MARK
                            continue
                        if not piece or self._add_footnotes(paragraph, piece, cited):
                            continue
                        run = paragraph.add_run(piece)
                        run.bold = bold or None
                        run.italic = italic or None
                        if marked:
                            run.font.highlight_color = WD_COLOR_INDEX.YELLOW

    def _add_footnotes(
        self, paragraph: Paragraph, piece: str, cited: Mapping[int, Json]
    ) -> bool:
        """Add a footnote for each number of "[1, 2]"; False where it is something
        else.
        """
        numbers = _cited_numbers(piece, cited)
        for number in numbers:
            self._footnote(paragraph, cited[number])
        return bool(numbers)

    def _chart(self, chart: FigureChart) -> None:
        """Add a chart that Word can edit, with its values as its text for those who do
        not see it.
        """
        drawn = chart.part()
        package = self._file.part.package
        self._charts += 1
        part = Part(
            PackURI(f"/word/charts/chart{self._charts}.xml"),
            CONTENT_TYPE.DML_CHART,
            drawn.blob,
            package,
        )
        values = PackURI(f"/word/embeddings/chart{self._charts}.xlsx")
        workbook = Part(
            values, CONTENT_TYPE.SML_SHEET, drawn.chart_workbook.xlsx_part.blob, package
        )
        part.relate_to(workbook, RELATIONSHIP_TYPE.PACKAGE)  # rId1, as in the chart
        id = self._file.part.relate_to(part, RELATIONSHIP_TYPE.CHART)
        size = (
            f'cx="{Inches(6)}" '
            f'cy="{Inches(3 if chart.is_lines else 0.6 + 0.3 * len(chart.figures))}"'
        )
        text = "; ".join(
            f"{one['subject']}, {one['year']}: {one['text']}" for one in chart.figures
        )
        about = f"name={quoteattr(clean(chart.title))} descr={quoteattr(clean(text))}"
        drawing = (
            f"<w:r {_W}><w:drawing><wp:inline "
            f'xmlns:wp="{_DRAWING}/wordprocessingDrawing">'
            f'<wp:extent {size}/><wp:docPr id="{self._charts}" {about}/>'
            f'<a:graphic xmlns:a="{_DRAWING}/main"><a:graphicData '
            f'uri="{_DRAWING}/chart">'
            f'<c:chart xmlns:c="{_DRAWING}/chart" '
            f'r:id="{id}"/></a:graphicData></a:graphic>'
            "</wp:inline></w:drawing></w:r>"
        )
        paragraph = self._file.add_paragraph()
        paragraph.paragraph_format.keep_with_next = True
        paragraph._p.append(parse_xml(drawing))

    def _footnote(self, paragraph: Paragraph, citation: Json) -> None:
        id = len(self._notes) + 2
        address = self._link(citation)
        place = [
            *publication_words(citation),
            citation["section"],
            f"page {citation['page']}" if citation["page"] else "",
        ]
        text = escape(clean(", ".join(filter(None, [citation["title"], *place]))))
        link = self._links.setdefault(address, f"rId{len(self._links) + 1}")
        raised = '<w:rPr><w:vertAlign w:val="superscript"/></w:rPr>'
        self._notes.append(
            f'<w:footnote w:id="{id}"><w:p><w:pPr><w:spacing '
            f'w:after="0"/></w:pPr><w:r>{raised}<w:footnoteRef/></w:r>'
            f'<w:r><w:t xml:space="preserve"> </w:t></w:r>'
            f"<w:hyperlink r:id={quoteattr(link)}><w:r>"
            '<w:rPr><w:color w:val="0B5D5A"/><w:sz w:val="18"/><w:u '
            'w:val="single"/></w:rPr>'
            f"<w:t>{text}</w:t></w:r></w:hyperlink></w:p></w:footnote>"
        )
        last = paragraph.runs[-1:]
        comma = ""
        if last and last[0]._r.xpath("w:footnoteReference"):
            comma = "<w:t>,</w:t>"
        elif last:
            last[0].text = last[0].text.rstrip(" ")
        reference = f'<w:r {_W}>{raised}{comma}<w:footnoteReference w:id="{id}"/></w:r>'
        paragraph._p.append(parse_xml(reference))


def _level(style: str, depth: int) -> str:
    """Return the style of a list inside of others: Word has three levels."""
    if depth > 1 and style.startswith("List"):
        return f"{style} {min(depth, 3)}"
    return style


def _cited_numbers(piece: str, cited: Mapping[int, Json]) -> list[int]:
    """Return the numbers of "[1, 2]"; none where it is something else, or one is not
    cited.
    """
    if not piece.startswith("["):
        return []
    numbers = [int(number) for number in re.findall(r"\d+", piece)]
    return numbers if all(number in cited for number in numbers) else []


def as_word(record: Conversation, messages: list[Json]) -> bytes:
    """Return a conversation as a Word file."""
    writer = WordWriter(record.title, original_address)
    for message in messages:
        if message["role"] == "user":
            # The scope that an answer of a brief was found in is no matter of its text.
            about = "" if record.kind == BRIEF else about_question(message)
            writer.add_question(message["content"], about)
        else:
            text = message["content"] or ("" if record.kind == BRIEF else NO_ANSWER)
            writer.add_answer(text, message["answer"] or {})
    return writer.bytes()


def _figures(shown: ShownFigures) -> bytes:
    """Return the charts that the explorer shows, and what they say with the passages as
    footnotes.
    """
    writer = WordWriter(shown.name, original_address)
    for chart in shown_charts(list(shown.rows()), is_lines=shown.view == "lines"):
        writer.add_chart(chart, shown.citations)
    citations = list(shown.citations.values())
    writer.add_answer(shown.answer.text, {"citations": citations, "marks": []})
    return writer.bytes()


def build() -> FileFormat:
    return FileFormat(
        suffix="docx", media_type=DOCX, conversation=as_word, figures=_figures
    )
