"""Questions for the countries whose reports say something, or do not say it: "Which
countries export coffee?".
"""

from collections.abc import Mapping
from dataclasses import dataclass

from ..domain.scope import Reading
from ..language.analysis import TERM_PATTERN, analyzer
from .english import pattern
from .kinds import Request, without_countries_asked_for
from .reading import NEUTRAL_WORDS, SHARE_WORDS, asking_clause, remove_names
from .sides import COMPARES

_MEMBERS = {"member", "members"}
"""Countries, as words for what they belong to have it."""
_NEGATION = pattern(r"\b{negation}\b")


@dataclass(frozen=True, slots=True)
class WordSet:
    """``words``: those that say what a report has to state, by their terms; countries
    by their keys ("border Chad"). ``negated``: those that lack it are asked for.
    """

    words: Mapping[str, str]
    negated: bool = False


def read_word_set(reading: Reading, request: Request) -> WordSet | None:
    """Return the set that a question asks for; None where it asks for none, or for one
    by figures.
    """
    if reading.about or reading.document or reading.figure_years:
        return None
    reading = asking_clause(reading)
    by_figures = request.bound is not None and request.bound.value
    if by_figures or request.kind not in {"value", "count", "filter"}:
        return None
    plain = remove_names(reading.text, reading.names)
    topic = without_countries_asked_for(plain)
    if topic == plain or COMPARES.search(plain):
        return None
    words = {name.keys[0]: name.text for name in reading.countries}
    for word in TERM_PATTERN.findall(_NEGATION.sub(" ", topic)):
        if word.lower() not in NEUTRAL_WORDS | SHARE_WORDS | _MEMBERS:
            words |= dict.fromkeys(analyzer("english").terms(word), word)
    return WordSet(words, _NEGATION.search(plain) is not None)
