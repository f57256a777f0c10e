"""What kind of request a question is: small talk, a question about a whole document, or
about something.
"""

from decimal import Decimal
from typing import Any

import pytest

from chatbot.domain.scope import Reading
from chatbot.language.country_names import find_countries
from chatbot.questions.kinds import (
    asks_of_all,
    asks_what_it_is_about,
    is_wish,
    measure_named,
    measure_of_place,
    read_request,
    small_talk,
    thing_asked,
)
from chatbot.questions.names import find_years
from tests.data import cases

CASES = cases(__file__)


@pytest.mark.parametrize("case", CASES["requests"], ids=lambda case: case["question"])
def test_what_is_asked_for(case: dict[str, Any]) -> None:
    text = case["question"]
    countries = tuple(find_countries(text))
    years = tuple(find_years(text))
    request = read_request(
        Reading(text, countries, countries, years), countries=len(countries)
    )
    assert request.kind == case["kind"]
    assert request.lowest >= case.get("lowest", False)
    assert request.most == case.get("most", request.most)
    if "value" in case:
        assert request.bound is not None
        assert (request.bound.above, request.bound.value) == (
            case["above"],
            Decimal(case["value"]),
        )
        assert request.bound.negated == case.get("negated", request.bound.negated)
    assert case.get("topic", "") in request.topic


@pytest.mark.parametrize(
    ("question", "place"),
    [
        ("Which is the second largest country?", 2),
        ("Which country comes third by area?", 3),
        ("Which country has the 4th lowest debt?", 4),
        ("Which is the largest country?", 0),
        ("Which country had the highest debt in the second report?", 0),
    ],
)
def test_which_place_of_a_ranking_is_asked_for(question: str, place: int) -> None:
    request = read_request(Reading(question), countries=0)
    assert (request.kind, request.place) == ("ranking", place)


@pytest.mark.parametrize(
    ("question", "measure"),
    [
        ("What place does Chad take by area?", "area"),
        ("How does Chad rank in terms of debt?", "debt"),
        ("In which places of Chad is rice grown?", ""),
        ("Which country is the largest by area?", ""),
    ],
)
def test_by_what_one_place_among_all_is_measured(question: str, measure: str) -> None:
    assert measure_of_place(question) == measure


def test_a_ranking_may_name_its_measure() -> None:
    assert measure_named("the largest country by population") == "population"
    assert measure_named("by far the largest country") == ""


def test_a_wish_is_no_quantity() -> None:
    assert is_wish("best beaches")
    assert is_wish("the most beautiful lakes")
    assert not is_wish("most people")
    assert not is_wish("the highest literacy")


def test_what_one_is_asked_of_beside_countries() -> None:
    assert thing_asked("Which city is the largest?") == "city"
    assert thing_asked("Which African country is the largest?") == ""
    assert thing_asked("How many countries are there?") == ""


def test_messages_that_ask_nothing() -> None:
    assert {text: small_talk(text) for text in CASES["greetings"]} == CASES["greetings"]
    assert [text for text in CASES["no_greetings"] if small_talk(text)] == []


def is_of_the_whole(question: str) -> bool:
    return asks_what_it_is_about(
        question, [*find_countries(question), *find_years(question)]
    )


def test_what_asks_for_the_whole_of_a_document_and_what_for_something_in_it() -> None:
    assert [text for text in CASES["of_the_whole"] if not is_of_the_whole(text)] == []
    assert [text for text in CASES["of_something"] if is_of_the_whole(text)] == []


def test_what_the_beginning_or_a_summary_answers() -> None:
    assert [text for text in CASES["of_all"] if not asks_of_all(text)] == []
    assert [text for text in CASES["not_of_all"] if asks_of_all(text)] == []
