"""Numbers and dates as people write them."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbot.language.figures import comma_decimals, date_stands, dates, figures, unify_signs


def read(text: str, *, comma: bool = False) -> list[tuple[str, str, str]]:
    """Each number: as written, its readings, its unit."""
    found = figures(text, comma=comma)
    return [(f.text, " ".join(sorted(format(value, "f") for value in f.values)), f.unit) for f in found]


@pytest.mark.parametrize(
    "text",
    ["1234567", "1,234,567", "1 234 567", "1\u202f234\u202f567", "1\u00a0234\u00a0567", "1'234'567",
     "1\u2019234\u2019567", "12,34,567", "1.234.567", "1.234567 million", "1.234567 mn", "1,234.567 thousand",
     "\u0661\u0662\u0663\u0664\u0665\u0666\u0667", "\uff11\uff12\uff13\uff14\uff15\uff16\uff17", "123.4567\u4e07",
     "12.34567 lakh"],
)  # fmt: skip
def test_one_number_in_many_spellings(text: str) -> None:
    assert [f.values for f in figures(text)] == [{Decimal(1234567)}]


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [("12 %", "12", "%"), ("12.5%", "12.5", "%"), ("12 percent", "12", "%"), ("12 per cent", "12", "%"),
     ("12 Prozent", "12", "%"), ("12 pour cent", "12", "%"), ("twelve percent", "12", "%"),
     ("twenty-five", "25", ""), ("-6.7%", "-6.7", "%"), ("\u22126.7%", "-6.7", "%"), ("minus 6.7", "-6.7", ""),
     ("$3bn", "3000000000", "$"), ("-$3m", "-3000000", "$"), ("US$ 2.5 billion", "2500000000", "$"),
     ("2.5 billion US dollars", "2500000000", "$"), ("EUR 5 million", "5000000", "\u20ac"),
     ("5 Mio. Euro", "5000000", "\u20ac"), ("3,5 Mrd.", "3500000000", ""), ("3.5 milliards", "3500000000", ""),
     ("3.5 \u043c\u043b\u0440\u0434", "3500000000", ""), ("12k", "12000", ""), ("5 m", "5", ""), ("0,5", "0.5", ""),
     ("2nd", "2", ""), ("1990s", "1990", "")],
)  # fmt: skip
def test_units_scales_and_signs(text: str, value: str, unit: str) -> None:
    ((_, readings, found),) = read(text)
    assert (readings, found) == (value, unit)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5-7%", [("5", "5", "%"), ("7%", "7", "%")]),
        ("$5\u20137", [("$5", "5", "$"), ("7", "7", "$")]),
        ("2019-21", [("2019", "2019", ""), ("21", "2021 21", "")]),
        ("from 2000 to 27 percent", [("2000", "2000", ""), ("27 percent", "27", "%")]),
        ("3 to 4 million", [("3", "3 3000000", ""), ("4 million", "4000000", "")]),
        ("$1.2bn $3m", [("$1.2bn", "1200000000", "$"), ("$3m", "3000000", "$")]),
        ("births/1,000 people", [("1,000", "1000", "")]),
        ("G20, H1N1 and CO2", []),
    ],
)
def test_several_numbers(text: str, expected: list[tuple[str, str, str]]) -> None:
    assert read(text) == expected


def test_a_point_or_comma_before_three_digits_is_read_as_the_text_writes_decimals() -> None:
    assert [readings for _, readings, _ in read("1,234 and 1.234")] == ["1234", "1.234"]
    assert [readings for _, readings, _ in read("1,234 and 1.234", comma=True)] == ["1.234", "1234"]
    assert comma_decimals("Das Wachstum war 2,5 % von 1.234.")
    assert not comma_decimals("Growth was 2.5% of 1,234.")
    assert not comma_decimals("1,234 and 1.234")


def test_what_may_be_one_number_or_several() -> None:
    (row,) = figures("12 345")
    assert (row.values, row.parts) == ({Decimal(12345)}, (Decimal(12), Decimal(345)))
    (version,) = figures("7.8.2022")
    assert (version.values, version.parts) == (frozenset(), (Decimal(7), Decimal(8), Decimal(2022)))


@given(st.text())
def test_any_text_can_be_read_and_places_are_right(text: str) -> None:
    assert len(unify_signs(text)) == len(text)
    for figure in figures(text):
        assert unify_signs(text)[figure.start : figure.end].strip() == figure.text


@given(st.decimals(min_value=-(10**9), max_value=10**9, places=2))
def test_every_number_is_read_as_it_is_written(number: Decimal) -> None:
    assert [f.values for f in figures(f"It is {number:,f} now.")] == [{number.normalize() + 0}]


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
    claims = [date for date in dates(claimed) if date.day or "7" not in claimed]
    assert any(date_stands(date, dates(text), set().__contains__) for date in claims) is stands


def test_a_spelling_that_is_not_known_counts_by_its_numbers() -> None:
    (claimed,) = [date for date in dates("7 August 2022") if date.day]
    assert date_stands(claimed, [], {Decimal(7), Decimal(2022)}.__contains__)
    assert not date_stands(claimed, [], {Decimal(8), Decimal(2022)}.__contains__)
    assert date_stands(claimed, dates("7 August"), {Decimal(2022)}.__contains__)
