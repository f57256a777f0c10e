"""What a question names: countries and years, each as what it is about or in passing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from ..countries import country_code
from ..protocols import Catalog
from .country_names import NamedCountry, find_countries
from .roles import subjects
from .years import NamedYears, find_years

COUNTRY = "country_name"
YEAR = "year"
MOST = 30
"""Countries that are looked at; a question is about fewer."""
_REFERS = re.compile(
    r"\b(?:its?|their|theirs|they|them|here|(?:the|this|that) country(?:['’]s)?"
    r"|(?<!are )(?<!is )(?<!were )(?<!was )there(?! (?:is|are|was|were|has|have)\b))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Mentions:
    """``about``: the countries that are the subject, ``countries`` all of them; ``years`` likewise only subjects.

    ``refers``: the question also speaks of something that it does not name ("its imports").
    """

    countries: tuple[NamedCountry, ...] = ()
    about: tuple[NamedCountry, ...] = ()
    years: tuple[NamedYears, ...] = ()
    refers: bool = False


def find_mentions(text: str, catalog: Catalog) -> Mentions:
    """Countries as ISO 3166 has them, and those that only the data has."""
    return _mentions(text, tuple(name for name in map(str, catalog.values(COUNTRY)) if country_code(name) is None))


@lru_cache(maxsize=128)
def _mentions(text: str, also: tuple[str, ...]) -> Mentions:
    named = find_countries(text, also)[:MOST]
    about = (country for country, is_subject in zip(named, subjects(text, named), strict=True) if is_subject)
    years = (years for years in find_years(text) if years.is_subject)
    return Mentions(tuple(named), tuple(about), tuple(years), _REFERS.search(text) is not None)
