"""What the data does not have is named, and what it has makes a scope."""

from __future__ import annotations

import re

import pytest

from chatbot.domain import Chunk, Range, Scope, SearchHit, Value
from chatbot.language import analyzer
from chatbot.language.words import speaking
from chatbot.questions.reading import read_names
from chatbot.search.subjects import (
    Missing,
    everything_asked,
    missing_figures,
    missing_subject,
    suggest_scope,
    with_figures,
)
from tests.data import cases
from tests.questions.reports import MANY, REPORTS, Reports, scope

CASES = cases(__file__)

KENYA_TWICE = scope(country_name="Kenya", year=(2021, 2023))
CONGO = "Democratic Republic of the Congo"


def missing(text: str, chosen: Scope = Scope(), reports: Reports = REPORTS) -> Missing | None:  # noqa: B008
    return missing_subject(read_names(text, reports, chosen), chosen, reports)


def suggested(text: str, chosen: Scope = Scope(), reports: Reports = REPORTS) -> Scope | None:  # noqa: B008
    return strictly(suggest_scope(read_names(text, reports, chosen), chosen, reports))


def strictly(found: Scope | None) -> Scope | None:
    """Without that what says no country or year stays in it, which has tests of its own."""
    return found and found.strict()


class TestMissing:
    def test_a_country_without_a_report_and_what_there_is(self) -> None:
        found = missing("What is the growth rate in France?")
        assert found == Missing(f"There is no report on France. There are reports on the {CONGO}, Kenya, Mali.", True)

    @pytest.mark.parametrize(("text", "name"), CASES["it is named as it was written or as it is called"])
    def test_it_is_named_as_it_was_written_or_as_it_is_called(self, text: str, name: str) -> None:
        found = missing(text)
        assert found is not None
        assert found.text.startswith(f"There is no report on {name}.")

    def test_an_article_is_of_the_language_it_is_said_in(self) -> None:
        asked = read_names("growth in the Netherlands", REPORTS)
        found = missing_subject(asked, Scope(), REPORTS, speaking("es"))
        assert found is not None
        assert found.text.startswith("No hay ningún informe sobre Netherlands.")

    def test_of_many_countries_six_are_named(self) -> None:
        found = missing("growth in France", reports=MANY)
        assert found is not None
        assert found.text.endswith("Chile, Haiti, Kenya, Mali, Peru, the Philippines and 1 more.")

    def test_a_name_is_not_markdown(self) -> None:
        found = missing("growth in the Gambia_", reports=Reports(("Kenya", 2021)))
        assert found is not None
        assert "_" not in found.text.replace("\\_", "")

    @pytest.mark.parametrize(
        "text", ["growth in Kenya", "imports from France", "growth in Congo", "growth", "growth in KE"]
    )
    def test_nothing_is_missing(self, text: str) -> None:
        assert missing(text) is None

    def test_one_of_several_is_named_and_the_rest_is_answered(self) -> None:
        assert missing("Compare Kenya and France") == Missing("There is no report on France.", False)

    def test_an_edition_that_there_is_not(self) -> None:
        found = missing("What is the growth rate in the 2031 report?")
        assert found == Missing("There is no report for 2031. The reports are from 2021, 2023.", True)

    def test_a_known_country_in_an_unknown_edition(self) -> None:
        found = missing("According to the 2019 country report on Kenya, what is the growth rate?")
        text = "There is no report for Kenya, 2019. The reports for Kenya are from 2021, 2023."
        assert found == Missing(text, True)

    def test_a_known_country_and_a_known_year_without_a_common_report(self) -> None:
        reports = Reports(("Kenya", 2021), ("Mali", 2023))
        found = missing("growth of Mali in the 2021 report", reports=reports)
        assert found is not None
        assert (found.everything, found.text.startswith("There is no report for Mali, 2021.")) == (True, True)
        assert missing("growth of Kenya and Mali in the 2021 reports", reports=reports) == Missing(
            "There is no report for Mali, 2021.", False
        )

    def test_a_range_is_there_when_some_of_it_is(self) -> None:
        assert missing("growth in the reports from 2010 to 2021") is None
        assert missing("growth since the 2022 report") is None
        assert missing("growth since the 2024 report") is not None

    @pytest.mark.parametrize("text", ["growth in 2031", "growth of Kenya in 1998", "growth of Kenya since 2024"])
    def test_a_year_of_figures_misses_no_edition(self, text: str) -> None:
        assert missing(text) is None

    def test_data_without_countries_or_years_lacks_none(self) -> None:
        assert missing("growth in France in the 2031 report", reports=Reports(("", 0))) is None
        assert missing("growth in France", reports=Reports(("", 2021))) is None
        undated = Reports(("Kenya", 0))
        assert missing("growth in the 2031 report on Kenya", reports=undated) is None

    def test_an_undated_report_may_be_of_any_year(self) -> None:
        reports = Reports(("Kenya", 2021), ("", 0))
        assert missing("the travel budget in the 2031 report", reports=reports) is None
        assert missing("the travel budget in the 2031 report on Kenya", reports=reports) is not None


