"""Whether the hits answer the question: how near the best passage and heading are, against a bound that doubts raise.

The score alone separates little: the nearest of thousands of passages is near to "What is 17 times 23?", and what
reports say of deaths is near to homicides. So the headings count as much, and two doubts raise the bound: words of the
question that neither a hit nor the glossary of its heading has, and a name among them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from ..domain import SearchHit
from ..domain.figures import GlossaryEntry
from ..domain.protocols import Embedder
from ..domain.scope import Reading
from ..language import analyzer, language_of
from ..questions.wording import OF_ANY_QUESTION, remove_names

Verdict = Literal["answers", "closest", "nothing"]
"""``closest``: the hits may only be near to what the question asks."""
HEADINGS = 3
"""First hits whose headings count."""
CLOSEST, ANSWERS = 0.3, 0.8
"""What the nearness of a question without doubts has to reach, as a share of the way from floor to threshold."""
WORDS, NAME = 1.5, 1.0
"""How far the doubts raise that: all words of the question missing from the hits, and one of them a name."""
NAME_SAID = 0.5
"""How far that sinks if the hits have all names of the question, besides those of countries."""
MIN_WORDS = 2
"""Words of a question that the missing ones are compared with: of a single word little can be said."""
_WORD = re.compile(r"[^\W\d_]{2,}")


@dataclass(frozen=True, slots=True)
class Bounds:
    """Scores of one embedding model: below ``floor`` nothing is about the question, above ``threshold`` most is.

    ``floor`` 0: nothing is refused. Both the same: only the floor counts.
    """

    floor: float
    threshold: float

    def at(self, share: float) -> float:
        """Return the score at this share of the way from floor to threshold."""
        return self.floor + share * (self.threshold - self.floor)


def best_score(hits: Sequence[SearchHit]) -> float:
    """Return the highest vector score; 0 without any."""
    return max((hit.score for hit in hits if hit.score is not None), default=0.0)


@dataclass(frozen=True, slots=True)
class Judge:
    """Decides whether hits answer a question. ``language``: of the reports.

    ``glossary`` returns the entries of the library.
    """

    bounds: Bounds
    embedder: Embedder
    language: str
    glossary: Callable[[], Sequence[GlossaryEntry]]

    def verdict(self, question: Reading, hits: Sequence[SearchHit]) -> Verdict:
        """Return how well the hits, best first, answer a question."""
        best, bounds = best_score(hits), self.bounds
        if not hits or best < bounds.floor:
            return "nothing"
        if bounds.floor >= bounds.threshold:
            return "answers"
        is_own_language = language_of(question.text, self.language) == self.language
        if not (is_own_language or self.embedder.multilingual):
            return "closest"
        headings = [hit.heading_score for hit in hits[:HEADINGS] if hit.heading_score is not None]
        nearness = (best + max(headings, default=best)) / 2
        doubt = self._doubt(question, hits) if is_own_language else 0.0
        if doubt and nearness < bounds.at(CLOSEST + doubt):
            return "nothing"
        return "answers" if nearness >= bounds.at(ANSWERS + doubt) else "closest"

    def _doubt(self, question: Reading, hits: Sequence[SearchHit]) -> float:
        topic = remove_names(question.text, question.names)
        terms = analyzer(self.language).terms
        words = [word for word in _WORD.findall(topic) if word.lower() not in OF_ANY_QUESTION and terms(word)]
        said = {term for hit in hits for term in terms(hit.chunk.search_text)}
        headings = {hit.chunk.heading for hit in hits}
        entries = (entry for entry in self.glossary() if entry.heading in headings)
        said |= {term for entry in entries for text in (entry.term, *entry.other_words) for term in terms(text)}
        missing = [word for word in words if not said.issuperset(terms(word))]
        names = [word for word in words if word.istitle() and not question.text.lstrip("¿¡\"'( ").startswith(word)]
        if not names or len(names) > max(1, len(words) // 2):  # a title, or a language with capitals for nouns
            return WORDS * len(missing) / max(len(words), MIN_WORDS)
        of_names = NAME if any(name in missing for name in names) else -NAME_SAID
        return max(WORDS * len(missing) / max(len(words), MIN_WORDS) + of_names, 0.0)
