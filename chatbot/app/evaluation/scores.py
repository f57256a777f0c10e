"""The distribution of an embedding model's scores between questions, their answers and other passages."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ...domain import Chunk, Scope, Value, Vector
from ...domain.documents import Calibration, ErrorRates
from ...domain.errors import LoadError
from ...domain.protocols import Embedder, Store
from ...domain.scores import to_score
from ...search.pipeline import Retriever
from ...search.relevance import best_score
from .dataset import Dataset, EvaluationQuery

UNRELATED = Path(__file__).with_name("unrelated_questions.txt")
OTHERS, PASSAGES = 4, 10
"""Irrelevant passages of a question: from this many other reports, this many each."""
SEED = 7
REFUSED = 0.01
"""The share of answerable questions that a floor may refuse."""
BEYOND, CONFIDENCE = 2.326, 1.645
"""Standard deviations of a normal distribution beyond which that share lies, and 5 %."""
FEWEST = 10
"""Answerable questions that a calibration needs."""


@dataclass(frozen=True, slots=True)
class Scores:
    """Scores by kind. The first two are best hits of a question, the others single passages."""

    answerable: tuple[float, ...]
    unrelated: tuple[float, ...]
    relevant: tuple[float, ...]
    irrelevant: tuple[float, ...]

    def errors(self, value: float) -> ErrorRates:
        """Return the errors of a floor or a threshold of this value, as shares."""
        return ErrorRates(
            value,
            refused=_share(score < value for score in self.answerable),
            accepted=_share(score >= value for score in self.unrelated),
            cut=_share(score <= value for score in self.relevant),
            kept=_share(score > value for score in self.irrelevant),
        )

    @property
    def floor(self) -> float:
        """The score that, with 95 % confidence, refuses no more than 1 % of the answerable questions, in hundredths.

        The lower of a normal tolerance limit, which falls with the number of questions, and the percentile. The factor
        is one-sided, by Natrella's approximation (NIST/SEMATECH e-Handbook, 7.2.6.3).
        """
        sample = np.asarray(self.answerable)
        a = 1 - CONFIDENCE**2 / (2 * (len(sample) - 1))
        b = BEYOND**2 - CONFIDENCE**2 / len(sample)
        limit = sample.mean() - (BEYOND + np.sqrt(BEYOND**2 - a * b)) / a * sample.std(ddof=1)
        return max(0.0, int(min(np.percentile(sample, 100 * REFUSED), limit) * 100) / 100)

    @property
    def threshold(self) -> float:
        """The score, in hundredths, with the fewest passages of both kinds on the wrong side."""
        rates = [self.errors(hundredths / 100) for hundredths in range(101)]
        least = min(rate.cut + rate.kept for rate in rates)
        best = [rate.value for rate in rates if rate.cut + rate.kept <= least + 1e-9]
        return best[len(best) // 2]

    def calibration(self, model_id: str, *, dataset: str, date: str) -> Calibration:
        """Return floor and threshold, with their errors and those of values around them; ``date`` as YYYY-MM-DD."""
        floor, threshold = self.floor, self.threshold
        values = sorted({*(hundredths / 100 for hundredths in range(50, 100, 5)), floor, threshold})
        pairs = {name: len(getattr(self, name)) for name in self.__slots__}
        errors = tuple(self.errors(value) for value in values)
        return Calibration(model_id, floor, threshold, "measured", dataset, date, pairs, errors)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreCollector:
    """Scores the questions of a data set, and unrelated ones, against its reports."""

    retriever: Retriever
    store: Store
    embedder: Embedder
    reports: Mapping[str, Mapping[str, Value]]
    """The metadata of every report by document id."""
    method: str
    top_k: int
    random: random.Random = field(default_factory=lambda: random.Random(SEED))  # noqa: S311  # a sample, no secret

    def collect(self, dataset: Dataset, progress: Callable[[int], None]) -> Scores:
        """Raises LoadError: too few questions, or none whose answer is in a passage."""
        if len(dataset.answerable) < FEWEST:
            count = len(dataset.answerable)
            raise LoadError(f"{dataset.name} has {count} questions with an answer; {FEWEST} are needed to calibrate.")
        answerable, unrelated = list[float](), list[float]()
        relevant, irrelevant = list[float](), list[float]()
        for query in dataset.answerable:
            answerable.append(self._best(query.text, query.scope))
            vector = self.embedder.embed_query(query.text)
            for target in query.targets:
                scores = self._scores(target.document_id, vector, target.holds)
                relevant += [max(scores)] if scores else []
            irrelevant += self._irrelevant(query, vector)
            progress(1)
        for text in unrelated_questions():
            unrelated.append(self._best(text, Scope()))
            progress(1)
        if not relevant:
            raise LoadError(f"{dataset.name}: no passage contains the page or the words that a question names.")
        return Scores(tuple(answerable), tuple(unrelated), tuple(relevant), tuple(irrelevant))

    def _best(self, text: str, scope: Scope) -> float:
        """Return the score that the relevance floor is compared with."""
        return best_score(self.retriever.retrieve(text, top_k=self.top_k, scope=scope, method=self.method).hits)

    def _irrelevant(self, query: EvaluationQuery, vector: Vector) -> list[float]:
        """Return scores of passages of other reports, on other countries: the same country may say the same again."""
        expected = {target.document_id for target in query.targets}
        countries = {self.reports.get(id, {}).get("country_name") for id in expected} - {None}
        elsewhere = (id for id, about in self.reports.items() if about.get("country_name") not in countries)
        others = [id for id in elsewhere if id not in expected]
        scores: list[float] = []
        for id in self.random.sample(others, min(OTHERS, len(others))):
            of_report = self._scores(id, vector, lambda chunk: True)
            scores += self.random.sample(of_report, min(PASSAGES, len(of_report)))
        return scores

    def _scores(self, document_id: str, vector: Vector, matches: Callable[[Chunk], bool]) -> list[float]:
        chunks, vectors = self.store.stored(document_id)
        rows = [row for row, chunk in enumerate(chunks) if matches(chunk)]
        return list(map(to_score, vectors[rows] @ vector)) if rows else []


def unrelated_questions() -> list[str]:
    return UNRELATED.read_text(encoding="utf-8").splitlines()


def _share(verdicts: Iterable[bool]) -> float:
    counted = list(verdicts)
    return round(sum(counted) / max(len(counted), 1), 4)
