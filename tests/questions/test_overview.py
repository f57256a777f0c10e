"""What asks for the whole of a document, and what asks for something in it."""

from __future__ import annotations

import pytest

from chatbot.questions.names import find_countries, find_years
from chatbot.questions.overview import asks_of_all, asks_what_it_is_about


@pytest.mark.parametrize(
    "question",
    [
        "What is this document about?",
        "What is the Kenya 2021 report about?",
        "What is Kenya's country report of 2021 about?",
        "What does the 2021 report on Kenya say?",
        "Summarise the report, please.",
        "Can you give me a short summary of this file in three sentences?",
        "What are the main findings?",
        "An overview of the 2023 edition",
        "tl;dr",
        "¿De qué trata este informe?",
        "Résume ce rapport",
    ],
)
def test_the_whole_and_nothing_in_it(question: str) -> None:
    names = [*find_countries(question), *find_years(question)]
    assert asks_what_it_is_about(question, names)


@pytest.mark.parametrize(
    "question",
    [
        "What does this report say about inflation?",
        "What are the main findings on maternal mortality in Kenya?",
        "Summarise the economy of Kenya in 2021",
        "Give me an overview of Kenya's exports",
        "What is the population of Kenya?",
        "Who wrote this report?",
        "Which reports are there?",
    ],
)
def test_something_in_it(question: str) -> None:
    names = [*find_countries(question), *find_years(question)]
    assert not asks_what_it_is_about(question, names)


def test_who_wrote_it_is_said_by_the_first_page_only() -> None:
    assert asks_of_all("Who wrote this report?")
    assert asks_of_all("Summarise the economy, please")
    assert not asks_of_all("What is the population of Kenya?")
