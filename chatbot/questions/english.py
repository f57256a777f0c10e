r"""The English of this room's rules is data, in `english.toml`; here it becomes patterns, words and names.

A rule says what follows each other in a sentence, with a word of the data in braces for all that may stand there:
``pattern(r"^{tell} me\b")``.
"""

from __future__ import annotations

import re
import tomllib
from functools import lru_cache
from importlib.resources import files

_BAR = re.compile(r"\s+\|\s+")
_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
_DATA = tomllib.loads(files(__package__).joinpath("english.toml").read_text(encoding="utf-8"))
SINGULAR: dict[str, str] = _DATA["singular"]
"""Of verbs for several the form for one."""
NUMBERS: dict[str, int] = _DATA["numbers"]
"""Small numbers in words."""
NAME, PEOPLE, YEARS = (str(_DATA["patterns"][mark]) for mark in ("name", "people", "years"))
"""Marks for a country by name, by what belongs to it, and for years: private characters, in no question."""


def pattern(expression: str, *, any_case: bool = True) -> re.Pattern[str]:
    """A regular expression in which each ``{name}`` stands for that pattern of the data. Raises KeyError."""
    return re.compile(_filled(expression), re.IGNORECASE if any_case else 0)


def words(name: str) -> frozenset[str]:
    """The words of one list of the data. Raises KeyError."""
    return frozenset(_DATA["words"][name].split())


def country_table(name: str) -> list[str]:
    """The entries of one table on countries: between commas, or else single words. Raises KeyError."""
    text = _DATA["countries"][name]
    return [" ".join(entry.split()) for entry in (text.split(",") if "," in text else text.split())]


@lru_cache(maxsize=256)
def _pattern(name: str) -> str:
    """As a group; a mark as it is, it may stand in brackets."""
    text = _filled(" ".join(_BAR.sub("|", _DATA["patterns"][name].strip()).split()))
    return text if len(text) == 1 else f"(?:{text})"


def _filled(expression: str) -> str:
    return _PLACEHOLDER.sub(lambda match: _pattern(match[1]), expression)
