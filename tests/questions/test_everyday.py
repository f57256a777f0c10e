"""What everyday words ask of a country, and what only looks like it."""

from __future__ import annotations

import pytest

from chatbot.questions.everyday import with_term
from chatbot.questions.names import find_countries, find_years


def searched(question: str) -> str:
    return with_term(question, [*find_countries(question), *find_years(question)])


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How many people live in Kenya?", "How many people live in Kenya (total population)?"),
        ("how many inhabitants does the DRC have", "how many inhabitants does the DRC have (total population)?"),
        ("How many people lived in Mali in 2020?", "How many people lived in Mali in 2020 (total population)?"),
        (
            "And how many people are there in Nepal now?",
            "And how many people are there in Nepal now (total population)?",
        ),
        ("The number of inhabitants of Yemen", "The number of inhabitants of Yemen (total population)?"),
        (
            "How many people live in Kenya and in Mali?",
            "How many people live in Kenya and in Mali (total population)?",
        ),
        (
            "How many people live there? (Peru in 2019)",
            "How many people live there? (Peru in 2019) (total population)?",
        ),
        ("Where does Peru lie?", "Where does Peru lie (location)?"),
        ("How old do people get in Haiti?", "How old do people get in Haiti (life expectancy)?"),
        ("List the neighbours of Mali", "List the neighbours of Mali (border countries)?"),
        ("What are Mali's neighboring countries?", "What are Mali's neighboring countries (border countries)?"),
        ("How long do women live in Mali?", "How long do women live in Mali (life expectancy)?"),
        ("Who is the president of Kenya?", "Who is the president of Kenya (chief of state, head of government)?"),
        ("What money do they use in Nepal?", "What money do they use in Nepal (exchange rates)?"),
        ("How rich is Qatar?", "How rich is Qatar (real GDP per capita)?"),
        ("Who may vote in Lebanon?", "Who may vote in Lebanon (suffrage)?"),
        ("Who rules the Philippines?", "Who rules the Philippines (chief of state, head of government)?"),
        ("Who is Egypt's leader?", "Who is Egypt's leader (chief of state, head of government)?"),
    ],
)
def test_the_term_goes_along(question: str, expected: str) -> None:
    assert searched(question) == expected


@pytest.mark.parametrize(
    "question",
    [
        "How many people live in cities in Kenya?",
        "How many people in Kenya live with HIV?",
        "How many refugees live in Jordan?",
        "Who is the leader of the opposition in Kenya?",
        "Where do most people in Peru live?",
        "Who was the first president of Kenya?",
        "Does Mali trade with its neighbours?",
    ],
)
def test_what_asks_for_more_stays(question: str) -> None:
    assert searched(question) == question
