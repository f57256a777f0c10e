"""Names of countries in a text: by name or alias, by ISO code, by what their people are
called.

No word of a language may become a country by mistake. So a misspelt name counts only if
it sounds like the right one ("Phillipines", "mozambik"), or if one letter of an English
name differs: never the first one, and of a short name only a vowel, or two letters that
changed places.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache

from rapidfuzz import process
from rapidfuzz.distance import OSA

from ..domain.scope import NamedCountry
from ..domain.tables import Texts
from .countries import (
    ALIKE,
    ISO_CODE_LENGTH,
    country_code,
    country_names,
    demonyms,
    foreign_demonyms,
    foreign_names,
    normalise,
    usual_name,
)
from .detection import is_foreign

_WORD = re.compile(
    r"(?:[A-Za-z]\.){2,}[A-Za-z]?|&|[ld]['’](?=[aeiouyhà-öø-ÿœ])|[^\W_]+(?:['’][^\W_]+)*",
    re.IGNORECASE,
)
"""French articles that elide before a name: "de l'Égypte", "d'Haïti"."""
_ARTICLE = re.compile(r"^the\b|(?<!\bof)\s+the$", re.IGNORECASE)
_POSSESSIVE = re.compile(r"['’]s?$", re.IGNORECASE)
_BARE_POSSESSIVE = re.compile(r"(?<=\w{4})s$")
"""People leave the apostrophe out: "yemens highest mountain"."""
_COUNTRY_WORD = re.compile(r"\b(?:countr(?:y|ies)|nations?|code)\W+$", re.IGNORECASE)
_MONEY = re.compile(
    r"\s*(?:(?:dollars?|pounds?|yen|yuan|francs?|rou?bles?|cents)\b|\$)", re.IGNORECASE
)
"""Prices are told in these all over the world: a country of the library has to be
meant.
"""
_NOUN = re.compile(
    r"\s+(?!(?:is|are|was|were|has|had|and|or|in|of|to|with|for|from|than|does|did|do|vs)\b)[a-z]"
)
_WORDS_TOO, _NO_CODES, _FOREIGN_WORDS, _NO_NAMES = (
    frozenset(ALIKE[name])
    for name in ("words_too", "no_codes", "foreign_words", "no_misspellings")
)
_ARABIC_LEADS = frozenset("وفبكل")
"""Arabic writes "and", "in", "for" and the like with the word behind them."""
_ARABIC_ARTICLE = re.compile("^[وف]?(?:[بك]?ال|لل)")
SEVERAL = {"congo": ("COD", "COG"), "korea": ("KOR", "PRK")}
"""Short names of two countries: whichever the reports have is meant."""


@lru_cache(maxsize=4096)
def find_countries(
    text: str, library: Texts = (), *, misspelt: bool = True
) -> tuple[NamedCountry, ...]:
    """Return the countries named, in text order, the longest name at each place.

    ``library``: the names of the library's countries, which need not be countries of
    ISO 3166. Others are found by a misspelt name only where it sounds right
    ("Tanzannia"), by a code only behind the word "country".
    """
    codes = frozenset(map(country_key, library))

    def is_clear(country: NamedCountry, *, is_code: bool) -> bool:
        if is_code and not _COUNTRY_WORD.search(text[: country.start]):
            return False
        sounds = not country.taken_as or by_ear(normalise(country.text)) == by_ear(
            normalise(country.taken_as)
        )
        return sounds and not _MONEY.match(text, country.end)

    candidates = _find(text, _lookup(library, is_foreign(text)), misspelt=misspelt)
    return tuple(
        one
        for one, is_code in candidates
        if codes.issuperset(one.keys) or is_clear(one, is_code=is_code)
    )


def country_key(name: str) -> str:
    """Return what `NamedCountry.keys` has for a value of the data."""
    return country_code(name) or normalise(name)


def keys_in(text: str) -> frozenset[str]:
    """Return the keys of all countries that a report's text names: it spells them
    right.
    """
    lookup = _lookup((), True)
    for word in set(_WORD.findall(text)):
        if word.isdigit():
            continue
        if _longest(word, lookup) or _key_of_code(word):
            break
    else:
        # So it is with most passages, and to tell a language takes longer than this.
        return frozenset()
    return frozenset(
        key for country in find_countries(text, misspelt=False) for key in country.keys
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Lookup:
    """Keys by normalised name and by demonym, and of how many words a name is at most
    that begins with a word.
    """

    keys: dict[str, Texts]
    people: dict[str, Texts]
    words: dict[str, int]


@lru_cache(maxsize=8)
def _lookup(library: Texts, foreign: bool) -> _Lookup:
    others = {
        name: (code,)
        for name, code in foreign_names().items()
        if foreign or name not in _FOREIGN_WORDS
    }
    named = {name: (code,) for name, code in country_names().items()}
    library_names = {
        normalise(name): (country_key(name),)
        for name in library
        if country_code(name) is None
    }
    keys = {
        **others,
        **dict.fromkeys(ALIKE["elsewhere"], ()),
        **named,
        **SEVERAL,
        **library_names,
    }
    people = foreign_demonyms() if foreign else demonyms()
    longest: dict[str, int] = {}
    for name in filter(None, [*keys, *people]):
        words = name.split()
        longest[words[0]] = max(
            longest.get(words[0], 0), len(words) + 1
        )  # and an article behind it: "Gambia, The"
    return _Lookup(keys, people, longest)


def _find(
    text: str, lookup: _Lookup, *, misspelt: bool
) -> Iterator[tuple[NamedCountry, bool]]:
    """Each name, and whether it is a code that may be another abbreviation."""
    words = list(_WORD.finditer(text))
    all_capitals = text.isupper()
    place = 0
    while place < len(words):
        written = words[place][0]
        is_number = written.isascii() and written.isdigit()
        if is_number and written not in lookup.words:
            # Rows of figures have as many numbers as words.
            place += 1
            continue
        # Eight words hold the longest names: "Korea, Democratic People's Republic of".
        country, count = _at(text, words[place : place + 8], lookup, misspelt=misspelt)
        if country is not None and country.keys:
            yield country, False
        elif (
            country is None
            and not all_capitals
            and (code := _coded(text, words[place]))
        ):
            yield code, code.keys != ("USA",)
        place += count


def _at(
    text: str, words: list[re.Match[str]], lookup: _Lookup, *, misspelt: bool
) -> tuple[NamedCountry | None, int]:
    """The name at the beginning of these words, and how many of them it has."""
    longest = _longest(words[0][0], lookup)
    for count in range(min(longest, len(words)), 0, -1):
        if country := _named(text, words[:count], lookup):
            return country, count
    for count in range(min(2, len(words)), 0, -1) if misspelt else ():
        start = words[0].start()
        end = words[count - 1].end()
        written = _POSSESSIVE.sub("", text[start:end])
        keys = lookup.keys.get(
            meant_country(tuple(map(normalise, written.split()))) or ""
        )
        if keys:
            return NamedCountry(
                keys, written, start, start + len(written), taken_as=usual_name(keys[0])
            ), count
    return None, 1


@lru_cache(maxsize=8192)
def _longest(written: str, lookup: _Lookup) -> int:
    """Return of how many words a name is at most that begins with this one. Texts
    repeat their words, and few of them begin a name.
    """
    forms = {
        written,
        _POSSESSIVE.sub("", written),
        _BARE_POSSESSIVE.sub("", written),
    }
    words = map(normalise, forms)
    return max(lookup.words.get(word, not word.isascii()) for word in words)


def _named(
    text: str, span: list[re.Match[str]], lookup: _Lookup
) -> NamedCountry | None:
    start = span[0].start()
    end = span[-1].end()
    if any(mark in text[start:end] for mark in ";:?!") or _ARTICLE.search(
        text[start:end]
    ):
        return None
    end += text[start:end].count("(") > 0 and text[end : end + 1] == ")"
    written = text[start:end]
    for wording in dict.fromkeys(
        (written, _POSSESSIVE.sub("", written), _BARE_POSSESSIVE.sub("", written))
    ):
        if wording != written and normalise(written) in _NO_NAMES:
            return None
        name = normalise(wording)
        if not name or (name in _WORDS_TOO and wording == wording.lower()):
            continue
        whole = NamedCountry((), wording, start, start + len(wording))
        people = lookup.people.get(name)
        people = people or lookup.people.get(_ARABIC_ARTICLE.sub("", name))
        if people is not None:
            return replace(whole, keys=people, by_people=True)
        keys = _keys_of(name, lookup)
        if keys is not None:
            return replace(whole, keys=keys)
    return None


def _keys_of(name: str, lookup: _Lookup) -> Texts | None:
    """Return the keys of a normalised name, which in Arabic may have an article or
    letters before it that are words.
    """
    bare = _ARABIC_ARTICLE.sub("", name)
    if bare != name and bare in lookup.keys:
        return lookup.keys[bare]
    for letters in (0, 1, 2):
        named = name[letters:]
        if named in lookup.keys and _ARABIC_LEADS.issuperset(name[:letters]):
            return lookup.keys[named]
    return None


def _coded(text: str, word: re.Match[str]) -> NamedCountry | None:
    """A word in capitals that is an ISO code; "US" before a noun is what belongs to the
    country.
    """
    key = _key_of_code(word[0])
    if not key:
        return None
    written = _POSSESSIVE.sub("", word[0])
    end = word.start() + len(written)
    is_adjective = key == "USA" and _NOUN.match(text, end) is not None
    return NamedCountry((key,), written, word.start(), end, by_people=is_adjective)


# Texts repeat their words, and few of them are codes.
@lru_cache(maxsize=8192)
def _key_of_code(written: str) -> str | None:
    """Return the key of a country whose code is written; None where it is no code."""
    if written.islower():
        return None
    code = _POSSESSIVE.sub("", written).replace(".", "")
    if code not in {"US", "USA"} and (
        not code.isupper() or len(code) > ISO_CODE_LENGTH or code in _NO_CODES
    ):
        return None
    return country_code(code)


MIN_SOUND_LETTERS = 5
"""Too many words sound like a shorter name."""
_BY_EAR = tuple(
    (re.compile(sound), letter)
    for sound, letter in (
        ("ph", "f"),
        ("qu|ck|k", "c"),
        ("th", "t"),
        ("y", "i"),
        ("z", "s"),
        (r"(.)\1+", r"\1"),
    )
)
_NO_MISSPELLINGS = _WORDS_TOO | _FOREIGN_WORDS | _NO_NAMES
_VOWELS = str.maketrans("aeiou", "-----")


@lru_cache(maxsize=4096)
def meant_country(words: Texts) -> str | None:
    """Return the normalised name that one or two normalised words were taken for; None
    where it is none or not clear. Of a name of two words one is right: "Costa Rika",
    "Suth Africa".
    """
    written = " ".join(words)
    sound = by_ear(" ".join(words))
    if (
        not written.replace(" ", "").isalpha()
        or written in _NO_MISSPELLINGS
        or len(sound) < MIN_SOUND_LETTERS
    ):
        return None
    english = _by_sound(country_names, len(words))
    foreign = _by_sound(foreign_names, len(words))
    name = english.get(sound) or foreign.get(sound)
    names = [name] if name else _near_sounds(sound, english)
    if names is None:
        return _swapped(written)
    if len(words) > 1:
        names = [name for name in names if not set(words).isdisjoint(name.split())]
    countries = {country_names().get(name) for name in names}
    return names[0] if len(countries) == 1 else None


def _near_sounds(sound: str, by_sound: Mapping[str, str]) -> list[str] | None:
    """Return the names that sound nearly so and begin with the same letter; None: no
    name is near.
    """
    near = process.extract(sound, by_sound.keys(), scorer=OSA.distance, score_cutoff=1)
    if not near:
        return None
    return [
        by_sound[other]
        for other, _, _ in near
        if other[0] == sound[0] and _is_near(sound, other)
    ]


def _swapped(written: str) -> str | None:
    """Return the one name of which a word has two letters swapped, or one wrong: it may
    sound otherwise, as "Mozambqiue" does; None without one.
    """
    near = process.extract(
        written, country_names().keys(), scorer=OSA.distance, score_cutoff=1
    )
    names = [name for name, _, _ in near if name[0] == written[0]]
    return names[0] if len(names) == 1 and len(written) > MIN_SOUND_LETTERS else None


def _is_near(sound: str, name: str) -> bool:
    """Return whether the two differ by at most one letter added, dropped or changed,
    too much for a short name.
    """
    if min(len(sound), len(name)) > MIN_SOUND_LETTERS:
        return True
    return len(sound) == len(name) and (
        sorted(sound) == sorted(name)
        or sound.translate(_VOWELS) == name.translate(_VOWELS)
    )


def by_ear(name: str) -> str:
    """Return a spelling that names share which sound the same."""
    for sound, letter in _BY_EAR:
        name = sound.sub(letter, name)
    return name


@cache
def _by_sound(names: Callable[[], dict[str, str]], words: int) -> dict[str, str]:
    """Names of so many words, by how they sound."""
    fit = (
        name
        for name in names()
        if name.count(" ") == words - 1 and len(name) >= MIN_SOUND_LETTERS
    )
    return {by_ear(name): name for name in fit if name.replace(" ", "").isalpha()}
