"""Small files of every format, whole and by the book."""

import io
import json
from urllib.parse import quote
from zipfile import ZipFile

import docx
import openpyxl
import pptx

from chatbot.library.loaders.odf import NAMESPACES
from tests.data import data_set
from tests.library.loaders.pdfs import Page, content_of

FORMATS = data_set("sample_corpus", "formats")
"""Real reports, taken along where they are."""
CASES = data_set("loader_cases")
"""Real files that readers stumble over."""


def good_files() -> dict[str, bytes]:
    """One small file of each kind by name, and the shared samples that are quickly
    read.
    """
    page = (
        "<h1>Kenya</h1><h2>People</h2><p>Many people live in Kenya, more each "
        "year.</p><table><tr><td>1</table>"
    )
    files = {
        "a.pdf": content_of(
            [
                Page()
                .text(72, 92, "People", size=24)
                .text(72, 132, "Many people live in Kenya, more each year.")
            ]
        ),
        "a.docx": _saved(_word()),
        "a.xlsx": _saved(_workbook()),
        "a.pptx": _saved(_slides()),
        "a.odt": open_document(
            "text", f"<text:p>{'Many people live in Kenya. ' * 9}</text:p>"
        ),
        "a.epub": e_book("<h1>People</h1><p>Many people live in Kenya.</p>"),
        "a.eml": b"Subject: Kenya\nFrom: a@example.org\n\n"
        + b"Many people live in Kenya.\n" * 9,
        "a.html": (
            "<!DOCTYPE "
            f"html><html><head><title>Kenya</title></head><body>{page * 3}</body></html>"  # noqa: E501
        ).encode(),
        "a.md": (
            b"---\ntitle: Kenya\nyear: 2024\n---\n# Kenya\n\n## People\n\n**Many** "
            b"people.\n\n```\ncode\n```\n"
        ),
        "a.txt": "Größe: 580,367 sq km. Many people live here.\n".encode() * 5,
        "a.csv": (
            'country,year,Text\nKenya,2015,"It grew, a lot"\nCôte '
            "d'Ivoire,2016,Größe\n"
        ).encode()
        * 3,
        "a.json": json.dumps(
            {"name": "Kenya", "parts": [{"title": "Land", "text": "Big"}], "year": 2024}
        ).encode(),
        "a.jsonl": b'{"Title": "a", "Text": "b"}\n' * 5,
    }
    shared = (
        "nigeria-2024.html",
        "peru-2024.docx",
        "kenya-2024.json",
        "indicators-2010-latest.csv",
    )
    return files | {
        name: (FORMATS / name).read_bytes()
        for name in shared
        if (FORMATS / name).is_file()
    }


def e_book(*pages: str, **others: str) -> bytes:
    """An e-book of these chapters, with the parts that EPUB 3.3 requires."""
    content, names = io.BytesIO(), [f"c {number}.xhtml" for number in range(len(pages))]
    items = "".join(
        f'<item id="{at}" href="{quote(name)}"/>' for at, name in enumerate(names)
    )
    spine = "".join(f'<itemref idref="{at}"/>' for at in range(len(names)))
    about = "<metadata><title>Kenya</title><date>2024-05-01</date></metadata>"
    with ZipFile(content, "w") as archive:
        archive.writestr("mimetype", "application/epub+zip")
        archive.writestr(
            "META-INF/container.xml",
            '<container><rootfile full-path="EPUB/a.opf"/></container>',
        )
        opf = (
            "<package "
            f'xmlns="http://www.idpf.org/2007/opf">{about}<manifest>{items}</manifest><spine>{spine}</spine>'
        )
        archive.writestr("EPUB/a.opf", f"{opf}</package>")
        for name, page in [*zip(names, pages, strict=True)]:
            archive.writestr(
                f"EPUB/{name}",
                f"<!DOCTYPE html><html><head><title/></head><body>{page}</body></html>",
            )
        for name, text in others.items():
            archive.writestr(f"META-INF/{name}.xml", text)
    return content.getvalue()


def open_document(kind: str, body: str, styles: str = "") -> bytes:
    """An OpenDocument file of a text, spreadsheet or presentation, with the parts that
    OpenDocument 1.3 requires.
    """
    content = io.BytesIO()
    prefixes = " ".join(
        f'xmlns:{prefix}="{name}"' for prefix, name in NAMESPACES.items()
    )
    begin = f"<office:document {prefixes}>"
    with ZipFile(content, "w") as archive:
        archive.writestr("mimetype", f"application/vnd.oasis.opendocument.{kind}")
        archive.writestr("META-INF/manifest.xml", "<manifest/>")
        archive.writestr(
            "meta.xml",
            f"{begin}<office:meta><meta:keyword>water</meta:keyword></office:meta></office:document>",
        )
        automatic = f"<office:automatic-styles>{styles}</office:automatic-styles>"
        inside = f"<office:body><office:{kind}>{body}</office:{kind}></office:body>"
        archive.writestr("content.xml", f"{begin}{automatic}{inside}</office:document>")
    return content.getvalue()


def _saved(
    document: docx.document.Document
    | openpyxl.Workbook
    | pptx.presentation.Presentation,
) -> bytes:
    content = io.BytesIO()
    document.save(content)
    return content.getvalue()


def _word() -> docx.document.Document:
    document = docx.Document()
    document.add_heading("People", 1)
    document.add_paragraph("Many people live in Kenya.")
    document.add_table(2, 2).cell(0, 0).text = "a"
    return document


def _workbook() -> openpyxl.Workbook:
    workbook = openpyxl.Workbook()
    for row in (("Country", "Year", "GDP"), ("Kenya", 2015, 6.3), ("Mali", 2016, 1.2)):
        workbook.worksheets[0].append(row)
    return workbook


def _slides() -> pptx.presentation.Presentation:
    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[1])
    slide.shapes.title.text = "People"
    slide.placeholders[1].text = "Many people live in Kenya."
    return presentation
