"""Follow-ups by rule: which slots of a message are open, and what of the conversation fills them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from chatbot.domain import Message, Scope
from chatbot.domain.chat import Cited
from chatbot.language import analyzer
from chatbot.questions.follow_ups import MAX_CHARACTERS, MAX_THING_WORDS, FollowUps
from tests.questions.reports import REPORTS, Reports, scope

GROWTH = "What is the population growth rate of Kenya in 2023?"
COMPARED = "Compare the population growth of Kenya and Mali"
EDITION = "What does the 2021 report say about the debt of Mali?"
THINGS = {"inflation", "exports", "terrain", "rail", "area", "capital", "internet", "population", "growth", "debt"}


def names_a_thing(words: str, headings: Sequence[str]) -> bool:
    return bool(THINGS.intersection(words.lower().split())) and not any(words in heading for heading in headings)


def follow_ups(reports: Reports = REPORTS) -> FollowUps:
    return FollowUps(analyzer("english"), reports, names_a_thing)


def standalone(*said: str, scope: Scope = Scope(), reports: Reports = REPORTS) -> str:  # noqa: B008
    history = [Message("user", text) for text in said[:-1]]
    return follow_ups(reports).by_rule(said[-1], history, scope)


@pytest.mark.parametrize(
    ("before", "follow_up", "expected"),
    [
        (GROWTH, "and in Ethiopia?", "What is the population growth rate of Ethiopia in 2023?"),
        (GROWTH, "Same question, Mali", "What is the population growth rate of Mali in 2023?"),
        (GROWTH, "I meant Mali, not Kenya", "What is the population growth rate of Mali in 2023?"),
        (GROWTH, "what about 2021?", "What is the population growth rate of Kenya in 2021?"),
        (GROWTH, "and since 2019?", "What is the population growth rate of Kenya since 2019?"),
        (GROWTH, "two years earlier?", "What is the population growth rate of Kenya in 2021?"),
        (GROWTH, "which year was that for? I want 2021", "What is the population growth rate of Kenya in 2021?"),
        (GROWTH, "the 2021 report?", "What is the population growth rate of Kenya in 2023 in the 2021 report?"),
        (EDITION, "And the latest report?", EDITION.replace("2021", "2023")),
        ("What are Kenya's imports from France?", "and from Germany?", "What are Kenya's imports from Germany?"),
        ("What is the area of the Congo?", "and Mali?", "What is the area of Mali?"),
        ("What is the growth rate?", "and in Kenya?", "What is the growth rate in Kenya?"),
        ("Quelle est la dette de Mali en 2021 ?", "Et en 2023 ?", "Quelle est la dette de Mali en 2023 ?"),
    ],
)
def test_names_alone_take_the_place_of_the_old_ones(before: str, follow_up: str, expected: str) -> None:
    assert standalone(before, follow_up) == expected


@pytest.mark.parametrize(
    ("before", "follow_up", "expected"),
    [
        (GROWTH, "And inflation?", "Inflation in Kenya in 2023?"),
        (GROWTH, "rail", "Rail in Kenya in 2023?"),
        (GROWTH, "Thanks. Different question: terrain?", "Terrain in Kenya in 2023?"),
        (GROWTH, "How many people use the internet?", "How many people use the internet? (Kenya in 2023)"),
        (GROWTH.replace("2023", "2019"), "How many people use the internet there?",
         "How many people use the internet there? (Kenya)"),
        (COMPARED, "and exports?", "Exports in Kenya and Mali?"),
        (COMPARED, "Which of the two is bigger in area?", "Which of the two is bigger in area? (Kenya and Mali)"),
    ],
)  # fmt: skip
def test_a_thing_of_its_own_gets_the_countries_and_years(before: str, follow_up: str, expected: str) -> None:
    assert standalone(before, follow_up) == expected


@pytest.mark.parametrize(
    ("before", "follow_up", "expected"),
    [
        (GROWTH, "why?", "why? (population growth rate in Kenya in 2023)"),
        (GROWTH, "and for women?", "and for women? (population growth rate in Kenya in 2023)"),
        ("What does Mali import?", "From whom?", "From whom? (import in Mali)"),
        ("What is the highest point of Mali?", "Lowest?", "Lowest? (highest point in Mali)"),
        ("What does the Democratic Republic of the Congo import from France?", "why?",
         "why? (import from France in the Democratic Republic of the Congo)"),
        (GROWTH, "Which country has the lowest one?",
         "Which country has the lowest one? (population growth rate in 2023)"),
        (COMPARED, "what is the cause?", "what is the cause? (population growth in Kenya and Mali)"),
        (COMPARED, "and in the capital?", "and in the capital? (population growth in Kenya and Mali)"),
    ],
)  # fmt: skip
def test_words_that_name_no_thing_get_that_too(before: str, follow_up: str, expected: str) -> None:
    assert standalone(before, follow_up) == expected


def test_a_part_of_what_was_cited_is_no_thing_of_its_own() -> None:
    history = [Message("user", "What is the population of Mali?"), Message("assistant", "It is 1.")]
    assert follow_ups().by_rule("growth?", history, Scope()) == "Growth in Mali?"
    history[1] = Message("assistant", "It is 1.", cited=Cited(("Mali",), ("Population growth",)))
    assert follow_ups().by_rule("growth?", history, Scope()) == "growth? (population in Mali)"


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ((GROWTH, "compare it with Mali"), "Compare population growth rate in Kenya and Mali in 2023."),
        ((GROWTH, "Is that more than in Mali?"), "Compare population growth rate in Kenya and Mali in 2023."),
        ((GROWTH, "Was it higher in 2021?"), "Compare population growth rate in Kenya in 2023 and 2021."),
        ((COMPARED, "and Ethiopia?"), "Compare the population growth of Kenya, Mali and Ethiopia"),
        ((COMPARED, "Only Ethiopia?"), "Compare the population growth of Ethiopia"),
        ((GROWTH, "and Mali?", "Which of them is higher?"),
         "Compare population growth rate in Kenya and Mali in 2023."),
        ((GROWTH, "Mali?", "Ethiopia?", "compare both"),
         "Compare population growth rate in Mali and Ethiopia in 2023."),
        ((GROWTH, "Mali?", "and exports?", "how do they differ?"), "Compare Exports in Kenya and Mali in 2023."),
    ],
)  # fmt: skip
def test_sides_of_a_comparison(said: tuple[str, ...], expected: str) -> None:
    assert standalone(*said) == expected


@pytest.mark.parametrize(
    ("follow_up", "expected"),
    [
        ("and over the years?", "What is the population growth rate of Kenya over the years?"),
        ("and in Mali over time?", "What is the population growth rate of Mali over time?"),
        ("show me a chart", "What is the population growth rate of Kenya chart?"),
        ("and now?", "What is the population growth rate of Kenya?"),
        ("Make that two sentences in French.", f"{GROWTH} (Make that two sentences in French)"),
        ("auf Deutsch bitte", f"{GROWTH} (auf Deutsch bitte)"),
    ],
)
def test_only_the_kind_or_the_form_changes(follow_up: str, expected: str) -> None:
    assert standalone(GROWTH, follow_up) == expected


@pytest.mark.parametrize(
    "question",
    [
        "What is the area of Mali?",
        "Why is inflation high in Kenya?",
        "Which country has the highest inflation?",
        "population Mali 2021",
        "thanks!",
        "ok thank you, bye",
    ],
)
def test_what_lacks_nothing_takes_nothing(question: str) -> None:
    assert standalone(GROWTH, question) == question


@pytest.mark.parametrize("question", ["And why?", "it", "What about Mali?", ""])
def test_without_a_history_nothing_happens(question: str) -> None:
    assert standalone(question) == question
    assert standalone("Good morning", question) == question


def test_one_after_the_other() -> None:
    said = [GROWTH, "and Ethiopia?", "thanks!", "and 2021?", "Peru?"]
    assert standalone(*said) == "What is the population growth rate of Peru in 2021?"
    assert standalone(*said, "rail") == "Rail in Peru in 2021?"


def test_a_country_without_a_name_is_that_of_the_citations() -> None:
    cited = Cited(("Mali",), ("Exchange rates",))
    history = [Message("user", "How many francs to the dollar?"), Message("assistant", "500", cited=cited)]
    assert follow_ups().by_rule("and exports?", history, Scope()) == "Exports in Mali?"
    assert (
        follow_ups().by_rule("over the years?", history, Scope())
        == "How many francs to the dollar in Mali over the years?"
    )
    several = Message("assistant", "Mali, Kenya", cited=Cited(("Mali", "Kenya"), ("Area",)))
    history = [Message("user", "Which country is the largest?"), several]
    assert follow_ups().by_rule("what is its capital?", history, Scope()) == "what is its capital? (Mali)"


def test_a_stored_question_is_not_read_again() -> None:
    history = [Message("user", "and there?", standalone="What is the debt of Mali?"), Message("assistant", "1")]
    assert follow_ups().by_rule("in 2021?", history, Scope()) == "What is the debt of Mali in 2021?"


def test_a_chosen_scope_is_not_overruled() -> None:
    mali = scope(country_name="Mali")
    assert "Kenya" not in standalone(GROWTH, "and unemployment", scope=mali)
    assert standalone(GROWTH, "What is the area?", scope=mali) == "What is the area?"
    assert standalone(GROWTH, "why?", scope=scope(year=2021)) == "why? (population growth rate in Kenya)"


def test_without_countries_in_the_data_the_topic_is_all_there_is() -> None:
    plain = Reports(("", 0))
    assert standalone("What is chunking?", "and overlap?", reports=plain) == "and overlap? (chunking)"
    complete = "How many people use the internet?"
    assert standalone(GROWTH, complete, reports=plain) == complete
    assert "dedicated host" in standalone("What is a dedicated host?", "And how do I create one?", reports=plain)


def test_it_is_bounded() -> None:
    words = " ".join(f"word{number}" for number in range(500))
    assert len(standalone(words, "why?").split()) == 1 + MAX_THING_WORDS
    assert "zebra" not in standalone("x " * MAX_CHARACTERS + "zebra", "why?")


@pytest.mark.parametrize(
    ("written", "same"),
    [
        ("Why was the growth rate of Kenya in 2021 so high, according to the 2023 report?", True),
        ("Explain the growth rate of Kenya in 2021 according to the 2023 report.", True),
        ("Why was the growth rate of Mali in 2021 so high, according to the 2023 report?", False),
        ("Why was the growth rate of Kenya and Mali in 2021 so high, according to the 2023 report?", False),
        ("Why was the growth rate of Kenya in 2021 so high?", False),
        ("In 2021 the growth rate of Kenya was 2% (2023 report).", False),
    ],
)
def test_what_a_model_writes_is_a_question_about_the_same_names(written: str, *, same: bool) -> None:
    assert follow_ups().is_same_question(written, "And why? (growth rate in Kenya in 2021 in the 2023 report)") is same
