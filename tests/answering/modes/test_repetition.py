"""A report says nothing twice, and loses nothing that is said once (R-A6)."""

import pytest

from chatbot.answering.writers.repetition import WrittenSentences
from chatbot.language.analysis import analyzer
from tests.data import cases

CASES = cases(__file__)

DROUGHT = (
    "About 5.4 million people were acutely food insecure in Kenya between March and "
    "June 2023 [1]."
)


@pytest.fixture
def said() -> WrittenSentences:
    return WrittenSentences(analyzer("english"))


def second(said: WrittenSentences, first: str, then: str) -> str:
    """What is left of a second section."""
    assert said.without_repetition(first) == first
    return said.without_repetition(then)


@pytest.mark.parametrize(("first", "then"), CASES["repeated"])
def test_the_same_in_other_words_is_taken_out(
    said: WrittenSentences, first: str, then: str
) -> None:
    assert second(said, first, then) == ""


@pytest.mark.parametrize(("first", "then"), CASES["new"])
def test_what_differs_in_what_it_says_stays(
    said: WrittenSentences, first: str, then: str
) -> None:
    assert second(said, first, then) == then


def test_a_quotation_goes_as_one(said: WrittenSentences) -> None:
    quoted = f"The report says: \u201c{DROUGHT} The harvest failed.\u201d [1]"
    assert second(said, quoted, f"{quoted} {DROUGHT}") == ""


@pytest.mark.parametrize(
    ("text", "left"), CASES["layout"].values(), ids=CASES["layout"]
)
def test_what_stays_keeps_its_layout(
    said: WrittenSentences, text: str, left: str
) -> None:
    assert second(said, DROUGHT, text) == left
