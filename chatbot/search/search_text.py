"""The text that is searched for: a question without the names that its scope has already, and the years it asks for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..domain import Scope, Values
from ..domain.protocols import Catalog
from ..domain.reading import Named, NamedCountry, NamedYears
from ..language import is_foreign
from ..questions.english import pattern
from ..questions.kinds import asks_for_prose
from ..questions.reading import YEAR, keys_of, read_names
from ..questions.wording import remove_names, tidy

_LED_TO = pattern(r"(?:\s*,)?\s+(?:(?:in|of|for|at|on|about|across|throughout|inside|within)\s+)?(?:the\s+)?$")
_OWNED = re.compile(r"['’]s?(?!\w)")
_REPORT = pattern(r"^\s+{report}\b")
_ACCORDING = pattern(r"(?:\baccording to|\bin|\bof|\bfrom|\bas)\s+(?:the\s+)?$")
_NAMELESS = "the country"


@dataclass(frozen=True, slots=True)
class SearchText:
    """``question`` reads as one, for vectors of passages; ``topic`` has nothing of what the scope says, for words.

    ``figure_years`` and ``editions`` are those the question names, whether or not the scope has them.
    """

    question: str
    topic: str
    figure_years: tuple[NamedYears, ...] = ()
    editions: tuple[NamedYears, ...] = ()
    foreign: bool = False
    """Whether it is in another language than the rules and the keywords of the reports."""
    prose: bool = False
    """Whether it asks why or how, which a text says and no heading names."""


def search_text(query: str, scope: Scope, catalog: Catalog, *, language: str) -> SearchText:
    """A question without the countries and editions of its scope; as it is, where nothing would be left. ``language``:
    of the reports.

    ``language``: of the reports.
    """
    reading, foreign = read_names(query, catalog, scope), language == "english" and is_foreign(query)
    keys, years = keys_of(scope), scope.get(YEAR)
    said: list[Named] = [country for country in reading.countries if keys.intersection(country.keys)]
    if isinstance(years, Values):
        said += [named for named in reading.editions if all(map(named.condition.matches, years.values))]
    topic = _without(query, said)
    if not any(map(str.isalpha, topic)):
        question = topic = query
    else:
        question = topic if foreign or not said else _nameless(query, said)
    return SearchText(question, topic, reading.figure_years, reading.editions, foreign, asks_for_prose(query))


def _without(query: str, said: Sequence[Named]) -> str:
    """The question without these names, the words that only lead to them, and what is theirs."""
    for name in sorted(said, key=lambda name: -name.start):
        before, after = query[: name.start], query[name.end :]
        if isinstance(name, NamedYears):
            after = _REPORT.sub("", after)
            before = _ACCORDING.sub("", before)
        elif not name.by_people:
            owned = _OWNED.match(after)
            after = after[owned.end() :] if owned else after
            before = before if owned else _LED_TO.sub("", before)
        query = f"{before} {after}"
    return tidy(query)


def _nameless(query: str, said: Sequence[Named]) -> str:
    """The question with "the country" in the place of each: what is left reads as a question, and embeds as one."""
    countries = [name for name in said if isinstance(name, NamedCountry) and not name.by_people]
    for name in sorted(said, key=lambda name: -name.start):
        if name in countries:
            before = re.sub(r"\bthe\s+$", "", query[: name.start], flags=re.IGNORECASE)
            query = f"{before}{_NAMELESS}{query[name.end :]}"
        else:
            query = _without(query, [name]) if isinstance(name, NamedYears) else remove_names(query, [name])
    return tidy(query)
