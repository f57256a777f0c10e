"""Years that are named by others: editions of the data, and years counted from one that is named."""

from __future__ import annotations

import pytest

from chatbot.questions.reading import read_names
from chatbot.questions.relative_years import relative_years
from tests.questions.reports import Reports, scope

EDITIONS = (2021, 2023, 2025)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What does the latest report say?", ["2025"]),
        ("the most recent Kenya report", ["2025"]),
        ("the previous edition", ["2023"]),
        ("the 2023 report and the previous edition", ["2021"]),
        ("the second-latest report", ["2023"]),
        ("the earliest report", ["2021"]),
        ("the last two editions", ["2023 to 2025"]),
        ("the two newest reports", ["2023 to 2025"]),
        ("older editions", ["2021 to 2023"]),
        ("the 2021 edition and the next edition", ["2023"]),
        ("Compare the latest report with the previous one and the earliest edition", ["2025", "2021"]),
    ],
)
def test_editions_are_those_of_the_data(text: str, expected: list[str]) -> None:
    found = relative_years(text, EDITIONS)
    assert ([years.text for years in found], {years.of_report for years in found}) == (expected, {True})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("in 2023 and two years earlier", ["2021"]),
        ("two years before 2023", ["2021"]),
        ("in 2021 and three years later", ["2024"]),
        ("in 2020, and a year earlier?", ["2019"]),
        ("in 2020 and the previous year?", ["2019"]),
        ("in 2020 and the year after?", ["2021"]),
    ],
)
def test_years_of_figures_count_from_the_one_before(text: str, expected: list[str]) -> None:
    found = relative_years(text, EDITIONS)
    assert ([years.text for years in found], {years.of_report for years in found}) == (expected, {False})


@pytest.mark.parametrize(
    "text",
    ["the current issues", "the latest figures in the report", "last year's report", "the year before the war",
     "two years earlier", "the latest inflation rate", "the next edition"],
)  # fmt: skip
def test_nothing_to_count_or_to_count_from(text: str) -> None:
    assert relative_years(text, EDITIONS) == []


def test_the_latest_report_is_that_of_the_country_or_the_scope() -> None:
    reports = Reports(("Kenya", 2021), ("Kenya", 2023), ("Mali", 2025))
    text = "What does the latest report say about inflation"
    for asked, chosen, latest in (
        (f"{text} in Kenya?", scope(), 2023),
        (f"{text}?", scope(country_name="Kenya"), 2023),
        (f"{text}?", scope(), 2025),
    ):
        assert [years.gte for years in read_names(asked, reports, chosen).editions] == [latest]
