"""A conversation as a file: Markdown; Excel with its tables and figures; Word with
headings, lists, tables and charts, citations as footnotes with report, page and link,
and places that the passages do not support highlighted.
"""

import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from flask import url_for
from markdown_it import MarkdownIt
from markdown_it.token import Token

from ...database.core import Json
from ...domain.scope import Range, Scope, Values
from ...search.scope import describe
from .catalog import FIGURE_COLUMNS
from .charts import FigureChart, charts_of
from .files import xlsx_bytes

MARK, END = "\ue000", "\ue001"
"""Stand around a marked place while Markdown is read; letters for private use."""
_W = f'xmlns:w="{NAMESPACE.WML_MAIN}" xmlns:r="{NAMESPACE.OFC_RELATIONSHIPS}"'
_DRAWING = "http://schemas.openxmlformats.org/drawingml/2006"
_PIECE = re.compile(rf"(\[\d+(?:, ?\d+)*\]|{MARK}|{END})")
_UNPRINTABLE = re.compile(r"[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d+)?")
_SHOWN = {"text", "code_inline", "softbreak", "hardbreak"}
_SEPARATORS = "".join(
    (
        f'<w:footnote w:type="{kind}" '
        f'w:id="{id}"><w:p><w:r><w:{kind}/></w:r></w:p></w:footnote>'
    )
    for id, kind in enumerate(("separator", "continuationSeparator"))
)
NO_ANSWER = "(no answer)"
SOURCE_COLUMNS = ("number", "title", "section", "page", "chunk_id")


def as_markdown(title: str, messages: list[Json]) -> bytes:
    """Return a conversation as Markdown: questions as headings, each answer with its
    sources.
    """
    parts = [f"# {title}"]
    for message in messages:
        if message["role"] == "user":
            parts += [
                f"## {' '.join(message['content'].split())}",
                f"_{_asked(message)}_",
            ]
            continue
        parts.append(message["content"] or NO_ANSWER)
        sources = []
        for citation in (message["answer"] or {}).get("citations", []):
            page = f"page {citation['page']}" if citation["page"] else ""
            names = [
                f"[{citation['number']}] [{citation['title']}]({_original(citation)})",
                citation["section"],
                page,
            ]
            sources.append(", ".join(filter(None, names)) + "  ")
        if sources:
            parts.append("\n".join(sources))
    return ("\n\n".join(parts) + "\n").encode()


def as_word(title: str, messages: list[Json]) -> bytes:
    """Return a conversation as a Word file."""
    writer = WordWriter(title, _original)
    for message in messages:
        if message["role"] == "user":
            writer.add_question(message["content"], _asked(message))
        else:
            writer.add_answer(message["content"] or NO_ANSWER, message["answer"] or {})
    return writer.bytes()


def as_workbook(title: str, messages: list[Json]) -> bytes:
    """Return the tables of a conversation as sheets of an Excel file, then the figures
    and passages that it cites.
    """
    tables, question = dict[str, list[list[Any]]](), ""
    figures, sources = (
        [["question", *FIGURE_COLUMNS]],
        [["question", *SOURCE_COLUMNS, "link"]],
    )
    for message in messages:
        if message["role"] == "user":
            question = " ".join(message["content"].split())
            continue
        answer = message["answer"] or {}
        for rows in tables_of(message["content"], answer):
            tables[f"{len(tables) + 1} {question}"] = rows
        for one in answer.get("figures") or ():
            figures.append([question, *map(one.get, FIGURE_COLUMNS)])
        for one in answer.get("citations") or ():
            sources.append([question, *map(one.get, SOURCE_COLUMNS), _original(one)])
    return xlsx_bytes({**tables, "Figures": figures, "Sources": sources})


def _asked(message: Json) -> str:
    """The day and the scope of a question, in words."""
    filters = message["scope"].items()
    scope = Scope.of(
        {k: Range(**v) if isinstance(v, dict) else Values(tuple(v)) for k, v in filters}
    )
    return f"{message['created_at'][:10]}, {describe(scope)}"


def _original(citation: Json) -> str:
    """The address of the cited page."""
    page = f"#page={citation['page']}" if citation["page"] else ""
    return (
        url_for(
            "documents.get_file", document_id=citation["document_id"], _external=True
        )
        + page
    )


