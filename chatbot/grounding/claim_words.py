"""The words of the citation check as data (`claims.toml`): patterns, lists of words, units."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import lru_cache

import Stemmer

from ..questions.english import RuleWords

_RULES = RuleWords(__package__, "claims.toml")
pattern, words = _RULES.pattern, _RULES.words
UNITS: dict[str, dict[str, Decimal]] = {
    measure: {spelling: Decimal(size) for spelling, size in spellings.items()}
    for measure, spellings in _RULES.tables["units"].items()
}
_STEM = Stemmer.Stemmer("english").stemWord


def stems(name: str) -> frozenset[str]:
    """The words of one list, as `stem` has them. Raises KeyError."""
    return frozenset(map(stem, words(name)))


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """The stem of a word, without apostrophes: "Kenya's" is "kenya", "didn't" is "didnt"."""
    bare = re.sub(r"['’]s?$", "", word.lower())
    return str(_STEM(re.sub("['’]", "", bare)))
