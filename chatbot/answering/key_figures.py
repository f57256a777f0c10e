"""The figures that people ask for most (`key_figures.toml`), among those that reports
have.
"""

from collections.abc import Callable, Collection, Sequence
from itertools import product

from ..domain.errors import read_table

_TABLE = read_table(__package__, "key_figures")
_WHOLE_LABELS: Sequence[str] = _TABLE["labels"]["whole"]
_NAMES: Sequence[Sequence[str]] = [
    figure["headings"] for figure in _TABLE["figures"].values()
]

_SIZES: Sequence[Sequence[str]] = list(_TABLE["size"].values())
_OF_POPULATION: Sequence[str] = _TABLE["shares"]["of_population"]

Indicator = tuple[str, str]
"""A heading and a label."""


def most_asked(
    indicators: Collection[Indicator], terms: Callable[[str], Sequence[str]]
) -> list[Indicator]:
    """Return the indicators that people ask for most, in the order of the list."""
    return _named(_NAMES, indicators, terms)


def sizes(
    indicators: Collection[Indicator], terms: Callable[[str], Sequence[str]]
) -> list[Indicator]:
    """Return the indicators that "bigger" means of a country."""
    return _named(_SIZES, indicators, terms)


def is_of_population(heading: str, terms: Callable[[str], Sequence[str]]) -> bool:
    """Return whether the shares under a heading are of all inhabitants."""
    return any(set(terms(name)) == set(terms(heading)) for name in _OF_POPULATION)


def _named(
    lists: Sequence[Sequence[str]],
    indicators: Collection[Indicator],
    terms: Callable[[str], Sequence[str]],
) -> list[Indicator]:
    by_words = {
        (frozenset(terms(heading)), label.casefold()): (heading, label)
        for heading, label in indicators
        if label.casefold() in _WHOLE_LABELS
    }
    found: list[Indicator] = []
    for names in lists:
        keys = [
            (frozenset(terms(name)), label)
            for name, label in product(names, _WHOLE_LABELS)
        ]
        found += [by_words[key] for key in keys if key in by_words][:1]
    return found
