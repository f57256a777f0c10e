"""Questions about the library: only those, answered from the registered reports."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from chatbot.answering.early.library import MAX_LISTED, content_answer, library_answer
from chatbot.domain import Chunk, Scope
from chatbot.domain.scope import Values
from chatbot.questions.kinds import topic_of
from chatbot.questions.reading import read_names
from tests.answering.modes.bench import Told, add, bench
from tests.data import cases
from tests.questions.reports import REPORTS, Reports

CASES = cases(__file__)

KENYA = Scope.of({"country_name": Values(("Kenya",))})


@pytest.mark.parametrize(("question", "expected"), CASES["questions_about_the_library"])
def test_questions_about_the_library(question: str, expected: str) -> None:
    assert topic_of(question, read_names(question, REPORTS)) == expected


@pytest.mark.parametrize("question", CASES["ordinary_questions"])
def test_ordinary_questions_are_not_about_the_library(question: str) -> None:
    assert topic_of(question, read_names(question, REPORTS)) is None


def test_the_reports_of_a_scope() -> None:
    assert library_answer("reports", KENYA, REPORTS) == (
        "There are 2 reports for Kenya, of 2021, 2023:\n\n- Kenya: Country Report "
        "2021\n- Kenya: Country Report 2023"
    )


def test_countries_and_years() -> None:
    assert library_answer("countries", Scope(), REPORTS).startswith(
        "The 6 reports cover 3 countries:\n\n- Demo"
    )
    assert (
        library_answer("years", KENYA, REPORTS)
        == "The 2 reports for Kenya cover 2 years:\n\n- 2021\n- 2023"
    )


def test_a_long_list_is_cut_and_says_so() -> None:
    many = Reports(*(("Kenya", year) for year in range(1990, 1990 + MAX_LISTED + 12)))
    text = library_answer("reports", Scope(), many)
    assert text.count("\n- ") == MAX_LISTED
    assert text.endswith("… and 12 more.")
    assert text.startswith("There are 32 reports, of 1990 to 2021:")


def test_one_report_and_none() -> None:
    assert library_answer("reports", Scope(), Reports(("Mali", 2021))).startswith(
        "There is 1 report:\n\n- Mali"
    )
    assert library_answer("reports", Scope(), Reports()) == "There are 0 reports."


def test_titles_are_not_markdown() -> None:
    assert "[x\\](http" in library_answer(
        "reports", Scope(), Reports(("[x](http://evil)", 2021))
    )


def stages_that_ended(told: Mapping[str, Told]) -> dict[str, list[str]]:
    """Return by question the stage that answered it."""
    return {
        query: [stage.name for stage in one.answer.trace.stages if stage.ended]
        for query, one in told.items()
    }


def test_what_is_here_is_told_without_a_search(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("library")
    with bench(folder, chat_model="extractive") as opened:
        text = "# Peru 2023\n\n## People and Society\n\n### Literacy\n\n94% (2023)\n"
        add(opened.services, folder, text, "peru", country_name="Peru", year=2023)
        queries = CASES["what_is_here"]
        of_all = {query: opened.ask("auto", query=query) for query in queries}
        of_one = {
            query: opened.ask("auto", query=query, scope=KENYA) for query in queries
        }
    assert stages_that_ended(of_all) == {query: ["library"] for query in queries}
    assert stages_that_ended(of_one) == {query: ["overview"] for query in queries}
    response = of_all["What is here?"].answer.response
    assert response.startswith("There are 3 reports, of 2021, 2023:\n\n- Kenya: ")
    assert "They cover 3 countries: Kenya, Mali, Peru." in response
    assert "Topics: People and Society." in response
    assert "often asked for: population, literacy." in response
    response = of_one["What is here?"].answer.response
    assert "| Population | 52,428,290 (2023 est.) [1] |" in response


def test_a_report_that_is_too_short_for_a_summary_is_told_by_its_beginning(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("short")
    with bench(folder, chat_model="extractive") as opened:
        text = "# Fines\n\n## Late books\n\nA late book costs 2 pounds a week.\n"
        add(opened.services, folder, text, "fines", year=1999)
        scope = Scope.of({"year": Values((1999,))})
        queries = [*CASES["what_is_here"], "Give me an overview of the library"]
        told = {
            query: opened.ask("auto", query=query, scope=scope) for query in queries
        }
    responses = {query: one.answer.response for query, one in told.items()}
    assert [q for q, text in responses.items() if "2 pounds a week" not in text] == []


def test_a_greeting_with_a_question_about_the_library_is_answered_with_both(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("greeted")
    with bench(folder, chat_model="extractive") as opened:
        told = opened.ask("auto", query="Hi, what is this?")
        plain = opened.ask("auto", query="What is in these reports?")
    response = told.answer.response
    lead, _, rest = response.partition("\n\n")
    assert lead == (
        "I answer questions from the 2 reports here and show the passage behind each "
        "claim."
    )
    assert rest == plain.answer.response


@dataclass
class NoPassages:
    """Implements `Passages.get`; counts what is asked for."""

    asked: int = 0

    def get(self, chunk_ids: Sequence[str]) -> list[Chunk]:
        self.asked += len(chunk_ids)
        return []


def test_what_is_in_ten_thousand_reports_is_told_from_a_sample() -> None:
    names = [f"Country {number}" for number in range(100)]
    many = Reports(*((name, year) for name in names for year in range(1921, 2021)))
    passages: Any = NoPassages()
    text = content_answer(Scope(), many, passages, ())
    assert text.startswith("There are 10,000 reports, of 1921 to 2020.")
    assert "They cover 100 countries: Country 0, " in text
    assert "Country 26 … and 80 more." in text
    assert len(text) < 1_500
    assert 0 < passages.asked < 200
