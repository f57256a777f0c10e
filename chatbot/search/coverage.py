"""How much of a question passages have: its telling words, its numbers, and a number
where it asks for one. Names, titles, headings and years of a passage count as its text.
"""

import re
from collections.abc import Callable, Iterable, Sequence

from ..domain import Chunk
from ..domain.scope import NamedCountry, Reading
from ..language.analysis import WORD_PATTERN
from ..language.country_names import keys_in
from ..language.figures import ONES, SCALES
from ..questions.kinds import FRACTIONS
from ..questions.operations import asks_for_number
from ..questions.telling_words import telling_words
from .indicators import STEM_CHARACTERS
from .weights import read_weight

__all__ = [
    "NUMBER_PATTERN",
    "has_all",
    "lacks_number",
    "missing_numbers",
    "missing_words",
    "names_outside",
    "texts_of",
]

MIN_WORDS = int(read_weight("coverage.words"))
NUMBER_PATTERN = re.compile(r"\d+(?:[.,]\d+)*")
_PERIOD = re.compile(r"\b((?:19|20)\d\d)\s?[-–/]\s?(?:19|20)?(\d\d)\b")
_NUMBER_WORDS = frozenset().union(ONES, SCALES, FRACTIONS, ("no", "none", "zero"))


def missing_words(
    words: Iterable[str], texts: Iterable[str], terms: Callable[[str], Sequence[str]]
) -> list[str]:
    """Return the words that no text has: that begin as none of its words does."""
    present = {term[:STEM_CHARACTERS] for text in texts for term in terms(text)}
    missing = []
    for word in words:
        stems = {term[:STEM_CHARACTERS] for term in terms(word)}
        if stems and present.isdisjoint(stems):
            missing.append(word)
    return missing


def missing_numbers(question: Reading, texts: Iterable[str]) -> list[str]:
    """Return the numbers of several digits that no text has: years, codes, amounts. A
    single digit may say how many are wanted.
    """
    present = set(_numbers("\n".join(texts)))
    asked = dict.fromkeys(_numbers(_PERIOD.sub(_without_end, question.text)))
    return [number for number in asked if len(number) > 1 and number not in present]


def _numbers(text: str) -> list[str]:
    return [number.replace(",", "") for number in NUMBER_PATTERN.findall(text)]


def _without_end(period: re.Match[str]) -> str:
    """Return the first of two years in a row, as "2020-21" is written "2020/2021" as
    well; all else as it is: "2024-05" is a month.
    """
    first, second = period.groups()
    is_of_two_years = (int(first) + 1) % 100 == int(second)
    return first if is_of_two_years else period[0]


def lacks_number(question: Reading, text: str) -> bool:
    """Return whether a question asks how many or how much, and a text has neither a
    figure nor a word for a number.
    """
    if not asks_for_number(question.text):
        return False
    for word in WORD_PATTERN.findall(text.lower()):
        # "P1" is a name.
        if word in _NUMBER_WORDS or word[0].isdecimal():
            return False
    return True


def has_all(
    question: Reading, chunk: Chunk, terms: Callable[[str], Sequence[str]]
) -> bool:
    """Return whether a passage has all telling words and numbers of a question."""
    words = telling_words(question)
    texts = texts_of(chunk)
    if len(words) < MIN_WORDS or lacks_number(question, chunk.text):
        return False
    return not (missing_words(words, texts, terms) or missing_numbers(question, texts))


def names_outside(countries: Sequence[NamedCountry], texts: Iterable[str]) -> list[str]:
    """Return the countries that no text names, as the question names them."""
    if not countries:
        return []
    keys = keys_in("\n".join(texts))
    return [named.text for named in countries if keys.isdisjoint(named.keys)]


def texts_of(chunk: Chunk) -> list[str]:
    """Return what a passage says, and what names it."""
    return [chunk.document_name, chunk.search_text, str(chunk.year or "")]
