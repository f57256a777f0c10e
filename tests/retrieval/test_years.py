"""Years that ask for an edition, and years that only date something."""

from __future__ import annotations

import pytest

from chatbot.retrieval.years import find_years
from chatbot.schema import Range, Values


def about(text: str) -> list[str]:
    return [years.text for years in find_years(text) if years.is_subject]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What is the inflation rate in 2031?", ["2031"]),
        ("Kenya 2023", ["2023"]),
        ("Afghanistan, 2021 report: what is the growth rate?", ["2021"]),
        ("in the 2023 edition", ["2023"]),
        ("What was Kenya's 2023 population?", ["2023"]),
        ("How many people live in cities? (2023)", ["2023"]),
        ("in 2021 and 2023", ["2021", "2023"]),
        ("How did inflation change from 2021 to 2023?", ["2021 to 2023"]),
        ("between 2021 and 2023", ["2021 to 2023"]),
        ("inflation 2021-23", ["2021 to 2023"]),
        ("2021–2023 growth", ["2021 to 2023"]),
        ("since 2021", ["2021 and later"]),
        ("Compared to 2019, how high is it in 2023?", ["2023"]),
        ("data for 2021/22", []),
        ("in the 2021 and 2023 year in review", ["2021", "2023"]),
        ("Compare the 2021 and 2023 reports on inflation", ["2021", "2023"]),
        ("Kenya's 2021, 2023 and 2025 reports", ["2021", "2023", "2025"]),
        ("between the 2021 and the 2025 edition", ["2021", "2025"]),
        ("the 2021 World Factbook", ["2021"]),
        ("Kenya's 2021 annual report", ["2021"]),
        ("Kenya's 2021 and 2023 inflation rates", ["2021", "2023"]),
        ("its 2021 with its 2023 exports", ["2021", "2023"]),
        ("Compared to 2019, 2023 was good", ["2023"]),
    ],
)
def test_years_that_the_question_is_about(text: str, expected: list[str]) -> None:
    assert about(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "the 2010 and 2013 constitutions", "the 2013, 2017 and 2022 elections", "the 2019 and 2021 novels",
        "the 2010 constitution", "Who won the 2022 election?", "Kenya's 2022 budget", "since independence in 1963",
        "Who was born in 1963?", "the state founded in 1991", "What was signed in 2005?", "the civil war of 1991",
        "population est. 2019", "(2019 est.)", "Are there 2000 people?", "more than 2000", "2,000 km", "$2021", "2021%",
        "How does Ghana's 2024 debt restructuring work?", "the effect of the 2019 exports ban",
        "What did Ghana's 2015 debt relief change?",
        "2000.5", "What is planned by 2030?", "In July 2021", "room 12021", "last year",
    ],
)  # fmt: skip
def test_years_in_passing_and_other_numbers(text: str) -> None:
    assert about(text) == []


def test_a_year_is_a_value_and_several_are_a_range() -> None:
    assert [years.condition for years in find_years("in 2023, from 2019 to 2021, since 2015")] == [
        Values((2023,)),
        Range(2019, 2021),
        Range(2015, None),
    ]
