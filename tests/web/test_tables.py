"""A spreadsheet gets texts, not formulas."""

from __future__ import annotations

from chatbot.web.tables import csv_response


def test_a_text_that_begins_like_a_formula_is_a_text() -> None:
    rows = [{"name": "=HYPERLINK(1)", "value": -2.5}, {"name": 'said "so", and', "value": None}]
    response = csv_response(rows, ("name", "value"), "a/b.csv")
    assert response.get_data(as_text=True).splitlines() == ["name,value", "'=HYPERLINK(1),-2.5", '"said ""so"", and",']
