"""The language of figures: each operation over a few rows, in the table and in
words.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from chatbot.answering.figure_queries import FigureQueries
from chatbot.answering.figure_sentences import in_words
from chatbot.domain import ReportedFigure, Scope
from chatbot.domain.errors import InvalidRequestError
from chatbot.domain.figure_query import FigureQuery, FigureTable
from chatbot.domain.figures import GlossaryEntry
from chatbot.language.words import in_english
from tests.answering.test_figure_tables import figure, tables
from tests.questions.reports import Reports

GLOSSARY = (
    GlossaryEntry("joblessness", "", ("out of work",), "Unemployment rate"),
    GlossaryEntry("trade balance", "", formula="[Exports] - [Imports]"),
    GlossaryEntry("crowding", "", ("density",), formula="[Population] / [Area: land]"),
)
FIGURES = (
    figure("Kenya", "Population", "50000000", 2021, 2021, unit=""),
    figure("Kenya", "Population", "58000000", 2024, 2025, unit=""),
    figure("Peru", "Population", "32000000", 2023, 2025, unit=""),
    figure("Peru", "Population", "29000000", 2024, 2025, unit=""),
    figure("Mali", "Population", "22000000", 2024, 2025, unit=""),
    figure("The World in 2025", "Population", "8000000000", 2024, 2025, unit=""),
    figure("Kenya", "Area", "580000", None, 2025, "land", unit=" sq km"),
    figure("Kenya", "Exports", "12000000000", 2023, 2025, unit="$"),
    figure("Kenya", "Imports", "22000000000", 2023, 2025, unit="$"),
    figure("Kenya", "Imports", "21000000000", 2024, 2025, unit="$"),
    figure("Kenya", "Unemployment rate", "5.6", 2024, 2025),
    figure("Mali", "Unemployment rate", "3", 2024, 2025),
    figure("Peru", "Unemployment rate", "9", 2024, 2025),
    figure("Kenya", "Temperature", "25", 2024, 2025, unit=" °C"),
)
ABOVE_FIVE = {"op": "filter", "compare": ">", "value": 5}
UNITS = {" sq km": "sq km", " °C": "°C"}


CATALOG = Reports(("Kenya", 2025), ("Mali", 2025), ("Peru", 2025), ("Nepal", 2025))


def queries(*figures: ReportedFigure) -> FigureQueries:
    rows = [replace(one, unit=UNITS.get(one.unit, one.unit)) for one in figures]
    return FigureQueries(tables(*rows), CATALOG, lambda: GLOSSARY)


def asked(*indicators: str, **fields: Any) -> tuple[FigureQuery, FigureTable]:
    query = FigureQuery.model_validate({"indicators": indicators, **fields})
    return query, queries(*FIGURES).run(query, Scope())


def values(table: FigureTable) -> Mapping[str, Sequence[float | None]]:
    return {
        row.subject: [float(cell.value) if cell else None for cell in row.cells]
        for row in table.rows
    }


def test_values_are_the_newest_and_those_of_countries_alone() -> None:
    _, table = asked("population")
    assert values(table) == {"Kenya": [58e6], "Mali": [22e6], "Peru": [29e6]}


@pytest.mark.parametrize(
    ("indicators", "fields", "expected"),
    [
        (["Population"], {"steps": [{"op": "sum"}]}, {"of all": [109e6]}),
        (["Population"], {"steps": [{"op": "max"}]}, {"Kenya": [58e6]}),
        (
            ["Population"],
            {"subjects": ["Kenya", "Peru"], "steps": [{"op": "ratio"}]},
            {"Kenya, Peru": [2]},
        ),
        (
            ["Population"],
            {"subjects": ["KE"], "steps": [{"op": "change"}]},
            {"Kenya": [8e6]},
        ),
        (
            ["Population"],
            {"subjects": ["Kenya"], "years": [2021, 2024], "steps": [{"op": "ratio"}]},
            {"Kenya": [50 / 58]},
        ),
        (
            ["Population"],
            {
                "subjects": ["Kenya"],
                "editions": [2021, 2025],
                "steps": [{"op": "change", "percent": True}],
            },
            {"Kenya": [16]},
        ),
        (
            ["Unemployment rate"],
            {
                "subjects": ["Mali", "Peru"],
                "steps": [{"op": "change", "of": "subjects"}],
            },
            {"Mali, Peru": [6]},
        ),
        (
            ["joblessness"],
            {"steps": [{"op": "filter", "compare": "<", "value": 5, "negated": True}]},
            {"Kenya": [5.6], "Peru": [9]},
        ),
        (
            ["out of work"],
            {"steps": [{"op": "rank", "lowest": True, "most": 2}]},
            {"Mali": [3], "Kenya": [5.6]},
        ),
        (
            ["Exports", "Imports"],
            {"years": [2023, 2024], "steps": [{"op": "difference"}]},
            {"Kenya": [-10e9, None]},
        ),
        (
            ["[Exports] - [Imports]"],
            {"subjects": ["Kenya"], "years": [2023, 2024]},
            {"Kenya": [-10e9, None]},
        ),
        (
            ["Imports", "Population"],
            {"subjects": ["Kenya"], "years": [2021, 2024], "steps": [{"op": "change"}]},
            {"Kenya": [None, 8e6]},
        ),
        (
            ["Unemployment rate"],
            {"steps": [{**ABOVE_FIVE, "indicator": "unemployment rate"}]},
            {"Kenya": [5.6], "Peru": [9]},
        ),
        (
            ["Population", "Unemployment rate"],
            {"steps": [{**ABOVE_FIVE, "indicator": "Unemployment rate"}]},
            {"Kenya": [58e6, 5.6], "Peru": [29e6, 9]},
        ),
        (
            ["Imports", "Exports"],
            {
                "steps": [
                    {
                        "op": "filter",
                        "compare": ">",
                        "indicator": "exports",
                        "times": 1.5,
                    }
                ]
            },
            {"Kenya": [21e9, 12e9]},
        ),
        (
            ["Exports", "Imports"],
            {"steps": [{"op": "share_of", "indicator": "Imports"}], "years": [2023]},
            {"Kenya": [pytest.approx(54.5454545)]},
        ),
        (["trade balance"], {"subjects": ["Kenya"]}, {"Kenya": [-10e9]}),
        (["density"], {"subjects": ["Kenya"]}, {"Kenya": [100]}),
        (
            ["Population"],
            {"steps": [{"op": "convert", "unit": "million people"}, {"op": "mean"}]},
            {"of all": [pytest.approx(36.3333333)]},
        ),
        (
            ["Temperature"],
            {"steps": [{"op": "convert", "unit": "fahrenheit"}]},
            {"Kenya": [pytest.approx(77)]},
        ),
    ],
)
def test_operations(
    indicators: list[str], fields: dict[str, Any], expected: dict[str, list[Any]]
) -> None:
    _, table = asked(*indicators, **fields)
    found = values(table)
    assert list(found) == list(expected)
    for subject, numbers in expected.items():
        assert found[subject] == pytest.approx(numbers)


def test_every_computed_cell_says_how_and_cites_what_it_is_made_of() -> None:
    _, table = asked("Exports", "Imports", subjects=["Kenya"], steps=[{"op": "ratio"}])
    ((cell,),) = [row.cells for row in table.rows]
    assert cell is not None
    assert cell.how == "12000000000$ / 22000000000$"
    assert cell.citations == (1, 2)
    assert table.chunk_ids == ("Kenya-2025-Exports", "Kenya-2025-Imports")
    assert table.shared_year == 2023


def test_what_no_report_has_is_missing_and_said() -> None:
    query, table = asked("Population", subjects=["Kenya", "Nepal"])
    assert [(one.subject, one.indicator) for one in table.missing] == [
        ("Nepal", "Population")
    ]
    assert in_words(query, table, in_english).endswith("Not found: Nepal.")


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        (
            {"subjects": ["Kenya", "Peru"], "steps": [{"op": "ratio"}]},
            "Population: Kenya has 2 times what Peru has: 58000000 / 29000000 [1][2]. "
            "Figures of 2024, the newest year that all have.",
        ),
        (
            {"subjects": ["Peru", "Kenya"], "steps": [{"op": "difference"}]},
            "Population: Peru is 29,000,000 below Kenya: 29000000 - 58000000 [1][2]. "
            "Figures of 2024, the newest year that all have.",
        ),
        (
            {"subjects": ["Kenya"], "steps": [{"op": "change", "percent": True}]},
            "Kenya, Population: rose by 16%: (58000000 in 2024 - 50000000 in 2021) / "
            "50000000 [1][2].",
        ),
        (
            {
                "steps": [
                    {"op": "filter", "compare": ">=", "value": "50000000"},
                    {"op": "count"},
                ]
            },
            "Population is at least 50,000,000 in 1 of 3 countries: Kenya, 58000000 "
            "(2024) [1].",
        ),
        (
            {"steps": [{"op": "filter", "compare": ">", "value": "90000000"}]},
            "Population is above 90,000,000 in 0 of 3 countries: none.",
        ),
    ],
)
def test_a_result_is_one_sentence(fields: dict[str, Any], sentence: str) -> None:
    query, table = asked("Population", **fields)
    assert in_words(query, table, in_english) == sentence


@pytest.mark.parametrize(
    ("indicators", "fields", "field", "message"),
    [
        (["Populatoin"], {}, "indicators", "Did you mean Population?"),
        (["Population"], {"subjects": ["Kenja"]}, "subjects.0", "Did you mean Kenya?"),
        (["Population"], {"steps": [{"op": "ratio"}]}, "steps.0", "3 subjects"),
        (
            ["Population"],
            {"steps": [{"op": "convert", "unit": "miles"}]},
            "steps.0",
            "have no miles",
        ),
        (
            ["Population", "Exports"],
            {"subjects": ["Kenya"], "steps": [{"op": "difference"}]},
            "steps.0",
            "differ",
        ),
        (
            ["Population"],
            {"steps": [{"op": "filter", "compare": "<"}]},
            "steps.0",
            "needs a value",
        ),
    ],
)
def test_what_does_not_fit_is_named(
    indicators: list[str], fields: dict[str, Any], field: str, message: str
) -> None:
    with pytest.raises(
        InvalidRequestError, match=message.replace("?", r"\?")
    ) as caught:
        asked(*indicators, **fields)
    assert caught.value.details[0]["field"] == field


@pytest.mark.parametrize("formula", ["Exports", "[A] ** 2", "__import__('os')", "[A"])
def test_a_formula_is_arithmetic_and_nothing_else(formula: str) -> None:
    entry = GlossaryEntry("odd", "", formula=formula)
    wrong = FigureQueries(tables(*FIGURES), CATALOG, lambda: (entry,))
    query = FigureQuery(indicators=("odd",))
    with pytest.raises(InvalidRequestError, match="is none"):
        wrong.run(query, Scope())


def test_a_group_of_countries_means_its_members_with_reports() -> None:
    _, table = asked("Population", subjects=["africa"])
    assert [row.subject for row in table.rows] == ["Kenya", "Mali"]
    with pytest.raises(InvalidRequestError, match="no country of Oceania has a report"):
        asked("Population", subjects=["Oceania"])


def test_every_year_has_a_column_and_what_is_computed_is_of_that_year() -> None:
    _, table = asked("Population", subjects=["Kenya", "Peru"], every_year=True)
    assert [column.year for column in table.columns] == [2021, 2023, 2024]
    assert values(table) == {
        "Kenya": [50_000_000, None, 58_000_000],
        "Peru": [None, 32_000_000, 29_000_000],
    }
    assert table.missing == ()
    query, table = asked("Population", every_year=True, years=[2024, 2025])
    assert [column.year for column in table.columns] == [2024]
    assert "the only figure" in in_words(query, table, in_english)
    # The trade balance has both parts in 2023 only.
    _, table = asked("trade balance", subjects=["Kenya"], every_year=True)
    assert [column.year for column in table.columns] == [2023]
    with pytest.raises(InvalidRequestError, match="no figure is of these years"):
        asked("Population", every_year=True, years=[1990])


def test_each_year_of_a_difference_is_named() -> None:
    query, table = asked(
        "Exports", "Imports", years=[2023, 2024], steps=[{"op": "difference"}]
    )
    assert in_words(query, table, in_english).startswith(
        "Kenya, Exports, Imports (2023): -$10 billion, from "
    )


def test_a_figure_is_not_compared_with_itself() -> None:
    step = {"op": "filter", "compare": ">", "indicator": "Population"}
    with pytest.raises(InvalidRequestError, match="needs a value"):
        asked("Population", steps=[step])


def test_a_filter_of_another_column_names_that() -> None:
    step = {**ABOVE_FIVE, "indicator": "Unemployment rate"}
    query, table = asked("Population", "Unemployment rate", steps=[step])
    words = in_words(query, table, in_english)
    assert words.startswith("Unemployment rate is above 5% in 2 of ")
    assert "Peru: 9" in words


def of_whole(subject: str, heading: str, value: str, year: int, whole: str) -> Any:
    share = figure(subject, heading, value, year, 2025)
    return replace(share, text=f"{share.text} {whole}")


def test_a_share_of_gdp_is_not_compared_with_one_of_the_budget() -> None:
    shares = [
        of_whole("Kenya", "Schools", "4", 2022, "of GDP"),
        of_whole("Kenya", "Schools", "28.5", 2025, "national budget"),
        of_whole("Mali", "Schools", "4.2", 2023, "of GDP"),
        of_whole("Mali", "Schools", "17.8", 2024, "national budget"),
        of_whole("Kenya", "Army", "1.1", 2024, "of GDP"),
        of_whole("Mali", "Army", "4.3", 2024, "of GDP"),
    ]
    step = {"op": "filter", "compare": ">", "indicator": "Schools"}
    query = FigureQuery.model_validate(
        {"indicators": ["Army", "Schools"], "steps": [step]}
    )
    table = queries(*shares).run(query, Scope())
    assert values(table) == {"Mali": [4.3, 4.2]}
    # Both figures of the comparison are named.
    words = in_words(query, table, in_english)
    assert "Mali, 4.3% of GDP (2024) [1]; Schools: 4.2% of GDP (2023) [2]" in words