class WordWriter:
    """Writes one file. ``link`` gives the address of a citation's original."""

    def __init__(self, title: str, link: Callable[[Json], str]) -> None:
        self._file: WordFile = Document()
        self._file.core_properties.title = _clean(title)
        self._file.core_properties.author = "Ask your reports"
        self._file.add_heading(_clean(title), 0)
        self._link = link
        self._notes: list[str] = []
        self._links: dict[str, str] = {}
        self._charts = 0

    def add_question(self, text: str, about: str) -> None:
        self._file.add_heading(_clean(" ".join(text.split())), 1)
        self._file.add_paragraph(_clean(about), "Subtitle")

    def add_answer(self, markdown: str, answer: Mapping[str, Any]) -> None:
        """``answer``: its citations, marks and figures, as the API shows them."""
        cited = {one["number"]: one for one in answer.get("citations") or ()}
        self._blocks(_parse(markdown, answer), cited)
        if answer.get("marks"):
            self._file.add_paragraph(
                "Highlighted: the cited passages do not support this.", "Caption"
            )
        for chart in charts_of(answer) if answer.get("figures") else ():
            self._chart(chart)
            sources = self._file.add_paragraph("Sources:", "Caption")
            for number in dict.fromkeys(figure["citation"] for figure in chart.figures):
                self._footnote(sources, cited[number])

    def bytes(self) -> bytes:
        """Return the file."""
        notes = f"<w:footnotes {_W}>{_SEPARATORS}{''.join(self._notes)}</w:footnotes>".encode()  # noqa: E501
        kind, package = CONTENT_TYPE.WML_FOOTNOTES, self._file.part.package
        part = Part(PackURI("/word/footnotes.xml"), kind, notes, package)
        for address in self._links:
            part.relate_to(address, RELATIONSHIP_TYPE.HYPERLINK, is_external=True)
        self._file.part.relate_to(part, RELATIONSHIP_TYPE.FOOTNOTES)
        stream = io.BytesIO()
        self._file.save(stream)
        return stream.getvalue()

    def _blocks(self, tokens: Sequence[Token], cited: Mapping[int, Json]) -> None:
        style, depth, rows = "Normal", 0, list[list[Token]]()
        for token in tokens:
            match token.type:
                case "bullet_list_open" | "ordered_list_open":
                    depth += 1
                    style = (
                        "List Bullet" if token.type.startswith("b") else "List Number"
                    )
                case "bullet_list_close" | "ordered_list_close":
                    depth -= 1
                    style = style if depth else "Normal"
                case "heading_open":
                    style = f"Heading {min(int(token.tag[1]) + 1, 9)}"
                case "heading_close":
                    style = "Normal"
                case "blockquote_open" | "blockquote_close":
                    style = "Quote" if token.type.endswith("open") else "Normal"
                case "fence" | "code_block":
                    self._file.add_paragraph(token.content.rstrip("\n"), "macro")
                case "tr_open":
                    rows.append([])
                case "table_close":
                    table = self._file.add_table(
                        len(rows), max(map(len, rows)), "Light Grid Accent 1"
                    )
                    cells = (
                        (row.cells, texts)
                        for row, texts in zip(table.rows, rows, strict=True)
                    )
                    for cell, text in (
                        (cell, text)
                        for pair in cells
                        for cell, text in zip(*pair, strict=False)
                    ):
                        self._inline(cell.paragraphs[0], text, cited)
                    self._file.add_paragraph()
                    rows = []
                case "inline" if rows:
                    rows[-1].append(token)
                case "inline":
                    level = (
                        f" {min(depth, 3)}"
                        if style.startswith("List") and depth > 1
                        else ""
                    )
                    self._inline(
                        self._file.add_paragraph(style=f"{style}{level}"), token, cited
                    )

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
                case "softbreak" | "hardbreak":
                    paragraph.add_run("\n" if child.type == "hardbreak" else " ")
                case "text" | "code_inline":
                    for piece in filter(None, _PIECE.split(child.content)):
                        numbers = (
                            [int(number) for number in re.findall(r"\d+", piece)]
                            if piece[0] == "["
                            else []
                        )
                        if piece in (MARK, END):
                            marked = piece == MARK
                        elif numbers and all(number in cited for number in numbers):
                            for number in numbers:
                                self._footnote(paragraph, cited[number])
                        else:
                            run = paragraph.add_run(piece)
                            run.bold, run.italic = bold or None, italic or None
                            run.font.highlight_color = (
                                WD_COLOR_INDEX.YELLOW if marked else None
                            )

    def _chart(self, chart: FigureChart) -> None:
        """Add a chart that Word can edit, with its values as its text for those who do
        not see it.
        """
        drawn, package = chart.part(), self._file.part.package
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
        about = f"name={quoteattr(_clean(chart.title))} descr={quoteattr(_clean(text))}"
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
        id, address = len(self._notes) + 2, self._link(citation)
        place = [
            citation["section"],
            f"page {citation['page']}" if citation["page"] else "",
        ]
        text = escape(_clean(", ".join(filter(None, [citation["title"], *place]))))
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
        last, comma = paragraph.runs[-1:], ""
        if last and last[0]._r.xpath("w:footnoteReference"):
            comma = "<w:t>,</w:t>"
        elif last:
            last[0].text = last[0].text.rstrip(" ")
        reference = f'<w:r {_W}>{raised}{comma}<w:footnoteReference w:id="{id}"/></w:r>'
        paragraph._p.append(parse_xml(reference))


def _parse(markdown: str, answer: Mapping[str, Any]) -> Sequence[Token]:
    """Read an answer, with signs around its marked places."""
    for mark in sorted(answer.get("marks") or (), key=lambda one: -int(one["start"])):
        start, end = mark["start"], mark["end"]
        markdown = f"{markdown[:start]}{MARK}{markdown[start:end]}{END}{markdown[end:]}"
    return MarkdownIt("commonmark").enable("table").parse(_clean(markdown))


def tables_of(
    markdown: str, answer: Mapping[str, Any]
) -> Iterator[list[list[str | float]]]:
    """Yield the tables of an answer, the first row their head. A number alone in its
    cell stays one.
    """
    rows = list[list[str | float]]()
    for token in _parse(markdown, answer):
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline" and rows:
            shown = (
                child.content or " "
                for child in token.children or ()
                if child.type in _SHOWN
            )
            text = (
                " ".join("".join(shown).split())
                .replace(MARK, "")
                .replace(END, " (not supported by the passages)")
            )
            rows[-1].append(float(text) if _NUMBER.fullmatch(text) else text)
        elif token.type == "table_close":
            yield rows
            rows = []


def _clean(text: str) -> str:
    """Leave out what XML does not allow."""
    return _UNPRINTABLE.sub("", text)


EXPORTS: Mapping[str, Callable[[str, list[Json]], bytes]] = {
    "markdown": as_markdown,
    "docx": as_word,
    "xlsx": as_workbook,
}
"""By the name of the format."""
