"""Quotations side by side: the lines of a row are of one heading and one label."""

from __future__ import annotations

from chatbot.checking.paired_quotes import Sources, paired
from chatbot.domain import Condition, Passage, Quotation, Values
from chatbot.language import analyzer
from chatbot.language.reported_figures import figure_years
from tests.checking.conftest import chunk, hits

Texts = dict[str, str]
POPULATION = {"Population": "total: 5 million (2024 est.)\nmale: 2 million\nfemale: 3 million"}
GROWTH = {"Population growth rate": "2% (2024 est.)"}
AREA = {"Area": "total : 9 sq km\nland: 8 sq km\nwater: 1 sq km"}


def side(country: str, texts: Texts, *quoted: tuple[str, str], edition: int = 2025, year: int | None = None) -> Sources:
    """``quoted``: headings and lines, best first."""
    chunks = [
        chunk(
            place,
            text,
            document=f"{country}-{edition}",
            section=f"People › {heading}",
            metadata={"country_name": country, "year": edition},
            figure_years=figure_years(text),
        )
        for place, (heading, text) in enumerate(texts.items())
    ]
    passages = [Passage(number, hit, hit.chunk.text) for number, hit in enumerate(hits(*chunks), start=1)]
    numbers = {heading: number for number, heading in enumerate(texts, start=1)}
    quotes = [Quotation(numbers[heading], f"{country}, {heading}", text) for heading, text in quoted]
    return Sources(quotes, passages, year)


def rows(asked: str, *sides: Sources, years: tuple[Condition, ...] = ()) -> list[list[str]]:
    """The texts of each row; "" where a side has none."""
    named = {str(place): one for place, one in enumerate(sides)}
    columns = paired(named, asked, years, most=2, terms=analyzer("english").terms).values()
    return [[quote.text if quote else "" for quote in row] for row in zip(*columns, strict=True)]


def test_the_same_thing_stands_in_a_row_whichever_comes_first_on_each_side() -> None:
    total, growth = ("Population", "total: 5 million (2024 est.)"), ("Population growth rate", "2% (2024 est.)")
    texts = {**POPULATION, **GROWTH}
    assert rows("the population", side("Peru", texts, total, growth), side("Nepal", texts, growth, total)) == [
        [total[1]] * 2,
        [growth[1]] * 2,
    ]


def test_what_one_side_quotes_is_looked_for_in_the_passages_of_the_other() -> None:
    water, land = ("Area", "water: 1 sq km"), ("Area", "land: 8 sq km")
    total = ("Area", "total : 9 sq km")
    found = rows("area", side("Peru", AREA, total, water), side("Nepal", AREA, total, land))
    assert found in ([[total[1]] * 2, [water[1]] * 2], [[total[1]] * 2, [land[1]] * 2])


def test_a_total_is_the_thing_itself_in_another_edition() -> None:
    old = side("Kenya", {"Population": "4 million (July 2021 est.)"}, ("Population", "4 million (July 2021 est.)"))
    new = side("Kenya", POPULATION, ("Population", "male: 2 million"), ("Population", "total: 5 million (2024 est.)"))
    assert rows("population", old, new) == [["4 million (July 2021 est.)", "total: 5 million (2024 est.)"]]


def test_a_row_of_a_table_has_its_label_in_the_first_cell() -> None:
    table = {"Population": "Item: total; Value: 58 million\nItem: male; Value: 29 million"}
    old = side("Kenya", table, ("Population", "Item: male; Value: 29 million"), edition=2024)
    assert rows("population", old, side("Mali", POPULATION, ("Population", "male: 2 million"))) == [
        ["Item: male; Value: 29 million", "male: 2 million"]
    ]


def test_what_only_one_side_has_stands_beside_an_empty_cell_where_there_is_no_other() -> None:
    climate, terrain = {"Climate": "dry and hot"}, {"Terrain": "flat"}
    found = rows("land", side("Mali", climate, ("Climate", "dry and hot")), side("Chad", terrain, ("Terrain", "flat")))
    assert found == [["dry and hot", ""], ["", "flat"]]
    both = side("Chad", {**climate, **terrain}, ("Terrain", "flat"))
    assert rows("land", side("Mali", climate, ("Climate", "dry and hot")), both) == [["dry and hot", "dry and hot"]]


def test_lines_of_prose_under_one_heading_are_alike() -> None:
    text = {"Background": "It was a colony.\n\nThen it was free."}
    lines = [("Background", "It was a colony."), ("Background", "Then it was free.")]
    assert rows("history", side("Mali", text, *lines), side("Chad", text, *lines[::-1])) == [
        ["It was a colony.", "Then it was free."],
        ["Then it was free.", "It was a colony."],
    ]


def test_of_countries_the_newest_year_that_all_have_or_the_one_asked_for() -> None:
    kenya = {"Inflation rate": "4% (2024 est.)\n\n7% (2023 est.)\n\n6% (2022 est.)"}
    mali = {"Inflation rate": "3% (2023 est.)\n\n2% (2022 est.)"}
    sides = (side("Kenya", kenya, ("Inflation rate", "4% (2024 est.)")), side("Mali", mali))
    assert rows("inflation", *sides)[0] == ["7% (2023 est.)", "3% (2023 est.)"]
    assert rows("inflation", *sides, years=(Values((2022,)),))[0] == ["6% (2022 est.)", "2% (2022 est.)"]


def test_the_next_figures_of_countries_are_of_one_year_too() -> None:
    kenya, mali = {"Debt": "4% (2024 est.)\n\n7% (2023 est.)"}, {"Debt": "3% (2024 est.)\n\n2% (2021 est.)"}
    quoted = [[("Debt", line) for line in texts["Debt"].split("\n\n")] for texts in (kenya, mali)]
    sides = (side("Kenya", kenya, *quoted[0]), side("Mali", mali, *quoted[1]))
    assert rows("debt", *sides) == [["4% (2024 est.)", "3% (2024 est.)"]]
    asked = rows("debt", sides[0], side("Mali", kenya, *quoted[0]), years=(Values((2023,)),))
    assert asked == [["7% (2023 est.)", "7% (2023 est.)"]]


def test_a_column_of_a_year_shows_that_year_once() -> None:
    text = {"Debt": "5% (2023 est.)\n\n4% (2021 est.)"}
    quoted = [("Debt", "5% (2023 est.)"), ("Debt", "4% (2021 est.)")]
    sides = (side("Mali", text, quoted[1], year=2021), side("Mali", text, *quoted, year=2023))
    assert rows("debt", *sides) == [["4% (2021 est.)", "5% (2023 est.)"]]


def test_a_side_without_anything_has_empty_cells() -> None:
    assert rows("area", side("Mali", {}), side("Peru", AREA, ("Area", "land: 8 sq km"))) == [["", "land: 8 sq km"]]
    assert rows("area", side("Mali", {}), side("Peru", {})) == []
