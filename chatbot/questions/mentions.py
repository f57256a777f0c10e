"""What a question names: countries and years, each as what it is about or in passing ("imports from France").

Whether it is about a country is decided by rules over the words before and after the name. Where none decides, the name
counts as passing: an answer that was not asked for can be seen and scoped, a question that is refused by mistake cannot
be answered at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from ..countries import country_code
from ..protocols import Catalog
from ..schema import Scope, Value
from .english import pattern
from .names import MOST, NamedCountry, NamedYears, country_key, find_countries, find_years
from .relative_years import find_relative_years, relative_years

COUNTRY = "country_name"
YEAR = "year"
LABEL_WORDS = 3
LONGEST_WORD = 40
_REFERS = pattern(r"\b{nameless}\b")
_SENTENCE_END = re.compile(r"[?!]+\s*|\.\s+(?=[A-Z])|\n+")
_CLAUSE_END = pattern(r"[,;:()–—]|\s-\s|\band\s+(?=(?:{wh}|{auxiliary})\b)")
_HEAD = pattern(
    r"^\W*(?:(?:and|but|or|so|then|please|in|on|of|at|to|from|by|for)\s+)*"
    r"(?:{wh}|{auxiliary}|{tell})\b"
)
_SUBORDINATE = pattern(r"^\W*(?:where|when)\b")
_LABEL = pattern(r"(?:\b{label}\b|['’]s\b|[\d\W_])*")
_GOES_ON = pattern(r"^\W*(?:and|or)\s+(?:in|for|of|about)\b")
_ASIDE = pattern(r"\b{aside}\b")
_ABOUT = pattern(r"\b{about}\s+{wider}$")
_ELSEWHERE = pattern(
    r"\b{elsewhere_in}\s+(?:\w+\s+)?in\s+(?:the\s+)?$"
    r"|\ban?\s+(?:\w+\s+)?{someones}\s+of\s+(?:the\s+)?$|\b{beside}\s+of\s+(?:the\s+)?$"
    r"|\b{elsewhere_on}\s+(?:up)?on\s+(?:the\s+)?$|\b(?:visas?|market|route|transit)\s+for\s+$"
)
"""Words that make "in", "of", "on" or "for" say something of somebody else."""
_OPENED = pattern(
    r"(?:^|\b(?:{auxiliary}|when|where|why|how|describe|summari[sz]e|explain|show|list|compare|whether|and|or|but|so"
    r"|then|me|between|countries border))\s*(?:on\s+)?{wider}$"
)
_RELATION = pattern(r"\b{related}\s+{wider}$")
_COMPARES = pattern(
    r"^\W*(?:(?:please\s+)?compare|how (?:do|does|did) (?!(?:it|this|that|they|these)\b).*\bcompare"
    r"|.*\bdifferences?\s+between)\b"
)
_VERB = pattern(r"\b(?:{wh}|{auxiliary}|{tell}|be|been)\b")
_ASKS = pattern(r"^\W*(?:please\s+)?(?:{tell}|find|i want)\b")
_CONJUNCTION = pattern(r"\b(?:and|or|vs|versus)\b|[&/]")
_JOINED = pattern(r"(?:['’]s)?\s*(?:,|,?\s*(?:and|or|&|/|vs\.?|versus)|\+|/)\s*(?:the\s+|in\s+)?")
_PEOPLE_ELSEWHERE = pattern(r"^\s*{people_elsewhere}\b")


@dataclass(frozen=True, slots=True)
class Mentions:
    """``about``: the countries that are the subject, ``countries`` all of them.

    ``years``: those of reports ("the 2023 edition"), ``figure_years``: those of figures ("in 2023"); only subjects.

    ``refers``: the question also speaks of something that it does not name ("its imports").
    """

    countries: tuple[NamedCountry, ...] = ()
    about: tuple[NamedCountry, ...] = ()
    years: tuple[NamedYears, ...] = ()
    refers: bool = False
    figure_years: tuple[NamedYears, ...] = ()

    @property
    def every_year(self) -> list[NamedYears]:
        """Of reports and of figures, in text order."""
        return sorted([*self.years, *self.figure_years], key=lambda years: years.start)

    def of_reports(self) -> Mentions:
        """With every year for one of reports: where they are what is asked for."""
        return replace(self, years=tuple(self.every_year), figure_years=())


def find_mentions(text: str, catalog: Catalog, scope: Scope = Scope()) -> Mentions:  # noqa: B008  # frozen and empty
    """Countries as ISO 3166 has them, and those that only the data has. "The latest report": of those in ``scope``."""
    found = _mentions(text, tuple(name for name in map(str, catalog.values(COUNTRY)) if country_code(name) is None))
    if not find_relative_years(text):
        return found
    others = _relative(text, found, catalog, scope)
    of_reports = tuple(years for years in others if years.of_report)
    of_figures = tuple(years for years in others if not years.of_report)
    return replace(found, years=found.years + of_reports, figure_years=found.figure_years + of_figures)


def _relative(text: str, mentions: Mentions, catalog: Catalog, scope: Scope) -> list[NamedYears]:
    """Each country has editions of its own; together where the question is about none."""
    found: list[NamedYears] = []
    countries: list[Value | None] = list(values_of(mentions.about, catalog)) or [None]
    for country in countries:
        inside = scope if country is None else scope.having(COUNTRY, [country])
        parts = [part.metadata for record in catalog.all(inside) for part in record.parts]
        editions = {part[YEAR] for part in parts if country is None or part.get(COUNTRY) == country if YEAR in part}
        found += relative_years(text, [year for year in editions if isinstance(year, int)])
    return list(dict.fromkeys(found))


@lru_cache(maxsize=128)
def _mentions(text: str, also: tuple[str, ...]) -> Mentions:
    named = find_countries(text, also)[:MOST]
    about = (country for country, is_subject in zip(named, subjects(text, named), strict=True) if is_subject)
    years = [years for years in find_years(text) if years.is_subject]
    of_reports = tuple(years for years in years if years.of_report)
    of_figures = tuple(years for years in years if not years.of_report)
    return Mentions(tuple(named), tuple(about), of_reports, _REFERS.search(text) is not None, of_figures)


def values_of(countries: Iterable[NamedCountry], catalog: Catalog) -> list[Value]:
    """The data's values for these countries, in text order. The short name of two is both, if both are there."""
    known: dict[str, list[Value]] = {}
    for value in catalog.values(COUNTRY):
        known.setdefault(country_key(str(value)), []).append(value)
    found = (value for country in countries for key in country.keys for value in known.get(key, ()))
    return list(dict.fromkeys(found))


