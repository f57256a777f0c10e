"""Word files: what a reader sees, under its headings, tables in their place."""

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import docx
import pytest
from docx.document import Document
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls

from chatbot.domain import Loaded
from chatbot.domain.errors import LoadError
from chatbot.library.loaders.docx import DocxLoader
from tests.data import cases, data_set, needs

PERU = data_set("sample_corpus", "formats", "peru-2024.docx")
Sections = list[tuple[tuple[str, ...], str]]


def load(tmp_path: Path, write: Callable[[Document], object]) -> Loaded:
    document = docx.Document()
    write(document)
    document.save(str(tmp_path / "report.docx"))
    return DocxLoader().load(tmp_path / "report.docx")


def sections(loaded: Loaded) -> Sections:
    return [(section.path, section.text) for section in loaded.sections]


def raw(document: Document, xml: str) -> None:
    """Adds a block that python-docx has no method for, before the section
    properties.
    """
    document.element.body.insert(
        -1, parse_xml(xml.replace(">", f" {nsdecls('w')}>", 1))
    )


def test_headings_lists_and_tables_in_document_order(tmp_path: Path) -> None:
    def write(document: Document) -> None:
        document.add_heading("Kenya 2024", 0)
        document.add_paragraph("Preface")
        document.add_heading("People", 1)
        document.add_heading("Growth", 2)
        document.add_paragraph("one", style="List Bullet")
        document.add_paragraph("two", style="List Number")
        table = document.add_table(2, 2)
        for cell, text in zip(
            table._cells, ["Item", "Value", "rate", "2.09%"], strict=True
        ):
            cell.text = text
        document.add_paragraph("after")
        document.add_heading("Land", 1)
        document.add_paragraph("big")
        document.sections[0].header.paragraphs[0].text = "HEADER"
        document.core_properties.title = "Not this one"
        document.core_properties.keywords = "kenya; population, kenya"
        document.core_properties.comments = "All about Kenya"

    loaded = load(tmp_path, write)
    assert sections(loaded) == [
        ((), "Preface"),
        (("People", "Growth"), "- one\n1. two"),
        (("People", "Growth"), "Item: rate; Value: 2.09%"),
        (("People", "Growth"), "after"),
        (("Land",), "big"),
    ]
    assert loaded.title == "Kenya 2024"
    assert (loaded.labels, loaded.description) == (
        ("kenya", "population"),
        "All about Kenya",
    )
    assert {section.page for section in loaded.sections} == {None}
    assert loaded.pages is None


def test_titles_fall_back(tmp_path: Path) -> None:
    def named(document: Document) -> None:
        document.add_paragraph("x")
        document.core_properties.title = "By property"

    def only_heading(document: Document) -> None:
        document.add_heading("By heading", 1)
        document.add_heading("Part", 2)
        document.add_paragraph("x")

    assert load(tmp_path, named).title == "By property"
    assert (
        load(tmp_path, lambda document: document.add_paragraph("x")).title == "report"
    )
    loaded = load(tmp_path, only_heading)
    assert (loaded.title, sections(loaded)) == ("By heading", [(("Part",), "x")])


def test_a_style_that_builds_on_a_heading_is_a_heading(tmp_path: Path) -> None:
    def write(document: Document) -> None:
        document.styles.add_style("Chapter", 1).base_style = document.styles[
            "Heading 2"
        ]
        document.add_heading("Report", 0)
        document.add_paragraph("Economy", style="Chapter")
        document.add_paragraph("x")

    assert sections(load(tmp_path, write)) == [(("Economy",), "x")]


def test_merged_and_nested_cells(tmp_path: Path) -> None:
    def write(document: Document) -> None:
        table = document.add_table(4, 3)
        texts = [
            "Region",
            "Country",
            "Value",
            "Africa",
            "Chad",
            "1",
            "",
            "Mali",
            "2",
            "Note",
            "",
            "",
        ]
        for cell, text in zip(table._cells, texts, strict=True):
            cell.text = text
        table.cell(1, 0).merge(table.cell(2, 0))
        table.cell(3, 0).merge(table.cell(3, 2))
        inner = table.cell(1, 2).add_table(1, 2)
        inner.cell(0, 0).text, inner.cell(0, 1).text = "in", "ner"

    text = (
        "Region: Africa; Country: Chad; Value: 1 in: ner\nRegion: Africa; Country: "
        "Mali; Value: 2"
    )
    assert sections(load(tmp_path, write)) == [((), text), ((), "Note")]