def line(section: str, text: str, edition: int) -> SearchHit:
    """A passage found, with the years in brackets as those of its figures."""
    years = tuple(sorted({int(year) for year in re.findall(r"\((\d{4})", text)}, reverse=True))
    metadata: dict[str, Value] = {"country_name": "Kenya", "year": edition}
    chunk = Chunk(f"{section}{edition}", "d", 0, text, "", section=section, metadata=metadata, figure_years=years)
    return SearchHit(chunk)


INFLATION = [
    line("Economy › Inflation rate (consumer prices)", "7.7% (2023 est.) 7.6% (2022 est.)", 2023),
    line("Economy › Inflation rate (consumer prices)", "5.4% (2020 est.) 5.2% (2019 est.)", 2021),
]
CAPITAL = line("Government › Capital", "name: Nairobi", 2023)
POPULATION = line("People › Population", "52 million (1998 census)", 2021)


class TestMissingFigures:
    @staticmethod
    def said(text: str, *hits: SearchHit, chosen: Scope = Scope()) -> str | None:  # noqa: B008
        return missing_figures(read_names(text, REPORTS, chosen), hits, chosen, REPORTS, analyzer("english"))

    def test_the_years_that_there_are(self) -> None:
        said = self.said("What was the inflation rate of Kenya in 1998?", *INFLATION, CAPITAL, POPULATION)
        assert (
            said == "No figure of 1998 was found for this in the reports (Kenya); the passages found have 2019 to 2023."
        )

    @pytest.mark.parametrize("text", CASES["a year that is there"])
    def test_a_year_that_is_there(self, text: str) -> None:
        assert self.said(text, *INFLATION, CAPITAL, POPULATION) is None

    def test_of_an_edition_of_the_year_the_nearest_figure_is_quoted(self) -> None:
        assert self.said("inflation of Kenya in 2021", *INFLATION) is None
        assert self.said("inflation in 2021", *INFLATION, chosen=scope(country_name="Kenya", year=2023)) is not None

    def test_what_has_no_year_is_true_in_any(self) -> None:
        assert self.said("What is the capital of Kenya in 2030?", CAPITAL, *INFLATION) is None
        assert self.said("When did war break out in Kenya in 1952?", CAPITAL, *INFLATION) is None


def test_what_was_found_for_a_year_is_of_that_year() -> None:
    newer, older = INFLATION
    assert with_figures(2022, INFLATION) == [newer]
    assert with_figures(2021, [*INFLATION, CAPITAL]) == [older]
    assert with_figures(2020, [older, CAPITAL]) == [older]
    assert with_figures(2023, [older, CAPITAL, newer]) == [newer, CAPITAL]
    assert with_figures(1998, INFLATION) == []


