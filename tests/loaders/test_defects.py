"""Small files of the kinds that readers stumble over: each was once misread, or refused."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path

import docx
import pptx
import pytest
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

from chatbot.loaders.docx import DocxLoader
from chatbot.loaders.html import page_sections
from chatbot.loaders.pdf import PdfLoader
from chatbot.loaders.pdf.words import logical
from chatbot.loaders.pptx import PptxLoader
from chatbot.loaders.sections import LEVEL, row_text, table_text
from chatbot.schema import document_text
from tests.loaders.pdfs import Page, prose, write


def pdf_lines(tmp_path: Path, *pages: Page) -> list[str]:
    path = write(tmp_path / "report.pdf", pages, title="Some Report")
    return "\n".join(section.text for section in PdfLoader().load(path).sections).split("\n")


@pytest.mark.parametrize(
    ("printed", "read"),
    [
        ("\u0645\u0627\u0644\u0633", "\u0633\u0644\u0627\u0645"),
        ("2024 \u05d4\u05e0\u05e9", "\u05e9\u05e0\u05d4 2024"),
        ("\ufe94\ufee8\ufeb3", "\u0633\u0646\u0629"),  # in the shapes of print
        ("Jeremy is \u05dd\u05dc\u05e9 here", "Jeremy is \u05e9\u05dc\u05dd here"),
        ("Population: 5 million", "Population: 5 million"),
    ],
)
def test_a_line_is_turned_into_the_order_of_reading(printed: str, read: str) -> None:
    assert logical(printed) == read


def test_letters_printed_twice_to_look_bold_are_read_once(tmp_path: Path) -> None:
    page = Page().text(72, 100, "Balloons will follow").text(72.3, 100.2, "Balloons will follow")
    assert pdf_lines(tmp_path, page.lines(72, 140, prose("Body", 3)))[0] == "Balloons will follow"


def test_spaces_that_run_on_under_the_next_cell_do_not_part_its_digits(tmp_path: Path) -> None:
    page = Page().lines(72, 60, prose("Body", 2)).text(72, 130, "07/02/2015" + " " * 30).text(140, 130, "03/25/2016")
    assert any("03/25/2016" in line for line in pdf_lines(tmp_path, page))


@pytest.mark.parametrize("spacing", [4, 6, 8])
def test_digits_spread_by_letter_spacing_are_one_figure(tmp_path: Path, spacing: int) -> None:
    page = Page().lines(72, 60, prose("Body", 12, each=60))
    for y, figure in ((230, "03/25/2016"), (250, "2,345,678")):
        page.text(72, y, figure)
        page.ops[-1] = page.ops[-1].replace("BT ", f"BT {spacing} Tc ").replace(" ET", " 0 Tc ET")
    assert {"03/25/2016", "2,345,678"} <= set(pdf_lines(tmp_path, page))


def test_digits_in_cells_of_their_own_are_not_joined(tmp_path: Path) -> None:
    page = Page().lines(72, 60, prose("Body", 2)).row(130, [(72 + 12 * at, str(at)) for at in range(1, 7)])
    assert "1 2 3 4 5 6" in " ".join(pdf_lines(tmp_path, page))


def test_a_wide_row_of_a_table_is_a_section_by_itself(tmp_path: Path) -> None:
    """Two such rows in one passage are found by neither of their labels; short rows stay together."""
    names = [
        "Households",
        "Rooms in use for living",
        "Inhabitants in spring",
        "Inhabitants in autumn",
        "Owners counted",
    ]
    page, xs = Page().rule(40, 100, 600, 100), (40, 120, 190, 300, 410, 520)
    page.row(114, list(zip(xs, ["Sex", *names], strict=True)), size=8).rule(40, 120, 600, 120)
    for at, label in enumerate(("Male householder", "Female householder", "All of them")):
        page.row(
            132 + 14 * at, [(xs[0], label), *((x, f"{at + 1},{place}00") for place, x in enumerate(xs[1:]))], size=8
        )
    page.rule(40, 170, 600, 170).lines(72, 200, ["Sources: the census of some year."])
    path = write(tmp_path / "report.pdf", [page], title="Some Report")
    sections = PdfLoader().load(path).sections
    assert [section.text.partition(";")[0] for section in sections] == [
        "Sex: Male householder",
        "Sex: Female householder",
        "Sex: All of them",
        "Sources: the census of some year.",
    ]
    assert len({(section.path, section.page) for section in sections}) == 1


def test_pictures_alone_beside_each_other_are_no_obstacle(tmp_path: Path) -> None:
    """A gutter in which no line of words stands has no centre."""
    page = Page().lines(72, 60, prose("Left", 6, each=30)).lines(330, 60, prose("Right", 6, each=30))
    page.picture = True
    page.ops += [f"q 200 0 0 60 {x} {y} cm /I1 Do Q" for x in (72, 330) for y in (100, 300, 500)]
    assert pdf_lines(tmp_path, page)


def test_labels_outside_of_the_rules_stay_with_their_figures(tmp_path: Path) -> None:
    page = Page().rule(200, 100, 500, 100).row(114, [(90, "Category"), (220, "Costs"), (320, "Staff"), (420, "Rent")])
    page.rule(72, 120, 500, 120)
    rows = [("Travel", "94", "20", "74"), ("Salaries", "1,314", "373", "940"), ("Debts", "10", "11", "12")]
    for at, row in enumerate(rows):
        page.row(132 + 14 * at, list(zip((72, 220, 320, 420), row, strict=True)))
        page.rule(200, 136 + 14 * at, 500, 136 + 14 * at)
    assert pdf_lines(tmp_path, page)[0] == "Category: Travel; Costs: 94; Staff: 20; Rent: 74"


def test_rows_without_rules_in_one_row_of_borders_stand_apart(tmp_path: Path) -> None:
    page = Page().grid((72, 200, 300, 400), (100, 120, 200, 220))
    page.row(114, [(80, "Country"), (210, "Births"), (310, "Deaths")])
    for at, row in enumerate([("Kenya", "26.1", "4.9"), ("Peru", "16.8", "11.0"), ("Costa Rica", "10.8", "5.3")]):
        page.row(136 + 20 * at, list(zip((80, 210, 310), row, strict=True)))
    page.row(214, [(80, "All"), (210, "53.7"), (310, "21.2")])
    assert pdf_lines(tmp_path, page) == [
        "Country: Kenya; Births: 26.1; Deaths: 4.9",
        "Country: Peru; Births: 16.8; Deaths: 11.0",
        "Country: Costa Rica; Births: 10.8; Deaths: 5.3",
        "Country: All; Births: 53.7; Deaths: 21.2",
    ]


def test_a_typed_rule_ends_a_header_of_numbers(tmp_path: Path) -> None:
    page = Page().lines(72, 60, prose("Above", 2, each=60))
    page.row(110, [(80, "Share"), (250, "1.0"), (320, "1.1")]).text(72, 122, "-" * 60)
    for at, row in enumerate([("0.99", "800", "880"), ("0.95", "160", "176"), ("0.90", "80", "88")]):
        page.row(134 + 12 * at, list(zip((80, 250, 320), row, strict=True)))
    assert "Share: 0.95; 1.0: 160; 1.1: 176" in pdf_lines(tmp_path, page)


def test_levels_of_a_name_are_written_once_in_a_row() -> None:
    names = ["Group", f"2007{LEVEL}Men", f"2007{LEVEL}Women", f"2009{LEVEL}Men", f"2009{LEVEL}Women"]
    assert row_text(names, ["All", "1", "2", "3", "4"]) == "Group: All; 2007 Men: 1; Women: 2; 2009 Men: 3; Women: 4"
    assert row_text(names, ["All", "", "2", "", "4"]) == "Group: All; 2007 Women: 2; 2009 Women: 4"


def test_names_of_columns_without_values_are_kept() -> None:
    table = [["Country", "Births", "Remarks"], ["Kenya", "26", ""], ["Peru", "17", ""]]
    assert table_text(table).split("\n")[-1] == "Empty columns: Remarks"


def test_a_cell_with_a_list_or_a_table_stays_in_its_row() -> None:
    page = (
        b"<table><tr><th>Name</th><th>Habitat</th></tr><tr><td>Teal</td><td><ul><li>Pond</li><li>Marsh</li></ul></td>"
        b"</tr><tr><td>Coot</td><td><table><tr><td>Lake</td><td>7</td></tr></table></td></tr></table>"
    )
    text = document_text(page_sections(b"<html><body><h1>Birds</h1>" + page, name="a.html").sections)
    assert "Name: Teal; Habitat: Pond, Marsh\nName: Coot; Habitat: Lake 7" in text


def test_a_strict_office_file_is_read(tmp_path: Path) -> None:
    document, content = docx.Document(), io.BytesIO()
    document.add_heading("People", 1)
    document.add_paragraph("Many people live here.")
    document.save(content)
    path = tmp_path / "strict.docx"
    with zipfile.ZipFile(content) as usual, zipfile.ZipFile(path, "w") as strict:
        for name in usual.namelist():
            part = usual.read(name)
            if name.endswith((".xml", ".rels")):
                names = rb"http://schemas\.openxmlformats\.org/(officeDocument|wordprocessingml|drawingml)/2006/"
                part = re.sub(names, rb"http://purl.oclc.org/ooxml/\1/", part)
            strict.writestr(name, part)
    assert DocxLoader().load(path).sections[-1].text == "Many people live here."


@pytest.mark.parametrize("kind", [XL_CHART_TYPE.COLUMN_CLUSTERED, XL_CHART_TYPE.LINE, XL_CHART_TYPE.PIE])
@pytest.mark.parametrize("solid", [False, True], ids=["flat", "in three dimensions"])
def test_a_chart_of_any_kind_is_read(tmp_path: Path, kind: XL_CHART_TYPE, solid: bool) -> None:
    data = CategoryChartData()
    data.categories = ["2019", "2020"]
    data.add_series("Ducks", (120, 130.5))
    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[5])
    slide.shapes.title.text = "Survey"
    chart = slide.shapes.add_chart(kind, 0, Inches(2), Inches(5), Inches(4), data).chart
    plot = chart._chartSpace.xpath("c:chart/c:plotArea/*[c:ser]")[0]
    plot.tag = plot.tag.replace("Chart", "3DChart") if solid else plot.tag
    presentation.save(tmp_path / "a.pptx")
    (section,) = PptxLoader().load(tmp_path / "a.pptx").sections
    assert section.text.endswith("2019; Ducks: 120\n2020; Ducks: 130.5")
