"""Conversations as Word files: footnotes, tables, charts and marked places."""

import re
from io import BytesIO
from typing import Any
from zipfile import ZipFile

import pytest
from docx import Document
from flask.testing import FlaskClient
from openpyxl import load_workbook

from chatbot.extras.exports.charts import charts_of, shown_charts
from chatbot.extras.exports.docx import WordWriter
from tests.app.web.test_conversations import API, GROWTH, ask, client
from tests.app.web.test_figures import editions

__all__ = ("client", "editions")


@pytest.mark.usefixtures("kenya")
def test_a_conversation_is_a_word_file(client: FlaskClient) -> None:
    said = ask(client, GROWTH)
    path = f"{API}/{said['conversation_id']}/export"
    word = client.get(path, query_string={"format": "docx"})
    assert word.headers["Content-Disposition"].endswith('.docx"')
    file = Document(BytesIO(word.get_data()))
    assert file.paragraphs[0].text == GROWTH
    with ZipFile(BytesIO(word.get_data())) as parts:
        links = parts.read("word/_rels/footnotes.xml.rels").decode()
    assert f"/api/documents/{said['citations'][0]['document_id']}/file" in links


@pytest.mark.usefixtures("kenya")
def test_a_brief_is_a_word_file_of_its_items(client: FlaskClient) -> None:
    said = ask(client, GROWTH)
    begun = client.post(API, json={"title": "Growth"}).get_json()
    path = f"{API}/{begun['conversation_id']}"
    for item in (
        {"title": "In short", "text": "It *grows*."},
        {"message_id": said["message_id"]},
    ):
        client.post(f"{path}/items", json=item)
    word = client.get(path + "/export?format=docx").get_data()
    texts = [one.text for one in Document(BytesIO(word)).paragraphs]
    assert texts[:4] == ["Growth", "In short", "It grows.", GROWTH]
    with ZipFile(BytesIO(word)) as parts:
        notes = parts.read("word/footnotes.xml").decode()
    assert notes.count("<w:hyperlink") == len(said["citations"])


def test_the_page_offers_the_formats(client: FlaskClient) -> None:
    page = client.get("/").get_data(as_text=True)
    offered = re.findall(r'data-export="(\w+)"', page)
    assert offered == ["markdown", "docx", "xlsx", "json"]


def test_export_as_word_has_footnotes_tables_and_marked_places() -> None:
    text = (
        "## So\n\nIt was **5.4%** [1], not 9% [2].\n\n- a\n  - b\n\n| Year | Value |\n"
        "|---|---|\n| 2023 | 5 [1] |\n\n"
        "“It rains. **\\*Tea\\* \\[grows\\].** So.” [2]\n"
    )
    about = {"title": "Kenya & <more>", "section": "Economy", "document_id": "d"}
    cited = [{**about, "number": 1, "page": 3}, {**about, "number": 2, "page": None}]
    start = text.index("not 9%")
    answer = {
        "citations": cited,
        "marks": [{"start": start, "end": start + 6, "kind": "figure", "detail": "9%"}],
    }
    writer = WordWriter(
        "How\x00 fast?", lambda one: f"http://localhost/{one['number']}?a&b"
    )
    writer.add_question("How fast?", "2026-01-01, Kenya")
    writer.add_answer(text, answer)
    data = writer.bytes()
    file = Document(BytesIO(data))
    said = [
        (paragraph.text, paragraph.style.name)
        for paragraph in file.paragraphs
        if paragraph.text
    ]  # type: ignore[union-attr]
    assert said[:4] == [
        ("How fast?", "Title"),
        ("How fast?", "Heading 1"),
        ("2026-01-01, Kenya", "Subtitle"),
        ("So", "Heading 3"),
    ]
    assert said[4:7] == [
        ("It was 5.4%, not 9%.", "Normal"),
        ("a", "List Bullet"),
        ("b", "List Bullet 2"),
    ]
    runs = [run for paragraph in file.paragraphs for run in paragraph.runs]
    assert [run.text for run in runs if run.bold] == [
        "5.4%",
        "*Tea* [grows].",
    ]
    assert [run.text for run in runs if run.font.highlight_color] == ["not 9%"]
    assert [[cell.text for cell in row.cells] for row in file.tables[0].rows] == [
        ["Year", "Value"],
        ["2023", "5"],
    ]
    with ZipFile(BytesIO(data)) as parts:
        notes = parts.read("word/footnotes.xml").decode()
        links = parts.read("word/_rels/footnotes.xml.rels").decode()
    assert notes.count("Kenya &amp; &lt;more&gt;, Economy, page 3") == 2
    assert "http://localhost/1?a&amp;b" in links


