"""Figures as the sample reports, tables and prose state them: label, value, unit,
year.
"""

import time
from decimal import Decimal
from typing import Any

import pytest

from chatbot.domain.tables import Stated
from chatbot.language.reported_figures import (
    figure_years,
    figures_of,
    may_state_years,
    stated,
)
from tests.checking.conftest import chunk
from tests.data import cases

CASES = cases(__file__)


@pytest.mark.parametrize(("text", "years"), CASES["years_of_figures_newest_first"])
def test_years_of_figures_newest_first(text: str, years: list[int]) -> None:
    assert figure_years(text) == tuple(years)


@pytest.mark.parametrize(("text", "expected"), CASES["statements"])
def test_statements_are_read_with_label_value_unit_and_year(
    text: str, expected: list[list[Any]]
) -> None:
    found = [
        (one.label, one.value, one.unit, one.text, one.year, one.estimate)
        for one in stated(text)
    ]
    assert found == [(label, Decimal(value), *rest) for label, value, *rest in expected]


def test_a_line_of_words_is_the_heading_of_what_follows() -> None:
    found = stated(
        "Population\n57 million (2023)\nExchange rates\nshillings per US dollar "
        "-\n111.45 (2020)"
    )
    assert [(one.heading, one.label) for one in found] == [
        ("Population", ""),
        ("Exchange rates", "shillings per US dollar"),
    ]


def test_a_run_of_space_beside_a_figure_is_read_once() -> None:
    """It took its square: a list of the figures of 2,000 such passages half a
    minute.
    """
    began = time.process_time()
    found = stated(f"1% (2018{' ' * 40_000}est.)")
    assert [one.value for one in found] == [1, 2018]
    assert time.process_time() - began < 2.0


@pytest.mark.parametrize(
    ("section", "text", "indicators"), CASES["a_column_of_values_is_no_name"]
)
def test_a_column_of_values_is_no_name(
    section: str, text: str, indicators: list[str]
) -> None:
    assert [
        figure.indicator for figure in figures_of(chunk(0, text, section=section))
    ] == indicators


def cell(text: str, *years: int) -> Stated:
    return Stated("Sales", "", Decimal(text), "", text, frozenset(years))


@pytest.mark.parametrize(
    ("text", "cells", "expected"),
    [
        ("Name: Alpha; Sales: 1950; Costs: 2010.5", ("1950", "2010.5"), False),
        ("Name: Alpha; Sales: 1950; Built: 1950", ("1950",), True),
        ("Name: Alpha; Sales: 7; Note: 5% (2018 est.)", ("7",), True),
        ("Name: Alpha; Sales: 7", ("7",), False),
        ("Alpha had 7 in 2018.", (), True),
    ],
)
def test_a_cell_whose_value_looks_like_a_year_leaves_no_year_to_the_text(
    text: str, cells: tuple[str, ...], expected: bool
) -> None:
    assert may_state_years(text, map(cell, cells)) is expected


def test_the_text_need_not_say_again_of_which_years_the_cells_are() -> None:
    assert not may_state_years("Year: 2021; Sales: 7", [cell("7", 2021)])
    assert may_state_years("Year: 2021; Sales: 7; Seen: 2022", [cell("7", 2021)])


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("Exports 2024: $5 billion (2024 est.)", ""),
        ("Q1 2023: $1 billion (2023)", "Q1 2023"),
        ("to Chad: Exports 2023: $1 billion (2023)", "to Chad"),
        ("Agenda 2030: 12% (2023)", "Agenda 2030"),
    ],
)
def test_each_year_of_a_series_is_the_same_indicator(text: str, label: str) -> None:
    """Years in labels made an indicator of each: comparisons took the oldest."""
    [figure] = figures_of(chunk(0, text, section="Economy \u203a Exports"))
    assert figure.label == label
