"""Index terms, sentences and the token estimate."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbot.language import analyzer, estimate_tokens, evenly_spaced, is_foreign, sentences

TERMS = {
    "What is the Population Growth RATE of the countries?": ["popul", "growth", "rate", "countri"],
    "elections Election ELECTIONS": ["elect", "elect", "elect"],
    "2.09% of 52,428,290 in 2023.": ["2.09", "52,428,290", "2023"],
    "buildToDocker": ["buildtodock", "build", "docker"],
    "max_retries": ["max_retri", "max", "retri"],
    "HTTPServerError": ["httpservererror", "http", "server", "error"],
    "Argon2Factory": ["argon2factori", "argon2", "factori"],
    "_emphasis_": ["_emphasis_", "emphasi"],
    "GDP and NGOs in 2023": ["gdp", "ngos", "2023"],
    "COVID-19": ["covid", "19"],
}


@pytest.mark.parametrize(("text", "expected"), TERMS.items(), ids=TERMS)
def test_terms_are_lower_case_stemmed_and_without_stop_words(text: str, expected: list[str]) -> None:
    """R-B5. A number keeps its decimals and groups; a compound is found whole and by its parts."""
    assert analyzer("english").terms(text) == expected


def test_stop_words_and_stems_follow_the_language() -> None:
    """R-B5, LANGUAGE."""
    assert analyzer("german").terms("die Häuser und das Haus") == ["haus", "haus"]
    assert "und" in analyzer("english").terms("die und das")


@given(st.text())
def test_terms_never_fail_and_are_never_empty(text: str) -> None:
    assert all(analyzer("english").terms(text))


SENTENCES = {
    "two": ("It rose. It fell.", ["It rose.", "It fell."]),
    "question and exclamation": ("Why? Look! Here.", ["Why?", "Look!", "Here."]),
    "decimals": ("It grew by 2.09% in 2023. Then 1.9%.", ["It grew by 2.09% in 2023.", "Then 1.9%."]),
    "abbreviation": ("Dr. Ruto won. He took office.", ["Dr. Ruto won.", "He took office."]),
    "years of a reign": ("King (r. 1953-99) ruled. He died.", ["King (r. 1953-99) ruled.", "He died."]),
    "a month": ("Polls open on Dec. 12 (see p. 3). Go.", ["Polls open on Dec. 12 (see p. 3).", "Go."]),
    "initials": ("J. F. Kennedy spoke. All heard.", ["J. F. Kennedy spoke.", "All heard."]),
    "lower case after a full stop": ("The est. value holds.", ["The est. value holds."]),
    "closing quote": ("He said “no.” She left.", ["He said “no.”", "She left."]),
    "lines": ("total: 5\nland: 4\n\nwater: 1", ["total: 5", "land: 4", "water: 1"]),
    "an abbreviation at the end of a line": ("about 5 est.\nNext line", ["about 5 est.", "Next line"]),
    "nothing": ("  \n ", []),
}


@pytest.mark.parametrize(("text", "expected"), SENTENCES.values(), ids=SENTENCES)
def test_sentences(text: str, expected: list[str]) -> None:
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


COUNTED = {
    "prose": ("The economy of Kenya is the largest in eastern and central Africa, and agriculture leads it.", 18, 18),
    "figures": ("Population: 52,428,290 (2023 est.); growth 2.09%, GDP $113.42 billion, -5.4% of GDP", 35, 34),
    "table": ("| Kenya | 2023 | 1,234.56 | 52,428,290 | 2.09% | -0.35 |", 29, 32),
    "Chinese": ("世界银行的报告指出，肯尼亚的人口增长率", 20, 13),
    "Thai": ("รายงานของธนาคารโลก", 1, 7),
    "Arabic": ("يشير تقرير البنك الدولي", 20, 5),
    "Russian": ("Согласно докладу Банка", 18, 7),
}
"""A text, and its tokens as MiniLM's and as o200k's tokenizer count them."""


@pytest.mark.parametrize(("text", "minilm", "o200k"), COUNTED.values(), ids=COUNTED)
def test_the_token_estimate_is_close_to_what_tokenizers_count(text: str, minilm: int, o200k: int) -> None:
    assert 0.85 * max(minilm, o200k) <= estimate_tokens(text) <= 3.5 * max(minilm, o200k)


@given(st.text(), st.text())
def test_more_text_never_has_fewer_tokens(text: str, more: str) -> None:
    assert estimate_tokens(text + more) >= estimate_tokens(text) >= 1


@pytest.mark.parametrize(
    ("text", "foreign"),
    [
        ("Vergleiche die Ernährungsunsicherheit in Kenia und in Somalia", True),
        ("Comparez l'insécurité alimentaire au Kenya et en Somalie", True),
        ("¿Cuál es la población de Perú y de Chile?", True),
        ("Was ist die Hauptstadt von Mali?", True),
        ("What is the population of El Salvador and La Paz?", False),
        ("Kenya vs Mali inflation", False),
        ("COMPARE THE GROWTH OF KENYA AND SOMALIA", False),
        ("", False),
    ],
)
def test_another_language_is_known_by_its_small_words(text: str, foreign: bool) -> None:
    assert is_foreign(text) is foreign


def test_runs_of_space_are_one() -> None:
    texts = ("a b\nc", "a  \t b", "a \n b", "a\r\n \r\n\nb", "a" + " " * 10**6 + "b")
    assert list(map(evenly_spaced, texts)) == ["a b\nc", "a b", "a\nb", "a\n\nb", "a b"]
