"""The years in a text: those of figures ("in 2023") and those of editions ("the 2023 report", "the latest edition")."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

from ..domain.reading import NamedYears
from .english import NUMBERS, pattern

MOST_YEARS = 30
"""Years of each form that are read; a question is about fewer."""
_RANGE = pattern(
    r"(?:\b(?:from|between)\s+)?{year}\s*(?:-|–|to|until|till|through|and)\s*((?:19|20)\d\d|\d\d)(?![\d%]|[.,]\d)"
)
_SINCE = pattern(r"\bsince\s+(?:the\s+)?{year}")
_SINGLE = pattern("{year}")
_MORE_YEARS = pattern(r"^(?:{and_year}(?:19|20)\d\d\b)+")
_YEARS_BEFORE = pattern(r"(?:\b(?:19|20)\d\d{and_year})+$")
"""Years in a list share what stands before and behind it: "the 2021 and 2023 reports"."""
_REPORT_AFTER = pattern(r"^(?:['’]s)?\s+(?:{report}|(?:(?!{no_noun}\b|the\b)[\w'’-]+\s+){1,2}{edition_noun})\b")
_REPORT_BEFORE = pattern(
    r"\b{report}(?:\s+(?:on|about|for|of)(?-i:(?:\s+(?:the|of|and))*\s+[A-Z][\w'’-]*){1,4})?[\s:(]+"
    r"(?:{published}\s+(?:in\s+)?|(?:of|for|from)\s+)?(?:the\s+)?$"
)
_EDITIONS = pattern(
    r"\b(?:(?P<before>{number})\s+)?(?:(?P<newest>{newest})|(?P<previous>{previous})|(?P<oldest>{oldest}))\s+"
    r"(?:(?P<count>{number})\s+)?(?:(?!{no_noun}\b|the\b|(?:year|month|week)\b)[\w'’-]+\s+){0,2}"
    r"(?:{edition_noun}|review|version|yearbook)(?P<several>s)?\b"
)


def find_years(text: str) -> list[NamedYears]:
    """Return the years written in a text, in its order. "Last year" is not resolved."""
    found: list[NamedYears] = []
    for match in islice(_RANGE.finditer(text), MOST_YEARS):
        first, last = int(match[1]), match[2]
        ended = int(last) if len(last) == 4 else first // 100 * 100 + int(last)
        joins = "and" in match[0].lower() and "between" not in match[0].lower()
        if first < ended and not joins:
            found.append(_years(text, first, ended, match))
    for form in (_SINCE, _SINGLE):
        for match in islice(form.finditer(text), MOST_YEARS):
            if not any(known.start < match.end() and match.start() < known.end for known in found):
                year = int(match[1])
                found.append(_years(text, year, None if form is _SINCE else year, match))
    return sorted(found, key=lambda years: years.start)


def _years(text: str, first: int, last: int | None, match: re.Match[str]) -> NamedYears:
    start, end = match.start(), match.end()
    before, after = _YEARS_BEFORE.sub("", text[:start]), _MORE_YEARS.sub("", text[end:])
    of_report = _REPORT_AFTER.match(after) is not None or _REPORT_BEFORE.search(before) is not None
    return NamedYears(first, last, start, end, of_report)


def names_editions(text: str) -> bool:
    """Return whether a text names editions by their order: "the latest report"."""
    return _EDITIONS.search(text) is not None


def relative_editions(text: str, editions: Sequence[int]) -> list[NamedYears]:
    """Return the years of "the latest report", "the last two editions" and the like, counted among ``editions``.

    "The previous report" is the one before the newest, or before an edition that the text names first.
    """
    known, found = sorted(editions), list[NamedYears]()
    named = [years for years in find_years(text) if years.of_report]
    for match in islice(_EDITIONS.finditer(text), MOST_YEARS):
        inside = known
        if match["previous"] and known:
            border = next((years.gte for years in reversed(named) if years.start < match.end()), known[-1])
            inside = [year for year in known if year < border]
        every = MOST_YEARS if match["previous"] and match["several"] else 1
        count = _number(match["before"] or match["count"]) or every
        if chosen := inside[:count] if match["oldest"] else inside[-count:]:
            found.append(NamedYears(chosen[0], chosen[-1], match.start(), match.end(), True))
    return found


def _number(written: str | None) -> int:
    """0 where nothing is written."""
    return NUMBERS.get((written or "").lower(), 0) or (int(written) if written and written.isdecimal() else 0)
