"""Questions about the library: only those, answered from the registered reports."""

import pytest

from chatbot.answering.early.library import MAX_LISTED, library_answer
from chatbot.domain import Scope
from chatbot.domain.scope import Values
from chatbot.questions.kinds import topic_of
from chatbot.questions.reading import read_names
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
    assert "\\[x\\](http" in library_answer(
        "reports", Scope(), Reports(("[x](http://evil)", 2021))
    )
