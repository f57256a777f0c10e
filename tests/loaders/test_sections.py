"""Rows to lines that name their columns."""

from __future__ import annotations

import pytest

from chatbot.loaders.sections import is_number, looks_like_header, row_text, table_text

ROWS = {
    "header and value": (["Country", "Year"], ["Kenya", "2023"], "Country: Kenya; Year: 2023"),
    "an empty cell": (["Country", "Capital", "Year"], ["Kenya", " ", "2023"], "Country: Kenya; Year: 2023"),
    "white space": (["GDP\n(USD)"], [" 1\u00a0 2\n3 "], "GDP (USD): 1 2 3"),
    "no header": (["", "Year"], ["Kenya", "2023"], "Kenya; Year: 2023"),
    "more cells than names": (["Country"], ["Kenya", "2023"], "Country: Kenya; 2023"),
    "fewer cells than names": (["Country", "Year"], ["Kenya"], "Country: Kenya"),
    "a colon in the name": (["total :"], ["5 km"], "total: 5 km"),
    "nothing": (["Country"], [""], ""),
}


@pytest.mark.parametrize(("header", "cells", "text"), ROWS.values(), ids=ROWS)
def test_a_row_names_its_columns(header: list[str], cells: list[str], text: str) -> None:
    assert row_text(header, cells) == text


TABLES = {
    "a header": ([["Country", "2019"], ["Kenya", "5"], ["", "6"]], "Country: Kenya; 2019: 5\n2019: 6"),
    "an empty corner": ([["", "2019", "2020"], ["Kenya", "5", "6"]], "Kenya; 2019: 5; 2020: 6"),
    "numbers first": ([["total", "1,285 "], ["land", "1,279"]], "total | 1,285\nland | 1,279"),
    "a hole in the first row": ([["a", "", "b"], ["c", "d", "e"]], "a | b\nc | d | e"),
    "one row": ([["Country", "Year"]], "Country | Year"),
    "prose first": ([["x" * 121, "b"], ["c", "d"]], f"{'x' * 121} | b\nc | d"),
    "a caption": ([["Table 1", ""], ["Country", "Year"], ["Chad", "2020"]], "Table 1\nCountry: Chad; Year: 2020"),
    "groups and notes": (
        [["Country", "Year"], ["Africa", ""], ["Chad", "2020"], ["Source: UN"]],
        "Africa\nCountry: Chad; Year: 2020\nSource: UN",
    ),
    "blank rows": ([["", ""], ["Country", "Year"], [" "], ["Chad", "2020"]], "Country: Chad; Year: 2020"),
    "nothing": ([], ""),
}


@pytest.mark.parametrize(("rows", "text"), TABLES.values(), ids=TABLES)
def test_a_table_is_a_line_for_each_row(rows: list[list[str]], text: str) -> None:
    assert table_text(rows) == text


def test_who_knows_the_header_says_so() -> None:
    rows = [["1", "2"], ["3", "4"]]
    assert table_text(rows, header=True) == "1: 3; 2: 4"
    assert table_text([["Country", "Year"], ["Chad", "2020"]], header=False) == "Country | Year\nChad | 2020"


def test_a_long_name_of_a_column_does_not_swell_each_row() -> None:
    assert table_text([["x" * 100_000, "b"], ["c", "d"]], header=True) == "c; b: d"


@pytest.mark.parametrize("text", ["1,285.5", "-3", "(12)", "45 %", "$7", "2020", "−1"])
def test_numbers_as_people_write_them(text: str) -> None:
    assert is_number(text)
    assert not looks_like_header([text, text])


@pytest.mark.parametrize("text", ["Kenya", "5 km", "", "Q1", "-"])
def test_what_is_no_number(text: str) -> None:
    assert not is_number(text)
