"""Names of countries as people misspell them, by a strict bound: no word of a language may become a country.

Spelt by ear they are the same ("Phillipines", "mozambik"); beyond that one letter of an English name may differ, never
the first, and of a short name only a vowel, or two letters that changed places.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from rapidfuzz import process
from rapidfuzz.distance import OSA

from ..language.countries import country_names, foreign_names
from .english import country_table

SHORTEST = 5
_BY_EAR = tuple(
    (re.compile(sound), letter)
    for sound, letter in (("ph", "f"), ("qu|ck|k", "c"), ("th", "t"), ("y", "i"), ("z", "s"), (r"(.)\1+", r"\1"))
)
_NO_MISSPELLINGS = frozenset[str]().union(*map(country_table, ("words_too", "foreign_words", "no_misspellings")))
_VOWELS = str.maketrans("aeiou", "-----")


@lru_cache(maxsize=4096)
def meant_country(words: tuple[str, ...]) -> str | None:
    """Return the normalised name that one or two normalised words were taken for; None where it is none or not clear.
    Of a name of two words one is right: "Costa Rika", "Suth Africa"."""
    written, sound = " ".join(words), by_ear(" ".join(words))
    if not written.replace(" ", "").isalpha() or written in _NO_MISSPELLINGS or len(sound) < SHORTEST:
        return None
    english, foreign = _by_first_letter(len(words)).get(sound[0], ({}, {}))
    if alike := english.get(sound) or foreign.get(sound):
        return alike if _one_is_right(words, alike) else None
    near = process.extract(sound, english.keys(), scorer=OSA.distance, score_cutoff=1)
    found = {english[name] for name, _, _ in near if _is_near(sound, name) and _one_is_right(words, english[name])}
    return found.pop() if len({country_names()[name] for name in found}) == 1 else None


def _one_is_right(words: tuple[str, ...], name: str) -> bool:
    return len(words) == 1 or any(word == own for word, own in zip(words, name.split(), strict=True))


def _is_near(sound: str, name: str) -> bool:
    """Return whether the two differ by at most one letter added, dropped or changed, too much for a short name."""
    if min(len(sound), len(name)) > SHORTEST:
        return True
    return len(sound) == len(name) and (
        sorted(sound) == sorted(name) or sound.translate(_VOWELS) == name.translate(_VOWELS)
    )


def by_ear(name: str) -> str:
    """Return a spelling that names share which sound the same."""
    for sound, letter in _BY_EAR:
        name = sound.sub(letter, name)
    return name


@cache
def _by_first_letter(words: int) -> dict[str, tuple[dict[str, str], dict[str, str]]]:
    """English names and others of so many words, by how they sound."""
    found: dict[str, tuple[dict[str, str], dict[str, str]]] = {}
    for place, names in enumerate((country_names(), foreign_names())):
        for name in names:
            if len(name.split()) == words and name.replace(" ", "").isalpha() and len(name) >= SHORTEST:
                sound = by_ear(name)
                found.setdefault(sound[0], ({}, {}))[place][sound] = name
    return found
