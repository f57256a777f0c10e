"""Years that are named by others: "the latest report", "the last two editions", "two years earlier".

Editions are those that the data has of what is asked about; years of figures count from one that the question, or the
conversation before it, names.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from ..domain.reading import NamedYears
from .english import NUMBERS, pattern
from .names import MOST, find_years

_EDITIONS = pattern(
    r"\b(?:(?P<before>{number})\s+)?(?:(?P<newest>{newest})|(?P<previous>{previous})|(?P<oldest>{oldest})|{next})\s+"
    r"(?:(?P<count>{number})\s+)?(?:(?!{no_noun}\b|the\b|(?:year|month|week)\b)[\w'’-]+\s+){0,2}"
    r"(?:{edition_noun}|review|version|yearbook)(?P<several>s)?\b"
)
_FIGURES = pattern(
    r"\b(?:(?P<count>{number}|an?|the)\s+years?\s+(?:(?P<down>before|earlier|previously|prior)|after|afterwards|later)"
    r"|the\s+(?:(?P<last>previous|preceding|prior)|{next})\s+year)\b(?:\s+than)?"
    r"(?:\s+(?:that|this|it|{year}))?(?!\s+(?:the|its|an?|his)\b|(?-i:\s+[A-Z]))"
)


@dataclass(frozen=True, slots=True)
class RelativeYears:
    """``step``: years to add to those of a reference; of editions so many from the newest (below 0) or oldest on.

    ``beside``: of the editions only those before or behind the reference.
    """

    start: int
    end: int
    of_report: bool
    step: int
    beside: bool = True

    def among(self, editions: Sequence[int], reference: int | None) -> NamedYears | None:
        """The years meant, counted among ``editions``; None where there is no such edition, or nothing to count
        from.
        """
        if not self.of_report:
            return None if reference is None else self._named([reference + self.step])
        known = sorted(editions)
        if self.beside and known:
            border = known[-1] if reference is None else reference
            known = [year for year in known if (year < border if self.step < 0 else year > border)]
        return self._named(known[self.step :] if self.step < 0 else known[: self.step])

    def _named(self, years: Sequence[int]) -> NamedYears | None:
        if not years:
            return None
        return NamedYears(years[0], years[-1], self.start, self.end, is_subject=True, of_report=self.of_report)


def relative_years(text: str, editions: Sequence[int]) -> list[NamedYears]:
    """The relative years of a text in its order, each counted from the last year of its kind before it."""
    named, found = find_years(text), list[NamedYears]()
    for one in find_relative_years(text):
        before = [years.gte for years in named if years.start < one.end and years.of_report == one.of_report]
        if years := one.among(editions, before[-1] if before else None):
            found.append(years)
    return found


def find_relative_years(text: str) -> list[RelativeYears]:
    """The years that the text names relative to others ("last year"), in text order; at most `MOST` of a kind."""
    found = [*map(_of_editions, islice(_EDITIONS.finditer(text), MOST))]
    found += map(_of_figures, islice(_FIGURES.finditer(text), MOST))
    return sorted(found, key=lambda one: one.start)


def _of_editions(match: re.Match[str]) -> RelativeYears:
    is_back = bool(match["newest"] or match["previous"])
    is_beside = not (match["newest"] or match["oldest"])
    count = _number(match["before"] or match["count"]) or (MOST if is_beside and match["several"] else 1)
    return RelativeYears(match.start(), match.end(), True, -count if is_back else count, is_beside)


def _of_figures(match: re.Match[str]) -> RelativeYears:
    count = _number(match["count"]) or 1
    return RelativeYears(match.start(), match.end(), False, -count if match["down"] or match["last"] else count)


def _number(written: str | None) -> int:
    """0 for an article, and where nothing is written."""
    return NUMBERS.get((written or "").lower(), 0) or (int(written) if written and written.isdecimal() else 0)
