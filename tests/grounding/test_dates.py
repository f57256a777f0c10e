"""Dates in their spellings."""

from __future__ import annotations

from decimal import Decimal

import pytest

from chatbot.grounding.figures import date_stands, dates


def days(text: str) -> set[tuple[int | None, int, int | None]]:
    return {(date.year, date.month, date.day) for date in dates(text)}


@pytest.mark.parametrize(
    "text",
    ["7 August 2022", "7th of August 2022", "August 7, 2022", "Aug. 7, 2022", "2022-08-07", "7.8.2022",
     "07.08.2022", "7/8/2022", "8/7/2022", "7. August 2022", "7 ao\u00fbt 2022", "7 de agosto de 2022",
     "6 and 7 August 2022", "7\u20139 August 2022"],
)  # fmt: skip
def test_a_day(text: str) -> None:
    assert (2022, 8, 7) in days(text)


@pytest.mark.parametrize("text", ["40 August", "2022-13-07", "May 500 people", "in March 12% of", "1.5.3", "the 7th"])
def test_no_day(text: str) -> None:
    assert not {day for day in days(text) if day[2] is not None}


@pytest.mark.parametrize(
    ("claimed", "text", "stands"),
    [
        ("7 August 2022", "on August 7, 2022", True),
        ("7 August 2022", "from 7 to 28 August 2022", True),
        ("August 2022", "on 7 August 2022", True),
        ("7 August", "on 7 August 2022", True),
        ("7 August 2022", "on 8 August 2022", False),
        ("7 August 2022", "on 7 July 2022", False),
        ("7 August 2022", "on 7 August 2021", False),
        ("7 August 2022", "in August 2022", False),
        ("7 August 2022", "on 7 August", False),
        ("7 August 2022", "on the 7th", False),
    ],
)
def test_whether_it_stands(claimed: str, text: str, stands: bool) -> None:
    assert (
        any(
            date_stands(date, dates(text), set().__contains__)
            for date in dates(claimed)
            if date.day or "7" not in claimed
        )
        is stands
    )


def test_a_spelling_that_is_not_known_counts_by_its_numbers() -> None:
    (claimed,) = [date for date in dates("7 August 2022") if date.day]
    assert date_stands(claimed, [], {Decimal(7), Decimal(2022)}.__contains__)
    assert not date_stands(claimed, [], {Decimal(8), Decimal(2022)}.__contains__)
    assert date_stands(claimed, dates("7 August"), {Decimal(2022)}.__contains__)
