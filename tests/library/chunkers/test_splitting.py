"""Cutting at the best borders: nothing lost, nothing too long, nothing empty; overlaps in whole pieces (R-B2)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbot import language
from chatbot.library.chunkers.splitting import (
    Border,
    Span,
    Splitter,
    clauses,
    lines,
    pack,
    paragraphs,
    sentences,
    whole,
    words,
)

BORDERS: list[Border] = [whole, paragraphs, lines, clauses, sentences, words]
BORDER_TEXTS = st.text(alphabet="aB .;!?\n\t\u00a0é\"'", max_size=80)


def parted(border: Border, text: str) -> list[str]:
    return [text[start:end] for start, end in border(text, 0, len(text))]


@pytest.mark.parametrize("border", BORDERS)
@given(text=BORDER_TEXTS, start=st.integers(0, 80), end=st.integers(0, 80))
def test_pieces_are_stripped_and_nothing_is_lost(border: Border, text: str, start: int, end: int) -> None:
    start, end = min(start, len(text)), min(end, len(text))
    position = start
    for left, right in border(text, start, end):
        assert position <= left < right <= end
        assert text[left:right] == text[left:right].strip()
        assert text[position:left].strip() == ""
        position = right
    assert text[position:end].strip() == ""


PARTED = {
    "paragraphs": (paragraphs, "a b\nc\n \t\nd\n\n\n\ne", ["a b\nc", "d", "e"]),
    "lines": (lines, "a b\n c \n\nd", ["a b", "c", "d"]),
    "clauses": (clauses, "Coal 5%; gas 3.5%. Who? Dr. X!", ["Coal 5%;", "gas 3.5%.", "Who?", "Dr.", "X!"]),
    "sentences": (sentences, "Dr. X came. He left; then. A\nlist", ["Dr. X came.", "He left; then.", "A", "list"]),
    "words": (words, "a  b\u00a0c\n\nd", ["a", "b", "c", "d"]),
}


@pytest.mark.parametrize(("border", "text", "expected"), PARTED.values(), ids=PARTED)
def test_what_parts_parted(border: Border, text: str, expected: list[str]) -> None:
    assert parted(border, text) == expected


@given(BORDER_TEXTS)
def test_sentences_are_those_of_answers_and_citations(text: str) -> None:
    assert parted(sentences, text) == language.sentences(text)


def test_equal_sentences_have_places_of_their_own() -> None:
    assert list(sentences("No. Yes. Yes. Yes.", 8, 18)) == [(9, 13), (14, 18)]


def packed(lengths: list[int], size: int, overlap: int = 0) -> list[Span]:
    """Pieces of these lengths, one after the other."""
    starts = [sum(lengths[:n]) for n in range(len(lengths))]
    ends = [start + length for start, length in zip(starts, lengths, strict=True)]
    shared = (lambda start, end: (end - start) / overlap) if overlap else None
    return list(pack(starts, ends, size=lambda start, end: (end - start) / size, overlap=shared))


def one_by_one(lengths: list[int], size: int, overlap: int) -> list[Span]:
    """The same, tried piece by piece."""
    ends = [sum(lengths[: n + 1]) for n in range(len(lengths))]
    starts = [0, *ends[:-1]]
    found: list[Span] = []
    first, new = 0, 0
    while new < len(lengths):
        last = max(n for n in range(new, len(lengths)) if ends[n] - starts[first] <= size)
        found.append((starts[first], ends[last]))
        first, new = last + 1, last + 1
        while new < len(lengths) and starts[first - 1] > found[-1][0]:
            if ends[last] - starts[first - 1] > overlap or ends[new] - starts[first - 1] > size:
                break
            first -= 1
    return found


@given(st.lists(st.integers(1, 20), max_size=60), st.integers(20, 100), st.integers(0, 99))
def test_the_search_finds_what_trying_every_piece_finds(lengths: list[int], size: int, overlap: int) -> None:
    overlap = min(overlap, size - 1)
    assert packed(lengths, size, overlap) == one_by_one(lengths, size, overlap)


def test_the_overlap_gives_way_to_the_next_piece() -> None:
    """It counts inside the size."""
    assert packed([4, 4, 9], size=10, overlap=5) == [(0, 8), (8, 17)]
    assert packed([4, 4, 6], size=10, overlap=5) == [(0, 8), (4, 14)]


def test_few_tries_are_needed() -> None:
    tries = 0

    def size(start: int, end: int) -> float:
        nonlocal tries
        tries += 1
        return (end - start) / 1000

    found = list(pack(range(10**6), range(1, 10**6 + 1), size=size, overlap=None))
    assert len(found) == 1000
    assert tries < 5 * len(found)


ALL = (paragraphs, lines, clauses, words)
TEXTS = st.text(alphabet="ab .;!\n\té", max_size=120)
SIZES = st.integers(1, 40)


def spans(text: str, size: int) -> list[Span]:
    return list(Splitter(text, lambda start, end: (end - start) / size).split(ALL))


def pieces(text: str, size: int) -> list[str]:
    return [text[start:end] for start, end in spans(text, size)]


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
