"""Follow-up questions that ask for something else of the same countries and years: "and inflation?".

Their words are enough; those of the topic before would outweigh them in a search. The rules know English.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from ..retrieval.clauses import ended
from ..retrieval.figures import FIGURE, is_dependent
from ..retrieval.names import joined
from ..retrieval.referring import with_name
from .pointing_back import POINTS_BACK

_I = re.IGNORECASE
_LEAD = re.compile(
    r"^\W*(?:(?:what about|how about|(?:is it |is that )?(?:the )?same (?:again )?(?:for|with|on|about)|and|but|also|or"
    r"|so|then|now|ok|okay|got it|thanks?|thank you|i see|wow|yes|no|sorry|please|i mean|i meant|besides|for|of|on"
    r"|about|regarding)\b\W*)+",
    _I,
)
_OF_THE_SAME = re.compile(
    r"\s*,?\s*\b(?:too|also|as well|instead|please|again"
    r"|(?:of|in|for|between) (?:both|each|them|all of them|these|those|the (?:two|same))"
    r"(?: (?:two|countr\w+|ones?|years?))?)(?=\s*(?:$|[?.!,]))",
    _I,
)
"""Says of whom it is asked: of those before."""
_WHOSE = re.compile(rf"\b(?:its|their)\s+(?={FIGURE})", _I)
_OWNED = re.compile(r"^(?:its|their)\s+", _I)
_FIGURE = re.compile(rf"\b(?:{FIGURE})", _I)
_NO_THING = re.compile(
    r"^\W*(?:in|at|by|per|with|without|from|to|among|since|until|during|before|after|compared|versus|vs"
    r"|unlike|including|excluding|between|because|if|when|while|than|as"
    r"|not|you|i|we|it|they|he|she|are|is|was|were|do|does|did|has|have|can|could|will|would|should|how|why|where|who"
    r"|what|which|tell|give|list|show|describe|explain|summari[sz]e|compare)\b|^\W*$",
    _I,
)
"""Begins what adds to the question before, or is a sentence."""
_PLACE = re.compile(r"^(?:[A-Z][a-z]+\s*)+$")
"""A name behind "and": of a place, whose topic is the one before."""
Words = Callable[[str], Sequence[str]]


def thing(query: str, words: Words) -> str:
    """What a message of a few words asks for, as a noun: "inflation" of "And their inflation?"; "" where it is none.

    ``words``: those of a text that have a meaning of their own; "and the causes?" has one that needs more.
    """
    rest = _OF_THE_SAME.sub("", _LEAD.sub("", query, count=1)).strip(" ?.!")
    rest = _OWNED.sub("", rest)
    if _NO_THING.search(rest) or POINTS_BACK.search(rest) or any(mark in rest for mark in "?!\n"):
        return ""
    if _LEAD.match(query) and _PLACE.match(rest):
        return ""
    return "" if all(map(is_dependent, words(rest))) else rest


def is_of_figures(text: str) -> bool:
    """Whether a question asks for a figure that reports have; of "floods" the deaths are none of their own."""
    return _FIGURE.search(text) is not None


def is_of_a_figure(query: str) -> bool:
    """Whether a whole question names the figure that it asks for: "And how high is its inflation?"."""
    rest = _OF_THE_SAME.sub("", _LEAD.sub("", query, count=1))
    if POINTS_BACK.search(_WHOSE.sub("", rest)):
        return False
    words = {word for figure in _FIGURE.findall(rest) for word in figure.lower().split()}
    return not all(map(is_dependent, words - {"the", "its", "their"}))


def asked_of(asked: str, countries: Sequence[str], years: Sequence[str], *, compared: bool) -> str:
    """A thing as a question about these countries and years."""
    asked = f"compare {asked}" if compared else asked
    for names in filter(None, (joined(countries), joined(years))):
        asked = with_name(asked, names)
    return ended(asked)
