"""Ways to compare two countries, and what is asked of each."""

from __future__ import annotations

import pytest

from tests.questions.reports import split


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("How does the debt of Kenya differ from that of Somalia?", "The debt of {}?"),
        ("How does Kenya differ from Somalia in debt?", "Debt in {}?"),
        ("Which is larger, Kenya or Somalia, in area?", "Area in {}?"),
        ("Which is larger, Kenya or Somalia?", "Area in {}?"),
        ("Which country has more refugees in 2021, Kenya or Somalia?", "Refugees in 2021, {}?"),
        ("Kenya versus Somalia: which has the lower debt?", "Debt in {}?"),
        ("Does Kenya have more refugees than Somalia?", "Refugees in {}?"),
        ("Debt in Kenya versus Somalia", "Debt in {}?"),
        ("Which of Kenya and Somalia had more refugees, and why?", "Refugees in {}?"),
        ("Which country, Kenya or Somalia, has more refugees?", "Refugees in {}?"),
        ("Which of the two, Kenya or Somalia, has the higher debt?", "Debt in {}?"),
        ("Which of Kenya and Somalia exports more tea?", "{} exports more tea?"),
        ("Rank Kenya and Somalia by GDP per capita", "GDP per capita in {}?"),
        ("Rank the GDP per capita of Kenya and Somalia", "The GDP per capita of {}?"),
        ("How do Kenya and Somalia rank in GDP per capita?", "GDP per capita in {}?"),
        ("Who has more refugees? (Kenya and Somalia)", "Refugees in {}?"),
        ("What is the inflation rate? (Kenya and Somalia)", "What is the inflation rate? ({})"),
    ],
)
def test_each_is_asked_the_same(text: str, expected: str) -> None:
    assert split(text) == [expected.format("Kenya"), expected.format("Somalia")]


@pytest.mark.parametrize(
    "text",
    [
        "Which is higher in Kenya and Somalia?",
        "Why is Somalia poorer than Kenya?",
        "Which is higher? (population growth Kenya Somalia)",
        "Why do they differ? (population growth Kenya Somalia)",
        "Why do they differ? (Kenya and Somalia)",
        "How many people use the internet? (Kenya 2023)",
    ],
)
def test_what_says_nothing_of_one_alone_stays_whole(text: str) -> None:
    assert split(text) == [text]


def test_what_is_carried_is_asked_for_where_the_question_has_no_thing_of_its_own() -> None:
    assert split("How does it compare with Mali? (debt Kenya 2023)") == ["Debt Mali 2023?", "Debt Kenya 2023?"]