def test_headers_that_tell_sections_apart_name_their_parts(tmp_path: Path) -> None:
    def write(document: Document) -> None:
        for volume in ("Volume I: Coast", "Volume II: Inland"):
            section = document.sections[-1]
            if volume.startswith("Volume II:"):
                section = document.add_section()
            section.header.is_linked_to_previous = False
            section.header.paragraphs[0].text = volume
            section.header.add_paragraph("Ministry of Fisheries")
            document.add_heading("Catch", 1)
            document.add_paragraph(f"Of {volume}.")

    assert sections(load(tmp_path, write)) == [
        (("Volume I: Coast", "Catch"), "Of Volume I: Coast."),
        (("Volume II: Inland", "Catch"), "Of Volume II: Inland."),
    ]


def test_a_frame_around_text_is_no_table(tmp_path: Path) -> None:
    def write(document: Document) -> None:
        cell = document.add_table(1, 1).cell(0, 0)
        cell.paragraphs[0].text = "A"
        cell.paragraphs[0].style = document.styles["Heading 2"]
        cell.add_paragraph("x")
        cell.add_paragraph("y")

    assert sections(load(tmp_path, write)) == [(("A",), "x\n\ny")]


CASES = cases(__file__)


@pytest.mark.parametrize("xml", CASES["seen"].values(), ids=CASES["seen"])
def test_what_a_reader_sees_arrives_once(tmp_path: Path, xml: str) -> None:
    assert sections(load(tmp_path, lambda document: raw(document, xml))) == [
        ((), "seen")
    ]


def test_scripts_and_symbols_are_read_as_they_look(tmp_path: Path) -> None:
    runs = [
        ("rFonts", "", "\uf061"),
        ("vertAlign", "superscript", "4"),
        ("vertAlign", "subscript", "3"),
    ]
    xml = "".join(
        f'<w:r><w:rPr><w:{name} w:val="{value}" '
        f'w:ascii="Symbol"/></w:rPr><w:t>{text}</w:t></w:r>'
        "<w:r><w:t>12</w:t></w:r>"
        for name, value, text in runs
    )
    assert sections(
        load(tmp_path, lambda document: raw(document, f"<w:p>{xml}</w:p>"))
    ) == [((), "α12⁴12₃12")]


def test_a_document_in_a_document_does_not_stop_the_reader(tmp_path: Path) -> None:
    def write(document: Document) -> None:
        document.add_paragraph("seen")
        kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"  # noqa: E501
        part = Part(PackURI("/word/chunk.docx"), kind, b"PK", document.part.package)
        document.part.relate_to(part, RELATIONSHIP_TYPE.A_F_CHUNK)

    assert sections(load(tmp_path, write)) == [((), "seen")]


def test_line_breaks_are_line_ends_and_tabs_spaces(tmp_path: Path) -> None:
    assert sections(
        load(tmp_path, lambda document: document.add_paragraph("a\tb\nc"))
    ) == [((), "a b\nc")]


def test_a_footnote_stands_below_its_paragraph(tmp_path: Path) -> None:
    from docx.opc.constants import CONTENT_TYPE, RELATIONSHIP_TYPE
    from docx.opc.packuri import PackURI
    from docx.opc.part import Part

    notes = (
        f"<w:footnotes {nsdecls('w')}><w:footnote w:id='2'><w:p><w:r><w:t>As of "
        "June.</w:t></w:r></w:p></w:footnote>"
        "</w:footnotes>"
    )

    def write(document: Document) -> None:
        package = document.part.package
        part = Part(
            PackURI("/word/footnotes.xml"),
            CONTENT_TYPE.WML_FOOTNOTES,
            notes.encode(),
            package,
        )
        document.part.relate_to(part, RELATIONSHIP_TYPE.FOOTNOTES)
        raw(
            document,
            (
                "<w:p><w:r><w:t>5 million</w:t></w:r><w:r><w:footnoteReference "
                "w:id='2'/></w:r></w:p>"
            ),
        )
        document.add_paragraph("next")

    assert sections(load(tmp_path, write)) == [
        ((), "5 million\nNote: As of June.\n\nnext")
    ]


def test_a_file_without_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match=r"report\.docx has no text"):
        load(tmp_path, lambda document: None)


@needs(PERU)
def test_every_word_of_a_real_report_arrives() -> None:
    loaded = DocxLoader().load(PERU)
    assert loaded.title == "Peru: Country Report 2024"
    area = next(
        section.text
        for section in loaded.sections
        if section.path == ("Geography", "Area")
    )
    assert "Item: land; Value: 1,279,996 sq km" in area.split("\n")
    body = docx.Document(str(PERU)).element.body
    paragraphs = (
        " ".join(text.text or "" for text in p.iter("{*}t")) for p in body.iter("{*}p")
    )
    wanted = Counter(re.findall(r"\w+", " ".join(paragraphs)))
    names = {
        name
        for section in loaded.sections
        for name in (section.path[:1], section.path)
        if name
    }
    read = [
        loaded.title,
        *(name[-1] for name in names),
        *(section.text for section in loaded.sections),
    ]
    assert not wanted - Counter(re.findall(r"\w+", " ".join(read)))
