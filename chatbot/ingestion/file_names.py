"""What a file's name says of a report: `kenya-2024.pdf`."""

from __future__ import annotations

import re

from ..countries import ISO_CODE_LENGTH, country_code
from ..schema import Value

_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_WORD = re.compile(r"[^\W\d_]+")
LONGEST_NAME = 5
"""Words of the longest country names."""


def metadata_of(stem: str) -> dict[str, Value]:
    """Country and year, where the name has exactly one of each kind; short codes ("us", "in") are not trusted."""
    found: dict[str, Value] = {}
    years = set(_YEAR.findall(stem))
    if len(years) == 1:
        found["year"] = int(years.pop())
    countries = _countries(_WORD.findall(stem))
    if len(countries) == 1:
        found["country_name"] = countries.popitem()[1]
    return found


def _countries(words: list[str]) -> dict[str, str]:
    """Names by code; of overlapping names the longest ("Papua New Guinea", not "Guinea")."""
    found: dict[str, str] = {}
    start = 0
    while start < len(words):
        for end in range(min(len(words), start + LONGEST_NAME), start, -1):
            name = " ".join(words[start:end])
            if len(name) > ISO_CODE_LENGTH and (code := country_code(name)):
                found[code] = name
                start = end - 1
                break
        start += 1
    return found
