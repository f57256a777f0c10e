"""Where a text can be cut: pieces with nothing but white space between them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbot import text as language
from chatbot.chunkers.borders import Border, clauses, lines, paragraphs, sentences, whole, words

BORDERS: list[Border] = [whole, paragraphs, lines, clauses, sentences, words]
TEXTS = st.text(alphabet="aB .;!?\n\t\u00a0é\"'", max_size=80)


def pieces(border: Border, text: str) -> list[str]:
    return [text[start:end] for start, end in border(text, 0, len(text))]


@pytest.mark.parametrize("border", BORDERS)
@given(text=TEXTS, start=st.integers(0, 80), end=st.integers(0, 80))
def test_pieces_are_stripped_and_nothing_is_lost(border: Border, text: str, start: int, end: int) -> None:
    start, end = min(start, len(text)), min(end, len(text))
    position = start
    for left, right in border(text, start, end):
        assert position <= left < right <= end
        assert text[left:right] == text[left:right].strip()
        assert text[position:left].strip() == ""
        position = right
    assert text[position:end].strip() == ""


CASES = {
    "paragraphs": (paragraphs, "a b\nc\n \t\nd\n\n\n\ne", ["a b\nc", "d", "e"]),
    "lines": (lines, "a b\n c \n\nd", ["a b", "c", "d"]),
    "clauses": (clauses, "Coal 5%; gas 3.5%. Who? Dr. X!", ["Coal 5%;", "gas 3.5%.", "Who?", "Dr.", "X!"]),
    "sentences": (sentences, "Dr. X came. He left; then. A\nlist", ["Dr. X came.", "He left; then.", "A", "list"]),
    "words": (words, "a  b\u00a0c\n\nd", ["a", "b", "c", "d"]),
}


@pytest.mark.parametrize(("border", "text", "expected"), CASES.values(), ids=CASES)
def test_what_parts_pieces(border: Border, text: str, expected: list[str]) -> None:
    assert pieces(border, text) == expected


@given(TEXTS)
def test_sentences_are_those_of_answers_and_citations(text: str) -> None:
    assert pieces(sentences, text) == language.sentences(text)


def test_equal_sentences_have_places_of_their_own() -> None:
    assert list(sentences("No. Yes. Yes. Yes.", 8, 18)) == [(9, 13), (14, 18)]
