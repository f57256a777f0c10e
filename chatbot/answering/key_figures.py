"""The figures that people ask for most (`key_figures.toml`), among those that reports
have.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import product

from ..domain.errors import read_table

_TABLE = read_table(__package__, "key_figures")
_WHOLE_LABELS: Sequence[str] = _TABLE["labels"]["whole"]
_NAMES: Sequence[Sequence[str]] = [
    figure["headings"] for figure in _TABLE["figures"].values()
]

_SIZES: Sequence[Sequence[str]] = list(_TABLE["size"].values())
_SHARES = _TABLE["shares"]
_OF_POPULATION: Sequence[str] = _SHARES["of_population"]
_OF_GROUPS: Sequence[str] = _SHARES["of_groups"]
_BASES: Mapping[str, Sequence[str]] = _SHARES["bases"]
GROUPS_OF_PEOPLE: Mapping[str, str] = _SHARES["groups"]
"""Words of a part of a figure, and the people of whom it is a share."""

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


def is_of_population(
    heading: str, terms: Callable[[str], Sequence[str]], *, of_groups: bool = False
) -> bool:
    """Return whether the shares under a heading are of all inhabitants; ``of_groups``:
    whether also its parts are, as the urban population is.
    """
    names = _OF_GROUPS if of_groups else _OF_POPULATION
    return _has_heading(names, heading, terms)


def is_whole_label(label: str) -> bool:
    """Return whether a figure of this label is one of its heading, and no part."""
    return label.casefold() in _WHOLE_LABELS


def base_of(heading: str, terms: Callable[[str], Sequence[str]]) -> str:
    """Return of whom the shares under a heading are, "" where no table says it."""
    for base, names in _BASES.items():
        if _has_heading(names, heading, terms):
            return base
    return ""


def _has_heading(
    names: Sequence[str], heading: str, terms: Callable[[str], Sequence[str]]
) -> bool:
    return any(set(terms(name)) == set(terms(heading)) for name in names)


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