def figure(
    subject: str, year: int, value: float, citation: int = 1, edition: int = 2025
) -> dict[str, Any]:
    return {
        "subject": subject,
        "indicator": "Growth",
        "unit": "%",
        "year": year,
        "value": value,
        "text": f"{value}%",
        "citation": citation,
        "edition": edition,
    }


MALI = figure("Mali", 2021, 3)
YEARS = [
    figure("Kenya", 2021, 7.5),
    figure("Kenya", 2019, 5.1),
    figure("Kenya", 2022, 4.9, edition=2024),
]
REVISED = [figure("Kenya", 2022, 4.8), figure("Kenya", 2023, 9, citation=2)]


@pytest.mark.parametrize(
    ("figures", "response", "expected"),
    [
        (
            YEARS + REVISED,
            "7.5% (2021) [1]",
            [["2019", 5.1], ["2020", None], ["2021", 7.5], ["2022", 4.8]],
        ),
        (
            [*YEARS[:2], MALI, figure("Togo", 2021, 8)],
            "7.5% [1]",
            [["Togo", 8], ["Kenya", 7.5], ["Mali", 3]],
        ),
        (
            [YEARS[0], MALI, figure("Togo", 2020, 8)],
            "3% [1], 8% [1], 7.5% (2021) [1]",
            [["Mali (2021)", 3], ["Togo (2020)", 8], ["Kenya (2021)", 7.5]],
        ),
        (YEARS[:1], "7.5% [1]", None),
        ([*YEARS[:2], MALI], "It rains. [1]", None),
    ],
    ids=["lines", "bars of a year", "a ranking", "one figure", "none stated"],
)
def test_figures_are_charts_with_their_values(
    figures: list[dict[str, Any]], response: str, expected: list[list[Any]] | None
) -> None:
    cited = {"title": "Kenya", "section": "Economy", "document_id": "d", "page": 3}
    citations = [
        {**cited, "number": 1, "supported": True},
        {**cited, "number": 2, "supported": False},
    ]
    writer = WordWriter("Growth", lambda one: "http://localhost/")
    writer.add_answer(
        "So.", {"citations": citations, "figures": figures, "response": response}
    )
    with ZipFile(BytesIO(writer.bytes())) as parts:
        if expected is None:
            assert not [name for name in parts.namelist() if "chart" in name]
            return
        drawn, text = (
            parts.read(f"word/{name}.xml").decode()
            for name in ("charts/chart1", "document")
        )
        book = load_workbook(BytesIO(parts.read("word/embeddings/chart1.xlsx")))
    assert [
        list(row) for row in book.active.iter_rows(min_row=2, values_only=True)
    ] == expected
    assert f"{figures[0]['subject']}, 2021: 7.5%" in text
    assert "7.5%" in drawn
    assert text.count("footnoteReference") == 1
    # A bar begins at zero.
    assert ('<c:min val="0' in drawn) == ("barChart" in drawn)


def test_eight_lines_are_one_chart() -> None:
    names = [f"Country {number}" for number in range(8)]
    figures = [figure(name, year, 5) for name in names for year in (2019, 2020, 2021)]
    [chart] = shown_charts(
        [{**one, "citations": [1]} for one in figures], is_lines=True
    )
    assert len(chart.part().chart.plots[0].series) == 8
    answer = {"citations": [{"number": 1, "supported": True}], "response": ""}
    of_others = [{**one, "indicator": "Other"} for one in figures]
    card = {"figures": figures}
    [of_answer] = charts_of({**answer, "figures": of_others, "card": card})
    assert of_answer.is_lines
    assert {one["indicator"] for one in of_answer.figures} == {"Growth"}


@pytest.mark.usefixtures("editions")
def test_the_explorer_s_state_is_a_word_file_with_chart_and_footnotes(
    client: FlaskClient,
) -> None:
    body = {
        "indicators": ["Inflation rate (consumer prices)"],
        "every_year": True,
        "format": "docx",
        "view": "lines",
    }
    response = client.post("/api/figures/query", json=body)
    with ZipFile(BytesIO(response.get_data())) as parts:
        drawn = parts.read("word/charts/chart1.xml").decode()
        text = parts.read("word/document.xml").decode()
    assert "lineChart" in drawn
    assert "7.7%" in text
    assert text.count("footnoteReference") >= 2
