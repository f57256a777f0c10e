"""Months, quarters and weeks in all spellings of sheets and questions."""

import pytest

from chatbot.language.periods import (
    is_time,
    month_names,
    periods_in,
    unify_periods,
)


@pytest.mark.parametrize(
    ("text", "unified"),
    [
        ("2024-03", "2024 03month"),
        ("2024-03-05", "2024 03month 5day"),
        ("2024M03", "2024 03month"),
        ("03/2024", "2024 03month"),
        ("Jan-24", "01month 2024"),
        ("jan-24", "01month 2024"),
        ("Sept. 2024", "09month 2024"),
        ("janvier 2024", "01month 2024"),
        ("12 May 2024", "12day 05month 2024"),
        ("May 5, 2024", "05month 5day 2024"),
        ("Month: 6", "06month"),
        ("2024-Q1", "2024 01quarter"),
        ("the second quarter of 2024", "the 02quarter 2024"),
        ("trimestre 3", "03quarter"),
        ("week 12 of 2024", "12week 2024"),
        ("Week: 7", "07week"),
        ("2024-W05", "2024 05week"),
    ],
)
def test_a_period_is_the_same_in_all_spellings(text: str, unified: str) -> None:
    assert unify_periods(text) == unified


@pytest.mark.parametrize("text", ["may", "2018/19", "2023/24 season", "10-24", "1.5"])
def test_other_words_and_numbers_are_no_period(text: str) -> None:
    assert not periods_in(text)


def test_a_month_in_digits_has_its_names() -> None:
    assert "april" in month_names("2024-04").split()
    assert "april" in month_names("Apr-24").split()
    assert not month_names("2024-04", ["2023"])


@pytest.mark.parametrize("text", ["May 2024", "2024-05-03", "Q1", "2024", "Week 12"])
def test_a_time_says_nothing_else(text: str) -> None:
    assert is_time(text)
    assert not is_time(f"Wells in {text}")
