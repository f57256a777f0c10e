"""Run a data set through the product's own retrieval and its questions through an agent; ranking metrics.

Relevance is binary; a ``ranking`` is best first, ``relevant`` is never empty.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import partial
from math import log2
from typing import Any

import numpy as np

from ...domain import AnswerEvent, Chunk, Event, Question, Scope, StepTiming
from ...domain.cancellation import Cancellation
from ...domain.protocols import Catalog, Embedder, Store
from ...questions.reading import read_names
from ...search.pipeline import Retriever
from ...search.subjects import everything_asked, suggest_scope
from .dataset import Dataset, EvaluationQuery

RESAMPLES = 2000
SEED = 7
"""Fixed, so that the same figures give the same interval."""
TOP_K, DEEP = 10, 20
BATCH = 128
ABSTENTION = ("abstention_precision", "abstention_recall")
Progress = Callable[[int], None]
ScopeOf = Callable[[EvaluationQuery], Scope]
"""The scope in which a question is asked."""
Answering = Callable[[Question, Cancellation], Iterator[Event]]
"""Answers a question as the product does."""


def recall(ranking: Sequence[str], relevant: AbstractSet[str], k: int) -> float:
    """Return the share of the relevant ids that are among the first ``k``."""
    return len(set(ranking[:k]) & relevant) / len(relevant)


def reciprocal_rank(ranking: Sequence[str], relevant: AbstractSet[str], k: int) -> float:
    """Return 1 / rank of the first relevant id among the first ``k``, else 0."""
    return next((1 / rank for rank, id in enumerate(ranking[:k], start=1) if id in relevant), 0.0)


def ndcg(ranking: Sequence[str], relevant: AbstractSet[str], k: int) -> float:
    """Return the normalised discounted cumulative gain over the first ``k`` (Järvelin and Kekäläinen, 2002)."""
    gain = sum(1 / log2(rank + 1) for rank, id in enumerate(ranking[:k], start=1) if id in relevant)
    ideal = sum(1 / log2(rank + 1) for rank in range(1, min(k, len(relevant)) + 1))
    return gain / ideal


METRICS: Mapping[str, Callable[..., float]] = {
    "recall@5": partial(recall, k=5),
    "recall@10": partial(recall, k=TOP_K),
    "recall@20": partial(recall, k=DEEP),
    "mrr@10": partial(reciprocal_rank, k=TOP_K),
    "ndcg@10": partial(ndcg, k=TOP_K),
}


def precision_recall(verdicts: Sequence[tuple[bool, bool]]) -> tuple[float | None, float | None]:
    """Return precision and recall of ``(predicted, actual)``; None if nothing is predicted, or actual."""
    correct = sum(predicted and actual for predicted, actual in verdicts)
    all_predicted = sum(predicted for predicted, _ in verdicts)
    all_actual = sum(actual for _, actual in verdicts)
    return correct / all_predicted if all_predicted else None, correct / all_actual if all_actual else None


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of a mean: percentiles of resampled means."""
    sample = np.asarray(values, dtype=np.float64)
    picks = np.random.default_rng(SEED).integers(0, len(sample), size=(RESAMPLES, len(sample)))
    low, high = np.percentile(sample[picks].mean(axis=1), [2.5, 97.5])
    return float(low), float(high)


def with_filters(query: EvaluationQuery) -> Scope:
    return query.scope


def without_filters(query: EvaluationQuery) -> Scope:
    return Scope()


def with_auto_scope(catalog: Catalog, query: EvaluationQuery) -> Scope:
    """Return the scope that the names in the question suggest, as with AUTO_SCOPE."""
    return (
        suggest_scope(everything_asked(read_names(query.text, catalog), Scope(), catalog), Scope(), catalog) or Scope()
    )


