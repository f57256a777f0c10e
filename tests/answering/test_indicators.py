"""Indicators as pages: their order, their addresses, what later editions revised."""

from dataclasses import replace

import pytest

from chatbot.answering.indicators import IndicatorCatalog, slug_of
from chatbot.domain import Scope
from chatbot.domain.errors import NotFoundError
from tests.answering.test_figure_queries import FIGURES, queries
from tests.answering.test_figure_tables import figure

INDICATORS = IndicatorCatalog(queries(*FIGURES))


def test_what_people_ask_for_most_comes_first() -> None:
    listed = INDICATORS.summaries(Scope(), "fr")
    assert [one.name for one in listed[:2]] == ["Population", "Unemployment rate"]
    assert listed[-1].name == "Area: land"
    [found] = INDICATORS.summaries(Scope(), "fr", "emPLOY")
    assert (found.slug, found.subjects) == ("unemployment-rate", 3)


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("Inflation rate (consumer prices)", "inflation-rate-consumer-prices"),
        ("Area: land", "area-land"),
        ("Población", "población"),
    ],
)
def test_a_name_is_an_address(name: str, slug: str) -> None:
    assert slug_of(name) == slug


def test_a_page_has_the_newest_figures_and_what_was_revised() -> None:
    was = figure("Kenya", "Exports", "11000000000", 2023, 2024, unit="$")
    again = replace(was, edition=2023, document_id="older")
    page = IndicatorCatalog(queries(*FIGURES, was, again)).page("exports", Scope())
    assert [one.text for one in page.newest] == ["12000000000$"]
    [revised] = page.revisions
    assert (revised.former.edition, revised.figure.edition) == (2024, 2025)
    assert page.revisions[0].former.newest is False
    with pytest.raises(NotFoundError):
        INDICATORS.page("exports-of-tea", Scope())
