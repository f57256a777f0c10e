"""What the data does not have is named, and what it has makes a scope."""

import re
from typing import Any

import pytest

from chatbot.domain import Chunk, Scope, SearchHit
from chatbot.domain.scope import Value
from chatbot.language.analysis import analyzer
from chatbot.language.words import speaking
from chatbot.questions.reading import read_names
from chatbot.search.subjects import (
    everything_asked,
    missing_figures,
    missing_subject,
    suggest_scope,
)
from tests.data import cases
from tests.questions.reports import MANY, REPORTS, Reports, scope, scope_of

CASES = cases(__file__)
MISSING, SUGGESTED = CASES["missing"], CASES["suggested"]


def given(case: dict[str, Any]) -> tuple[Scope, Reports]:
    """The scope chosen in a case, and its reports as (country, year)."""
    named = {"many": MANY, "": REPORTS}
    reports = case.get("reports", "")
    return scope_of(case.get("chosen", {})), named[reports] if isinstance(
        reports, str
    ) else Reports(*reports)


def in_json(found: Scope | None) -> dict[str, Any] | None:
    """Without that what says no country or year stays in it, which has tests of its
    own.
    """
    return found and found.strict().to_json()


@pytest.mark.parametrize("case", MISSING.values(), ids=MISSING)
def test_what_is_missing_is_named(case: dict[str, Any]) -> None:
    chosen, reports = given(case)
    found = missing_subject(read_names(case["text"], reports, chosen), chosen, reports)
    said: dict[str, Any] = {}
    if found is not None:
        said = {"says": found.refusal, "everything": found.everything}
        if found.may_be_named:
            said["may be named"] = True
    names = ("says", "everything", "may be named")
    assert said == {name: case[name] for name in names if name in case}


def test_an_article_is_of_the_language_it_is_said_in() -> None:
    asked = read_names("growth in the Netherlands", REPORTS)
    found = missing_subject(asked, Scope(), REPORTS, speaking("es"))
    assert found is not None
    assert found.text.startswith("No hay ningún informe sobre Países Bajos.")


@pytest.mark.parametrize("case", SUGGESTED.values(), ids=SUGGESTED)
def test_the_scope_that_a_question_names_is_suggested(case: dict[str, Any]) -> None:
    chosen, reports = given(case)
    assert in_json(
        suggest_scope(read_names(case["text"], reports, chosen), chosen, reports)
    ) == case.get("scope")


@pytest.mark.parametrize(
    ("text", "expected"), CASES["all that is compared or asked about"]
)
def test_all_that_is_compared_or_asked_about_is_suggested(
    text: str, expected: dict[str, Any]
) -> None:
    reports = Reports(
        *(
            (country, year)
            for country in ("Kenya", "Mali", "Peru")
            for year in (2021, 2023, 2025)
        )
    )
    asked = everything_asked(read_names(text, reports), Scope(), reports)
    assert in_json(suggest_scope(asked, Scope(), reports)) == expected


def line(section: str, text: str, edition: int) -> SearchHit:
    """A passage found, with the years in brackets as those of its figures."""
    years = tuple(
        sorted({int(year) for year in re.findall(r"\((\d{4})", text)}, reverse=True)
    )
    metadata: dict[str, Value] = {"country_name": "Kenya", "year": edition}
    chunk = Chunk(
        f"{section}{edition}",
        "d",
        0,
        text,
        "",
        section=section,
        metadata=metadata,
        figure_years=years,
    )
    return SearchHit(chunk)


INFLATION = [
    line(
        "Economy › Inflation rate (consumer prices)",
        "7.7% (2023 est.) 7.6% (2022 est.)",
        2023,
    ),
    line(
        "Economy › Inflation rate (consumer prices)",
        "5.4% (2020 est.) 5.2% (2019 est.)",
        2021,
    ),
]
CAPITAL = line("Government › Capital", "name: Nairobi", 2023)
STORY = line(
    "Introduction › Background",
    "In 1998, a storm devastated the coast and the towns behind it.",
    2023,
)
POPULATION = line("People › Population", "52 million (1998 census)", 2021)


class TestMissingFigures:
    @staticmethod
    def said(text: str, *hits: SearchHit, chosen: Scope = Scope()) -> str | None:  # noqa: B008
        return missing_figures(
            read_names(text, REPORTS, chosen),
            hits,
            chosen,
            REPORTS,
            analyzer("english"),
        )

    def test_the_years_that_there_are(self) -> None:
        said = self.said(
            "What was the inflation rate of Kenya in 1998?",
            *INFLATION,
            CAPITAL,
            POPULATION,
        )
        assert said == (
            "No figure of 1998 was found for this in the reports (Kenya); the "
            "passages found have 2019 to 2023."
        )

    @pytest.mark.parametrize("text", CASES["a year that is there"])
    def test_a_year_that_is_there(self, text: str) -> None:
        assert self.said(text, *INFLATION, CAPITAL, POPULATION) is None

    def test_of_an_edition_of_the_year_the_nearest_figure_is_quoted(self) -> None:
        assert self.said("inflation of Kenya in 2021", *INFLATION) is None
        assert (
            self.said(
                "inflation in 2021",
                *INFLATION,
                chosen=scope(country_name="Kenya", year=2023),
            )
            is not None
        )

    def test_what_has_no_year_is_true_in_any(self) -> None:
        assert (
            self.said("What is the capital of Kenya in 2030?", CAPITAL, *INFLATION)
            is None
        )
        assert (
            self.said("Who rebuilt Kenya after the storm of 1998?", STORY, *INFLATION)
            is None
        )
        assert (
            self.said("When did war break out in Kenya in 1952?", CAPITAL, *INFLATION)
            is None
        )
