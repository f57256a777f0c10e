"""Running a data set through the product's own retrieval, in a throw-away store."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..protocols import Embedder, Store
from ..retrieval.pipeline import Retriever
from ..schema import Chunk, Scope
from .dataset import Dataset
from .metrics import ndcg, recall, reciprocal_rank

TOP_K = 10
BATCH = 128
Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Configuration:
    """A way to retrieve; the first of a run is the product's own."""

    name: str
    method: str
    retriever: Retriever


def load_chunks(store: Store, embedder: Embedder, chunks: Sequence[Chunk], progress: Progress) -> None:
    """Embed and store ready-made chunks; ``progress`` gets the number done in each step."""
    for start in range(0, len(chunks), BATCH):
        batch = chunks[start : start + BATCH]
        store.upsert(batch, embedder.embed_documents([chunk.search_text for chunk in batch]))
        progress(len(batch))


def evaluate(dataset: Dataset, configuration: Configuration, *, filters: bool, progress: Progress) -> dict[str, Any]:
    """The metrics of one configuration: means over the questions; ``leaks`` counts hits outside the filter."""
    rows: list[tuple[float, float, float, float]] = []
    leaks = 0
    stages: dict[str, float] = {}
    started = time.perf_counter()
    for query in dataset.queries:
        scope = query.scope if filters else Scope()
        text = query.scoped_text if filters and query.scope else query.text
        retrieval = configuration.retriever.retrieve(text, top_k=TOP_K, scope=scope, method=configuration.method)
        ranking = [hit.chunk.id for hit in retrieval.hits]
        leaks += sum(
            not scope.matches({**h.chunk.metadata, "document_name": h.chunk.document_name}) for h in retrieval.hits
        )
        relevant = query.relevant
        rows.append(
            (
                recall(ranking, relevant, 5),
                recall(ranking, relevant, TOP_K),
                reciprocal_rank(ranking, relevant, TOP_K),
                ndcg(ranking, relevant, TOP_K),
            )
        )
        for step in retrieval.steps:
            stages[step.name] = stages.get(step.name, 0.0) + step.ms
        progress(1)
    count = max(len(rows), 1)
    means = [round(sum(row[column] for row in rows) / count, 4) for column in range(4)]
    milliseconds = {name: round(total / count, 2) for name, total in stages.items()}
    milliseconds["total"] = round((time.perf_counter() - started) * 1000 / count, 2)
    names = ("recall@5", "recall@10", "mrr@10", "ndcg@10")
    return {"name": configuration.name, **dict(zip(names, means, strict=True)), "leaks": leaks, "ms": milliseconds}
