"""The program's fixed words in the reader's language. The English text is the key; `static/words/<code>.json` has it
in the others, for the page's scripts, too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Literal, Protocol

from .shipped import STATIC
from .text import count_of

Language = Literal["en", "es", "fr"]
LANGUAGES: Mapping[str, str] = {"en": "English", "es": "Español", "fr": "Français"}
"""The name of each language by its code, as its speakers call it."""
ENGLISH: Language = "en"


class Say(Protocol):
    """Says fixed words in one language."""

    def __call__(self, text: str, /, **values: object) -> str:
        """``text`` is the English, with its {places} for ``values``."""
        ...


def in_english(text: str, /, **values: object) -> str:
    """Implements `Say`."""
    return text.format(**values) if values else text


def speaking(language: str) -> Say:
    """What says everything in one of `LANGUAGES`; what has no translation is said in English (a test finds it)."""
    words = _words(language)
    return lambda text, /, **values: in_english(words.get(text, text), **values)


def counted(say: Say, number: int, noun: str) -> str:
    """`text.count_of` in the language of ``say``: "1 report", "1,200 countries"."""
    shown = count_of(number, noun)
    figure, _, word = shown.partition(" ")
    return say(f"{{number}} {word}", number=figure)


@cache
def _words(language: str) -> Mapping[str, str]:
    if language == ENGLISH:
        return {}
    words: Mapping[str, str] = json.loads((STATIC / "words" / f"{language}.json").read_text("utf-8"))
    return words
