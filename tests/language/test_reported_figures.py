"""Figures as the sample reports, tables and prose state them: label, value, unit, year."""

from __future__ import annotations

import time
from decimal import Decimal

import pytest

from chatbot.language.reported_figures import figure_years, stated


@pytest.mark.parametrize(
    ("text", "years"),
    [
        ("48.1% (2018 est.)", [2018]),
        ("16.95% (2021 est.) 13.25% (2020 est.)", [2021, 2020]),
        ("$7.354 billion (31 December 2017 est.)", [2017]),
        ("**rate:** 4.09% annual rate of change (2020-25 est.)", [2025, 2024, 2023, 2022, 2021, 2020]),
        ("In 2018, inflation was 5.7%.", [2018]),
        ("Inflation fell to 5.7% in 2018 and 4% in 2019.", [2019, 2018]),
        ("2018: 5 %", [2018]),
        ("Year: 2021; Inflation: 5", [2021]),
        ("Country: Kenya; 2019: 5; 2020: 6.5%", [2020, 2019]),
        ("tea, cut flowers (2023)", [2023]),
        ("note: data are in 2017 dollars", []),
        ("GDP was 5 billion in 2015 prices", []),
        ("Kiswahili became official in 1963, and 5 million people spoke it.", []),
        ("William RUTO (since 13 September 2022)", []),
        ("**total:** 3,457 km", []),
    ],
)
def test_years_of_figures_newest_first(text: str, years: list[int]) -> None:
    assert figure_years(text) == tuple(years)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("48.1% (2018 est.)", [("", "48.1", "%", "48.1%", 2018, True)]),
        ("**total:** 3,457 km", [("total", "3457", "km", "3,457 km", None, False)]),
        ("$117.272 billion (2023)", [("", "117272000000", "$", "$117.272 billion", 2023, False)]),
        ("-$57.594 billion (2019 est.)", [("", "-57594000000", "$", "-$57.594 billion", 2019, True)]),
        ("54.2% of GDP (2017 est.)", [("", "54.2", "%", "54.2% of GDP", 2017, True)]),
        (
            "$11.49 billion note: data are in 2015 dollars (2019 est.)",
            [("", "11490000000", "$", "$11.49 billion", 2019, True)],
        ),
        (
            "530 deaths/100,000 live births (2020 est.)",
            [("", "530", "deaths/100,000 live births", "530 deaths/100,000 live births", 2020, True)],
        ),
        (
            "**total:** 20.9 years (2023 est.)\n\n**male:** 20.8 years",
            [
                ("total", "20.9", "years", "20.9 years", 2023, True),
                ("male", "20.8", "years", "20.8 years", 2023, True),
            ],
        ),
        (
            "male: 31.9; female: 25.6 (2021 est.)",
            [("male", "31.9", "", "31.9", 2021, True), ("female", "25.6", "", "25.6", 2021, True)],
        ),
        (
            "**border countries (2):** Ethiopia 867 km; Somalia 684 km",
            [
                ("border countries: Ethiopia", "867", "km", "867 km", None, False),
                ("border countries: Somalia", "684", "km", "684 km", None, False),
            ],
        ),
        (
            "**improved:** urban: 91.3% of population\nrural: 63.3% of population (2020)",
            [
                ("improved: urban", "91.3", "%", "91.3% of population", 2020, False),
                ("improved: rural", "63.3", "%", "63.3% of population", 2020, False),
            ],
        ),
        ("2007 Men: 3; Women: 4", [("Men", "3", "", "3", 2007, False), ("Women", "4", "", "4", 2007, False)]),
        ("**subscriptions per 100 inhabitants:** (2021 est.) less than 1", []),
        ("About 5% of the 1,200 people came in 1963.", []),
        ("12-15%", []),
        ("US$5.2 million (2020)", [("", "5200000", "$", "US$5.2 million", 2020, False)]),
    ],
)
def test_statements(text: str, expected: list[tuple[str, str, str, str, int | None, bool]]) -> None:
    found = [(one.label, one.value, one.unit, one.text, one.year, one.estimate) for one in stated(text)]
    assert found == [(label, Decimal(value), *rest) for label, value, *rest in expected]


def test_a_line_of_words_is_the_heading_of_what_follows() -> None:
    found = stated("Population\n57 million (2023)\nExchange rates\nshillings per US dollar -\n111.45 (2020)")
    assert [(one.heading, one.label) for one in found] == [
        ("Population", ""),
        ("Exchange rates", "shillings per US dollar"),
    ]


def test_a_run_of_space_beside_a_figure_is_read_once() -> None:
    """It took its square: a list of the figures of 2,000 such passages half a minute."""
    began = time.process_time()
    found = stated(f"1% (2018{' ' * 40_000}est.)")
    assert [one.value for one in found] == [1, 2018]
    assert time.process_time() - began < 2.0
