"""Names of countries as people misspell them, by a strict bound: no word of a language may become a country.

Spelt by ear they are the same ("Phillipines", "mozambik"); beyond that one letter of an English name may differ, never
the first, and of a short name only a vowel, or two letters that changed places.
"""

from __future__ import annotations

import re
from functools import lru_cache

from rapidfuzz import process
from rapidfuzz.distance import OSA

from ..language.countries import country_names, foreign_names
from .english import country_table

SHORTEST = 5
_BY_EAR = tuple(
    (re.compile(sound), letter)
    for sound, letter in (("ph", "f"), ("qu|ck|k", "c"), ("th", "t"), ("y", "i"), ("z", "s"), (r"(.)\1+", r"\1"))
)
_VOWELS = str.maketrans("aeiou", "-----")


@lru_cache(maxsize=4096)
def meant_country(words: tuple[str, ...]) -> str | None:
    """The normalised name that one or two normalised words were taken for; None where it is none or not clear."""
    if not all(word.isalpha() for word in words) or " ".join(words) in _no_misspellings():
        return None
    if len(words) == 1:
        return _meant(words[0], "", "")
    first, second = words  # of two, one is right: "Costa Rika", "Suth Africa"
    firsts, seconds = _doubles()
    found = _meant(second, f"{first} ", "") if first in firsts else None
    return found or (_meant(first, "", f" {second}") if second in seconds else None)


def _meant(word: str, before: str, after: str) -> str | None:
    sound = _by_ear(word)
    if len(sound) < _shortest(before + after):
        return None
    names, foreign = _by_first_letter(before, after).get(sound[0], ({}, {}))
    if alike := names.get(sound) or foreign.get(sound):
        return alike
    near = process.extract(sound, names.keys(), scorer=OSA.distance, score_cutoff=1)
    found = {names[name] for name, _, _ in near if _is_near(sound, name)}
    return found.pop() if len({country_names()[name] for name in found}) == 1 else None


def _shortest(beside: str) -> int:
    return SHORTEST - bool(beside)


def _is_near(sound: str, name: str) -> bool:
    """Whether the two differ by no more than one letter added, dropped or changed, which a short name cannot spare."""
    if min(len(sound), len(name)) > SHORTEST:
        return True
    return len(sound) == len(name) and (
        sorted(sound) == sorted(name) or sound.translate(_VOWELS) == name.translate(_VOWELS)
    )


def _by_ear(name: str) -> str:
    for sound, letter in _BY_EAR:
        name = sound.sub(letter, name)
    return name


@lru_cache(maxsize=512)
def _by_first_letter(before: str, after: str) -> dict[str, tuple[dict[str, str], dict[str, str]]]:
    """English names and others between these words, by how they sound."""
    found: dict[str, tuple[dict[str, str], dict[str, str]]] = {}
    for place, names in enumerate((country_names(), foreign_names())):
        for name in names:
            word = name.removeprefix(before).removesuffix(after)
            if (
                len(word) == len(name) - len(before) - len(after)
                and word.isalpha()
                and len(word) >= _shortest(before + after)
            ):
                sound = _by_ear(word)
                found.setdefault(sound[0], ({}, {}))[place][sound] = name
    return found


@lru_cache(maxsize=1)
def _doubles() -> tuple[frozenset[str], frozenset[str]]:
    """The first and the second words of names of two."""
    names = [name.split() for name in [*country_names(), *foreign_names()] if name.count(" ") == 1]
    return frozenset(first for first, _ in names), frozenset(second for _, second in names)


@lru_cache(maxsize=1)
def _no_misspellings() -> frozenset[str]:
    tables = ("words_too", "foreign_words", "no_misspellings")
    return frozenset(word for table in tables for word in country_table(table))
