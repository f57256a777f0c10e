"""Cutting at the best borders: nothing lost, nothing too long, nothing empty (R-B2)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbot.chunkers.borders import clauses, lines, paragraphs, words
from chatbot.chunkers.splitting import Splitter

ALL = (paragraphs, lines, clauses, words)
TEXTS = st.text(alphabet="ab .;!\n\té", max_size=120)
SIZES = st.integers(1, 40)


def spans(text: str, size: int) -> list[tuple[int, int]]:
    return list(Splitter(text, lambda start, end: (end - start) / size).split(ALL))


def pieces(text: str, size: int) -> list[str]:
    return [text[start:end] for start, end in spans(text, size)]


@given(TEXTS, SIZES)
def test_spans_cover_all_but_white_space_in_order_and_fit(text: str, size: int) -> None:
    position = 0
    for start, end in spans(text, size):
        assert position <= start < end
        assert text[position:start].strip() == ""
        assert text[start:end] == text[start:end].strip()
        assert end - start <= size
        position = end
    assert text[position:].strip() == ""


@given(TEXTS)
def test_what_fits_stays_whole(text: str) -> None:
    assert pieces(text, 200) == ([text.strip()] if text.strip() else [])


CASES = {
    "paragraphs first": ("aaa bbb\n\nccc ddd", 8, ["aaa bbb", "ccc ddd"]),
    "paragraphs are filled up": ("aa\n\nbb\n\ncccc", 7, ["aa\n\nbb", "cccc"]),
    "then lines": ("aaa bbb\nccc ddd", 8, ["aaa bbb", "ccc ddd"]),
    "then sentences": ("Aaa bb. Ccc dd. Ee", 8, ["Aaa bb.", "Ccc dd.", "Ee"]),
    "then words": ("aaa bbb ccc", 7, ["aaa bbb", "ccc"]),
    "a hard cut at last": ("abcdefgh", 3, ["abc", "def", "gh"]),
    "only the long part is cut further": ("short\n\nlonger words here", 12, ["short", "longer words", "here"]),
    "what is left of it is not joined with the next": ("aaa bbb ccc\n\ndd", 8, ["aaa bbb", "ccc", "dd"]),
    "nothing": ("  \n\n ", 5, []),
}


@pytest.mark.parametrize(("text", "size", "expected"), CASES.values(), ids=CASES)
def test_borders_are_tried_from_the_best_to_the_worst(text: str, size: int, expected: list[str]) -> None:
    assert pieces(text, size) == expected


def test_any_measure_of_size_will_do() -> None:
    """Tokens, not characters: at most two words a piece."""
    text = "one two three four five"
    found = Splitter(text, lambda start, end: len(text[start:end].split()) / 2).split((words,))
    assert [text[start:end] for start, end in found] == ["one two", "three four", "five"]


KEPT = {
    "at the end of a line": ("Head\nLong line here", 12, ["Head\nLong", "line here"]),
    "before a text without spaces": ("Head\nabcdefghij", 8, ["Head\nabc", "defghij"]),
    "also where the cut would be white space": ("Head\nabcdefghij", 5, ["Head", "abcde", "fghij"]),
}


@pytest.mark.parametrize(("text", "size", "expected"), KEPT.values(), ids=KEPT)
def test_a_heading_goes_with_what_is_below_it(text: str, size: int, expected: list[str]) -> None:
    found = Splitter(text, lambda start, end: (end - start) / size, keep={4}).split(ALL)
    assert [text[start:end] for start, end in found] == expected


def test_overlapping_cuts_around_white_space_each_have_text_of_their_own() -> None:
    text = "Head\nabc"
    found = Splitter(text, lambda start, end: (end - start) / 2, lambda start, end: end - start, keep={4}).split(ALL)
    assert [text[start:end] for start, end in found] == ["He", "ea", "ad", "ab", "bc"]
