"""Countries and years in a text as pieces of it: taken out, exchanged, found in the data."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from ..countries import usual_name
from ..protocols import Catalog
from ..schema import Value
from .country_names import NamedCountry, country_key
from .mentions import COUNTRY, Mentions, find_mentions
from .years import NamedYears

Named = NamedCountry | NamedYears
Words = Callable[[str], Sequence[str]]
"""The words of a text that have a meaning of their own."""
_ARTICLE = re.compile(r"\bthe\s+$", re.IGNORECASE)
ALL_COUNTRIES = re.compile(r"\b(?:countr(?:y|ies)|nations?|world(?:wide)?|global\w*|continents?)\b", re.IGNORECASE)
"""A question with one of these may be about more than the country named before."""


def values_of(countries: Iterable[NamedCountry], catalog: Catalog) -> list[Value]:
    """The data's values for these countries, in text order. The short name of two is both, if both are there."""
    known: dict[str, list[Value]] = {}
    for value in catalog.values(COUNTRY):
        known.setdefault(country_key(str(value)), []).append(value)
    found = (value for country in countries for key in country.keys for value in known.get(key, ()))
    return list(dict.fromkeys(found))


def placed(text: str, country: NamedCountry, *, usual: bool = False) -> str:
    """The country as it is written, with its article; with ``usual`` its usual name instead of its people's."""
    if country.by_people:
        return usual_name(country.keys[0]) if usual else country.text
    return f"the {country.text}" if _ARTICLE.search(text[: country.start]) else country.text


def owned(name: str) -> str:
    """As the one that something belongs to: Kenya's, the Philippines'."""
    return f"{name}'" if name.startswith("the ") and name.endswith("s") else f"{name}'s"


def joined(names: Iterable[str], last: str = "and") -> str:
    """As a list in words, each once."""
    names = list(dict.fromkeys(names))
    return f" {last} ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def without(text: str, names: Iterable[Named]) -> str:
    """The text with a space for each name."""
    for name in sorted(names, key=lambda name: -name.start):
        text = f"{text[: name.start]} {text[name.end :]}"
    return text


def exchanged(query: str, mentions: Mentions, before: str, catalog: Catalog, words: Words) -> str:
    """``before`` with the names of ``query`` in the place of its own; "" where the query says more than names."""
    named: list[Named] = [*mentions.countries, *mentions.years]
    if not named or words(without(query, named)):
        return ""
    if mentions.countries:
        earlier = find_mentions(before, catalog)
        in_passing = [country for country in earlier.countries if country not in earlier.about]
        old = (earlier.about or in_passing) if mentions.about else in_passing
        before = _replaced(before, old, _written(query, mentions.countries), words)
    if mentions.years and before:
        years = find_mentions(before, catalog).years
        before = _replaced(before, years, _written(query, mentions.years), words)
    return before


def _replaced(text: str, old: Sequence[Named], new: str, words: Words) -> str:
    """The text with the new names; "" where the old ones stand apart from each other."""
    if not old:
        return f"{text.rstrip(' ?.!')} in {new}?"
    start, end = old[0].start, old[-1].end
    between = without(text, old)[start : end - sum(name.end - name.start - 1 for name in old)]
    return "" if words(between) else f"{text[:start]}{new}{text[end:]}"


def _written(text: str, names: Sequence[Named]) -> str:
    return " and ".join(text[name.start : name.end] for name in names)
