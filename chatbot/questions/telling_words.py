"""The words of a question that say what it is about: no name of a country, year or
report, and none of the closed classes that `kinds` and `operations` read.
"""

from collections.abc import Sequence

from ..domain.scope import Reading
from ..language.analysis import STOP_WORDS, WORD_PATTERN
from ..language.figures import ONES, SCALES
from ..language.sentences import sentences
from .english import pattern, words
from .kinds import FRACTIONS
from .reading import NEUTRAL_WORDS, SHARE_WORDS, asking_clause, remove_names, tidy

_OPERATION = pattern(
    r"\b(?:{superlative}|{lowest}|{more_or_less}|{above}|{below}|{average}|{compares}"
    r"|{outdoes}|{fits}|{of_named}|{scaled_by_people}|{per_area}|convert(?:ed)?|express(?:ed)?|{difference}|{ratio}|{in_per_cent}|{gained}|{falls}"
    r"|{grows}|{countries}|{newest}|{previous}|{tell}|{report}|{negation})\b|{series}"
    r"|\b{comparative}\b(?=.*\bthan\b)"
)
_OF_NO_SUBJECT = frozenset().union(
    NEUTRAL_WORDS,
    SHARE_WORDS,
    FRACTIONS,
    ONES,
    SCALES,
    *STOP_WORDS.values(),
    *map(words, ("size_words", "comparing_words", "service_words", "greeting_words")),
)


def asking_part(reading: Reading) -> str:
    """Return the sentences of a text that ask, without names; all of it where none
    ends with a question mark.
    """
    reading = asking_clause(reading)
    topic = remove_names(reading.text, reading.names)
    asking = [sentence for sentence in sentences(topic) if sentence.endswith("?")]
    return tidy(" ".join(asking or [topic]))


def telling_words(reading: Reading) -> Sequence[str]:
    """Return the words that say what a question is about, each once, in its order."""
    asking = _OPERATION.sub(" ", asking_part(reading))
    telling: dict[str, None] = {}
    for word in WORD_PATTERN.findall(asking):
        lower = word.lower()
        singular = lower.removesuffix("s")
        if lower.isdecimal():
            continue
        if _OF_NO_SUBJECT.isdisjoint({lower, singular}):
            telling[word] = None
    return list(telling)
