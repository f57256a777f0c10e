"""Running a data set through the product's own retrieval, and its questions through an agent; ranking metrics.

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

from ..cancellation import Cancellation
from ..protocols import Catalog, Embedder, Store
from ..retrieval.pipeline import Retriever
from ..retrieval.subjects import everything_asked, suggest_scope
from ..schema import AnswerEvent, Chunk, Event, Question, Scope, StepTiming
from .dataset import Dataset, EvaluationQuery

RESAMPLES = 2000
SEED = 7
"""Fixed: the same figures give the same interval."""
TOP_K, DEEP = 10, 20
BATCH = 128
ABSTENTION = ("abstention_precision", "abstention_recall")
Progress = Callable[[int], None]
Ask = Callable[[EvaluationQuery], tuple[str, Scope]]
"""The words and the scope that a question is asked with."""
Answering = Callable[[Question, Cancellation], Iterator[Event]]
"""The product's own way from a question to an answer."""


def recall(ranking: Sequence[str], relevant: AbstractSet[str], k: int) -> float:
    """The share of the relevant ids among the first ``k``."""
    return len(set(ranking[:k]) & relevant) / len(relevant)


def reciprocal_rank(ranking: Sequence[str], relevant: AbstractSet[str], k: int) -> float:
    """1 / rank of the first relevant id among the first ``k``, else 0."""
    return next((1 / rank for rank, found in enumerate(ranking[:k], start=1) if found in relevant), 0.0)


def ndcg(ranking: Sequence[str], relevant: AbstractSet[str], k: int) -> float:
    """Normalised discounted cumulative gain over the first ``k`` (Järvelin and Kekäläinen, 2002)."""
    gain = sum(1 / log2(rank + 1) for rank, found in enumerate(ranking[:k], start=1) if found in relevant)
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
    """Precision and recall of ``(said, true)``; None where nothing was said, or nothing is true."""
    right = sum(said and true for said, true in verdicts)
    said_at_all = sum(said for said, _ in verdicts)
    true_at_all = sum(true for _, true in verdicts)
    return right / said_at_all if said_at_all else None, right / true_at_all if true_at_all else None


def interval(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % bootstrap interval of a mean (percentiles of resampled means): how far another draw may lie."""
    sample = np.asarray(values, dtype=np.float64)
    picks = np.random.default_rng(SEED).integers(0, len(sample), size=(RESAMPLES, len(sample)))
    low, high = np.percentile(sample[picks].mean(axis=1), [2.5, 97.5])
    return float(low), float(high)


def with_filters(query: EvaluationQuery) -> tuple[str, Scope]:
    """The whole question, in the scope the data set gives it."""
    return query.text, query.scope


def without_filters(query: EvaluationQuery) -> tuple[str, Scope]:
    """What is searched for where filters are left out: the whole question, in all reports."""
    return query.text, Scope()


def with_auto_scope(catalog: Catalog) -> Ask:
    """The whole question, in the scope that its names make, as with AUTO_SCOPE."""

    def ask(query: EvaluationQuery) -> tuple[str, Scope]:
        found = suggest_scope(everything_asked(query.text, Scope(), catalog), Scope(), catalog)
        return query.text, found or Scope()

    return ask


@dataclass
class Measured:
    """What one configuration did: figures by question, not yet averaged."""

    name: str
    values: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in METRICS})
    hits: int = 0
    leaks: int = 0
    stages: dict[str, list[float]] = field(default_factory=dict)
    abstained: list[tuple[bool, bool]] = field(default_factory=list)
    """(abstained, should have) by question; empty where no agent was asked."""

    def add_times(self, steps: Iterable[StepTiming], total: float) -> None:
        """Milliseconds of one question by stage; a search that was repeated has a stage twice."""
        spent: dict[str, float] = {}
        for step in steps:
            spent[step.name] = spent.get(step.name, 0.0) + step.ms
        for name, milliseconds in {**spent, "total": total}.items():
            self.stages.setdefault(name, []).append(milliseconds)

    def to_json(self, *, intervals: bool = False) -> dict[str, Any]:
        """Means over the questions; ``ms`` are medians. ``leaks`` counts hits outside the filter."""
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
    dataset: Dataset, name: str, retriever: Retriever, *, method: str, ask: Ask, progress: Progress
) -> Measured:
    """Ask every question that has an answer, with 10 passages; with 20 where the first 10 do not have all of it."""
    measured = Measured(name)
    for query in dataset.answerable:
        text, scope = ask(query)
        started = time.perf_counter()
        retrieval = retriever.retrieve(text, top_k=TOP_K, scope=scope, method=method)
        measured.add_times(retrieval.steps, (time.perf_counter() - started) * 1000)
        hits = retrieval.hits
        measured.hits += len(hits)
        measured.leaks += sum(not scope.matches(hit.chunk.about) for hit in hits)
        ranking = query.ranking([hit.chunk for hit in hits])
        if len(hits) == TOP_K and recall(ranking, query.relevant, TOP_K) < 1:
            deeper = retriever.retrieve(text, top_k=DEEP, scope=scope, method=method)
            ranking = query.ranking([hit.chunk for hit in (*hits, *deeper.hits[TOP_K:])])
        for metric, compute in METRICS.items():
            measured.values[metric].append(compute(ranking, query.relevant))
        progress(1)
    return measured


def measure_abstention(
    dataset: Dataset, answer: Answering, *, method: str, top_k: int, ask: Ask, progress: Progress
) -> list[tuple[bool, bool]]:
    """Of every question, whether it was not answered, and whether it should not have been."""
    verdicts = []
    for query in dataset.queries:
        text, scope = ask(query)
        question = Question(query=text, scope=scope, top_k=top_k, retrieval_method=method, mode="direct", cache=False)
        answered = any(
            event.answer.answered for event in answer(question, Cancellation()) if isinstance(event, AnswerEvent)
        )
        verdicts.append((not answered, not query.answerable))
        progress(1)
    return verdicts
