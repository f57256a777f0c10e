"""The words of a text, and its index terms: stemmed by language, without stop words."""

import re
import unicodedata
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from math import ceil

import Stemmer

from ..domain.errors import SettingsError, read_table
from .characters import folded

WORD_PATTERN = re.compile(r"\w+")
LETTERS_PATTERN = re.compile(r"[^\W\d_]+")
YEAR_PATTERN = re.compile(r"\b(?:19|20)\d\d(?![^\W⁰¹²³⁴-⁹])")
TERM_PATTERN = re.compile(r"\w+(?:[.,]\d+)*")
"""A word, or a number with its decimals."""
_COMPOUND = re.compile(r"\b\w*?(?:[a-z0-9][A-Z]|_)\w*")
_SEAM_HINT = re.compile(r"[a-z0-9][A-Z]|_")
_SEAM = re.compile(r"_+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
MIN_SHARED_CHARACTERS, SHARED_OF_STEM = 5, 0.75
"""What two stems of one word begin with: so many letters, and such a share."""
KEPT_SHORT_TEXTS, MAX_SHORT_CHARACTERS = 16_384, 100
"""Words, headings and phrases recur in questions: their terms are kept, some 5 MB."""

STOP_WORDS: dict[str, frozenset[str]] = {
    language: frozenset(words.split())
    for language, words in read_table(__package__, "stop_words").items()
}
_TURKISH_CAPITALS = {ord("İ"): "i", ord("I"): "ı"}
"""Python's lower() splits "İ" into an i and a separate dot, which would end the
word.
"""
LANGUAGES = sorted(STOP_WORDS)
"""Languages with both a Snowball stemmer and a stop-word list."""


class Analyzer:
    """Turns text into index terms: lower-case words without stop words, stemmed by
    language (Snowball).
    """

    def __init__(self, language: str) -> None:
        if language not in LANGUAGES:
            raise SettingsError(
                f"LANGUAGE={language!r} is not supported. Valid: "
                f"{', '.join(LANGUAGES)}."
            )
        # Without its cache, which numbers of tables displace again and again.
        self._stem = Stemmer.Stemmer(language, 0).stemWords
        self._stop_words = STOP_WORDS[language]
        self._letters = {
            ord(sign): " " for sign in "⁰¹²³⁴⁵⁶⁷⁸⁹"
        }  # marks of notes: "Collections¹"
        self._letters |= _TURKISH_CAPITALS if language == "turkish" else {}
        self._terms_of_short = lru_cache(KEPT_SHORT_TEXTS)(self._terms_of)

    def terms(self, text: str) -> list[str]:
        """Return the index terms in text order. A number keeps its decimals: 2.09 is
        one term. A compound such as maxRetries or max_retries gives itself and its
        parts, like Lucene's WordDelimiterGraph with the original preserved (measured on
        questions about code: benchmarks/README.md).
        """
        return list(
            self._terms_of_short(text)
            if len(text) <= MAX_SHORT_CHARACTERS
            else self._terms_of(text)
        )

    def _terms_of(self, text: str) -> Sequence[str]:
        if _SEAM_HINT.search(
            text
        ):  # most texts have none, and looking is cheaper than replacing
            text = _COMPOUND.sub(
                lambda compound: f"{compound[0]} {_SEAM.sub(' ', compound[0])}", text
            )
        # An accent that is a character of its own (NFD, in some PDFs) would end a word.
        text = unicodedata.normalize("NFC", folded(text))
        text = text.translate(self._letters).lower()
        words = [
            word for word in TERM_PATTERN.findall(text) if word not in self._stop_words
        ]
        stems: Sequence[str] = self._stem(words)
        return stems


@lru_cache(65_536)
def _are_alike(term: str, other: str) -> bool:
    longest = max(len(term), len(other))
    needed = max(MIN_SHARED_CHARACTERS, ceil(SHARED_OF_STEM * longest))
    return longest > needed and term[:needed] == other[:needed]


def has_term(terms: AbstractSet[str], term: str) -> bool:
    """Return whether a term is among others, or a stem of the same word: "produc" and
    "product", not "visit" and "visitor".
    """
    return term in terms or any(_are_alike(term, other) for other in terms)


@lru_cache(maxsize=8)
def analyzer(language: str) -> Analyzer:
    """Return the analyzer of a language, made once. Raises SettingsError for a language
    that is not supported.
    """
    return Analyzer(language)
