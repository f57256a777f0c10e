"""Words and sentences, as the keyword search, the extractive answers and the citation check know them."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING

import Stemmer

from .errors import SettingsError

if TYPE_CHECKING:
    from .schema import Quotation

WORD_PATTERN = re.compile(r"\w+")
LETTERS_PATTERN = re.compile(r"[^\W\d_]+")
YEAR_PATTERN = re.compile(r"\b(?:19|20)\d\d\b")
_TERM = re.compile(r"\w+(?:[.,]\d+)*")
"""A word, or a number with its decimals."""
_COMPOUND = re.compile(r"\b\w*?(?:[a-z0-9][A-Z]|_)\w*")
_SEAM_HINT = re.compile(r"[a-z0-9][A-Z]|_")
_SEAM = re.compile(r"_+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])[\"'”’)\]]*\s+(?=[\"'“‘(\[]*[A-Z0-9À-ÞЀ-Я])|\n+")
_SIGN = re.compile(r"[!-/:-@\[-`{-~]")
_ABBREVIATION = re.compile(
    r"(?:\b(?:Dr|Mr|Mrs|Ms|Prof|St|vs|etc|est|approx|incl|No|Gen|Lt|Col|Maj|Capt|Gov|Sen|Rep|Fig|Vol|ca|pp?|e\.g|i\.e"
    r"|Jan|Feb|Aug|Sept?|Oct|Nov|Dec)|\b[A-Z]|\([a-z])\.$"
)
_GAP = re.compile(r"\s{2,}")
LONGEST_ABBREVIATION = 12
"""Characters to look back for one: over the whole sentence, a page of initials took minutes."""

_STOP_WORDS: dict[str, frozenset[str]] = {
    language: frozenset(words.split())
    for language, words in tomllib.loads(files(__package__).joinpath("stop_words.toml").read_text("utf-8")).items()
}
_TURKISH_CAPITALS = {ord("İ"): "i", ord("I"): "ı"}
"""The dot is part of the letter; Python's lower() makes of "İ" an i and a dot of its own, which ends the word."""
_ENGLISH = _STOP_WORDS["english"]
_FOREIGN = [words - _ENGLISH for name, words in _STOP_WORDS.items() if name != "english"]
LANGUAGES = sorted(_STOP_WORDS)
"""Languages with both a Snowball stemmer and a stop-word list."""


class Analyzer:
    """Text to index terms: lower-cased words, stop words dropped, stemmed by language (Snowball)."""

    def __init__(self, language: str) -> None:
        if language not in LANGUAGES:
            raise SettingsError(f"LANGUAGE={language!r} is not supported. Valid: {', '.join(LANGUAGES)}.")
        self._stem = Stemmer.Stemmer(language).stemWords
        self._stop_words = _STOP_WORDS[language]
        self._capitals = _TURKISH_CAPITALS if language == "turkish" else {}

    def terms(self, text: str) -> list[str]:
        """Index terms in text order. A number keeps its decimals: 2.09 is one term.

        A compound such as maxRetries or max_retries is found whole and by its parts, like Lucene's WordDelimiterGraph
        with the original preserved (measured on questions about code: benchmarks/README.md).
        """
        if _SEAM_HINT.search(text):  # most texts have none, and looking is cheaper than replacing
            text = _COMPOUND.sub(lambda compound: f"{compound[0]} {_SEAM.sub(' ', compound[0])}", text)
        # Letters and their accents as one character: apart (NFD, as some PDFs have them) they end a word.
        text = unicodedata.normalize("NFC", text).translate(self._capitals).lower()
        words = [word for word in _TERM.findall(text) if word not in self._stop_words]
        stems: list[str] = self._stem(words)
        return stems


@lru_cache(maxsize=8)
def analyzer(language: str) -> Analyzer:
    """The analyzer of a language, made once. Raises SettingsError for a language that is not supported."""
    return Analyzer(language)


def sentences(text: str) -> list[str]:
    """Sentences and lines, stripped, in order. Abbreviations and initials do not end one."""
    found: list[str] = []
    start = 0
    for match in _SENTENCE_END.finditer(text):
        near = max(start, match.start() - LONGEST_ABBREVIATION)
        if "\n" not in match.group() and _ABBREVIATION.search(text, near, match.start()):
            continue
        if text[start : match.start()].strip():
            found.append(text[start : match.end()].strip())
        start = match.end()
    if tail := text[start:].strip():
        found.append(tail)
    return found


def estimate_tokens(text: str) -> int:
    """A model-independent estimate, cheap, rather too high than too low; never below the words.

    By what a text consists of: letters are merged into words, digits by threes, signs hardly ever, and a letter
    beyond ASCII costs by its bytes (measured against MiniLM's, cl100k's and o200k's tokens, benchmarks/README.md).
    """
    ascii_only = len(text.encode("ascii", "ignore"))
    beyond = len(text.encode("utf-8", "surrogatepass")) - ascii_only
    digits = sum(map(text.count, "0123456789"))
    signs = len(_SIGN.findall(text))
    parts = 22 * (ascii_only - digits - signs) + 50 * digits + 85 * signs + 42 * beyond
    return max(parts // 100, text.count(" ")) + 1


@lru_cache(maxsize=256)
def is_foreign(text: str) -> bool:
    """Whether it has several small words of another language, and more of them than English ones.

    The rules for names and clauses know English: "Kenia und Somalia" names two countries, of which they see one.
    """
    words = set(_TERM.findall(text.lower()))
    english = len(words & _ENGLISH)
    return any(len(words & others) > max(1, english) for others in _FOREIGN)


def is_written_in(text: str, language: str) -> bool:
    """Whether the text has small words of this language, and no more of another."""
    words, small_words = set(_TERM.findall(text.lower())), _STOP_WORDS[language]
    others = (len(words & (other_words - small_words)) for other_words in _STOP_WORDS.values())
    return len(words & small_words) >= max(1, *others)


def count_of(count: int, noun: str) -> str:
    """The noun as it is said of so many: "1 report", "2 searches", "1,200 countries"."""
    if count != 1:
        noun = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}es" if noun.endswith("ch") else f"{noun}s"
    return f"{count:,} {noun}"


def quotation_markdown(quotation: Quotation) -> str:
    """Markdown of a quotation with its citation."""
    return f"“{escape_markdown(quotation.text)}” [{quotation.number}]"


def quotation_item(quotation: Quotation) -> str:
    """A quotation as an item of a list, with the place it comes from."""
    return f"- **{escape_markdown(quotation.where)}:** {quotation_markdown(quotation)}"


def evenly_spaced(text: str) -> str:
    """Each run of white space as one: a space, or the end of a line or a paragraph, where it holds that.

    For what people type, before the rules read it: on a run of 1,600 spaces one of their regular expressions took 50 s,
    and no other thread runs meanwhile.
    """
    return _GAP.sub(lambda gap: "\n\n"[: gap[0].count("\n")] or " ", text)


def escape_markdown(text: str) -> str:
    """The text on one line that Markdown shows as it is: text from documents must not become Markdown of ours."""
    text = " ".join(text.split())
    for mark in "\\`*_[]<>|#":
        text = text.replace(mark, f"\\{mark}")
    return text
