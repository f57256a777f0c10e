"""The words of the citation check as data (`claims.toml`): patterns, lists of words, units."""

from __future__ import annotations

import re
import tomllib
from decimal import Decimal
from functools import lru_cache
from importlib.resources import files

import Stemmer

_DATA = tomllib.loads(files(__package__).joinpath("claims.toml").read_text(encoding="utf-8"), parse_float=Decimal)
UNITS: dict[str, dict[str, Decimal]] = {
    measure: {spelling: Decimal(size) for spelling, size in spellings.items()}
    for measure, spellings in _DATA["units"].items()
}
_BAR = re.compile(r"\s+\|\s+")
_STEM = Stemmer.Stemmer("english").stemWord


def pattern(expression: str) -> re.Pattern[str]:
    """A regular expression, in any case, in which ``{name}`` stands for that pattern of the data. Raises KeyError."""
    return re.compile(_filled(expression), re.IGNORECASE)


def stems(name: str) -> frozenset[str]:
    """The words of one list, as `stem` has them. Raises KeyError."""
    return frozenset(map(stem, _DATA["words"][name].split()))


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """Of any word, without apostrophes: "Kenya's" is "kenya", "didn't" is "didnt"."""
    bare = re.sub(r"['’]s?$", "", word.lower())
    return str(_STEM(re.sub("['’]", "", bare)))


def _filled(expression: str) -> str:
    return re.sub(r"\{([a-z_]+)\}", lambda match: _group(match[1]), expression)


def _group(name: str) -> str:
    return f"(?:{_filled(_BAR.sub('|', ' '.join(_DATA['patterns'][name].split())))})"
