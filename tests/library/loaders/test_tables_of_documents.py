"""Tables of documents that have text as well: the same figures in every format."""

from collections.abc import Callable
from decimal import Decimal
from email.message import EmailMessage
from itertools import chain
from pathlib import Path

import docx
import pptx
import pytest
from pptx.util import Inches

from chatbot.domain import Loaded
from chatbot.domain.tables import Stated, TableRows
from chatbot.library.loaders import loader_for, read_file
from chatbot.library.tables import statements

TITLE = "Table 2: Crop production (tonnes)"
ROWS = [
    ["Region", "Maize", "", "Rice", ""],
    ["", "2020", "2021", "2020", "2021"],
    ["Northern zone", "", "", "", ""],
    ["Alba", "1,200", "1,300", "40", "50"],
    ["Beren", "2,400", "2,500", "70", "-"],
    ["Source: the ministry", "", "", "", ""],
]
HTML = f"""<p>Before</p><table><caption>{TITLE}</caption>
<thead><tr><th rowspan=2>Region<th colspan=2>Maize<th colspan=2>Rice
<tr><th>2020<th>2021<th>2020<th>2021</thead>
<tr><td colspan=5>Northern zone
{"".join(f"<tr><td>{'<td>'.join(row)}" for row in ROWS[3:5])}
<tr><td colspan=5>Source: the ministry</table><p>After</p>"""


def html(path: Path) -> None:
    path.with_suffix(".html").write_text(HTML, "utf-8")


def mail(path: Path) -> None:
    message = EmailMessage()
    message["Subject"] = "Crops"
    message.set_content(HTML, subtype="html")
    path.with_suffix(".eml").write_bytes(message.as_bytes())


def markdown(path: Path) -> None:
    heads = ["Region", "Maize, 2020", "Maize, 2021", "Rice, 2020", "Rice, 2021"]
    rows = [heads, ["---"] * 5, *ROWS[2:]]
    lines = ["Before", "", f"**{TITLE}**", ""]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    path.with_suffix(".md").write_text("\n".join([*lines, "", "After"]), "utf-8")


def word(path: Path) -> None:
    document = docx.Document()
    document.add_paragraph("Before")
    document.add_paragraph(TITLE)
    table = document.add_table(len(ROWS), 5)
    for cell, text in zip(table._cells, chain(*ROWS), strict=True):
        cell.text = text
    table.cell(0, 1).merge(table.cell(0, 2))
    table.cell(0, 3).merge(table.cell(0, 4))
    document.add_paragraph("After")
    document.save(str(path.with_suffix(".docx")))


def slides(path: Path) -> None:
    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[6])
    for top, text in ((0, "Before"), (1, TITLE), (5, "After")):
        box = slide.shapes.add_textbox(0, Inches(top), Inches(5), Inches(1))
        box.text_frame.text = text
    frame = slide.shapes.add_table(len(ROWS), 5, 0, Inches(2), Inches(5), Inches(2))
    frame.table.first_row = False
    cells = [cell for row in frame.table.rows for cell in row.cells]
    for cell, text in zip(cells, chain(*ROWS), strict=True):
        cell.text = text
    presentation.save(str(path.with_suffix(".pptx")))


def read(folder: Path, write: Callable[[Path], None]) -> Loaded:
    write(folder / "crops")
    (path,) = folder.iterdir()
    return read_file(loader_for(path), path)


def tables(loaded: Loaded) -> list[TableRows]:
    return [section.rows for section in loaded.sections if section.rows]


def figures(shown: TableRows) -> list[Stated]:
    return [figure for row in statements(shown.table) for figure in row.values()]


@pytest.mark.parametrize("write", [html, mail, markdown, word, slides])
def test_figures_of_a_table_have_what_they_count(
    tmp_path: Path, write: Callable[[Path], None]
) -> None:
    loaded = read(tmp_path, write)
    (shown,) = tables(loaded)
    facts = [
        (one.subject, one.heading, one.value, one.unit, one.year)
        for one in figures(shown)
    ]
    assert facts == [
        ("Alba", "Maize", Decimal(1200), "tonnes", 2020),
        ("Alba", "Maize", Decimal(1300), "tonnes", 2021),
        ("Alba", "Rice", Decimal(40), "tonnes", 2020),
        ("Alba", "Rice", Decimal(50), "tonnes", 2021),
        ("Beren", "Maize", Decimal(2400), "tonnes", 2020),
        ("Beren", "Maize", Decimal(2500), "tonnes", 2021),
        ("Beren", "Rice", Decimal(70), "tonnes", 2020),
    ]
    assert shown.table.title == TITLE
    assert [row.path[0] for row in shown.rows] == ["Northern zone"] * 2
    texts = [section.text for section in loaded.sections if not section.rows]
    assert texts[-1] == "Source: the ministry\n\nAfter"
    assert texts[-2].endswith("Before")


def test_a_unit_and_a_year_above_a_table_count(tmp_path: Path) -> None:
    def write(path: Path) -> None:
        path.with_suffix(".md").write_text(
            "# Report\n## Enrolment in 2022\n\n(in thousands)\n\n"
            "| District | Girls | Boys |\n|---|---|---|\n| Alba | 5 | 6 |\n",
            "utf-8",
        )

    (shown,) = tables(read(tmp_path, write))
    girls, _ = figures(shown)
    assert (girls.subject, girls.value, girls.year) == ("Alba", Decimal(5000), 2022)
    assert (girls.heading, girls.label) == ("Enrolment", "Girls")


@pytest.mark.parametrize(
    "rows",
    [
        "<tr><th>Capital<td>Lima<tr><th>Area<td>5 km",
        "<tr><td>total<td>5<tr><td>land<td>4",
        "<tr><td><h2>Menu</h2><p>5 km</p><td><p>text</p>",
    ],
)
def test_names_and_values_and_layout_are_text(tmp_path: Path, rows: str) -> None:
    def write(path: Path) -> None:
        path.with_suffix(".html").write_text(f"<table>{rows}</table>", "utf-8")

    assert tables(read(tmp_path, write)) == []


def test_code_with_bars_is_no_table_in_markdown(tmp_path: Path) -> None:
    def write(path: Path) -> None:
        path.with_suffix(".md").write_text(
            "```\n| a | b |\n|---|---|\n| c | 1 |\n```\n", "utf-8"
        )

    assert tables(read(tmp_path, write)) == []
