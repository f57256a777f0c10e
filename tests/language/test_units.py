"""Conversion between units as reports and people write them."""

from decimal import Decimal

import pytest

from chatbot.domain.errors import InvalidRequestError
from chatbot.language.units import convert, unit_pattern


@pytest.mark.parametrize(
    ("value", "unit", "to", "expected"),
    [
        ("8611", "m", "feet", "28251.31"),
        ("579330", "sq km", "square miles", "223680.56"),
        ("580367", "sq km", "hectares", "58036700"),
        ("885000", "bbl/day", "litres per day", "140703756.01"),
        ("0.29", "physicians/1,000 population", "per 100,000 people", "29"),
        ("9.6", "deaths/1,000 live births", "deaths per 100,000 live births", "960"),
        ("58246378", "", "million people", "58.25"),
        ("338964000000", "$", "billions of dollars", "338.96"),
        ("50", "°F", "celsius", "10"),
        ("10", "°C", "°F", "50"),
        ("2", "metric tonnes of CO2", "metric tonnes of CO2", "2"),
        ("2", "metric tonnes of CO2", "kg", "2000"),
        ("4", "%", "one in", "25"),
        ("63", "deaths/1,000 live births", "one in", "15.873"),
        ("0.04", "physicians/1,000 population", "one in", "25000"),
        ("0", "%", "one in", "0"),
    ],
)
def test_converts(value: str, unit: str, to: str, expected: str) -> None:
    converted = convert(Decimal(value), unit, to)
    assert float(converted) == pytest.approx(float(expected), 0.0001)


@pytest.mark.parametrize(
    ("unit", "to"),
    [
        ("years", "miles"),
        ("%", "feet"),
        ("$", ""),
        ("sq km", "one in"),
    ],
)
def test_different_things_are_refused(unit: str, to: str) -> None:
    with pytest.raises(InvalidRequestError, match=unit.replace("$", r"\$")):
        convert(Decimal(1), unit, to)


def test_names_of_units_in_a_question() -> None:
    text = "How many square miles and feet? m, ha and the miller's tonne"
    assert unit_pattern().findall(text) == ["square miles", "feet", "tonne"]
