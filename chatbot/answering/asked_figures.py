"""Whether a question asks for a figure: by the name that people call it by, not by any
word of that name. "Inflation" asks for the inflation rate; "life" does not ask for the
life expectancy at birth.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..checking.wording import LABELS
from ..domain.figures import GlossaryEntry, ReportedFigure
from ..domain.scope import Reading
from ..language.analysis import LETTERS_PATTERN
from ..language.country_names import country_key
from ..language.reported_figures import year_of
from ..language.table_words import is_total
from ..questions.kinds import asks_for_person, has_only_prose
from ..questions.reading import NEUTRAL_WORDS, SHARE_WORDS, remove_names

_BEHIND_THE_NOUN = re.compile(
    r"[(:,;–—]|\s-\s|\b(?:about|at|by|for|from|in|of|on|per|to|under|with)\b"
)
"""Begins what only describes the noun of a name."""
_SAYS_NO_THING = NEUTRAL_WORDS | SHARE_WORDS


@dataclass(frozen=True, slots=True)
class AskedNames:
    """The names of figures that a question has. ``terms`` returns the stems of a text
    in the language of the reports.
    """

    reading: Reading
    glossary: Sequence[GlossaryEntry]
    terms: Callable[[str], Sequence[str]]

    def is_asked(self, figure: ReportedFigure) -> bool:
        """Return whether the question asks for a figure by its name, and for its year
        where it names years.
        """
        text = self.reading.text
        if asks_for_person(text) or has_only_prose(text):
            return False
        years = self.reading.figure_years
        if years and not any(one.condition.matches(year_of(figure)) for one in years):
            return False
        return self.has(figure)

    def has(self, figure: ReportedFigure) -> bool:
        """Return whether the question has a name of a figure: the noun of its heading,
        of a part most words of the part's own name or another word for it, all words of
        a phrase that the glossary has for it, or all words of the figure itself ("300
        families displaced").
        """
        reading = self.reading
        subject = country_key(figure.subject)
        names = [one for one in reading.about if subject in one.keys]
        asked = set(self.terms(remove_names(reading.text, names)))
        counted = self.terms(" ".join(LETTERS_PATTERN.findall(figure.text)))
        if counted and asked.issuperset(counted):
            return True
        label = "" if is_total(figure.label) else figure.label
        labels = {label, figure.label}
        part, _, name = label.partition(": ")
        if name[:1].isupper():
            # "highest point: Mount Kenya"
            labels.add(part)
        for entry in self.glossary:
            if entry.heading != figure.heading or entry.label not in labels:
                continue
            for phrase in (entry.term, *entry.other_words):
                words = self.terms(phrase)
                if words and asked.issuperset(words):
                    return True
        if label:
            return any(self._says_most_of(part, asked) for part in label.split(": "))
        return asked.issuperset(self.terms(_noun_of(figure.heading)))

    def _says_most_of(self, name: str, asked: set[str]) -> bool:
        words = set(self.terms(name))
        if 2 * len(words & asked) > len(words):
            return True
        # People say "women" where reports have "female".
        return not asked.isdisjoint(self.terms(LABELS.get(name, "")))


def _noun_of(name: str) -> str:
    """Return the noun that a name is about: "expectancy" of "Life expectancy at birth",
    "inflation" of "Inflation rate (consumer prices)".
    """
    before = _BEHIND_THE_NOUN.split(name, maxsplit=1)[0]
    words: list[str] = LETTERS_PATTERN.findall(before) or LETTERS_PATTERN.findall(name)
    telling = [word for word in words if word.lower() not in _SAYS_NO_THING]
    if words:
        return (telling or words)[-1]
    return ""
