"""Clusters against exact search, at several sizes: time, recall, and what building costs.

The vectors are those of the sample reports, repeated with noise; a question is a passage with more noise.
Run: python -m benchmarks.approximate_search [rows ...]
"""

from __future__ import annotations

import sys
import time

import faiss
import numpy as np

from chatbot.schema import Matrix, Scope
from chatbot.shipped import WARM_CACHE
from chatbot.stores.faiss import index as segments
from chatbot.stores.faiss.index import Segment
from chatbot.stores.faiss.rows import Column, Rows

QUERIES = 100
DEPTHS = (10, 100)


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


def make_segment(vectors: Matrix, *, clustered: bool) -> Segment:
    segments.APPROXIMATE_ROWS = 0 if clustered else sys.maxsize
    count = len(vectors)
    ids = np.asarray([f"{row:08d}" for row in range(count)], dtype=object)
    none = np.zeros(count, dtype=np.int32)
    return Segment.build(Rows(ids, Column(("d",), none), {}, vectors, none[:0], none))


def search(segment: Segment, queries: Matrix, top_k: int) -> tuple[list[set[str]], float]:
    found, times = [], []
    for query in queries:
        started = time.perf_counter()
        hits = segment.nearest(query, top_k=top_k, scope=Scope())
        times.append((time.perf_counter() - started) * 1000)
        found.append({chunk_id for _, chunk_id in hits})
    return found, float(np.median(times))


def main(sizes: list[int]) -> None:
    faiss.omp_set_num_threads(1)
    print(f"{'rows':>8}{'top_k':>7}{'exact':>10}{'clusters':>10}{'ratio':>8}{'recall':>8}{'building':>10}")
    for rows in sizes:
        vectors, queries = make_vectors(rows)
        exact = make_segment(vectors, clustered=False)
        started = time.perf_counter()
        clustered = make_segment(vectors, clustered=True)
        building = time.perf_counter() - started
        for top_k in DEPTHS:
            wanted, slow = search(exact, queries, top_k)
            got, fast = search(clustered, queries, top_k)
            recall = np.mean([len(a & b) / len(a) for a, b in zip(wanted, got, strict=True)])
            print(f"{rows:8}{top_k:7}{slow:7.2f} ms{fast:7.2f} ms{fast / slow:8.2f}{recall:8.3f}{building:8.1f} s")


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or [50_000, 100_000, 200_000])
