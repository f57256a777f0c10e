"""Whether a question counts people, or what they are or have."""

import re

from ..language.analysis import LETTERS_PATTERN, analyzer
from .english import pattern
from .reading import NEUTRAL_WORDS

_COUNTED_PEOPLE = pattern(r"\b{counted_people}\b")
_PEOPLE = re.compile(
    r"\b(?:people|persons|inhabitants|live[sd]?|living)\b", re.IGNORECASE
)
_OF_AN_AGE = re.compile(
    r"\b(?:children|kids|youngsters|adults|elderly|old|young|aged?|years|population)\b",
    re.IGNORECASE,
)
SAY_NOTHING = NEUTRAL_WORDS - {"longer", "shorter"}
"""Those of a figure, unlike those of an answer, are measured."""


def says_people(topic: str) -> bool:
    """Return whether a topic counts people, and says no more of them."""
    without = _PEOPLE.sub(" ", topic)
    return without != topic and says_nothing(without)


def without_counted_people(topic: str) -> str:
    """Return a topic without the people that it counts, where it says what they are or
    have: "How many people are hungry?". Headings name that, and people in others.
    """
    without = _COUNTED_PEOPLE.sub("how many", topic)
    if says_nothing(_PEOPLE.sub(" ", without)):
        return topic
    return without


def says_nothing(topic: str) -> bool:
    """Return whether a topic has only words that any figure answers."""
    words = set(map(str.lower, LETTERS_PATTERN.findall(topic))) - SAY_NOTHING
    return not analyzer("english").terms(" ".join(words))


def says_no_more_of_people(topic: str) -> bool:
    """Return whether a topic has only words for people, also for those of some age."""
    return says_nothing(_OF_AN_AGE.sub(" ", _PEOPLE.sub(" ", topic)))
