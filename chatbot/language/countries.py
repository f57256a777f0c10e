"""Map country names, ISO codes and common aliases to one code per country."""

import re
import unicodedata
from collections.abc import Sequence
from difflib import get_close_matches
from functools import lru_cache

from ..domain.errors import read_table
from ..domain.tables import Texts
from .iso_codes import FOREIGN_LANGUAGES, Country, countries

_NAMES = read_table(__package__, "countries")
ALIKE = {
    name: [" ".join(one.split()) for one in text.split(",")]
    for name, text in _NAMES["alike"].items()
}
"""Words that look like names of countries, by kind."""
ALIASES, FOREIGN_ALIASES = (
    {name: code for code, names in _NAMES[table].items() for name in names}
    for table in ("aliases", "foreign")
)
_WITH_ARTICLE = re.compile(
    "Bahamas|Comoros|Gambia|Holy See|Isle of Man|Ivory "
    "Coast|Maldives|Netherlands|Philippines|Seychelles"
    r"|(?:[\w.'’-]+ "
    r")*(?:Republic|Federation|Kingdom|States|Emirates|Islands|Territory|Territories)(?: "  # noqa: E501
    r"of [^,]+)?"
)
_CODES, _SAME_IN_PLURAL = (
    re.compile(r"\b[A-Z]{3}\b"),
    ("ese", "ish", "ch", "s", "shman", "chman"),
)
_INVERTED = re.compile(r"(.+), (?:The )?(.+)")
_IN_BRACKETS = re.compile(r"\s*\((.+?)\)")

ISO_CODE_LENGTH = 3


@lru_cache(maxsize=8192)
def normalise(name: str) -> str:
    """Return a name in lower case without accents, punctuation and article: "Gambia,
    The" is "gambia".
    """
    plain = name.lower()
    if not plain.isascii():
        plain = "".join(
            sign
            for sign in unicodedata.normalize("NFKD", plain)
            if not unicodedata.combining(sign)
        )
    words = re.sub(
        r"[\W_]+", " ", re.sub(r"['’.]", "", plain.replace("&", " and "))
    ).split()
    words = ["saint" if word == "st" else word for word in words]
    words = words[1:] if len(words) > 1 and words[0] == "the" else words
    return " ".join(words[:-1] if len(words) > 1 and words[-1] == "the" else words)


@lru_cache(maxsize=1)
def _codes() -> dict[str, str]:
    codes: dict[str, str] = {}
    for country in countries():
        names = (country.name, country.official_name, country.common_name)
        for name in (*names, country.alpha_2, country.alpha_3):
            if name:
                codes.setdefault(normalise(name), country.alpha_3)
    return codes | {normalise(alias): code for alias, code in ALIASES.items()}


@lru_cache(maxsize=1)
def country_names() -> dict[str, str]:
    """Return the ISO-3 codes by normalised name or alias, without the ISO codes
    themselves.
    """
    codes = {
        normalise(code) for c in countries() for code in (c.alpha_2, c.alpha_3)
    } | {"xk"}
    return {name: code for name, code in _codes().items() if name not in codes}


@lru_cache(maxsize=1)
def foreign_names() -> dict[str, str]:
    """Return the ISO-3 codes by normalised name in the languages of `iso_codes`,
    without names that are English, too.
    """
    codes = dict(FOREIGN_ALIASES)
    for country in countries():
        for name in country.foreign_names:
            parts = (_IN_BRACKETS.sub("", name), *_IN_BRACKETS.findall(name))
            for part in parts:  # "Myanmar (Birmania)"
                codes.setdefault(normalise(part), country.alpha_3)
    return {name: code for name, code in codes.items() if name and name not in _codes()}


