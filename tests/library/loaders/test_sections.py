"""Rows of a table to lines that name their columns, or to sections of their own
(R-B1).
"""

from typing import Any

import pytest

from chatbot.domain import Section
from chatbot.library.loaders.grid import looks_like_header
from chatbot.library.loaders.sections import (
    LEVEL,
    HeadingOutline,
    column_key,
    column_names,
    is_number,
    record_sections,
    row_metadata,
    row_sections,
    row_text,
)
from tests.data import cases

CASES = cases(__file__)


@pytest.mark.parametrize(
    ("header", "cells", "text"), CASES["rows"].values(), ids=CASES["rows"]
)
def test_a_row_names_its_columns(
    header: list[str], cells: list[str], text: str
) -> None:
    assert row_text(header, cells) == text


def table_text(rows: list[list[str]], heads: int | None = None) -> str:
    outline = HeadingOutline()
    outline.table(rows, heads=heads)
    texts: list[str] = []
    for section in outline.sections():
        if section.text:
            texts.append(section.text)
    return "\n".join(texts)


TABLES = {
    **CASES["tables"],
    "prose first": ([["x" * 121, "b"], ["c", "d"]], f"{'x' * 121}; b\nc: d"),
}


@pytest.mark.parametrize(("rows", "text"), TABLES.values(), ids=TABLES)
def test_a_table_is_a_line_for_each_row(rows: list[list[str]], text: str) -> None:
    assert table_text(rows) == text


def test_who_knows_the_header_says_so() -> None:
    rows = [["1", "2"], ["3", "4"]]
    assert table_text(rows, heads=1) == "1: 3; 2: 4"
    assert (
        table_text([["Country", "Year"], ["Chad", "2020"]], heads=0)
        == "Country: Year\nChad: 2020"
    )


def test_a_long_name_of_a_column_does_not_swell_each_row() -> None:
    assert table_text([["x" * 100_000, "b"], ["c", "d"]], heads=1) == "c; b: d"


@pytest.mark.parametrize("text", ["1,285.5", "-3", "(12)", "45 %", "$7", "2020", "−1"])
def test_numbers_as_people_write_them(text: str) -> None:
    assert is_number(text)
    assert not looks_like_header([text, text])


@pytest.mark.parametrize("text", ["Kenya", "5 km", "", "Q1", "-"])
def test_what_is_no_number(text: str) -> None:
    assert not is_number(text)


Rows = list[list[str]]


def sections(header: list[str], *rows: list[str]) -> list[Section]:
    return record_sections(header, rows)


@pytest.mark.parametrize("path", [(), ("Sheet 1",)], ids=["", "of a sheet"])
@pytest.mark.parametrize(
    ("header", "rows", "expected"), CASES["records"].values(), ids=CASES["records"]
)
def test_rows_are_passages(
    path: tuple[str, ...], header: list[str], rows: Rows, expected: list[Any]
) -> None:
    """R-B1: Text is required, Title and Source are optional, the row's number is the
    source id. R-A1: raw pages.
    """
    found = row_sections(header, rows, path)
    assert found == [
        Section((*path, *own), text, metadata=dict(*metadata))
        for own, text, *metadata in expected
    ]


NAMED_BY = {
    **CASES["named_by"],
    "prose is no name": (["remark", "b"], [["word " * 20, "2"]], "Row 1"),
}


@pytest.mark.parametrize(("header", "rows", "name"), NAMED_BY.values(), ids=NAMED_BY)
def test_rows_are_named_by_their_first_words(
    header: list[str], rows: Rows, name: str
) -> None:
    assert sections(header, *rows)[0].path == (name,)


def test_headers_are_completed_and_told_apart() -> None:
    assert column_names(["a", "", " b\n c ", "a", "a (2)", "a"], 7) == [
        "a",
        "Column 2",
        "b c",
        "a (2)",
        "a (2) (2)",
        "a (3)",
        "Column 7",
    ]
    assert (
        column_key(" Country-Name\t") == column_key("COUNTRY  name") == "country_name"
    )


@pytest.mark.parametrize(
    ("values", "metadata"), CASES["metadata"].values(), ids=CASES["metadata"]
)
def test_metadata_is_checked(
    values: dict[str, str], metadata: dict[str, str | int]
) -> None:
    assert row_metadata(values) == metadata


def test_levels_of_a_name_are_written_once_in_a_row() -> None:
    names = [
        "Group",
        f"2007{LEVEL}Men",
        f"2007{LEVEL}Women",
        f"2009{LEVEL}Men",
        f"2009{LEVEL}Women",
    ]
    assert (
        row_text(names, ["All", "1", "2", "3", "4"])
        == "Group: All; 2007 Men: 1; Women: 2; 2009 Men: 3; Women: 4"
    )
    assert (
        row_text(names, ["All", "", "2", "", "4"])
        == "Group: All; 2007 Women: 2; 2009 Women: 4"
    )


def test_names_of_columns_without_values_are_kept() -> None:
    table = [["Country", "Births", "Remarks"], ["Kenya", "26", ""], ["Peru", "17", ""]]
    assert table_text(table).split("\n")[-1] == "Empty columns: Remarks"
