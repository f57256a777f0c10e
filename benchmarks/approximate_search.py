"""Clusters against exact search, at several sizes and scopes: time, recall, and what building costs. One thread.

The vectors are those of the sample reports, repeated with noise; a question is a passage with more noise.
Run: python -m benchmarks approximate_search [rows ...]
"""

from __future__ import annotations

import sys
import time

import faiss
import numpy as np

from chatbot.config import WARM_CACHE
from chatbot.domain import Matrix, Scope, Values
from chatbot.stores.faiss.index import Segment
from chatbot.stores.faiss.rows import Column, Rows

QUERIES = 100
DEPTHS = (10, 50)
SCOPES = {"none": Scope(), "50 %": Scope.of({"half": Values((1,))}), "2 %": Scope.of({"fiftieth": Values((1,))})}


def normalised(vectors: Matrix) -> Matrix:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)


def make_vectors(rows: int) -> tuple[Matrix, Matrix]:
    with np.load(WARM_CACHE, allow_pickle=False) as stored:
        base = stored["vectors"].astype(np.float32)
    rng = np.random.default_rng(0)
    parts = [base]
    while sum(map(len, parts)) < rows:
        parts.append(base + rng.normal(scale=0.02, size=base.shape).astype(np.float32))
    queries = base[rng.choice(len(base), QUERIES, replace=False)]
    noisy = queries + rng.normal(scale=0.03, size=queries.shape).astype(np.float32)
    return normalised(np.concatenate(parts)[:rows]), normalised(noisy)


def make_segment(vectors: Matrix) -> Segment:
    count = len(vectors)
    ids = np.asarray([f"{row:08d}".encode() for row in range(count)], dtype=np.bytes_)
    rng, none = np.random.default_rng(1), np.zeros(count, dtype=np.int32)
    values = {
        "half": Column((0, 1), rng.integers(2, size=count, dtype=np.int32)),
        "fiftieth": Column(tuple(range(50)), rng.integers(50, size=count, dtype=np.int32)),
    }
    return Segment.build(Rows(ids, Column(("d",), none), values, vectors, none == 0, none[:0], none))


def search(segment: Segment, query: Matrix, top_k: int, scope: Scope) -> tuple[set[str], float]:
    started = time.perf_counter()
    hits = segment.nearest(query, top_k=top_k, scope=scope)
    return {chunk_id for _, chunk_id in hits}, (time.perf_counter() - started) * 1000


def main(sizes: list[int]) -> None:
    print(f"{'rows':>8}{'scope':>7}{'top_k':>7}{'exact':>10}{'clusters':>10}{'ratio':>8}{'recall':>8}")
    for rows in sizes:
        vectors, queries = make_vectors(rows)
        exact = make_segment(vectors)
        started = time.perf_counter()
        clustered = exact.clustered()
        print(f"{rows:8}  clusters made in {time.perf_counter() - started:.1f} s, with both cores")
        faiss.omp_set_num_threads(1)
        for name, scope in SCOPES.items():
            for top_k in DEPTHS:
                compare(exact, clustered, queries, (rows, name, scope, top_k))
        faiss.omp_set_num_threads(2)


def compare(exact: Segment, clustered: Segment, queries: Matrix, case: tuple[int, str, Scope, int]) -> None:
    """One after the other for each question, so that the neighbours' load falls on both."""
    rows, name, scope, top_k = case
    pairs = [(search(exact, q, top_k, scope), search(clustered, q, top_k, scope)) for q in queries]
    slow, fast = (float(np.median([pair[side][1] for pair in pairs])) for side in (0, 1))
    recall = np.mean([len(wanted & found) / len(wanted) for (wanted, _), (found, _) in pairs])
    print(f"{rows:8}{name:>7}{top_k:7}{slow:7.2f} ms{fast:7.2f} ms{fast / slow:8.3f}{recall:8.3f}")


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or [20_000, 100_000, 200_000])
