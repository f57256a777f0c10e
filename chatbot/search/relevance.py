"""Whether the hits answer the question: the best score against a bound that doubts raise.

The best score alone parts little: the nearest of thousands of passages is near to "What is 17 times 23?", and what
reports say of deaths is near to homicides. Three things speak against it: words of the question that no passage has,
headings that are all about something else, and no country where the reports are of countries. Measured in
benchmarks/README.md.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ..domain import Scope, SearchHit
from ..domain.protocols import Catalog, Embedder, Store
from ..domain.reading import Reading
from ..language import analyzer, is_written_in
from ..questions.reading import COUNTRY
from ..questions.wording import OF_ANY_QUESTION, remove_names

Verdict = Literal["answers", "closest", "nothing"]
"""``closest``: what was found may only be near to what was asked."""
MOST_DOUBTS = 2.0
LARGE = 1000
"""Passages of a library whose words say what it is about; of a smaller one many good questions have others."""
MOST_LOOKED_UP = 8
"""Words of a question, each by a search of its own."""
_WORD = re.compile(r"[^\W\d_]{2,}")


@dataclass(frozen=True, slots=True)
class Bounds:
    """Scores of one embedding model: below ``floor`` nothing is about the question, above ``threshold`` most is.

    ``floor`` 0: nothing is refused. Both the same: no doubt counts.
    """

    floor: float
    threshold: float

    def least(self, doubts: float) -> float:
        """What the best passage needs: with one doubt the threshold, with each more half as much again."""
        return self.floor + max(self.threshold - self.floor, 0.0) * min(doubts, (1 + doubts) / 2)


def best_score(hits: Sequence[SearchHit]) -> float:
    """The highest vector score; 0 without any."""
    return max((hit.score for hit in hits if hit.score is not None), default=0.0)


@dataclass(frozen=True, slots=True)
class Judge:
    """Says whether hits answer a question. ``language``: of the reports."""

    bounds: Bounds
    store: Store
    catalog: Catalog
    embedder: Embedder
    language: str

    def verdict(self, question: Reading, hits: Sequence[SearchHit], scope: Scope) -> Verdict:
        """How well the hits, best first, answer a question inside ``scope``. Raises DependencyError."""
        best, bounds = best_score(hits), self.bounds
        if not hits or best < bounds.floor:
            return "nothing"
        if not bounds.floor < bounds.threshold or best >= bounds.least(MOST_DOUBTS + 1):
            return "answers"
        doubts = self._doubts(question, hits, scope)
        if best < bounds.least(doubts):
            return "nothing"
        return "closest" if doubts and best < bounds.least(doubts + 1) else "answers"

    def _of_headings(self, hits: Sequence[SearchHit]) -> float:
        """Half a doubt where none is nearer to what is asked than most of what is about something else."""
        scores = [hit.heading_score for hit in hits if hit.heading_score is not None]
        return 0.5 if scores and max(scores) < self.bounds.threshold else 0.0

    def _doubts(self, question: Reading, hits: Sequence[SearchHit], scope: Scope) -> float:
        """How much to raise the bound: for headings that are far, for words that no hit says, and half a doubt for a
        question about no country where the reports are of countries. Headings are not compared where the first hit
        says all words of the question.

        With a model for many languages a question says it in its own, and only one in that of the reports is judged.
        """
        if self.embedder.multilingual and not is_written_in(question.text, self.language):
            return self._of_headings(hits)
        is_placeless = self.catalog.values(COUNTRY, scope.widest()) and not question.countries and not scope
        topic = remove_names(question.text, question.names)
        telling = [word for word in dict.fromkeys(_WORD.findall(topic)) if word.lower() not in OF_ANY_QUESTION]
        terms = analyzer(self.language).terms
        said = set(terms(hits[0].chunk.search_text))
        unsaid = [word for word in telling if not said.issuperset(terms(word))]
        doubts = 0.5 if is_placeless else 0.0
        if not telling or unsaid:
            doubts += self._of_headings(hits)
        if unsaid:
            said.update(*(terms(hit.chunk.search_text) for hit in hits[1:]))
            unsaid = [word for word in unsaid if not said.issuperset(terms(word))]
        return doubts + self._of_words(telling, unsaid, scope.widest())

    def _of_words(self, telling: Sequence[str], unsaid: Sequence[str], library: Scope) -> float:
        """A doubt where a word is in no passage of the library, half where that is small; else the share of those
        that are ``unsaid``, in no hit. ``library``: all that who asks may see.
        """
        if all(self.store.keyword_search(word, top_k=1, scope=library) for word in unsaid[:MOST_LOOKED_UP]):
            return len(unsaid) / max(len(telling), 1)
        return 1.0 if self.catalog.holdings(library).chunks >= LARGE else 0.5
