"""Which words of a question an answer does not use."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from chatbot.domain import Chunk
from chatbot.domain.figures import GlossaryEntry
from chatbot.domain.scope import Reading
from chatbot.models.embed.minilm import MiniLMEmbedder
from chatbot.questions.reading import read_names
from chatbot.questions.telling_words import telling_words
from chatbot.search.relevance import Bounds, Judge
from chatbot.search.unused_words import UnusedWords

GLOSSARY = (
    GlossaryEntry("literacy", "", ("can read",), "Literacy"),
    GlossaryEntry("women who can read", "", ("literate women",), "Literacy", "female"),
    GlossaryEntry("doctors", "", ("medics",), "Physician density"),
    GlossaryEntry("trade balance", "", ("surplus",), formula="[Exports] - [Imports]"),
)
JUDGE = Judge(Bounds(0.6, 0.7), MiniLMEmbedder(), "english", lambda: GLOSSARY)
WORDS = UnusedWords(JUDGE)


def read(question: str) -> Reading:
    catalog = SimpleNamespace(
        values=lambda *_: ["Kenya", "Peru"], all=lambda *_: [], groups=lambda: []
    )
    return read_names(question, cast(Any, catalog))


@pytest.mark.parametrize(
    ("question", "words"),
    [
        (
            "Which African country has the highest rural literacy?",
            "African rural literacy",
        ),
        ("Please show me the five largest exporters, ranked", "exporters"),
        ("I teach pottery in Lima. How many doctors has Peru?", "doctors"),
        ("What does Peru smuggle?", "smuggle"),
        ("more than four fifths of under-fives in Kenya in 2023", ""),
    ],
)
def test_telling_words_say_what_a_question_is_about(question: str, words: str) -> None:
    assert list(telling_words(read(question))) == words.split()


@pytest.mark.parametrize(
    ("question", "indicators", "unused"),
    [
        ("Which country has the highest literacy?", ["Literacy: total"], []),
        (
            "Which country has the highest rural literacy?",
            ["Literacy: total"],
            ["rural"],
        ),
        ("Where can most women read?", ["Literacy: female"], []),
        ("Where can most women read?", ["Literacy: total"], ["women"]),
        ("Which country has the fewest medics?", ["Physician density"], []),
        ("Which country has the fewest dentists?", ["Physician density"], ["dentists"]),
        ("Which country has the largest surplus?", ["trade balance"], []),
    ],
)
def test_a_computed_answer_uses_the_words_of_its_indicators(
    question: str, indicators: list[str], unused: list[str]
) -> None:
    assert WORDS.of_figures(read(question), indicators, "Highest:") == unused


def passage(text: str) -> Chunk:
    return Chunk(
        "a", "d", "r.md", "Report", text, section="Peru › Drinking water source"
    )


@pytest.mark.parametrize(
    ("question", "unused"),
    [
        ("Which garages in Peru sell drinking water?", ["garages"]),
        ("How many people in Peru have improved drinking water?", []),
        ("How many folks in Peru have drinking water, would you guess?", []),
    ],
)
def test_a_word_that_leads_away_from_what_is_quoted_is_named(
    question: str, unused: list[str]
) -> None:
    chunks = [passage("improved: 94.7% of population; unimproved: 5.3%")]
    assert list(WORDS.of_passages(read(question), chunks)) == unused


@pytest.mark.parametrize(
    "judge",
    [
        replace(JUDGE, bounds=Bounds(0.6, 0.6)),
        replace(JUDGE, embedder=cast(Any, SimpleNamespace(local=False))),
        replace(JUDGE, language="german"),
    ],
    ids=["not calibrated", "remote", "other language"],
)
def test_without_a_measure_no_word_is_named(judge: Judge) -> None:
    question = read("Which country has the highest rural literacy?")
    assert not UnusedWords(judge).of_figures(question, ["Literacy: total"], "")


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("How much was spent on medics in January?", []),
        ("How much was spent on nurses in January?", ["nurses"]),
        ("Combien d'infirmiers en janvier ?", []),
    ],
)
def test_rows_have_all_telling_words_of_a_question(
    question: str, words: list[str]
) -> None:
    row = Chunk("a", "d", "r.csv", "Costs", "Month: 2024-01; Item: Doctors; Spend: 9")
    assert list(WORDS.of_rows(read(question), [row])) == words