def subjects(text: str, named: Sequence[NamedCountry]) -> list[bool]:
    """For each country in text order: whether the question is about it."""
    decided: list[bool] = []
    for first, last in _lists(text, named):
        about = _is_subject(text, named[first], named)
        decided.append(about)
        is_list = _CONJUNCTION.search(text[named[first].end : named[last].start]) is not None
        for place in range(first + 1, last + 1):
            # "Unlike Kenya, Mali ..." is no list: the comma ends what is said in passing.
            decided.append(about or (not is_list and _is_subject(text, named[place], named)))
    by_name = any(about and not c.by_people for about, c in zip(decided, named, strict=True))
    return [about and not (c.by_people and by_name) for about, c in zip(decided, named, strict=True)]


def _lists(text: str, named: Sequence[NamedCountry]) -> list[tuple[int, int]]:
    """First and last of the countries that follow each other with commas, "and" or "or" in between."""
    found: list[tuple[int, int]] = []
    for place, country in enumerate(named):
        joined = place and _JOINED.fullmatch(text[named[place - 1].end : country.start])
        found.append((found.pop()[0], place) if joined else (place, place))
    return found


def _is_subject(text: str, country: NamedCountry, named: Sequence[NamedCountry]) -> bool:
    before, sentence = _sentence(text, country)
    clause = before[max((found.end() for found in _CLAUSE_END.finditer(before)), default=0) :]
    if _COMPARES.match(sentence) and not _ASIDE.search(before[: len(before) - len(clause)]):
        return True
    if _is_aside(text, sentence, before, country, named) or _ASIDE.search(clause) or _ELSEWHERE.search(clause):
        return False
    if _ABOUT.search(clause):
        return True
    if _RELATION.search(clause):
        return False
    opens = _OPENED.search(clause) is not None or not _VERB.search(sentence)
    return opens or text[country.end :][:2].lower() in {"'s", "’s"}


def _is_aside(text: str, sentence: str, before: str, country: NamedCountry, named: Sequence[NamedCountry]) -> bool:
    """Whether the name stands in brackets, in another sentence or in a part of it that asks nothing."""
    in_brackets = "(" in before and ")" not in before[before.rindex("(") :]
    if (in_brackets and _VERB.search(sentence)) or _is_statement(text, sentence):
        return True
    after = text[country.end : country.end + LONGEST_WORD]
    if country.by_people and (_PEOPLE_ELSEWHERE.match(after) or after[:1] == "-"):
        return True
    return _is_beside_the_question(sentence, len(before), country.start - len(before), named)


def _sentence(text: str, country: NamedCountry) -> tuple[str, str]:
    """The sentence up to the country, and all of it."""
    start, end = 0, len(text)
    for border in _SENTENCE_END.finditer(text):
        if border.end() <= country.start:
            start = border.end()
        elif border.start() >= country.end:
            end = border.end()
            break
    return text[start : country.start], text[start:end]


def _is_statement(text: str, sentence: str) -> bool:
    """Whether a sentence only says something beside a question: a label or keywords are none."""
    if "?" in sentence or "?" not in text or _ASKS.match(sentence):
        return False
    leads_to_it = "?" in text[text.index(sentence) + len(sentence) :]
    return _VERB.search(sentence) is not None or (leads_to_it and len(sentence.split()) > LABEL_WORDS)


def _is_beside_the_question(sentence: str, place: int, offset: int, named: Sequence[NamedCountry]) -> bool:
    """Whether the part of the sentence around ``place`` is not the one that asks, and more than a label to it."""
    ends = [found.end() for found in _CLAUSE_END.finditer(sentence)]
    parts = list(zip([0, *ends], [*ends, len(sentence)], strict=True))
    heads = [start for start, end in parts if _HEAD.match(sentence[start:end])]
    if len(heads) > 1 and _SUBORDINATE.match(sentence[heads[0] :]):
        heads = heads[1:]
    start, end = next(part for part in parts if part[0] <= place < part[1])
    if not heads or start == heads[0] or (start > heads[0] and _GOES_ON.match(sentence[start:end])):
        return False
    inside = [name for name in named if start <= name.start - offset < end]
    left = start
    for name in [*inside, None]:
        rest = sentence[left : name.start - offset if name else end]
        if _LABEL.fullmatch(rest) is None:
            return True
        left = name.end - offset if name else end
    return False