@lru_cache(maxsize=1)
def demonyms() -> dict[str, Texts]:
    """Return ISO-3 codes by demonym, also in the plural. What is also a name is no
    demonym.
    """
    codes_of = dict[str, Texts]()
    people = _NAMES["people"]
    forms = _listed_people("others")
    for pattern, suffix in people["usual"]:
        forms += [
            (re.sub(pattern, suffix, name, count=1), (code,))
            for name, code in country_names().items()
        ]
    for form, codes in forms:
        if form not in country_names():
            codes_of.setdefault(form, codes)
            codes_of.setdefault(
                form if form.endswith(_SAME_IN_PLURAL) else f"{form}s", codes
            )
    return {form: codes for form, codes in codes_of.items() if form not in _codes()}


@lru_cache(maxsize=1)
def foreign_demonyms() -> dict[str, Texts]:
    """Return ISO-3 codes by demonym in Spanish, French, Portuguese and Arabic, with
    the English ones. What is also a name is no demonym.
    """
    codes_of = dict(demonyms())
    for form, codes in _listed_people("foreign_others"):
        codes_of.setdefault(form, codes)
        codes_of.setdefault(f"{form}s", codes)
    names = foreign_names() | country_names()
    for pattern, endings in _NAMES["people"]["foreign"]:
        for name, code in names.items():
            stem = re.fullmatch(pattern, name)
            if stem is None or " " in name:
                continue
            for ending in endings.split():
                codes_of.setdefault(f"{stem[1]}{ending}", (code,))
    return {form: codes for form, codes in codes_of.items() if form not in names}


def _listed_people(table: str) -> list[tuple[str, Texts]]:
    """Return demonyms with the codes of their countries."""
    return [
        (normalise(_CODES.sub("", one)), tuple(_CODES.findall(one)))
        for one in _NAMES["people"][table].split(",")
    ]


def usual_name(code: str) -> str:
    """Return the usual English name by ISO-3 code. Raises KeyError."""
    return _names()[code]


def takes_article(name: str) -> bool:
    """Return whether the name has "the" before it in English: the United States, the
    Gambia.
    """
    return _WITH_ARTICLE.fullmatch(name) is not None


def numeric_code(name: str) -> str | None:
    """Return the three digits of ISO 3166 for a country, which maps of the world use;
    None without any.
    """
    country = _country(name)
    return country.numeric if country else None


def name_in(language: str, name: str) -> str:
    """Return what a country is called in a language (ISO 639-1); the name itself where
    that is not known.
    """
    country = _country(name)
    if country is None:
        return name
    names = dict(zip(FOREIGN_LANGUAGES, country.foreign_names, strict=True))
    return names.get(language, name)


@lru_cache(maxsize=1024)
def _country(name: str) -> Country | None:
    code = country_code(name)
    return next((one for one in countries() if one.alpha_3 == code), None)


def country_code(name: str) -> str | None:
    """Return the ISO-3 code of a country given by name, ISO code or alias in any case,
    or None.
    """
    return _codes().get(normalise(name))


@lru_cache(maxsize=1)
def _names() -> dict[str, str]:
    names = {country.alpha_3: country.usual_name for country in countries()}
    names["XKX"] = "Kosovo"
    return {code: in_spoken_order(name) for code, name in names.items()}


def in_spoken_order(name: str) -> str:
    """Return a name of a list as people say it: "Korea, South" is "South Korea"."""
    return _INVERTED.sub(r"\2 \1", name)


def resolve_country(
    text: str, spellings: Sequence[str]
) -> tuple[str | None, list[str]]:
    """Return a country's name: as one of ``spellings``, else the text itself if it is a
    name, else its usual name. Return None and similar names if the text is no country.
    """
    code = country_code(text)
    if code is None:
        names = [name for name in _codes() if len(name) > ISO_CODE_LENGTH]
        similar = get_close_matches(normalise(text), names, n=3, cutoff=0.75)
        return None, list(dict.fromkeys(_names()[_codes()[name]] for name in similar))
    for name in spellings:
        if country_code(name) == code:
            return name, []
    spelled_out = len(normalise(text)) > ISO_CODE_LENGTH and text not in {
        text.lower(),
        text.upper(),
    }
    return (text if spelled_out else _names()[code]), []
