"""Clusters against exact search, at several sizes and scopes: time, recall, and what
building costs. One thread.

The vectors are those that MiniLM makes of the distinct sentences of the data sets in
BENCH (about 53,000, two minutes; FILE keeps them), as often again with noise as the
rows need. A question is a sentence that was held out; a scope is a part of the texts,
which are about something of their own. Run: python -m benchmarks approximate_search
BENCH [--vectors FILE] [rows ...]
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

import faiss
import numpy as np

from chatbot.app.services import build
from chatbot.config.settings import Settings
from chatbot.domain import Scope
from chatbot.domain.documents import Matrix
from chatbot.domain.scope import Values
from chatbot.language.sentences import sentences
from chatbot.stores.faiss.index import Segment
from chatbot.stores.faiss.rows import Column, Rows

QUERIES, BATCH = 100, 256
DEPTHS = (10, 50)
LENGTHS = range(25, 401)
"""Characters of a sentence."""
FIFTIETHS = 50
SCOPES = {
    "none": [Scope()],
    "50 %": [Scope.of({"half": Values((half,))}) for half in range(2)],
    "2 %": [Scope.of({"fiftieth": Values((part,))}) for part in range(FIFTIETHS)],
}


def real_vectors(bench: Path) -> Matrix:
    """Return the vectors of the sentences, in the order of the texts."""
    passages = (
        json.loads(line)["text"]
        for file in sorted(bench.glob("*/corpus.jsonl"))
        for line in file.open()
    )
    texts = list(
        dict.fromkeys(
            s.strip()
            for text in passages
            for s in sentences(text)
            if len(s.strip()) in LENGTHS
        )
    )
    by_length = np.argsort([len(text) for text in texts], kind="stable")
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(
            data_dir=Path(folder), embedding_provider="minilm", sample_data="off"
        )
        with build(settings) as services:
            embedder = services.runtime.embedder.uncached
            vectors = np.empty((len(texts), embedder.dimensions), dtype=np.float32)
            for start in range(0, len(texts), BATCH):
                batch = by_length[start : start + BATCH]
                vectors[batch] = embedder.embed_documents(
                    [texts[number] for number in batch]
                )
    return vectors


def held_out(vectors: Matrix) -> tuple[Matrix, Matrix]:
    """Return the others, and some to ask with."""
    held = np.sort(
        np.random.default_rng(1).choice(
            len(vectors), min(QUERIES, len(vectors) // 10), replace=False
        )
    )
    return np.delete(vectors, held, axis=0), vectors[held]


def make_vectors(real: Matrix, rows: int) -> Matrix:
    """Return ``rows`` of the vectors: some of them, or all and noisy copies."""
    rng, count = np.random.default_rng(0), len(real)
    parts = (
        [real]
        if rows >= count
        else [real[np.sort(rng.choice(count, rows, replace=False))]]
    )
    while sum(map(len, parts)) < rows:
        parts.append(real + rng.normal(scale=0.02, size=real.shape).astype(np.float32))
    vectors = np.concatenate(parts)[:rows]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


def make_segment(real: Matrix, rows: int) -> Segment:
    count = len(real)
    ids = np.asarray([f"{row:08d}".encode() for row in range(rows)], dtype=np.bytes_)
    none, place = (
        np.zeros(rows, dtype=np.int32),
        np.arange(rows) % count / min(rows, count),
    )
    values = {
        "half": Column((0, 1), (place * 2).astype(np.int32)),
        "fiftieth": Column(
            tuple(range(FIFTIETHS)), (place * FIFTIETHS).astype(np.int32)
        ),
    }
    vectors = make_vectors(real, rows)
    return Segment.build(
        Rows(ids, Column(("d",), none), values, vectors, none == 0, none[:0], none)
    )


def search(
    segment: Segment, query: Matrix, top_k: int, scope: Scope
) -> tuple[set[str], float]:
    segment.selection(scope)  # made once for a scope
    started = time.perf_counter()
    hits = segment.nearest(query, top_k=top_k, scope=scope)
    return {chunk_id for _, chunk_id in hits}, (time.perf_counter() - started) * 1000


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bench", type=Path, metavar="BENCH")
    parser.add_argument("rows", type=int, nargs="*", default=[20_000, 40_000, 100_000])
    parser.add_argument(
        "--vectors",
        type=Path,
        metavar="FILE",
        help="keeps the vectors; made if missing",
    )
    options = parser.parse_intermixed_args()
    if options.vectors and options.vectors.exists():
        vectors = np.load(options.vectors)
    else:
        vectors = real_vectors(options.bench)
        if options.vectors:
            np.save(options.vectors, vectors)
    real, queries = held_out(vectors)
    print(f"{len(real)} sentences, {len(queries)} held out")
    print(
        f"{'rows':>8}{'scope':>7}{'top_k':>7}{'exact':>10}{'clusters':>10}{'ratio':>8}{'recall':>8}"
    )
    for rows in options.rows:
        exact = make_segment(real, rows)
        started = time.perf_counter()
        clustered = exact.clustered()
        share = (
            f"{clustered.clusters.share:.0%} of a scope is scanned"
            if clustered.clusters
            else "found too little"
        )
        print(
            f"{rows:8}  clusters: {share}; made in "
            f"{time.perf_counter() - started:.1f} s, with both cores"
        )
        for name in SCOPES:
            for top_k in DEPTHS:
                compare(exact, clustered, queries, (rows, name, top_k))


def compare(
    exact: Segment, clustered: Segment, queries: Matrix, case: tuple[int, str, int]
) -> None:
    """One after the other for each question, so that the neighbours' load falls on
    both.
    """
    rows, name, top_k = case
    scopes = [
        SCOPES[name][number % len(SCOPES[name])] for number in range(len(queries))
    ]
    asked = list(zip(queries, scopes, strict=True))
    pairs = [
        (search(exact, q, top_k, scope), search(clustered, q, top_k, scope))
        for q, scope in asked
    ]
    slow, fast = (
        float(np.median([pair[side][1] for pair in pairs])) for side in (0, 1)
    )
    recall = np.mean(
        [len(wanted & found) / max(len(wanted), 1) for (wanted, _), (found, _) in pairs]
    )
    print(
        (
            f"{rows:8}{name:>7}{top_k:7}{slow:7.2f} ms{fast:7.2f} "
            f"ms{fast / slow:8.3f}{recall:8.3f}"
        ),
        flush=True,
    )


if __name__ == "__main__":
    faiss.omp_set_num_threads(2)
    main()
