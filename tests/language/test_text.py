"""Index terms, sentences and the token estimate."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbot.language.analysis import analyzer
from chatbot.language.characters import evenly_spaced, folded
from chatbot.language.counts import count_of, estimate_tokens
from chatbot.language.detection import is_foreign
from chatbot.language.sentences import sentences
from tests.data import cases

CASES = cases(__file__)


@pytest.mark.parametrize(
    ("text", "expected"), CASES["terms_are_lower_case_stemmed_and_without_stop_words"]
)
def test_terms_are_lower_case_stemmed_and_without_stop_words(
    text: str, expected: list[str]
) -> None:
    """R-B5. A number keeps its decimals and groups; a compound is found whole and by
    its parts.
    """
    assert analyzer("english").terms(text) == expected


def test_stop_words_and_stems_follow_the_language() -> None:
    """R-B5, LANGUAGE."""
    assert analyzer("german").terms("die Häuser und das Haus") == ["haus", "haus"]
    assert "und" in analyzer("english").terms("die und das")


@given(st.text())
def test_terms_never_fail_and_are_never_empty(text: str) -> None:
    assert all(analyzer("english").terms(text))


@pytest.mark.parametrize(("text", "expected"), CASES["sentences"])
def test_a_text_is_split_into_sentences(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@given(st.text(alphabet="aB .?!\n\"”'1é"))
def test_sentences_lose_no_character_but_white_space(text: str) -> None:
    found = sentences(text)
    assert "".join("".join(found).split()) == "".join(text.split())
    assert all(sentence == sentence.strip() != "" for sentence in found)


def test_the_token_estimate_is_never_below_the_words() -> None:
    assert estimate_tokens("") == 1
    assert estimate_tokens("a b c d e") == 5
    assert estimate_tokens("word " * 100) >= 100


COUNTED = CASES["counted"]
"""A text, and its tokens as MiniLM's and as o200k's tokenizer count them."""


@pytest.mark.parametrize(("text", "minilm", "o200k"), COUNTED.values(), ids=COUNTED)
def test_the_token_estimate_is_close_to_what_tokenizers_count(
    text: str, minilm: int, o200k: int
) -> None:
    assert (
        0.85 * max(minilm, o200k) <= estimate_tokens(text) <= 3.5 * max(minilm, o200k)
    )


@given(st.text(), st.text())
def test_more_text_never_has_fewer_tokens(text: str, more: str) -> None:
    assert estimate_tokens(text + more) >= estimate_tokens(text) >= 1


@pytest.mark.parametrize(
    ("text", "foreign"), CASES["another_language_is_known_by_its_small_words"]
)
def test_another_language_is_known_by_its_small_words(text: str, foreign: bool) -> None:
    assert is_foreign(text) is foreign


def test_runs_of_space_are_one() -> None:
    texts = ("a b\nc", "a  \t b", "a \n b", "a\r\n \r\n\nb", "a" + " " * 10**6 + "b")
    assert list(map(evenly_spaced, texts)) == ["a b\nc", "a b", "a\nb", "a\n\nb", "a b"]


@pytest.mark.parametrize(
    ("count", "noun", "said"),
    [
        (1, "key", "1 key"),
        (0, "key", "0 keys"),
        (2, "country", "2 countries"),
        (1200, "search", "1,200 searches"),
    ],
)
def test_a_count_has_its_noun(count: int, noun: str, said: str) -> None:
    assert count_of(count, noun) == said


FOLDED = {
    "e\ufb03ciency of \ufb01ne pumps": "efficiency of fine pumps",
    "\uff11\uff12\uff13 \uff41\uff42": "123 ab",
    "\u0664\u0665 \u06f4\u06f5": "45 45",
    "\ufefb": "\u0644\u0627",
    "CO\u2082, km\u00b2, 2023\u2074, \u00bd": "CO\u2082, km\u00b2, 2023\u2074, \u00bd",
}


@pytest.mark.parametrize(("printed", "typed"), FOLDED.items())
def test_forms_of_presentation_are_searched_as_people_type_them(
    printed: str, typed: str
) -> None:
    assert folded(printed) == typed
    assert analyzer("english").terms(printed) == analyzer("english").terms(typed)
