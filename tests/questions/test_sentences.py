"""Messages that ask nothing, and what a later question means by "its", "there" or "that country"."""

from __future__ import annotations

import pytest

from chatbot.questions.sentences import is_small_talk
from tests.questions.reports import scope, split


@pytest.mark.parametrize(
    "text", ["hello", "Hi!", "thanks", "Thank you very much!", "ok, thanks, bye", "Good morning", "How are you?"]
)
def test_a_greeting(text: str) -> None:
    assert is_small_talk(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "?",
        "OK, how is it today?",
        "Great, how was it later?",
        "ok is it good?",
        "hello Kenya",
        "hi, how many people live there?",
        "ok, and Mali?",
        "how are exports?",
        "and why?",
    ],
)
def test_a_question(text: str) -> None:
    assert not is_small_talk(text)


@pytest.mark.parametrize(
    ("text", "second"),
    [
        ("and how many people live in cities there?", "How many people live in cities in the Philippines?"),
        ("and who is the president of that country?", "Who is the president of the Philippines?"),
        ("and who is its president?", "Who is the Philippines' president?"),
        ("and what are its main exports there?", "What are the Philippines' main exports?"),
        ("and how high is their debt?", "How high is the Philippines' debt?"),
    ],
)
def test_a_word_for_the_country_gives_way_to_its_name(text: str, second: str) -> None:
    assert split(f"What is the area of the Philippines {text}") == ["What is the area of the Philippines?", second]


def test_they_are_the_country_that_does_something() -> None:
    assert split("What does Kenya import and what do they export?")[1] == "What does Kenya export?"


@pytest.mark.parametrize(
    "text",
    [
        "What are the exports of Kenya and how do they affect growth?",
        "What are the rivers of Kenya and what is their length?",
        "What is the area of Kenya and how do people from Mali get there?",
        "What does Kenya import from Mali and how many people live there?",
        "Who governs Kenya and what did they do in 2021?",
    ],
)
def test_what_may_be_something_else_stays_whole(text: str) -> None:
    assert split(text) == [text]


def test_what_is_governed_is_asked_about_next() -> None:
    found = split("Who governs Haiti, and what do the reports say about gangs and elections?")
    assert found == ["Who governs Haiti?", "What do the reports say about gangs and elections in Haiti?"]


def test_a_country_is_carried_inside_a_scope_of_several() -> None:
    both = scope(country_name=("Kenya", "Mali"))
    assert split("What is the capital of Mali? Who is the president?", both)[1] == "Who is the president in Mali?"
