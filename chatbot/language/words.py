"""Translate the program's fixed texts. The English text is the key in
`static/words/<code>.json`. The page's scripts read the same files.
"""

import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Literal, Protocol

from ..config import STATIC
from .counts import count_of

Language = Literal["en", "es", "fr", "pt", "ar"]
LANGUAGES: Mapping[str, str] = {
    "en": "English",
    "es": "Español",
    "fr": "Français",
    "pt": "Português",
    "ar": "العربية",
}
"""Each language's own name by its code."""
RIGHT_TO_LEFT = frozenset({"ar"})
ENGLISH: Language = "en"
CODES: Mapping[str, Language] = {
    "spanish": "es",
    "french": "fr",
    "portuguese": "pt",
    "arabic": "ar",
}
"""Codes by the name that `language_of` returns; not English, whose name it also returns
in doubt.
"""
NAMES_OF_CODES: Mapping[str, str] = {code: name for name, code in CODES.items()}
_LATIN = re.compile(r"^.*[A-Za-z].*$", re.DOTALL)
"""From right to left, a name in Latin letters is isolated: a colon behind it would jump
before it.
"""


class Say(Protocol):
    """Translates fixed texts into one language. ``text`` is the English, with its
    {places} for ``values``.
    """

    def __call__(self, text: str, /, **values: object) -> str: ...


def in_english(text: str, /, **values: object) -> str:
    """Implements `Say`."""
    return text.format(**values) if values else text


def speaking(language: str) -> Say:
    """Return the translator for one of `LANGUAGES`. A text without a translation stays
    English (a test finds it).
    """

    def say(text: str, /, **values: object) -> str:
        if language in RIGHT_TO_LEFT:
            values = {
                name: _LATIN.sub("\u2068\\g<0>\u2069", str(value))
                for name, value in values.items()
            }
        return in_english(_words(language).get(text, text), **values)

    return say


def spoken(say: Say) -> str:
    """Return the code of the language of ``say``, which each file of words has."""
    return say("en")


def counted(say: Say, number: int, noun: str) -> str:
    """Return `text.count_of` in the language of ``say``: "1 report", "1,200
    countries". A language with more than two forms has a text for each.
    """
    figure, _, word = count_of(number, noun).partition(" ")
    text = f"{{number}} {word}"
    mark = f"|{_plural_form(number)}"
    said = say(text + mark, number=figure)
    if said.endswith(mark):
        return say(text, number=figure)
    return said


def _plural_form(number: int) -> str:
    """Return the category of CLDR's rules for Arabic, the only one of `LANGUAGES` with
    more than one and other.
    """
    if number in (0, 1, 2):
        return ("zero", "one", "two")[number]
    rest = number % 100
    if rest in range(3, 11):
        return "few"
    return "many" if rest > 10 else "other"


@cache
def _words(language: str) -> Mapping[str, str]:
    if language == ENGLISH:
        return {}
    words: Mapping[str, str] = json.loads(
        (STATIC / "words" / f"{language}.json").read_text("utf-8")
    )
    return words