@dataclass
class Measured:
    """The figures of one configuration by question, not yet averaged."""

    name: str
    values: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in METRICS})
    hits: int = 0
    leaks: int = 0
    stages: dict[str, list[float]] = field(default_factory=dict)
    abstained: list[tuple[bool, bool]] = field(default_factory=list)
    """(abstained, should have) by question; empty if no agent was asked."""

    def add_times(self, steps: Iterable[StepTiming], total: float) -> None:
        """Add the milliseconds of one question by stage; a repeated search has a stage twice."""
        by_stage: dict[str, float] = {}
        for step in steps:
            by_stage[step.name] = by_stage.get(step.name, 0.0) + step.ms
        for name, milliseconds in {**by_stage, "total": total}.items():
            self.stages.setdefault(name, []).append(milliseconds)

    def to_json(self, *, intervals: bool = False) -> dict[str, Any]:
        """Return means over the questions, medians for ``ms``; ``leaks`` counts hits outside the filter, no general."""
        row: dict[str, Any] = {"name": self.name}
        row |= {name: round(sum(values) / max(len(values), 1), 4) for name, values in self.values.items()}
        row |= {"leaks": self.leaks, "leak_rate": round(self.leaks / max(self.hits, 1), 4)}
        if self.abstained:
            rates = precision_recall(self.abstained)
            row |= {n: None if rate is None else round(rate, 4) for n, rate in zip(ABSTENTION, rates, strict=True)}
        for name, share in (("ms", 50), ("ms_p95", 95)):
            row[name] = {stage: round(float(np.percentile(ms, share)), 2) for stage, ms in self.stages.items()}
        row["questions"] = len(self.values["recall@5"])
        if intervals:
            bounds = {name: interval(values) for name, values in self.values.items() if values}
            row["intervals"] = {name: [round(low, 4), round(high, 4)] for name, (low, high) in bounds.items()}
        return row


def load_chunks(store: Store, embedder: Embedder, chunks: Sequence[Chunk], progress: Progress) -> None:
    """Embed and store ready-made chunks; ``progress`` gets the number done in each step."""
    for start in range(0, len(chunks), BATCH):
        batch = chunks[start : start + BATCH]
        store.upsert(batch, embedder.embed_documents([chunk.search_text for chunk in batch]))
        progress(len(batch))


def measure_retrieval(
    dataset: Dataset, name: str, retriever: Retriever, *, method: str, scope_of: ScopeOf, progress: Progress
) -> Measured:
    """Ask every answerable question for 10 passages, and for 20 if the first 10 do not contain all targets."""
    measured = Measured(name)
    for query in dataset.answerable:
        text, scope = query.text, scope_of(query)
        started = time.perf_counter()
        retrieval = retriever.retrieve(text, top_k=TOP_K, scope=scope, method=method)
        measured.add_times(retrieval.steps, (time.perf_counter() - started) * 1000)
        hits = retrieval.hits
        measured.hits += len(hits)
        measured.leaks += sum(not (hit.general or scope.matches(hit.chunk.about)) for hit in hits)
        ranking = query.ranking([hit.chunk for hit in hits])
        if len(hits) == TOP_K and recall(ranking, query.relevant, TOP_K) < 1:
            deeper = retriever.retrieve(text, top_k=DEEP, scope=scope, method=method)
            ranking = query.ranking([hit.chunk for hit in (*hits, *deeper.hits[TOP_K:])])
        for metric, compute in METRICS.items():
            measured.values[metric].append(compute(ranking, query.relevant))
        progress(1)
    return measured


def measure_abstention(
    dataset: Dataset, answer: Answering, *, method: str, top_k: int, scope_of: ScopeOf, progress: Progress
) -> list[tuple[bool, bool]]:
    """Return for every question whether the product abstained, and whether it should have."""
    verdicts = []
    for query in dataset.queries:
        question = Question(query.text, scope_of(query), top_k, method, mode="direct", cache=False)
        events = answer(question, Cancellation())
        answered = any(event.answer.answered for event in events if isinstance(event, AnswerEvent))
        verdicts.append((not answered, not query.answerable))
        progress(1)
    return verdicts
