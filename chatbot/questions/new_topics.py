"""What a follow-up asks for by itself: its own topic, or only a part or a comparison of the one before."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .english import pattern, words
from .exchange import Words
from .names import NamedCountry

POINTS_BACK = pattern(r"\b{points_back}\b")
FIGURE = pattern(r"\b{figure}")
COMPARING = pattern(r"\b{comparing}\b")
"""What was asked before is one side, the names here are the other: "Compare it with Mali"."""
OF_A_COUNTRY = pattern(r"\b{of_a_country}(?!\w)")
_THEIR = pattern(r"\b(?:their|they)\b")
_LEADS_TO_TOPIC = pattern(r"^\W*(?:{leads_to_topic}\b\W*)+")
_OF_THE_SAME = pattern(r"\s*,?\s*\b{of_the_same}(?=\s*(?:$|[?.!,]))")
_WHOSE = pattern(r"\b(?:its|their)\s+(?={figure})")
_OWNED = pattern(r"^(?:its|their)\s+")
_MORE_OR_LESS = pattern("{more_or_less}")
_NO_TOPIC = pattern(r"^\W*{no_topic}\b|^\W*$")
_DEPENDENT_WORDS = words("dependent_words")
_PLACE = re.compile(r"^(?:[A-Z][a-z]+\s*)+$")
"""A name behind "and": of a place, whose topic is the one before."""


def new_topic(query: str, meaning: Words) -> str:
    """What a message of a few words asks for, as a noun: "inflation" of "And their inflation?"; "" where it is none.

    ``meaning``: the words of a text that have one of their own; "and the causes?" has one that needs more.
    """
    rest = _OF_THE_SAME.sub("", _LEADS_TO_TOPIC.sub("", query, count=1)).strip(" ?.!")
    rest = _OWNED.sub("", rest)
    if _NO_TOPIC.search(rest) or POINTS_BACK.search(rest) or any(mark in rest for mark in "?!\n"):
        return ""
    if _LEADS_TO_TOPIC.match(query) and _PLACE.match(rest):
        return ""
    return "" if all(map(_is_dependent, meaning(rest))) else rest


def is_of_figure(query: str) -> bool:
    """Whether a whole question names the figure that it asks for: "And how high is its inflation?"."""
    rest = _OF_THE_SAME.sub("", _LEADS_TO_TOPIC.sub("", query, count=1))
    if POINTS_BACK.search(_WHOSE.sub("", rest)):
        return False
    words = {word for figure in FIGURE.findall(rest) for word in figure.lower().split()}
    return not all(map(_is_dependent, words - {"the", "its", "their"}))


def is_of_country(query: str, about: Sequence[NamedCountry], meaning: Words) -> bool:
    """Whether it says what it asks, and takes nothing but whose it is: "How long is its coast?".

    ``about``: the countries before; of one alone "their" may as well be of the parties or farmers asked about.
    """
    rest = OF_A_COUNTRY.sub(" ", query)
    if rest == query or POINTS_BACK.search(rest):
        return False
    is_of_several = len(about) > 1 or any(country.by_people for country in about)
    asked = meaning(COMPARING.sub(" ", rest))
    return (is_of_several or not _THEIR.search(query)) and not all(map(_is_dependent, asked))


def _is_dependent(word: str) -> bool:
    """Whether a word says nothing without the thing that it belongs to: "and the causes?", "and for men?"."""
    return word.lower() in _DEPENDENT_WORDS or _MORE_OR_LESS.fullmatch(word) is not None or not word[0].isalpha()
