"""Letters read of letters written: 500 made files of ten formats, with headings, prose,
lists and tables in several alphabets.
"""

import csv
import io
import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from email.message import EmailMessage
from html import escape
from pathlib import Path

import docx
import openpyxl
import pptx
import pytest
from pptx.util import Inches

from chatbot.library.loaders import loader_for
from chatbot.library.loaders.pdf.pdfium import letters_of
from tests.library.loaders.pdfs import Page, content_of
from tests.library.loaders.samples import open_document

MIN_READ = 0.999
FILES_OF_FORMAT = 50
LATIN = "abcdefghijklmnopqrstuvwxyzéèçãõñüöß"
ALPHABETS = (LATIN, LATIN, LATIN, "абвгдежзиклмнопрст", "αβγδεζηθικλμ", "ابتجدرسعلمن")


@dataclass
class Content:
    """What a file says: a title, headings with paragraphs, and a table."""

    title: str
    parts: list[tuple[str, list[str]]]
    table: list[list[str]]

    def text(self) -> str:
        lines = [self.title]
        for heading, paragraphs in self.parts:
            lines += [heading, *paragraphs]
        for row in self.table:
            lines += row
        return "\n".join(lines)


def content_of_seed(dice: random.Random, alphabets: tuple[str, ...]) -> Content:
    alphabet = dice.choice(alphabets)

    def words(least: int, most: int) -> str:
        return " ".join(
            "".join(dice.choices(alphabet, k=dice.randint(2, 9)))
            for _ in range(dice.randint(least, most))
        )

    parts = []
    for _ in range(dice.randint(1, 4)):
        paragraphs = [f"{words(6, 30)}." for _ in range(dice.randint(1, 3))]
        parts.append((words(1, 5), paragraphs))
    columns = dice.randint(1, 5)
    table = [["name", *(words(1, 3) for _ in range(columns))]]
    for _ in range(dice.randint(1, 12)):
        figures = [f"{dice.uniform(0, 10 ** dice.randint(1, 6)):.1f}" for _ in table[0]]
        table.append([words(1, 3), *figures[1:]])
    return Content(words(2, 5), parts, table)


def _pdf(content: Content) -> bytes:
    pages = []
    for heading, paragraphs in content.parts:
        page = Page().text(72, 80, heading, size=18)
        y = 110.0
        for paragraph in paragraphs:
            words = paragraph.split()
            for start in range(0, len(words), 8):
                page.text(72, y, " ".join(words[start : start + 8]))
                y += 14
            y += 10
        pages.append(page)
    page = Page().text(72, 80, content.title, size=18)
    for number, row in enumerate(content.table):
        for column, cell in enumerate(row):
            page.text(40 + 95 * column, 110 + 16 * number, cell, size=6)
    return content_of([*pages, page])


def _saved(document: object) -> bytes:
    buffer = io.BytesIO()
    document.save(buffer)  # type: ignore[attr-defined]
    return buffer.getvalue()


def _docx(content: Content) -> bytes:
    document = docx.Document()
    document.add_heading(content.title, 0)
    for heading, paragraphs in content.parts:
        document.add_heading(heading, 1)
        for paragraph in paragraphs:
            document.add_paragraph(paragraph)
    table = document.add_table(0, len(content.table[0]))
    for row in content.table:
        for cell, text in zip(table.add_row().cells, row, strict=True):
            cell.text = text
    return _saved(document)


def _xlsx(content: Content) -> bytes:
    workbook = openpyxl.Workbook()
    sheet = workbook.worksheets[0]
    sheet.append([content.title])
    for heading, paragraphs in content.parts:
        sheet.append([heading])
        for paragraph in paragraphs:
            sheet.append([paragraph])
    sheet.append([])
    for row in content.table:
        sheet.append(row)
    return _saved(workbook)


def _pptx(content: Content) -> bytes:
    show = pptx.Presentation()
    for heading, paragraphs in [(content.title, []), *content.parts]:
        slide = show.slides.add_slide(show.slide_layouts[1])
        slide.shapes.title.text = heading
        slide.placeholders[1].text = "\n".join(paragraphs)
    rows = content.table
    size = [Inches(1), Inches(2), Inches(6), Inches(4)]
    frame = slide.shapes.add_table(len(rows), len(rows[0]), *size)
    for number, row in enumerate(rows):
        for column, text in enumerate(row):
            frame.table.cell(number, column).text = text
    return _saved(show)