class TestMissingInAScope:
    def test_the_scope_leaves_it_out(self) -> None:
        found = missing("growth in Mali", scope(country_name="Kenya"))
        assert found is not None
        assert found.everything
        assert found.text.startswith("The scope chosen (Kenya) leaves out Mali.")
        of_many = missing("growth in the Philippines", scope(country_name="Kenya"), MANY)
        assert of_many is not None
        assert of_many.text.startswith("The scope chosen (Kenya) leaves out the Philippines.")

    def test_a_question_that_refers_to_the_scope_is_about_the_scope(self) -> None:
        assert missing("Is Germany among its suppliers?", scope(country_name="Kenya")) is None

    def test_an_edition_was_chosen_already(self) -> None:
        assert missing("growth in the 2019 report", scope(country_name="Kenya", year=2021)) is None
        assert missing("growth in the 2019 report", scope(country_name="Kenya")) is not None


class TestSuggested:
    def test_countries_and_editions(self) -> None:
        assert suggested("growth in Kenya in the 2023 report") == scope(country_name="Kenya", year=2023)
        assert suggested("growth in Kenya in 2023") == scope(country_name="Kenya")
        assert suggested("growth in 2023") is None
        assert suggested("Compare Kenya and Mali") == scope(country_name=("Kenya", "Mali"))
        assert suggested("growth in the DRC") == scope(country_name=CONGO)

    def test_a_range_becomes_the_years_of_the_data(self) -> None:
        assert suggested("growth since the 2022 report") == scope(year=2023)

    def test_the_latest_edition_is_that_of_the_country(self) -> None:
        reports = Reports(("Kenya", 2021), ("Kenya", 2023), ("Mali", 2025))
        assert suggested("growth in the latest report on Kenya", reports=reports) == scope(
            country_name="Kenya", year=2023
        )
        assert suggested("the latest report: growth?", scope(country_name="Kenya"), reports) == scope(
            country_name="Kenya", year=2023
        )
        assert suggested("growth in the most recent edition", reports=reports) == scope(year=2025)

    def test_only_the_subject(self) -> None:
        assert suggested("imports of Kenya from Mali") == scope(country_name="Kenya")
        assert suggested("Which countries import from Mali?") is None

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("Why is Kenya poorer than Mali?", scope(country_name=("Kenya", "Mali"))),
            ("What is the capital of Kenya, and what is the capital of Mali?", scope(country_name=("Kenya", "Mali"))),
            ("Is debt of Kenya lower in 2023 than in 2021?", scope(country_name="Kenya")),
            ("Is debt of Kenya lower in the 2023 report than in the 2021 report?", KENYA_TWICE),
            ("What is new in the 2023 report on Kenya?", KENYA_TWICE),
            ("How high is debt in the 2023 report on Kenya?", scope(country_name="Kenya", year=2023)),
            ("imports of Kenya from Mali", scope(country_name="Kenya")),
            ("the 2021 and 2023 factbooks on Peru", scope(country_name="Peru", year=(2021, 2023))),
            (
                "How did the 2021 elections in Mali compare to the 2023 elections in Peru?",
                scope(country_name=("Mali", "Peru")),
            ),
        ],
    )
    def test_all_that_is_compared_or_asked_about(self, text: str, expected: Scope) -> None:
        reports = Reports(*((country, year) for country in ("Kenya", "Mali", "Peru") for year in (2021, 2023, 2025)))
        assert (
            strictly(suggest_scope(everything_asked(read_names(text, reports), Scope(), reports), Scope(), reports))
            == expected
        )

    def test_nothing_to_add(self) -> None:
        assert suggested("growth") is None
        assert suggested("growth in Kenya", scope(country_name="Kenya")) is None
        assert suggested("growth in the 2021 and 2023 reports") is None

    def test_a_chosen_scope_is_narrowed_and_never_widened(self) -> None:
        both = scope(country_name=("Kenya", "Mali"))
        assert suggested("growth in Kenya", both) == scope(country_name="Kenya")
        mali = scope(country_name="Mali")
        assert suggested("growth in the 2021 report", mali) == scope(country_name="Mali", year=2021)
        assert suggested("growth in Mali", scope(country_name="Kenya")) is None
        later = scope(year=Range(2022, None))
        assert suggested("growth in the 2021 report", later) is None
        assert suggested("growth in the 2023 report", later) is None

    def test_no_scope_without_a_report(self) -> None:
        assert suggested("growth in the 2021 report on Mali", reports=Reports(("Kenya", 2021), ("Mali", 2023))) is None
