"""Which passages name the countries that a question asks about."""

import re
from collections.abc import Sequence

from ..domain import Chunk, SearchHit
from ..domain.protocols import Catalog
from ..domain.scope import NamedCountry, Reading
from ..language.countries import normalise, usual_name
from ..language.country_names import keys_in
from ..questions.reading import values_of

_NAME_BEFORE = re.compile(r"\b([A-Z][\w&'’-]+) $")
_NAME_AFTER = re.compile(r" ([A-Z][\w&'’-]+)")
CANDIDATES = 50
"""Passages that are looked through for those that name a country."""


def names_country(chunk: Chunk, countries: Sequence[NamedCountry]) -> bool:
    """Return whether a passage or its headings name one of these countries."""
    keys = keys_in(f"{chunk.section}\n{chunk.text}")
    return any(not keys.isdisjoint(country.keys) for country in countries)


def are_parts_of_names(
    question: str, countries: Sequence[NamedCountry], hits: Sequence[SearchHit]
) -> bool:
    """Return whether each of these countries of a question is a part of a longer name
    that a passage has: "the UK Python Association".
    """
    texts = [normalise(f"{hit.chunk.title}\n{hit.chunk.text}") for hit in hits]
    for country in countries:
        before = _NAME_BEFORE.search(question, 0, country.start)
        after = _NAME_AFTER.match(question, country.end)
        names = [f"{country.text} {after[1]}"] if after else []
        # The first word of a question has a capital letter, too.
        if before and before.start() > 0:
            names.append(f"{before[1]} {country.text}")
        if not any(
            f" {normalise(name)} " in f" {text} " for name in names for text in texts
        ):
            return False
    return bool(countries)


def with_naming(
    hits: Sequence[SearchHit], countries: Sequence[NamedCountry], count: int
) -> list[SearchHit]:
    """Return the first hits; where none of them names one of the countries, the first
    that does is the last of them.
    """
    first = list(hits[:count])
    if not countries or any(names_country(hit.chunk, countries) for hit in first):
        return first
    for hit in hits[count:]:
        if names_country(hit.chunk, countries):
            return [*first[: count - 1], hit]
    return first


def without_namesakes(
    reading: Reading, hits: Sequence[SearchHit], catalog: Catalog
) -> list[SearchHit]:
    """Return the hits without those of a country whose name is only a part of one that
    is asked about: Sudan's, where the question names South Sudan.
    """
    kept = list(hits)
    for country in longer_than_reports(reading, catalog):
        kept = [hit for hit in kept if not _is_namesake(hit.chunk, country)]
    return kept


def longer_than_reports(reading: Reading, catalog: Catalog) -> tuple[NamedCountry, ...]:
    """Return the countries of a question that have no report, and whose names have
    several words.
    """
    return tuple(
        country
        for country in reading.countries
        if any(" " in name for name in _names_of(country))
        and not values_of([country], catalog)
    )


def _is_namesake(chunk: Chunk, country: NamedCountry) -> bool:
    if not _is_part_of(chunk, country):
        return False
    return not names_country(chunk, [country])


def _is_part_of(chunk: Chunk, country: NamedCountry) -> bool:
    """Return whether the country of a passage is called by a part of this name."""
    name = normalise(str(chunk.country_name or ""))
    whole_names = _names_of(country)
    if not name or name in whole_names:
        return False
    return any(f" {name} " in f" {whole} " for whole in whole_names)


def _names_of(country: NamedCountry) -> set[str]:
    """Return how a question calls a country, and its English name: "Soudan du Sud", and
    "South Sudanese", have no word of "Sudan".
    """
    english = [usual_name(key) for key in country.keys]
    return {normalise(name) for name in (country.text, *english)}
