"""Which passages name the countries that a question asks about."""

from collections.abc import Sequence

from ..domain import Chunk, SearchHit
from ..domain.protocols import Catalog
from ..domain.scope import NamedCountry, Reading
from ..language.countries import normalise
from ..language.country_names import keys_in
from ..questions.reading import values_of

CANDIDATES = 50
"""Passages that are looked through for those that name a country."""


def names_country(chunk: Chunk, countries: Sequence[NamedCountry]) -> bool:
    """Return whether a passage or its headings name one of these countries."""
    keys = keys_in(f"{chunk.section}\n{chunk.text}")
    return any(not keys.isdisjoint(country.keys) for country in countries)


def without_namesakes(
    reading: Reading, hits: Sequence[SearchHit], catalog: Catalog
) -> list[SearchHit]:
    """Return the hits without those of a country whose name is only a part of one that
    is asked about: Sudan's, where the question names South Sudan.
    """
    longer_names = longer_than_reports(reading, catalog)
    return [
        hit
        for hit in hits
        if not any(
            _is_part_of(hit.chunk, country) and not names_country(hit.chunk, [country])
            for country in longer_names
        )
    ]


def longer_than_reports(reading: Reading, catalog: Catalog) -> tuple[NamedCountry, ...]:
    """Return the countries of a question that have no report, and whose names have
    several words.
    """
    return tuple(
        country
        for country in reading.countries
        if " " in normalise(country.text) and not values_of([country], catalog)
    )


def _is_part_of(chunk: Chunk, country: NamedCountry) -> bool:
    """Return whether the country of a passage is called by a part of this name."""
    name = normalise(str(chunk.country_name or ""))
    whole = normalise(country.text)
    return bool(name) and name != whole and f" {name} " in f" {whole} "
