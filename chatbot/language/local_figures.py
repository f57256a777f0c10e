"""Write figures of English reports as another language writes them: its decimal sign,
its groups of digits and its words for millions and years.
"""

import re
from functools import lru_cache

from .words import ENGLISH, LANGUAGES, Say, speaking, spoken

__all__ = ["local_text", "spellings"]

_NUMBER = re.compile(
    r"(?<![\d.,])(\d{1,3}(?:,\d{3})+|\d+(?=\.))(?:\.(\d+))?(?!\d|[.,]\d)"
)
_WORDS = {
    "million": "million",
    "billion": "billion",
    "trillion": "trillion",
    "times": "times",
    "years": "years",
}
"""Words behind a number, with what is translated of each."""
_WORD = re.compile(rf"(?<=\d )(?:{'|'.join(_WORDS)})\b")
_SIGNS = {"es": (".", ","), "fr": ("\u202f", ","), "pt": (".", ",")}
"""Between groups of digits and before decimals; other languages write both as English
does. The page's scripts take them from the browser.
"""
_UNGROUPED_DIGITS = {"es": 4}
"""Whole numbers of so many digits have no groups."""


def local_text(text: str, say: Say) -> str:
    """Return a figure as the language of ``say`` writes it: "5,24%" for "5.24%"."""
    language = spoken(say)
    if language == ENGLISH:
        return text
    grouped, decimal = _SIGNS.get(language, (",", "."))

    def written(number: re.Match[str]) -> str:
        digits = number[1].replace(",", "")
        if len(digits) > _UNGROUPED_DIGITS.get(language, 3):
            digits = f"{int(digits):,}".replace(",", grouped)
        if number[2] is None:
            return digits
        return f"{digits}{decimal}{number[2]}"

    text = _NUMBER.sub(written, text)
    return _WORD.sub(lambda word: say(_WORDS[word[0]]), text)


@lru_cache(4096)
def spellings(text: str) -> tuple[str, ...]:
    """Return a figure as its report writes it, then as other languages do."""
    written = [text]
    for language in LANGUAGES:
        written.append(local_text(text, speaking(language)))
    return tuple(dict.fromkeys(written))
