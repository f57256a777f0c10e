"""Sub-questions by rule: for answers without a language model, and where a model's plan cannot be read.

Splitting wrongly is worse than not splitting: what the rules do not know stays whole. They know English.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..protocols import Catalog
from ..schema import Scope
from .agreement import of_one
from .clauses import ASKS, ended, questions
from .compared import compared_countries, compared_years
from .comparisons import NAME, PEOPLE, YEARS, marked, plain, says_nothing, tidy, unmarked
from .country_names import NamedCountry
from .enumerations import things
from .mentions import COUNTRY, YEAR, Mentions, find_mentions
from .names import joined, placed, values_of
from .years import NamedYears

MOST = 4
_EACH_ITS_OWN = re.compile(
    rf"^([^{NAME}{PEOPLE}]*[{NAME}{PEOPLE}])\s*,?\s+and\s+((?:the\s+)?(?:(?!than\b)[\w-]+\s+){{1,5}}(?:of|in|for)\s+(?:the\s+)?"
    rf"{NAME}[^{NAME}{PEOPLE}]*)$",
    re.IGNORECASE,
)
_WITH_OTHERS = re.compile(
    rf"{NAME}(?:\s*,|,?\s+(?:and|or))\s+(?:the\s+)?[A-Z]|\b[A-Z]\w+(?:\s*,|,?\s+(?:and|or))\s+(?:the\s+)?{NAME}"
)
"""A name in a list with something that is no country."""
_TOGETHER = re.compile(
    r"\b(?:they|these|those|both|the two)\b[^?]{0,40}\b(?:differ\w*|compar\w+|alike|similar|same|related)\b"
    r"|\b(?:each other|one another)\b",
    re.IGNORECASE,
)
"""Asks of countries what can be said of none alone."""
_CHANGES = re.compile(
    r"\b(?:chang|develop|evol|gr[eo]w|r[io]se|rising|fall|fell|trend|differ|compar|increas|decreas|declin)\w*",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Named:
    """A question with marks for its names, and those of which it has several, as they are written.

    ``countries``: those of several that are in the data, and so perhaps a single one.
    """

    text: str
    held: str
    countries: tuple[str, ...]
    years: tuple[str, ...]
    all_countries: str
    all_years: str

    def parts(self, countries: Sequence[str], years: Sequence[str]) -> list[str]:
        """The question for each country in each year; none = all of them together."""
        if not countries and not years:
            return [ended(self.text)]
        held = of_one(self.held) if countries else self.held
        return [
            ended(held.replace(NAME, country).replace(PEOPLE, country).replace(YEARS, year))
            for year in years or [self.all_years]
            for country in countries or [self.all_countries]
        ]


def sub_questions(text: str, scope: Scope, catalog: Catalog, most: int = MOST) -> list[str]:
    """The question in parts that can each be searched alone, at most ``most``; ``[text]`` where it is one.

    Of a comparison of which one side is in the data, that side's question.

    By question, by thing, by country and by year; where all of that is too many, by less of it, so that nothing is
    left out. Each thing is asked of all countries before the next.
    """
    asked = questions(unmarked(text.lower() if text.isupper() else text), scope, catalog)
    asked = [*asked[: most - 1], " ".join(asked[most - 1 :])] if len(asked) > most else asked
    found: list[str] = []
    for place, question in enumerate(asked, start=1):
        found += _parts(question, scope, catalog, most - len(found) - (len(asked) - place))
    return [text] if found == asked[:1] else list(dict.fromkeys(found))


def _parts(question: str, scope: Scope, catalog: Catalog, most: int) -> list[str]:
    """The finest split of one question that is no more than ``most``."""
    mentions = find_mentions(question, catalog)
    if pair := _pair(question, mentions):
        return pair if most > 1 else [question]
    whole = _named(question, scope, catalog)
    listed = things(question, [*mentions.countries, *mentions.years])
    by_thing = [_named(thing, scope, catalog) for thing in listed]
    for found in _ways(by_thing, whole):
        if 1 < len(found) <= most:
            return found
    if len(whole.countries) > most > 1:
        return whole.parts([*whole.countries[: most - 1], joined(whole.countries[most - 1 :])], ())
    return whole.parts(whole.countries, ()) if len(whole.countries) == 1 else [question]


def _ways(by_thing: Sequence[_Named], whole: _Named) -> Iterator[list[str]]:
    """Ways to split a question, the finest first; countries are parted before things and things before years."""
    yield [part for named in by_thing for part in named.parts(named.countries, named.years)]
    yield [part for named in by_thing for part in named.parts(named.countries, ())]
    yield whole.parts(whole.countries, whole.years)
    yield whole.parts(whole.countries, ())
    yield [part for named in by_thing for part in named.parts((), named.years)]
    yield [ended(named.text) for named in by_thing]
    yield whole.parts((), whole.years)


def _pair(question: str, mentions: Mentions) -> list[str]:
    """Two questions for "the population of Kenya and the inflation of Mali"."""
    countries = compared_countries(question, mentions)
    match = _EACH_ITS_OWN.match(marked(question, countries)) if len(countries) == 2 else None
    if match is None or countries[0].keys == countries[1].keys or ASKS.search(match[2]):
        return []
    return [ended(re.sub(f"[{NAME}{PEOPLE}]", c.text, part)) for c, part in zip(countries, match.groups(), strict=True)]


def _named(question: str, scope: Scope, catalog: Catalog) -> _Named:
    countries = compared_countries(question, find_mentions(question, catalog))
    years = compared_years(question)
    held = marked(question, [*countries, *years])
    asked = plain(held)
    texts = tuple(dict.fromkeys(placed(question, c) for c in countries if _usable(c, scope, catalog)))
    spans = _spans(question, years, scope, catalog)
    # "The French and Indian War" is one thing: peoples are parted only where they are compared.
    is_open = asked.count(NAME) == 1 or (asked.count(PEOPLE) == 1 and asked != tidy(held))
    is_alone = asked.count(NAME) + asked.count(PEOPLE) == 1 and not _WITH_OTHERS.search(asked)
    is_whole = says_nothing(asked) or _TOGETHER.search(asked) is not None
    return _Named(
        question,
        asked,
        texts if len(countries) > 1 and is_open and is_alone and not is_whole else (),
        spans if len(spans) > 1 and asked.count(YEARS) == 1 and not is_whole else (),
        joined([placed(question, country) for country in countries]),
        joined([question[named.start : named.end] for named in years]),
    )


def _usable(country: NamedCountry, scope: Scope, catalog: Catalog) -> bool:
    """Whether the scope's reports may be about it; where the data has no countries, its texts may."""
    condition = scope.get(COUNTRY)
    if not catalog.values(COUNTRY):
        return True
    return any(condition is None or condition.matches(value) for value in values_of([country], catalog))


def _spans(question: str, years: Sequence[NamedYears], scope: Scope, catalog: Catalog) -> tuple[str, ...]:
    """The years as they are written; of one range in which something changed those of the data."""
    if all(named.gte == named.lte for named in years):
        return tuple(dict.fromkeys(question[named.start : named.end] for named in years))
    if len(years) > 1 or years[0].lte is None or not _CHANGES.search(question):
        return ()
    chosen, lead = scope.get(YEAR), "" if question[years[0].start].isdigit() else "in "
    inside = [year for year in catalog.values(YEAR) if years[0].condition.matches(year)]
    return tuple(f"{lead}{year}" for year in inside if chosen is None or chosen.matches(year))
