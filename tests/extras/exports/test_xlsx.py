"""Conversations and figures as workbooks of Excel."""

import csv
from io import BytesIO, StringIO
from typing import Any

import pytest
from flask.testing import FlaskClient
from openpyxl import load_workbook

from chatbot.extras.exports.xlsx import tables_of
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
    assert [
        row[0] for row in book["Figures"].iter_rows(min_row=2, values_only=True)
    ] == [GROWTH] * len(said["figures"])
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


def as_text(cell: Any) -> str:
    return "" if cell is None else str(cell)
