"""Conversations and figures as workbooks of Excel."""

import csv
from io import BytesIO, StringIO
from typing import Any, cast

import pytest
from flask.testing import FlaskClient
from openpyxl import load_workbook
from openpyxl.chart import BarChart, LineChart

from chatbot.extras.exports.xlsx import as_workbook, tables_of
from tests.app.web.test_conversations import API, GROWTH, ask, client
from tests.app.web.test_figures import editions

__all__ = ("client", "editions")
TABLE = (
    "So:\n\n| Year | **Value** |\n|---|---|\n| 2023 | 5 [1] |\n| 2024 | 9 |\n\nThat is "
    "all."
)


@pytest.mark.usefixtures("kenya")
def test_tables_of_a_conversation_are_sheets(client: FlaskClient) -> None:
    said = ask(client, GROWTH)
    path = f"{API}/{said['conversation_id']}/export"
    book = load_workbook(
        BytesIO(client.get(path, query_string={"format": "xlsx"}).get_data())
    )
    assert book.sheetnames[-2:] == ["Figures", "Sources"]
    sources = [
        list(row) for row in book["Sources"].iter_rows(min_row=2, values_only=True)
    ]
    assert [row[:3] for row in sources] == [
        [GROWTH, one["number"], one["title"]] for one in said["citations"]
    ]
    head, *figures = book["Figures"].iter_rows(values_only=True)
    assert head[:4] == ("question", "title", "page", "subject")
    assert head[-2:] == ("document_id", "chunk_id")
    cited = {one["number"]: one for one in said["citations"]}
    reports = [cited[one["citation"]] for one in said["figures"]]
    assert [row[:3] for row in figures] == [
        (GROWTH, one["title"], one["page"]) for one in reports
    ]
    assert figures[0][1] == "Kenya: Country Report 2023"
    start = TABLE.index("9")
    marks = [{"start": start, "end": start + 1}]
    assert list(tables_of(TABLE, {"marks": marks})) == [
        [
            ["Year", "Value"],
            [2023.0, "5 [1]"],
            [2024.0, "9 (not supported by the passages)"],
        ]
    ]


@pytest.mark.usefixtures("editions")
def test_a_workbook_of_figures_has_the_cells_of_the_csv_file(
    client: FlaskClient,
) -> None:
    asked = "/api/figures?country_name=kenya&layout=wide&format="
    response = client.get(f"{asked}xlsx")
    disposition = response.headers["Content-Disposition"]
    assert disposition == 'attachment; filename="figures.xlsx"'
    book = load_workbook(BytesIO(response.get_data()))
    head, *rows = book["figures"].iter_rows(values_only=True)
    table = csv.reader(StringIO(client.get(f"{asked}csv").get_data(as_text=True)))
    names, *others = table
    assert list(head) == names
    assert [[as_text(cell) for cell in row] for row in rows] == others
    assert 6.1 in next(row for row in rows if str(row[0]).startswith("Inflation"))


@pytest.mark.usefixtures("editions")
def test_the_explorer_s_state_is_numbers_with_their_passages(
    client: FlaskClient,
) -> None:
    body = {
        "indicators": ["Inflation rate (consumer prices)"],
        "every_year": True,
        "view": "lines",
        "format": "xlsx",
    }
    response = client.post("/api/figures/query", json=body)
    book = load_workbook(BytesIO(response.get_data()))
    shown, long = book.worksheets
    assert [cell.value for cell in shown[1]] == [
        "Inflation rate (consumer prices) (%)",
        *(2020, 2021, 2023),
    ]
    _, *cells = shown[2]
    assert [cell.value for cell in cells] == [5.4, 6.1, 7.7]
    assert "Country Report 2025" in cells[2].comment.text
    assert shown.column_dimensions["A"].width > 20
    (chart,) = shown._charts
    assert isinstance(chart, LineChart)
    assert len(chart.series) == 1
    assert [cell.value for cell in long[4]][2:5] == [2023, 7.7, "%"]
    table = client.post("/api/figures/query", json={**body, "format": "csv"})
    assert len(list(csv.reader(StringIO(table.get_data(as_text=True))))) == 4


def test_a_figure_of_an_answer_s_table_is_a_number() -> None:
    message = {
        "role": "assistant",
        "content": "| Year | Kenya |\n|---|---|\n| 2024 | $1.2 bn (2024 est.) [1] |",
        "answer": {"figures": [{"text": "$1.2 bn", "value": 1.2e9, "citation": 1}]},
    }
    book = load_workbook(BytesIO(as_workbook(cast(Any, None), [message])))
    cell = book.worksheets[0]["B2"]
    assert cell.value == 1_200_000_000
    assert cell.comment.text == "$1.2 bn (2024 est.) [1]"


def test_a_table_of_one_indicator_has_it_with_its_unit_in_its_first_cell() -> None:
    figure = {"text": "7.7%", "value": 7.7, "unit": "%", "indicator": "Inflation"}
    message = {
        "role": "assistant",
        "content": "| Year | Kenya |\n|---|---|\n| 2023 | 7.7% [1] |",
        "answer": {
            "figures": [{**figure, "citation": 1}],
            "card": {"figures": [figure]},
        },
    }
    book = load_workbook(BytesIO(as_workbook(cast(Any, None), [message])))
    rows = [[cell.value for cell in row] for row in book.worksheets[0]]
    assert rows == [["Year · Inflation (%)", "Kenya"], [2023, 7.7]]


def test_figures_over_the_years_are_lines_without_words_between_them() -> None:
    years = {2021: 6.1, 2022: 7.7, 2023: 7.6}
    figures = []
    rows = "| Year | Kenya | Chad |\n|---|---|---|\n"
    for year, value in years.items():
        figure = {"text": f"{value}%", "value": value, "unit": "%", "citation": 1}
        figures.append({**figure, "indicator": "Inflation"})
        rows += f"| {year} | {value}% [1] | not found |\n"
    answer = {"figures": figures, "card": {"figures": figures}}
    message = {"role": "assistant", "content": rows, "answer": answer}
    book = load_workbook(BytesIO(as_workbook(cast(Any, None), [message])))
    sheet = book.worksheets[0]
    (chart,) = sheet._charts
    assert isinstance(chart, LineChart)
    assert len(chart.series) == 2
    assert [cell.value for cell in sheet["B"]] == ["Kenya", *years.values()]
    assert [cell.value for cell in sheet["C"]] == ["Chad", None, None, None]


def test_one_figure_of_each_country_is_a_bar() -> None:
    figures = []
    rows = "| Country | Inflation |\n|---|---|\n"
    for subject, value in {"Kenya": 7.7, "Chad": 5.8}.items():
        figure = {"text": f"{value}%", "value": value, "unit": "%", "citation": 1}
        figures.append({**figure, "indicator": "Inflation", "subject": subject})
        rows += f"| {subject} | {value}% [1] |\n"
    answer = {"figures": figures, "card": {"figures": figures}}
    message = {"role": "assistant", "content": rows, "answer": answer}
    book = load_workbook(BytesIO(as_workbook(cast(Any, None), [message])))
    (chart,) = book.worksheets[0]._charts
    assert isinstance(chart, BarChart)


def as_text(cell: Any) -> str:
    return "" if cell is None else str(cell)
