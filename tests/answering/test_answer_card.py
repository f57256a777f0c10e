"""The figures that an answer names as its own: what the page shows large and draws."""

from dataclasses import replace
from decimal import Decimal

import pytest

from chatbot.answering.answer_card import card_of_table, numbered_card, stated_card
from chatbot.domain.chat import Citation
from chatbot.domain.documents import Chunk, SearchHit
from chatbot.domain.figure_query import (
    FigureCell,
    FigureColumn,
    FigureRow,
    FigureTable,
)
from chatbot.domain.figures import ReportedFigure


def figure(
    text: str, indicator: str = "Inflation", year: int = 2024, **changed: object
) -> ReportedFigure:
    values = {
        "subject": "Kenya",
        "heading": indicator,
        "label": "",
        "value": Decimal(text.rstrip("%")),
        "unit": "%",
        "text": text,
        "year": year,
        "estimate": False,
        "document_id": "kenya",
        "chunk_id": "kenya-1",
        "edition": 2025,
        "citation": 1,
    }
    return ReportedFigure(**{**values, **changed})


def citation(number: int, chunk_id: str, *, supported: bool = True) -> Citation:
    chunk = Chunk(
        id=chunk_id,
        document_id="kenya",
        document_name="kenya.md",
        title="Kenya",
        text="",
        ordinal=0,
    )
    return Citation(number, SearchHit(chunk), "", "", supported)


CITED = [citation(1, "kenya-1")]


def test_a_stated_value_is_named_and_nothing_beside_it() -> None:
    """The growth of GDP stands in the same passage, and was drawn instead."""
    others = [figure("5.4%", "GDP growth"), figure("4.9%", "GDP growth", 2023)]
    asked = figure("2.1%", "Population growth")
    card = stated_card(
        "In Kenya, the population growth was **2.1%** (2024) [1].",
        [*others, asked],
        CITED,
    )
    assert card is not None
    assert (card.kind, card.figures) == ("value", (asked,))
    assert card.indicators == ("Population growth",)


def test_of_two_indicators_with_one_text_the_answer_names_its_own() -> None:
    inflation = figure("4.5%")
    growth = figure("4.5%", "GDP growth")
    card = stated_card("Inflation was 4.5% in 2024 [1].", [growth, inflation], CITED)
    assert card is not None
    assert card.figures == (inflation,)


@pytest.mark.parametrize(
    ("response", "stated"),
    [
        ("It was 14.5% [1].", []),
        ("It was 4.5% in 2023 [1].", []),
        ("It was 4.5%, says nobody.", []),
        ("It was 4.5% [2].", []),
        ("| Kenya | 4.5% (2024) [1] |", ["4.5%"]),
        ("It fell from 7.7% (2022) [1] to 4.5% (2024) [1].", ["7.7%", "4.5%"]),
    ],
)
def test_only_what_stands_before_a_citation_is_stated(
    response: str, stated: list[str]
) -> None:
    figures = [figure("4.5%"), figure("7.7%", year=2022)]
    card = stated_card(response, figures, CITED)
    assert [one.text for one in card.figures if card] if card else stated == []


def test_an_unsupported_citation_states_nothing() -> None:
    doubted = [citation(1, "kenya-1", supported=False)]
    assert stated_card("It was 4.5% [1].", [figure("4.5%")], doubted) is None


def table(*cells: FigureCell, how: str = "") -> FigureTable:
    column = FigureColumn("Inflation", "%")
    rows = tuple(FigureRow(one.sources[0].subject, (one,)) for one in cells)
    return FigureTable((column,), rows, len(rows), shared_year=2024)


def cell(source: ReportedFigure, *others: ReportedFigure, how: str = "") -> FigureCell:
    return FigureCell(
        source.value, source.text, source.year, how=how, sources=(source, *others)
    )


def test_a_table_names_its_cells_in_its_order() -> None:
    kenya = figure("4.5%", citation=None)
    somalia = figure("6.8%", subject="Somalia", chunk_id="s", citation=None)
    card = card_of_table(table(cell(somalia), cell(kenya)))
    assert card is not None
    assert (card.kind, card.shared_year) == ("values", 2024)
    numbered = numbered_card(card, [citation(3, "kenya-1")])
    assert numbered is not None
    # The passage of the other is not cited.
    assert [(one.text, one.citation) for one in numbered.figures] == [("4.5%", 3)]


def test_a_computed_cell_has_its_result_and_what_it_is_from() -> None:
    computed = cell(figure("7.7%", year=2022), figure("4.5%"), how="7.7% - 4.5%")
    card = card_of_table(table(computed))
    assert card is not None
    assert (card.kind, card.result, card.how) == ("computed", "7.7%", "7.7% - 4.5%")
    assert [one.text for one in card.figures] == ["7.7%", "4.5%"]


def test_computed_cells_are_drawn_and_not_what_they_were_computed_from() -> None:
    """The sum of March and April was drawn as March."""
    april = figure("30%", "Visits", 2025, citation=None)
    sums = cell(figure("20%", "Visits", 2025, citation=None), april, how="sum of 2")
    sums = replace(sums, value=Decimal(50), text="50%", year=None)
    other = replace(sums, value=Decimal(40), text="40%")
    rows = (FigureRow("Oro", (sums,)), FigureRow("Luz", (other,)))
    column = FigureColumn("Visits (%)", "%")
    card = card_of_table(FigureTable((column,), rows, 2))
    assert card is not None
    assert (card.kind, card.result) == ("computed", "")
    drawn = [(one.subject, one.indicator, one.text, one.how) for one in card.figures]
    assert drawn == [
        ("Oro", "Visits", "50%", "sum of 2"),
        ("Luz", "Visits", "40%", "sum of 2"),
    ]
    assert {one.year for one in card.figures} == {2025}


def test_a_sum_is_drawn_as_the_rows_that_were_added_up() -> None:
    months = [figure(text, "Visits", citation=None) for text in ("20%", "30%")]
    total = replace(cell(*months, how="sum of 2"), text="50%")
    rows = [FigureRow(f"Month {one.text}", (cell(one),)) for one in months]
    parts = FigureTable((FigureColumn("Visits", "%"),), tuple(rows), 2)
    card = card_of_table(table(total), parts)
    assert card is not None
    assert (card.result, card.how) == ("50%", "sum of 2")
    assert [one.subject for one in card.figures] == ["Month 20%", "Month 30%"]


def test_a_series_runs_forward_in_time() -> None:
    newest = figure("4.5%")
    before = figure("7.7%", year=2023)
    other = figure("9%", subject="Mali")
    card = stated_card(
        "Kenya had 4.5% (2024) [1], after 7.7% (2023) [1]; Mali 9% (2024) [1].",
        [newest, other, before],
        CITED,
    )
    assert card is not None
    assert (card.kind, card.figures) == ("series", (before, newest, other))
