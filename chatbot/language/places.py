"""Marks of a country in a text besides its name: cities, provinces, amounts in its
currency, telephone numbers and addresses of the web and of mail.
"""

import re
from collections import defaultdict
from functools import cache

from ..domain.errors import read_table
from ..domain.tables import Texts
from .countries import country_code, normalise
from .iso_codes import provinces

__all__ = ["country_of_place", "find_places"]

_TABLE = read_table(__package__, "places")
_COMMON_NAMES = frozenset(_TABLE["words"]["common"].split(", "))
"""Names of provinces that say only where in a country they lie."""
_WORD = re.compile(r"[^\W\d_](?:[\w'’-]|\.(?=\w))*")
_BREAK = re.compile(r"\n|[.,;:]\s|\bthe$", re.IGNORECASE)
_PATTERNS = {
    "currencies": re.compile(r"\b([A-Z]{3})(?=\s?\d)"),
    "phones": re.compile(r"\+\s?(\d{1,3})(?=[\s().-]?\d)"),
}
_HOST = re.compile(r"(?:@|www\.|://)[\w.-]*\w\.([a-z]{2})\b(?!\.?\w)")
_GENERIC_DOMAINS = frozenset(_TABLE["words"]["domains"].split(", "))
"""Endings that are sold all over the world."""


def find_places(text: str) -> dict[str, Texts]:
    """Return the marks by ISO-3 code, each once, as they are written in the text."""
    marks: dict[str, dict[str, str]] = defaultdict(dict)
    for code, written in _named(text):
        marks[code].setdefault(normalise(written), written)
    for code, written in _written(text):
        marks[code].setdefault(normalise(written), written)
    unique: dict[str, Texts] = {}
    for code, by_name in marks.items():
        unique[code] = tuple(by_name.values())
    return unique


def country_of_place(name: str) -> str | None:
    """Return the ISO-3 code of the one country that has a city or province of this
    name.
    """
    return _codes_by_place().get(normalise(name))


def _named(text: str) -> list[tuple[str, str]]:
    """Return the cities and provinces, the longest name at each position."""
    named: list[tuple[str, str]] = []
    names = _codes_by_place()
    words = list(_WORD.finditer(text))
    position = 0
    while position < len(words):
        nearest = words[position : position + 4]
        position += 1
        start = nearest[0].start()
        if not text[start].isupper():
            continue
        while nearest:
            last = nearest.pop()
            written = text[start : last.end()]
            written = written.rstrip("'’-")
            code = names.get(normalise(written))
            if code is None:
                continue
            if _BREAK.search(written):
                continue
            named.append((code, written))
            position += len(nearest)
            break
    return named


def _written(text: str) -> list[tuple[str, str]]:
    """Return amounts, telephone numbers and addresses."""
    marks: list[tuple[str, str]] = []
    for table, pattern in _PATTERNS.items():
        codes = _codes_of(table)
        for match in pattern.finditer(text):
            code = codes.get(match[1])
            if code is not None:
                marks.append((code, match[0]))
    for match in _HOST.finditer(text):
        ending = match[1]
        if ending in _GENERIC_DOMAINS:
            continue
        code = country_code(ending)
        if code is not None:
            marks.append((code, f".{ending}"))
    return marks


@cache
def _codes_of(table: str) -> dict[str, str]:
    codes: dict[str, str] = {}
    for code, mark in _TABLE[table].items():
        codes[mark] = code
    return codes


@cache
def _codes_by_place() -> dict[str, str]:
    """Return ISO-3 codes by normalised name of a city or of a province. A name of two
    countries is none.
    """
    codes: dict[str, str] = {}
    for code, cities in _TABLE["cities"].items():
        codes |= dict.fromkeys(cities.split(", "), code)
    codes_of: dict[str, set[str]] = defaultdict(set)
    for province in provinces():
        name = normalise(province.name)
        if len(name) >= 5 and country_code(name) is None:
            codes_of[name].add(str(country_code(province.country)))
    for name, of_countries in codes_of.items():
        if name in codes or name in _COMMON_NAMES:
            continue
        if len(of_countries) > 1:
            continue
        for code in of_countries:
            codes[name] = code
    return codes
