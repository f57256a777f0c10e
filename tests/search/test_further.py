"""Questions to go on with: their wording, and which headings go first."""

from collections.abc import Sequence

import pytest

from chatbot.domain import Chunk
from chatbot.domain.scope import Value
from chatbot.language.analysis import analyzer
from chatbot.models.embed.hashing import HashingEmbedder
from chatbot.search.further import (
    by_nearness,
    first_questions,
    further_questions,
    question_about,
)
from chatbot.search.indicators import IndicatorIndex

ABOUT: dict[str, Value] = {"country_name": "Philippines", "year": 2023}


INDEX = IndicatorIndex(HashingEmbedder(64), analyzer("english"))


def passage(section: str, report: str = "a") -> Chunk:
    return Chunk(
        f"{section}{report}",
        report,
        "report.md",
        "Philippines 2023",
        "text",
        section=section,
        metadata=ABOUT,
    )


def asked(
    cited: str, *sections: str, figures: Sequence[str] = (), reports: str = "ab"
) -> list[str]:
    """Ask where a search for a heading finds it in each of these reports."""
    around = [passage(section) for section in (cited, *sections)]

    def search(words: str) -> list[Chunk]:
        return [
            passage(section, report)
            for section in sections
            for report in reports
            if section.rpartition(" › ")[2].split(" (")[0] in words
        ]

    def ask(heading: str, country: str) -> str:
        return question_about("Philippines 2023", country or None, heading, "en")

    return further_questions(around[0], around, INDEX, frozenset(figures), search, ask)


def test_related_headings_of_the_chapter_are_asked_about() -> None:
    assert asked(
        "Government › Executive branch",
        "Government › Judicial branch",
        "Government › Legislative branch - upper chamber",
        "Government › People who are older than others",
        "Economy › Exports",
    ) == ["What is the Philippines' judicial branch?"]


def test_what_has_a_figure_goes_first() -> None:
    assert asked("Economy", "Exports", "Inflation rate", figures=["Inflation rate"])[
        0
    ] == ("What is the Philippines' inflation rate?")


def test_a_heading_of_one_report_is_asked_of_that_report() -> None:
    assert asked("Boreholes", "Risks", reports="a") == [
        "What does Philippines 2023 say about risks?"
    ]


def test_what_another_passage_answers_is_not_offered() -> None:
    assert asked("Boreholes", "Risks", reports="b") == []


def test_letters_and_parts_of_any_report_are_not_asked_about() -> None:
    only = ["What are the Philippines' elections?"]
    others = ("a", "1 b", "Highlights", "Executive Summary", "Annex 2: Notes")
    assert asked("Background", *others, "Elections") == only


@pytest.mark.parametrize("time", ["2024-05", "May 2024", "Q1", "Kenya, 2024"])
def test_a_time_is_not_asked_about(time: str) -> None:
    only = ["What are the Philippines' elections?"]
    assert asked(time, time, "2024-06", "Elections") == only
    first = first_questions("Cash", "Yemen", [time, "USD paid"], "en")
    assert first == ["What is “Cash” about?", "What is Yemen's USD paid?"]


def test_a_question_has_the_name_that_the_glossary_has() -> None:
    assert question_about("", "Kenya", "Exports (goods)", "fr") == "Kenya: exports"
    question = question_about("", "Somalia", "Birth rate", "fr", "taux de natalité")
    assert question == "Taux de natalité : quel est le chiffre pour Somalie ?"


def test_a_neighbour_goes_first_and_others_with_each_indicator() -> None:
    others = ["Peru", "Ethiopia", "Somalia", "Lebanon", "row 7"]
    orders = {tuple(by_nearness("Kenya", others, f"name {n}")) for n in range(9)}
    assert {order[0] for order in orders} == {"Ethiopia", "Somalia"}
    assert {frozenset(order) for order in orders} == {frozenset(others[:4])}


def test_a_chapter_of_one_heading_stands_for_those_around_it() -> None:
    assert asked("Terrorism › Armed groups", "Issues › Refugees") == [
        "What are the Philippines' refugees?"
    ]