def _open_table(content: Content) -> str:
    rows = ""
    for row in content.table:
        cells = "".join(
            "<table:table-cell office:value-type='string'>"
            f"<text:p>{escape(cell)}</text:p></table:table-cell>"
            for cell in row
        )
        rows += f"<table:table-row>{cells}</table:table-row>"
    return f"<table:table table:name='Data'>{rows}</table:table>"


def _odt(content: Content) -> bytes:
    body = f"<text:h text:outline-level='1'>{content.title}</text:h>"
    for heading, paragraphs in content.parts:
        body += f"<text:h text:outline-level='2'>{heading}</text:h>"
        body += "".join(f"<text:p>{paragraph}</text:p>" for paragraph in paragraphs)
    return open_document("text", body + _open_table(content))


def _ods(content: Content) -> bytes:
    return open_document("spreadsheet", _open_table(content))


def _html(content: Content) -> bytes:
    body = f"<h1>{content.title}</h1>"
    for heading, paragraphs in content.parts:
        body += f"<h2>{heading}</h2>"
        body += "".join(f"<p>{paragraph}</p>" for paragraph in paragraphs)
    for row in content.table:
        body += "<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>"
    before, _, rows = body.partition("<tr>")
    page = f"<html><body>{before}<table><tr>{rows}</table></body></html>"
    return f"<!DOCTYPE html><meta charset=utf-8>{page}".encode()


def _markdown(content: Content) -> bytes:
    lines = [f"# {content.title}"]
    for heading, paragraphs in content.parts:
        lines += [f"## {heading}", *paragraphs]
    head, *rows = [f"| {' | '.join(row)} |" for row in content.table]
    rule = "|---" * len(content.table[0]) + "|"
    return "\n\n".join([*lines, "\n".join([head, rule, *rows])]).encode()


def _csv(content: Content) -> bytes:
    buffer = io.StringIO()
    csv.writer(buffer).writerows(content.table)
    return buffer.getvalue().encode()


def _json(content: Content) -> bytes:
    head, *rows = content.table
    records = [dict(zip(head, row, strict=True)) for row in rows]
    return json.dumps(records, ensure_ascii=False).encode()


def _eml(content: Content) -> bytes:
    message = EmailMessage()
    message["Subject"] = content.title
    message["From"] = "a@example.org"
    lines: list[str] = []
    for _, paragraphs in content.parts:
        lines += paragraphs
    message.set_content("\n\n".join(lines))
    return message.as_bytes()


WRITERS: dict[str, Callable[[Content], bytes]] = {
    "pdf": _pdf,
    "docx": _docx,
    "xlsx": _xlsx,
    "pptx": _pptx,
    "odt": _odt,
    "ods": _ods,
    "html": _html,
    "md": _markdown,
    "csv": _csv,
    "json": _json,
    "eml": _eml,
}
ONLY_TABLE = {"csv", "json", "ods"}


@pytest.mark.sampled(25)
@pytest.mark.parametrize("seed", range(FILES_OF_FORMAT))
@pytest.mark.parametrize("kind", WRITERS)
def test_letters_that_are_written_are_read(
    kind: str, seed: int, tmp_path: Path
) -> None:
    dice = random.Random(f"{kind} {seed}")
    # The fonts of the made PDFs have Western letters only.
    content = content_of_seed(dice, (LATIN,) if kind == "pdf" else ALPHABETS)
    path = tmp_path / f"made.{kind}"
    path.write_bytes(WRITERS[kind](content))
    if kind in ONLY_TABLE:
        content = Content("", [], content.table)
    if kind == "eml":
        texts = [("", paragraphs) for _, paragraphs in content.parts]
        content = Content(content.title, texts, [])
    loaded = loader_for(path).load(path)
    texts_read = [loaded.title]
    for section in loaded.sections:
        texts_read += [*section.path, section.text]
    written = letters_of(content.text())
    read = letters_of("\n".join(texts_read))
    assert (written & read).total() >= MIN_READ * written.total()
