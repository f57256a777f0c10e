"""Numbers and dates as people write them."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbot.language.figures import (
    comma_decimals,
    date_stands,
    dates,
    figures,
    unify_signs,
)
from tests.data import cases

CASES = cases(__file__)


def read(text: str, *, comma: bool = False) -> list[list[str]]:
    """Each number: as written, its readings, its unit."""
    found = figures(text, comma=comma)
    return [
        [f.text, " ".join(sorted(format(value, "f") for value in f.values)), f.unit]
        for f in found
    ]


@pytest.mark.parametrize("text", CASES["one_number_in_many_spellings"])
def test_one_number_in_many_spellings(text: str) -> None:
    assert [f.values for f in figures(text)] == [{Decimal(1234567)}]


@pytest.mark.parametrize(("text", "value", "unit"), CASES["units_scales_and_signs"])
def test_units_scales_and_signs(text: str, value: str, unit: str) -> None:
    ((_, readings, found),) = read(text)
    assert (readings, found) == (value, unit)


@pytest.mark.parametrize(("text", "expected"), CASES["several_numbers"])
def test_a_text_has_several_numbers(text: str, expected: list[list[str]]) -> None:
    assert read(text) == expected


def test_a_point_or_comma_before_three_digits_is_read_as_the_text_writes_decimals() -> (
    None
):
    assert [readings for _, readings, _ in read("1,234 and 1.234")] == ["1234", "1.234"]
    assert [readings for _, readings, _ in read("1,234 and 1.234", comma=True)] == [
        "1.234",
        "1234",
    ]
    assert comma_decimals("Das Wachstum war 2,5 % von 1.234.")
    assert not comma_decimals("Growth was 2.5% of 1,234.")
    assert not comma_decimals("1,234 and 1.234")


def test_what_may_be_one_number_or_several() -> None:
    (row,) = figures("12 345")
    assert (row.values, row.parts) == ({Decimal(12345)}, (Decimal(12), Decimal(345)))
    (version,) = figures("7.8.2022")
    assert (version.values, version.parts) == (
        frozenset(),
        (Decimal(7), Decimal(8), Decimal(2022)),
    )


@given(st.text())
def test_any_text_can_be_read_and_places_are_right(text: str) -> None:
    assert len(unify_signs(text)) == len(text)
    for figure in figures(text):
        assert unify_signs(text)[figure.start : figure.end].strip() == figure.text


@given(st.decimals(min_value=-(10**9), max_value=10**9, places=2))
def test_every_number_is_read_as_it_is_written(number: Decimal) -> None:
    assert [f.values for f in figures(f"It is {number:,f} now.")] == [
        {number.normalize() + 0}
    ]


def days(text: str) -> set[tuple[int | None, int, int | None]]:
    return {(date.year, date.month, date.day) for date in dates(text)}


@pytest.mark.parametrize("text", CASES["a_day"])
def test_a_day_is_read_in_many_spellings(text: str) -> None:
    assert (2022, 8, 7) in days(text)


@pytest.mark.parametrize(
    "text",
    [
        "40 August",
        "2022-13-07",
        "May 500 people",
        "in March 12% of",
        "1.5.3",
        "the 7th",
    ],
)
def test_other_numbers_are_no_days(text: str) -> None:
    assert not {day for day in days(text) if day[2] is not None}


@pytest.mark.parametrize(("claimed", "text", "stands"), CASES["whether_it_stands"])
def test_whether_it_stands(claimed: str, text: str, stands: bool) -> None:
    claims = [date for date in dates(claimed) if date.day or "7" not in claimed]
    assert (
        any(date_stands(date, dates(text), set().__contains__) for date in claims)
        is stands
    )


def test_a_spelling_that_is_not_known_counts_by_its_numbers() -> None:
    (claimed,) = [date for date in dates("7 August 2022") if date.day]
    assert date_stands(claimed, [], {Decimal(7), Decimal(2022)}.__contains__)
    assert not date_stands(claimed, [], {Decimal(8), Decimal(2022)}.__contains__)
    assert date_stands(claimed, dates("7 August"), {Decimal(2022)}.__contains__)
