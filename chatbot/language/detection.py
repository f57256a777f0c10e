"""Find out in which language a text is written."""

import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass
from .analysis import LANGUAGES, STOP_WORDS, TERM_PATTERN, Analyzer, analyzer

_SIGNS = {
    language: words if language == "english" else words - STOP_WORDS["english"]
    for language, words in STOP_WORDS.items()
}
"""Stop words of each language that are none of English."""
_ACCENTED = {
    "spanish": r"[¿¡]|(?<=¿).|\b[a-zéñ]+[ñáíóú]",
    "french": r"[«»]|\b[a-zé]*[çàèêâîôûùœ]",
    "german": r"\b[a-z]*[äöüß]",
    "portuguese": (
        r"\b[a-zç]*[ãõ]|(?<=[a-zç][ãõ])[eo]s?\b|\b[a-z]*(?:ç[ao]|[áâêíóôú])|\bé\b"
    ),
}
_UNACCENTED = {
    "spanish": r"\b[a-z]*ci[oó]n\b|\b[Cc]u[aá]nt[oa]s?\b",
    "french": (
        r"\s(?=[?!:])|(?<=\b[dlnsjcm])['’](?=[a-zéèêàh])|\bqu['’]|-t-"
        r"|\b(?:[Qq]uel(?:le)?|[Cc]ombien)\b"
    ),
    "portuguese": r"\b(?:[Qq]uais|[Qq]uant[ao]s|[Oo]nde)\b",
}
"""Signs of a language besides its stop words, by whether they need a letter that ASCII
lacks; a word with a capital may be a name.
"""
_ASCII_SPELLINGS = {name: re.compile(one) for name, one in _UNACCENTED.items()}
_SPELLINGS = {
    name: re.compile("|".join(filter(None, [one, _UNACCENTED.get(name)])))
    for name, one in _ACCENTED.items()
}
_LATIN, _NOT_LATIN = (
    re.compile("[a-zA-Z\u00c0-\u024f]"),
    re.compile(r"[^\W\d_a-zA-Z\u00c0-\u024f]+"),
)
_LETTER_OF_NAME = re.compile(r"\b[A-Z]\b(?!['’]?\s*\w)")
"""The last letter of "School C": "c" is a word of French and Italian."""
_ARABIC = re.compile("[ةىيك]")
"""Letters that Persian and Urdu, in the same script, write in other ways."""


@lru_cache(maxsize=256)
def language_of(
    text: str, otherwise: str = "english", preferred: str = "spanish"
) -> str:
    """Return the one of `LANGUAGES` that a text is written in; "arabic", or "" for one
    in another script. Signs are stop words, and spellings that English has in names
    only. ``otherwise``: where the signs are too few; ``preferred``: among those with as
    many signs.
    """
    without_letters = _LETTER_OF_NAME.sub("", text)
    words = set(TERM_PATTERN.findall(without_letters.lower()))
    signs = {
        language: len(words & stop_words) for language, stop_words in _SIGNS.items()
    }
    # Spellings decide where stop words leave a doubt: looking for them takes four
    # fifths of the time.
    # Fewer than five different stop words show no language.
    if 2 * sorted(signs.values())[-2] >= signs[otherwise] or signs[otherwise] < 5:
        spellings = _ASCII_SPELLINGS if text.isascii() else _SPELLINGS
        for language, pattern in spellings.items():
            signs[language] += len(set(pattern.findall(text)))
    best = max(
        LANGUAGES,
        key=lambda language: (
            signs[language],
            language == preferred,
            language in {"spanish", "french", "portuguese"},
            language == "spanish",
        ),
    )
    if signs[best] > max(1, signs[otherwise]):
        return best
    letters = (
        0
        if text.isascii() or otherwise == "russian"
        else sum(map(len, _NOT_LATIN.findall(text)))
    )
    if (
        letters == 0 or len(_LATIN.findall(text)) >= letters
    ):  # "GDP" in an Arabic question is Latin too
        return otherwise
    return "arabic" if _ARABIC.search(text) else ""


def analyzer_for(text: str, otherwise: str) -> Analyzer:
    """Return the analyzer of a text's language; that of ``otherwise`` where it is not
    known.
    """
    language = language_of(text, otherwise)
    return analyzer(language if language in LANGUAGES else otherwise)


def is_foreign(text: str) -> bool:
    """Return whether a text is in another language than English. The rules for names
    and clauses are English: of the two countries in "Kenia und Somalia" they find one.
    """
    return language_of(text) != "english"
