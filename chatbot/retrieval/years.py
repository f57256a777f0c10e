"""Where a question names years, and whether it asks for their reports: "in 2023", not "the 2010 constitution"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice

from ..schema import Condition, Range, Values
from .figures import FIGURE

MOST = 30
"""Years of each form that are looked at; a question is about fewer."""
_I = re.IGNORECASE
_YEAR = r"(?<![\d.,$€£/-])((?:19|20)\d\d)(?![\d%]|[.,]\d)"
_RANGE = re.compile(
    rf"(?:\b(?:from|between)\s+)?{_YEAR}\s*(?:-|–|to|until|till|through|and)\s*((?:19|20)\d\d|\d\d)(?![\d%]|[.,]\d)", _I
)
_SINCE = re.compile(rf"\bsince\s+{_YEAR}", _I)
_SINGLE = re.compile(_YEAR)
_AMOUNT_AFTER = re.compile(
    r"^\s*(?:people|persons|inhabitants|troops|soldiers|refugees|deaths|cases|km|kilomet\w+|m\b|met(?:re|er)s?|miles?|kg|tons?"
    r"|tonnes?|mw\b|gwh?\b|hectares?|usd|dollars?|euros?|percent|per\b|calories|us\$|years|times|million|billion)",
    _I,
)
_AMOUNT_BEFORE = re.compile(
    r"(?:\b(?:more|less|fewer|other) than|\b(?:approximately|roughly|nearly|almost|exactly|over|usd|us\$))\s*$", _I
)
EDITION = (
    r"(?:(?:country|annual|yearly|cia|world)\s+)*(?:reports?|editions?|reviews?|year[- ]in[- ]review|factbooks?"
    r"|yearbooks?|overviews?|versions?|issues?|publications?|data|figures?|numbers?|ones?)"
)
"""A pattern for what has a year as its name."""
_EVENT = (
    r"(?:election|constitution|census|coup|war|earthquake|cyclone|hurricane|flood|crisis|peace|agreement|accord|treaty"
    r"|referendum|genocide|pandemic|drought|famine|law|act|budget|olympic|world cup|uprising|revolution|protest|attack"
    r"|plan|strategy|vision|goal|target|agenda|protocol|convention|summit|vote|bombing|invasion|ceasefire)\w*"
)
_EVENT_AFTER = re.compile(rf"^\s+(?:\w+\s+){{0,2}}?{_EVENT}\b", _I)
_OF = r"(?=\W*$|[?.!,;:)]|\s+(?:of|in|for|at|by|as|to|is|are|was|were|and|or|from|with|than|vs|versus|compared?)\b)"
"""What follows a figure that is asked for: "the 2020 debt restructuring" is another thing."""
_OTHER_THING = re.compile(rf"^\s+(?!(?:{EDITION}|{FIGURE}{_OF}|for|from|with|than|versus|compared?)\b)[a-z]{{3,}}", _I)
_AND = r"\s*(?:[,&/]|\b(?:and|or|vs\.?|versus|with|to)(?!\w))\s*(?:(?:and|or)\s+)?(?:the\s+)?"
_MORE_YEARS = re.compile(rf"^(?:{_AND}(?:19|20)\d\d\b)+", _I)
_YEARS_BEFORE = re.compile(rf"(?:\b(?:19|20)\d\d{_AND})+$", _I)
"""Years in a list share what stands before and behind it: "the 2021 and 2023 reports"."""
_ITS = re.compile(r"(?:\b(?:the|its|their|his|her|this|that)|['’]s)\s+$", _I)
_HAPPENED = re.compile(
    r"\b(?:born|died|founded|established|created|signed|adopted|elected|appointed|invaded|attacked|happened|occurred|began"
    r"|begun|started|ended|gained|independen\w+|became|became|overthr\w+|withdrew|joined|left|launched|declared|ratified"
    r"|built|completed|opened|killed|won|introduced|passed|seized|took|came|fell|fled|held|merged|split|united|abolished"
    r"|promulgated|est\.?|in the wake of|coup|war|uprising|revolution|earthquake|genocide|independence)\b",
    _I,
)
_MONTH = re.compile(
    r"\b(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\.?,?\s*$",
    _I,
)
_ASIDE_BEFORE = re.compile(
    r"\b(?:by|before|after|until|till|compar(?:ed|ison)\s+(?:with|to)|(?:than|unlike)(?:\s+in)?|as in|est\.?)\s+$",
    _I,
)
_ESTIMATED = re.compile(r"^\s*(?:est\b|estimates?\b|census\b|/)", _I)


@dataclass(frozen=True, slots=True)
class NamedYears:
    """A year, or a range of which one end may be open."""

    gte: int
    lte: int | None
    start: int
    end: int
    is_subject: bool

    @property
    def text(self) -> str:
        if self.lte is None:
            return f"{self.gte} and later"
        return str(self.gte) if self.gte == self.lte else f"{self.gte} to {self.lte}"

    @property
    def condition(self) -> Condition:
        return Values((self.gte,)) if self.gte == self.lte else Range(self.gte, self.lte)


def find_years(text: str) -> list[NamedYears]:
    """In text order. "Last year" is not resolved: nobody knows from when the question is."""
    found: list[NamedYears] = []
    for match in islice(_RANGE.finditer(text), MOST):
        first, last = int(match[1]), match[2]
        ended = int(last) if len(last) == 4 else first // 100 * 100 + int(last)
        joins = "and" in match[0].lower() and "between" not in match[0].lower()
        if first < ended and not joins:
            found.append(_years(text, first, ended, match))
    for pattern in (_SINCE, _SINGLE):
        for match in islice(pattern.finditer(text), MOST):
            if not any(known.start < match.end() and match.start() < known.end for known in found):
                year = int(match[1])
                found.append(_years(text, year, None if pattern is _SINCE else year, match))
    return sorted(found, key=lambda years: years.start)


def _years(text: str, first: int, last: int | None, match: re.Match[str]) -> NamedYears:
    return NamedYears(first, last, match.start(), match.end(), _is_subject(text, match.start(), match.end()))


def _is_subject(text: str, start: int, end: int) -> bool:
    sentence_start = max(text.rfind(mark, 0, start) for mark in "?!\n") + 1
    before, after = text[sentence_start:start], text[end:]
    if _AMOUNT_AFTER.search(after) or _AMOUNT_BEFORE.search(before) or _MONTH.search(before):
        return False
    if _ASIDE_BEFORE.search(before) or _ESTIMATED.search(after) or _EVENT_AFTER.search(_MORE_YEARS.sub("", after)):
        return False
    if _ITS.search(_YEARS_BEFORE.sub("", before)) and _OTHER_THING.search(_MORE_YEARS.sub("", after)):
        return False
    clause = before[max(before.rfind(mark) for mark in ",;:(") + 1 :]
    return not _HAPPENED.search(clause)
