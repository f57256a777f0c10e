"""What the data does not have is named, and what it has makes a scope."""

from __future__ import annotations

import pytest

from chatbot.questions.mentions import find_mentions
from chatbot.retrieval.subjects import Missing, everything_asked, missing_subject, names_missing, suggest_scope
from chatbot.schema import Range, Scope
from tests.questions.reports import REPORTS, Reports, scope

CONGO = "Democratic Republic of the Congo"


def missing(text: str, chosen: Scope = Scope(), reports: Reports = REPORTS) -> Missing | None:  # noqa: B008
    return missing_subject(find_mentions(text, reports), chosen, reports)


def suggested(text: str, chosen: Scope = Scope(), reports: Reports = REPORTS) -> Scope | None:  # noqa: B008
    return suggest_scope(find_mentions(text, reports), chosen, reports)


class TestMissing:
    def test_a_country_without_a_report_and_what_there_is(self) -> None:
        found = missing("What is the growth rate in France?")
        assert found == Missing(f"There is no report on France. There are reports on {CONGO}, Kenya, Mali.", True)

    @pytest.mark.parametrize(
        ("text", "name"),
        [
            ("growth in france", "France"),
            ("growth in Iran, Islamic Republic of", "Iran, Islamic Republic of"),
            ("What is the French unemployment rate?", "France"),
            ("growth in the UK", "United Kingdom"),
        ],
    )
    def test_it_is_named_as_it_was_written_or_as_it_is_called(self, text: str, name: str) -> None:
        found = missing(text)
        assert found is not None
        assert found.text.startswith(f"There is no report on {name}.")

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

    def test_a_year_without_a_report(self) -> None:
        found = missing("What is the growth rate in 2031?")
        assert found == Missing("There is no report for 2031. The reports are of 2021, 2023.", True)

    def test_a_known_country_in_an_unknown_year(self) -> None:
        found = missing("What is the growth rate of Kenya in 2019?")
        assert found is not None
        assert found.everything
        assert found.text.startswith("There is no report for Kenya, 2019. The reports for Kenya are of 2021, 2023.")
        assert "choose its year as the scope" in found.text

    def test_a_known_country_and_a_known_year_without_a_common_report(self) -> None:
        reports = Reports(("Kenya", 2021), ("Mali", 2023))
        found = missing("growth of Mali in 2021", reports=reports)
        assert found is not None
        assert (found.everything, found.text.startswith("There is no report for Mali, 2021.")) == (True, True)
        assert missing("growth of Kenya and Mali in 2021", reports=reports) == Missing(
            "There is no report for Mali, 2021.", False
        )

    def test_a_range_is_there_when_some_of_it_is(self) -> None:
        assert missing("growth from 2010 to 2021") is None
        assert missing("growth since 2022") is None
        assert missing("growth since 2024") is not None

    def test_data_without_countries_or_years_lacks_none(self) -> None:
        assert missing("growth in France in 2031", reports=Reports(("", 0))) is None
        assert missing("growth in France", reports=Reports(("", 2021))) is None
        undated = Reports(("Kenya", 0))
        assert missing("growth in Kenya in 2031", reports=undated) is None

    def test_an_undated_report_may_be_about_any_year(self) -> None:
        reports = Reports(("Kenya", 2021), ("", 0))
        assert missing("the travel budget in 2031", reports=reports) is None
        assert missing("the travel budget of Kenya in 2031", reports=reports) is not None


def test_which_part_of_a_comparison_has_been_named_as_missing() -> None:
    reports = Reports(("Kenya", 2021), ("Mali", 2024))
    mentions = find_mentions("Kenya 2021 vs 2024 inflation", reports)
    kenya = scope(country_name="Kenya")
    assert names_missing(kenya.having("year", [2024]), mentions, Scope(), reports)
    assert not names_missing(kenya.having("year", [2021]), mentions, Scope(), reports)
    assert not names_missing(scope(country_name="Mali", year=2024), mentions, Scope(), reports)
    chosen = kenya.having("year", [2021, 2024])
    assert not names_missing(kenya.having("year", [2024]), mentions, chosen, reports)


class TestMissingInAScope:
    def test_the_scope_leaves_it_out(self) -> None:
        found = missing("growth in Mali", scope(country_name="Kenya"))
        assert found is not None
        assert found.everything
        assert found.text.startswith("The scope chosen (Kenya) leaves out Mali.")

    def test_what_the_data_does_not_have_is_named_there_too(self) -> None:
        found = missing("growth in France", scope(country_name="Kenya"))
        assert found is not None
        assert found.text.startswith("There is no report on France.")

    def test_a_question_that_refers_to_the_scope_is_about_the_scope(self) -> None:
        assert missing("Is Germany among its suppliers?", scope(country_name="Kenya")) is None

    def test_a_chosen_edition_may_hold_figures_of_any_year(self) -> None:
        assert missing("growth in 2019", scope(country_name="Kenya", year=2021)) is None
        assert missing("growth in 2019", scope(country_name="Kenya")) is not None


class TestSuggested:
    def test_countries_and_years(self) -> None:
        assert suggested("growth in Kenya in 2023") == scope(country_name="Kenya", year=2023)
        assert suggested("Compare Kenya and Mali") == scope(country_name=("Kenya", "Mali"))
        assert suggested("growth in the DRC") == scope(country_name=CONGO)

    def test_a_range_becomes_the_years_of_the_data(self) -> None:
        assert suggested("growth since 2022") == scope(year=2023)

    def test_only_the_subject(self) -> None:
        assert suggested("imports of Kenya from Mali") == scope(country_name="Kenya")
        assert suggested("imports from Mali") is None

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("Why is Kenya poorer than Mali?", scope(country_name=("Kenya", "Mali"))),
            ("What is the capital of Kenya, and what is the capital of Mali?", scope(country_name=("Kenya", "Mali"))),
            ("Is debt of Kenya lower in 2023 than in 2021?", scope(country_name="Kenya", year=(2021, 2023))),
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
        assert suggest_scope(everything_asked(text, Scope(), reports), Scope(), reports) == expected

    def test_nothing_to_add(self) -> None:
        assert suggested("growth") is None
        assert suggested("growth in Kenya", scope(country_name="Kenya")) is None
        assert suggested("growth in 2021 and 2023") is None

    def test_a_chosen_scope_is_narrowed_and_never_widened(self) -> None:
        both = scope(country_name=("Kenya", "Mali"))
        assert suggested("growth in Kenya", both) == scope(country_name="Kenya")
        assert suggested("growth in 2021", scope(country_name="Mali")) == scope(country_name="Mali", year=2021)
        assert suggested("growth in Mali", scope(country_name="Kenya")) is None
        later = scope(year=Range(2022, None))
        assert suggested("growth in 2021", later) is None
        assert suggested("growth in 2023", later) is None

    def test_no_scope_without_a_report(self) -> None:
        assert suggested("growth of Mali in 2021", reports=Reports(("Kenya", 2021), ("Mali", 2023))) is None
