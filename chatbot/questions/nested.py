"""Questions inside of questions: "the capital of the smallest country", "countries with
more people than Chad".
"""

from decimal import Decimal

from ..domain.scope import Reading
from .counted import says_nothing
from .english import pattern
from .kinds import Bound, words_for_countries
from .reading import remove_names

_RANKED_COUNTRY = pattern(
    r"\b(?:by|does|for|from|has|in|is|of|than)\s+"
    r"(?P<country>the\s+(?:(?!of|in|the)[\w-]+\s+){0,3}(?:country|nation|state)\b[^?.,;]*)"
)
_BEYOND = pattern(r"\b{comparative}\b.*\bthan\b")
_FEWER = pattern(r"\b{fewer}\b")
_NEGATION = pattern(r"\b{negation}\b")


def country_of_ranking(text: str) -> str:
    """Return the words of a question for a country that something else is asked of:
    "the smallest country" of "What is the capital of the smallest country?"; "" where
    nothing else is asked.
    """
    match = _RANKED_COUNTRY.search(text)
    if match is None or says_nothing(text.replace(match["country"], "")):
        return ""
    return match["country"].rstrip()


def bound_of_named(reading: Reading, name: str = "") -> Bound | None:
    """Return the bound of a question for countries that have more or less of something
    than the one that it names; None of others. ``name``: as the data has it.
    """
    if reading.about or len(reading.countries) != 1:
        return None
    plain = remove_names(reading.text, reading.names)
    match = _BEYOND.search(plain)
    if match is None or not words_for_countries(plain, of_all=True):
        return None
    is_negated = _NEGATION.search(plain) is not None
    above = _FEWER.search(match[0]) is None
    return Bound(above, Decimal(0), negated=is_negated, of=name)
