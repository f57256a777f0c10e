"""What a question is searched with under a scope."""

import pytest

from chatbot.domain import Range, Scope
from chatbot.domain.scope import Condition, SearchText, Values
from chatbot.questions.reading import read_names
from chatbot.search.search_text import search_text
from tests.data import cases

CASES = cases(__file__)


class Catalog:
    """Names are those of ISO 3166."""

    def values(self, field: str) -> list[str]:
        return []

    def groups(self) -> list[str]:
        return []

    def all(self, scope: Scope) -> list[str]:
        return []


KENYA = Values(("Kenya",))


def read(query: str, language: str = "english", **conditions: Condition) -> SearchText:
    scope = Scope.of(conditions)
    return search_text(read_names(query, Catalog(), scope), scope, language=language)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("query", "topic", "question"), CASES["names_of_the_scope_are_left_out"]
)
def test_names_of_the_scope_are_left_out(query: str, topic: str, question: str) -> None:
    found = read(query, country_name=KENYA)
    assert (found.topic, found.question) == (topic, question)


@pytest.mark.parametrize(
    ("query", "topic"),
    [
        ("How many people are hungry in Kenya?", "how many are hungry?"),
        ("How many citizens of Kenya can read?", "how many can read?"),
        ("How many of the people use the internet?", "how many use the internet?"),
        ("How many people live in poverty in Kenya?", "how many live in poverty?"),
        # They are all that it counts.
        ("How many people live in Kenya?", "How many people live?"),
        ("How many inhabitants does Kenya have?", "How many inhabitants does have?"),
        # They are not what it counts.
        ("How old are people in Kenya?", "How old are people?"),
        ("How many women can read in Kenya?", "How many women can read?"),
    ],
)
def test_counted_people_are_left_out_beside_what_they_are_or_have(
    query: str, topic: str
) -> None:
    """Else the number of all inhabitants has a word in common with each of them."""
    assert read(query, country_name=KENYA).topic == topic


def test_counted_people_stay_in_the_question_that_is_embedded() -> None:
    found = read("How many people are hungry in Kenya?", country_name=KENYA)
    assert found.question == "How many people are hungry in the country?"


def test_a_name_that_the_scope_does_not_say_stays() -> None:
    """Without a scope it is all there is to find the country by; in another's scope it
    is the thing asked.
    """
    assert (
        read("What does Kenya import from Mali?").topic
        == "What does Kenya import from Mali?"
    )
    assert "Mali" in read("What does Kenya import from Mali?", country_name=KENYA).topic


def test_nothing_but_names_is_searched_as_it_is() -> None:
    assert read("Kenya?", country_name=KENYA) == SearchText("Kenya?", "Kenya?")


def test_the_edition_of_the_scope_is_left_out_a_figures_year_stays() -> None:
    scoped = read(
        "What was inflation in 2021 in the 2023 report?", year=Values((2023,))
    )
    assert scoped.topic == "What was inflation in 2021 in the report?"
    assert [years.gte for years in scoped.figure_years] == [2021]
    assert (
        "2023"
        in read("What was inflation in the 2023 report?", year=Range(2021, 2025)).topic
    )


def test_another_language_is_told_from_that_of_the_reports() -> None:
    asked = "¿Cuál es la tasa de crecimiento de la población?"
    assert read(asked).foreign
    assert not read(asked, language="spanish").foreign
    assert not read("What is the population growth rate?").foreign
