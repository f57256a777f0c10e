"""The type of answer that a question asks for, and whether a statement has one: a share, a country, somebody's name.

Known in question answering as the expected answer type (Li and Roth, "Learning Question Classifiers", 2002). Vectors
hardly tell "the countries that supply its imports" from "the goods that it imports"; the form of what is said does.
English; of a question in another language nothing is known.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_BRACKETS = re.compile(r"\([^()]*\)")
"""Mostly the year of a figure, or where it is from."""


@dataclass(frozen=True, slots=True)
class AnswerType:
    """``asks`` is found in the question, ``says`` in what answers it; not in its ``brackets``, where that is False."""

    asks: re.Pattern[str]
    says: re.Pattern[str]
    brackets: bool = True

    def is_said(self, text: str) -> bool:
        """Whether a statement has something of this type."""
        return self.says.search(text if self.brackets else _BRACKETS.sub("", text)) is not None


def _type(asks: str, says: str, *, brackets: bool = True) -> AnswerType:
    return AnswerType(re.compile(asks, re.IGNORECASE), re.compile(says), brackets)


ANSWER_TYPES = (
    _type(r"\b(?:share|percent(?:age)?|proportion|fraction|how much of|what part of)\b", r"\d ?(?:%|percent)"),
    _type(
        r"\b(?:which|what) (?:\w+ )?(?:countries|nations|states)\b|\bneighbou?rs\b"
        r"|\bwho (?:buys?|purchases?|suppl(?:y|ies)|sells?)\b"
        r"|\b(?:(?:ex|im)port|trad(?:e|ing)) (?:partner|market|destination|supplier|source)s?\b",
        r"\b[A-Z][a-z]+[^a-zA-Z]+[A-Z][a-z]+",
    ),
    _type(r"\bwho(?:m|se)?\b", r"\b[A-Z][\w'’.-]{0,30} (?:[\w'’.-]{1,30} ){0,4}[A-Z]{2,}|\b[A-Z][a-z]+ [A-Z][a-z]+"),
    _type(r"\b(?:when|what year|which year)\b", r"\b(?:1[5-9]|20)\d\d\b"),
    _type(
        r"\b(?:what|which) (?:goods|products|commodities|crops|minerals|resources|items|things)\b"
        r"|\b(?:main|major|chief|key|principal|top|biggest|largest|most important) (?:ex|im)ports?\b"
        r"|\bwhat (?:do|does|did) .*\b(?:export|import|produce|grow|make|sell|buy|mine)\b",
        r"^(?:[^,;\d$]+, ){2}",
        brackets=False,
    ),
    _type(
        r"\bhow (?:many|much|large|big|high|long|old|tall|deep|far|fast)\b"
        r"|\b(?:number|size|amount) of\b|\b(?:rate|ratio)\b",
        r"\d",
        brackets=False,
    ),
    _type(r"\bwhat(?:'s|’s| is| was)\b|\bcalled\b", r"^name: "),
)
"""The first whose words are in the question counts."""


def answer_type(question: str) -> AnswerType | None:
    """The type of answer that a question asks for; None where its words do not tell."""
    return next((one for one in ANSWER_TYPES if one.asks.search(question)), None)
