"""Reads a question in another language in pieces: its names, years and numbers, the
phrases that say what is wanted, and the words of its topic.

`phrases.csv` has the phrases, a column a language: "#" stands for a number, "@" for a
year. The row without English lists words that ask for nothing.
"""

import csv
import re
from collections.abc import Container
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

import Stemmer

from ..domain.scope import NamedCountry, NamedGroup, Reading
from ..domain.tables import Texts
from ..language.analysis import STOP_WORDS
from ..language.countries import normalise, usual_name
from ..language.figures import figures, unify_signs
from ..language.groups import split_words

__all__ = ["CODES", "Piece", "read_pieces", "telling_keys", "word_keys"]

CODES = {
    **{"spanish": "es", "french": "fr", "portuguese": "pt", "arabic": "ar"},
    **{"german": "de", "italian": "it", "dutch": "nl", "russian": "ru"},
    **{"turkish": "tr", "swedish": "sv", "danish": "da", "norwegian": "no"},
}
"""ISO 639-1 codes of languages whose words can be told apart. `phrases.csv` has columns
for the first four.
"""
_TOKEN = re.compile(r"\d{1,3}(?: \d{3})+(?!\d)|\d[\d.,٬٫]*\d|\d|[^\W\d_]+|[#@%٪]")
_YEAR = re.compile(r"(?:19|20)\d\d")
_ARABIC_LEAD = re.compile("^(?:[وف]?[بك]?ال|[وف]?لل)(?=..)")
_ARABIC_END = re.compile("(?<=...)(?:ات|ون|ين|يه|ية|ه|ة|ي)$")
_AND = "و"
"""Arabic writes "and" together with the word behind it."""
_ENDING = re.compile("(?<=...)[aeio]+s?$")


@dataclass(frozen=True, slots=True)
class Piece:
    """``english``: what it says; "" for a word of the topic. ``keys``: its words, as
    `word_key` has them; none of a name or number.
    """

    text: str
    english: str = ""
    keys: Texts = ()
    is_name: bool = False


@lru_cache(maxsize=16384)
def word_key(word: str, language: str) -> str:
    """Return what the forms of a word have in common: no accent, article or ending."""
    # Signs for numbers stay as they are.
    plain = normalise(word) or word
    if language == "arabic":
        return _ARABIC_END.sub("", _ARABIC_LEAD.sub("", plain))
    return _ENDING.sub("", _stemmer(language).stemWord(plain))


@lru_cache(maxsize=16)
def _stemmer(language: str) -> Stemmer.Stemmer:
    return Stemmer.Stemmer(language)


@dataclass(frozen=True, slots=True)
class _Phrases:
    """The English of each phrase of a language, by its keys, and its ``idle`` words,
    normalised: "para" is one, "paro" is not.
    """

    english: dict[Texts, str]
    idle: frozenset[str]
    longest: int


@lru_cache(maxsize=16)
def _phrases(language: str) -> _Phrases:
    english: dict[Texts, str] = {}
    idle = set(map(normalise, STOP_WORDS.get(language, ())))
    text = files(__package__).joinpath("phrases.csv").read_text("utf-8")
    for row in csv.DictReader(text.splitlines()):
        for phrase in split_words(row.get(CODES[language], "")):
            keys = tuple(word_key(word, language) for word in _TOKEN.findall(phrase))
            if row["english"] or len(keys) > 1:
                english.setdefault(keys, row["english"])
            else:
                idle.add(normalise(phrase))
    return _Phrases(english, frozenset(idle), max(map(len, english), default=1))


def word_keys(text: str, language: str) -> frozenset[str]:
    """Return the keys of all words of a text."""
    return frozenset(word_key(word, language) for word in _TOKEN.findall(text))


def telling_keys(text: str, language: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the keys of the words of a text that ask for something, and those of all
    its words.
    """
    telling: set[str] = set()
    every: set[str] = set()
    for word in _TOKEN.findall(text):
        key = word_key(word, language)
        every.add(key)
        if not _is_idle(word, language):
            telling.add(key)
    return frozenset(telling), frozenset(every)


@lru_cache(maxsize=16384)
def _is_idle(word: str, language: str) -> bool:
    return normalise(word) in _phrases(language).idle


def read_pieces(reading: Reading, language: str, known: Container[str]) -> list[Piece]:
    """Return the pieces of a question, in its order, without words that ask for
    nothing. ``known``: the keys of the words of the glossary.
    """
    pieces: list[Piece] = []
    start = 0
    names: list[NamedCountry | NamedGroup] = [*reading.countries, *reading.groups]
    for name in sorted(names, key=lambda named: named.start):
        pieces += _plain_pieces(reading.text[start : name.start], language, known)
        if language == "arabic" and name.text.startswith(_AND):
            pieces.append(Piece(_AND, "and"))
        pieces.append(Piece(name.text, _english_name(name), is_name=True))
        start = name.end
    return pieces + _plain_pieces(reading.text[start:], language, known)


def _english_name(name: NamedCountry | NamedGroup) -> str:
    if isinstance(name, NamedGroup):
        return name.group.name
    try:
        return usual_name(*name.keys)
    except (KeyError, TypeError):
        # A country that ISO 3166 does not have, or the short name of two.
        return name.text


def _plain_pieces(text: str, language: str, known: Container[str]) -> list[Piece]:
    """Return the pieces of a text without names, the longest phrase at each place."""
    phrases = _phrases(language)
    words: list[str] = []
    for word in _TOKEN.findall(text):
        is_joined = language == "arabic" and word[0] == _AND and len(word) > 1
        is_one = word_key(word, language) in known and not _is_idle(word[1:], language)
        if is_joined and not is_one:
            words += [_AND, word[1:]]
        else:
            words.append(word)
    pieces: list[Piece] = []
    while words:
        for count in range(min(phrases.longest, len(words)), 0, -1):
            piece = _phrase(words[:count], language)
            if piece is not None:
                break
        else:
            piece = Piece(words[0], keys=(word_key(words[0], language),))
            if normalise(words[0]) in phrases.idle:
                piece = Piece("")
        if piece.text:
            pieces.append(piece)
        del words[:count]
    return pieces


def _phrase(words: list[str], language: str) -> Piece | None:
    """Return what exactly these words say in English, or None. A number alone says
    itself.
    """
    text = " ".join(words)
    numbers = [_number(word, language) for word in words if not word.isalpha()]
    if len(words) == 1 and numbers:
        return Piece(text, numbers[0])
    english = _phrases(language).english
    for sign in "@#":
        keys = tuple(_key_or_sign(word, sign, language) for word in words)
        if keys in english:
            said = english[keys]
            for number in numbers:
                said = re.sub("[#@]", number, said, count=1)
            return Piece(text if said else "", said, keys)
    return None


def _key_or_sign(word: str, sign: str, language: str) -> str:
    if word.isalpha():
        return word_key(word, language)
    is_year = _YEAR.fullmatch(unify_signs(word)) is not None
    return sign if is_year or sign == "#" else word


def _number(text: str, language: str) -> str:
    """Return a number as English writes it, without groups: 1.234,5 is 1234.5."""
    text = unify_signs(text)
    read = figures(text, comma=language != "arabic")
    if text.isdigit() or not read or not read[0].values:
        return text
    return f"{min(read[0].values):f}"
