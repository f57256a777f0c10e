"""The years that a text names: of figures, of editions, and editions named by their
order.
"""

import pytest

from chatbot.domain import Range
from chatbot.domain.scope import Values
from chatbot.questions.names import find_years, relative_editions
from tests.data import cases

YEARS = cases(__file__)
EDITIONS = (2021, 2023, 2025)


@pytest.mark.parametrize("kind", ["figures", "editions"])
def test_years_of_figures_and_of_reports(kind: str) -> None:
    for text, expected in YEARS[kind].items():
        found = find_years(text)
        assert [years.text for years in found] == expected, text
        assert {years.of_report for years in found} == {kind == "editions"}, text


def test_numbers_that_are_no_years() -> None:
    for text in YEARS["none"]:
        assert find_years(text) == [], text


def test_editions_by_their_order_are_those_of_the_data() -> None:
    for text, expected in YEARS["order"].items():
        found = relative_editions(text, EDITIONS)
        assert [years.text for years in found] == expected, text
        assert all(years.of_report for years in found)


def test_a_year_is_a_value_and_several_are_a_range() -> None:
    assert [
        years.condition
        for years in find_years("in 2023, from 2019 to 2021, since 2015")
    ] == [
        Values((2023,)),
        Range(2019, 2021),
        Range(2015, None),
    ]
