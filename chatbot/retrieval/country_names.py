"""Where a text names countries: by name or alias, by ISO code, by what its people are called."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from ..countries import ISO_CODE_LENGTH, country_code, country_names, normalise
from .demonyms import demonyms

MOST_WORDS = 8
"""Of the longest name: "Korea, Democratic People's Republic of" and the like."""
_WORD = re.compile(r"(?:[A-Za-z]\.){2,}[A-Za-z]?|&|[^\W_]+(?:['’][^\W_]+)*")
_ARTICLE = re.compile(r"^the\b|(?<!\bof)\s+the$", re.IGNORECASE)
_POSSESSIVE = re.compile(r"['’]s?$", re.IGNORECASE)
SEVERAL = {"congo": ("COD", "COG"), "korea": ("KOR", "PRK")}
"""Short names of two countries: whichever the reports have is meant."""
ELSEWHERE = """
congo basin, congo river, river congo, east china sea, south china sea, gulf of guinea, gulf of mexico, gulf of oman,
guinea fowl, guinea pig, guinea worm, indian ocean, jordan river, river jordan, jordan valley, lake chad, lake malawi,
latin american, latin americans, african american, african americans, south american, north american, central american,
native american, michael jordan, mozambique channel, new england, new jersey, new mexico, niger delta, niger river,
river niger, panama canal, philippine sea, sea of japan, dutch disease, english channel, atlanta georgia,
northern irish, bank of england
"""
"""Phrases that hold a country's name and mean something else."""
WORDS_TOO = frozenset({"chad", "chads", "dutch", "english", "guernsey", "guinea", "jersey", "lao", "polish", "turkey"})
"""Names that are words as well, unless they are written with a capital."""
TWO_LETTERS = """
AF AO BD BF BJ BW BT BR BY BZ CF CH CL CN CZ DK DZ EG ET FR GH GN GQ GR GT GY HN HU JP JM KE KG KH KP KR KZ LB LK LR LU
LV LY MX MY MZ NG NL NP NZ PK PY QA RW SN SY SZ TH TL TW UA UG UY UZ VN XK YE ZA ZM ZW
"""
"""The codes that are no word, unit, state or other abbreviation."""
NO_CODES = """
AND ARE ARM ATA ATF BEL BEN BES BRA CAN COD COG COM CUB DOM EST FIN GAB GEO GIN GUM GUY IND IOT IRL LCA LIE MAC MAR MUS
NAM NER NOR PAN PER PRI PRY SEN SUR TON TUN VAT
"""
"""Three-letter codes that are words or other abbreviations."""


@dataclass(frozen=True, slots=True)
class NamedCountry:
    """``keys``: ISO-3 codes, one but for short names of two countries; a normalised name where it has no code."""

    keys: tuple[str, ...]
    text: str
    start: int
    end: int
    by_people: bool = False
    """Named by what belongs to it ("Kenyan")."""


def find_countries(text: str, also: tuple[str, ...] = ()) -> list[NamedCountry]:
    """In text order, the longest name at each place. ``also``: names that are no countries of ISO 3166."""
    return list(_find(text, _lookup(also)))


def country_key(name: str) -> str:
    """What `NamedCountry.keys` has for a value of the data."""
    return country_code(name) or normalise(name)


@lru_cache(maxsize=8)
def _lookup(also: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    named = {name: (code,) for name, code in country_names().items()}
    own = {normalise(name): (country_key(name),) for name in also}
    elsewhere = (phrase.strip() for phrase in ELSEWHERE.replace("\n", " ").split(","))
    return {**dict.fromkeys(elsewhere, ()), **named, **SEVERAL, **own}


def _find(text: str, names: dict[str, tuple[str, ...]]) -> Iterator[NamedCountry]:
    words = list(_WORD.finditer(text))
    all_capitals = text.isupper()
    place = 0
    while place < len(words):
        for count in range(min(MOST_WORDS, len(words) - place), 0, -1):
            span = words[place : place + count]
            found = _named(text, span, names)
            if found is None and count == 1 and not all_capitals:
                found = _coded(span[0])
            if found is not None and found.keys:
                yield found
            if found is not None:
                place += count - 1
                break
        place += 1


def _named(text: str, span: list[re.Match[str]], names: dict[str, tuple[str, ...]]) -> NamedCountry | None:
    start, end = span[0].start(), span[-1].end()
    if any(mark in text[start:end] for mark in ";:?!") or _ARTICLE.search(text[start:end]):
        return None
    end += text[start:end].count("(") > 0 and text[end : end + 1] == ")"
    written = text[start:end]
    bare = _POSSESSIVE.sub("", written)
    for wording in dict.fromkeys((written, bare)):
        name = normalise(wording)
        if not name or (name in WORDS_TOO and wording == wording.lower()):
            continue
        if name in names:
            return NamedCountry(names[name], wording, start, start + len(wording))
        if name in demonyms():
            return NamedCountry((demonyms()[name],), wording, start, start + len(wording), by_people=True)
    return None


def _coded(word: re.Match[str]) -> NamedCountry | None:
    written = _POSSESSIVE.sub("", word[0])
    code = written.replace(".", "")
    if code in {"US", "USA"}:
        return NamedCountry(("USA",), written, word.start(), word.start() + len(written))
    is_three = len(code) == ISO_CODE_LENGTH and code.isupper() and code not in NO_CODES.split()
    known = is_three or code in TWO_LETTERS.split()
    found = country_code(code) if known else None
    return NamedCountry((found,), written, word.start(), word.start() + len(written)) if found else None
