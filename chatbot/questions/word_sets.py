"""Questions for the countries whose reports say something, or do not say it: "Which
countries export coffee?".
"""

import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from ..domain.scope import Reading
from ..language.analysis import TERM_PATTERN, analyzer
from .english import pattern
from .kinds import (
    Request,
    kinds_of_countries,
    without_countries_asked_for,
    words_for_countries,
)
from .reading import NEUTRAL_WORDS, SHARE_WORDS, asking_clause, remove_names
from .sides import COMPARES

_MEMBERS = {"member", "members"}
"""Countries, as words for what they belong to have it."""
_NEGATION = pattern(r"\b{negation}\b")
_CLAUSE_END = pattern(
    r"[,;:]\s|\s(?:but|yet|{restates})\s|\s(?:and|or)\s(?=(?:\w+\s)?{negation}\b)"
)
_OF_A_THING = re.compile(
    r"^\W*where\b(?!\W+(?:is|are|else|do people)\b)", re.IGNORECASE
)
"""Asks where something happened: "Where does the name come from?"."""
_IDLE = pattern(r"\b(?:{seeks}|which ones|{main_item}|{idle_of_sets})\b")


@dataclass(frozen=True, slots=True)
class WordSet:
    """``words``: those that say what a report has to state, by their terms; countries
    by their keys ("border Chad"). ``negated``: the terms of those that it must not
    state, as the clause denies them. ``is_list``: it asks for countries in so many
    words, not by "who" or "where".
    """

    words: Mapping[str, str]
    negated: frozenset[str] = frozenset()
    is_list: bool = True

    def in_words(self, terms: AbstractSet[str]) -> str:
        """Return the words of some terms, of all where there are none."""
        words = [word for term, word in self.words.items() if term in terms]
        return " ".join(words or self.words.values())


def read_word_set(reading: Reading, request: Request) -> WordSet | None:
    """Return the set that a question asks for; None where it asks for none, or for one
    by figures.
    """
    if reading.about or reading.document or reading.figure_years:
        return None
    reading = asking_clause(reading)
    plain = remove_names(reading.text, reading.names)
    if not _may_ask_for_set(plain, request):
        return None
    words = {name.keys[0]: name.text for name in reading.countries}
    negated: set[str] = set()
    start = 0
    borders = [match.end() for match in _CLAUSE_END.finditer(reading.text)]
    for end in [*borders, len(reading.text)]:
        names = [name for name in reading.names if start <= name.start < end]
        text = remove_names(reading.text[:end], names)[start:]
        said = _words_of_clause(text)
        words |= said
        if _NEGATION.search(text):
            negated.update(said)
            negated.update(name.keys[0] for name in reading.countries if name in names)
        start = end
    is_list = without_countries_asked_for(plain) != plain
    return WordSet(words, frozenset(negated), is_list)


def _may_ask_for_set(text: str, request: Request) -> bool:
    """Return whether a text without names may ask for countries by words alone."""
    bound = request.bound
    by_figures = bound is not None and (bound.exact or bound.value or bound.of)
    if by_figures or request.kind not in {"value", "count", "filter"}:
        return False
    if not words_for_countries(text, of_all=True) or COMPARES.search(text):
        return False
    return _OF_A_THING.search(text) is None


def _words_of_clause(text: str) -> dict[str, str]:
    """Return the words of a clause that say what a report has to state, by their
    terms. ``text``: without names.
    """
    kinds = kinds_of_countries(text)
    clause = " ".join([*kinds, without_countries_asked_for(text)])
    words: dict[str, str] = {}
    for word in TERM_PATTERN.findall(_NEGATION.sub(" ", _IDLE.sub(" ", clause))):
        if word.lower() not in NEUTRAL_WORDS | SHARE_WORDS | _MEMBERS:
            words |= dict.fromkeys(analyzer("english").terms(word), word)
    return words
