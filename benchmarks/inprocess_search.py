"""In-process search against raw FAISS, at 100,000 passages of 384 dimensions, in one
run and with the same threads.

The vectors are those of real sentences of the data sets in BENCH
(`approximate_search`); without it they are random and have no structure, which no
approximate search can use.

Run: python -m benchmarks inprocess_search [rows] [--bench BENCH]
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import faiss
import numpy as np

from chatbot.config.settings import Settings
from chatbot.database import open_database
from chatbot.database.repositories.corpus import CorpusChanges
from chatbot.domain import Chunk, Matrix, Scope, Values, Vector
from chatbot.domain.request import RequestContext
from chatbot.search.pipeline import Retriever
from chatbot.stores.faiss import FaissStore, build

from .approximate_search import held_out, make_vectors, real_vectors

DIMENSIONS = 384
QUERIES = 60
TOP_K = 5
WORDS = 30_000
COUNTRIES = 50  # one country keeps 2 %


class Precomputed:
    """An embedder that costs nothing, so that only the retrieval is timed."""

    model_id, dimensions, max_tokens = "precomputed", DIMENSIONS, 10_000

    def __init__(self, vectors: Matrix) -> None:
        self._vectors = vectors

    def count_tokens(self, text: str) -> int:
        return 1

    def embed_query(
        self, text: str, *, request: RequestContext | None = None
    ) -> Vector:
        vector: Vector = self._vectors[int(text.split(maxsplit=1)[0])]
        return vector

    def embed_documents(
        self, texts: Sequence[str], *, request: RequestContext | None = None
    ) -> Matrix:
        raise NotImplementedError


def unit(rows: int, seed: int) -> Matrix:
    vectors = (
        np.random.default_rng(seed).normal(size=(rows, DIMENSIONS)).astype(np.float32)
    )
    return np.asarray(
        vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32
    )


def rows_and_questions(rows: int, bench: Path | None) -> tuple[Matrix, Matrix]:
    if bench is None:
        return unit(rows, 2), unit(QUERIES, 3)
    real, questions = held_out(real_vectors(bench))
    return make_vectors(real, rows), questions[:QUERIES]


def words(rng: np.random.Generator, count: int) -> str:
    """Words with a Zipf-like distribution, as in real text."""
    return " ".join(f"w{min(int(number), WORDS)}" for number in rng.zipf(1.3, count))


def fill(store: FaissStore, vectors: Matrix) -> None:
    rng, rows = np.random.default_rng(1), len(vectors)
    for start in range(0, rows, 2000):
        chunks = [
            Chunk(
                id=f"doc{row // 200:06d}-v-{row % 200:05d}",
                document_id=f"doc{row // 200:06d}",
                document_name=f"Report {row // 200}",
                title=f"Report {row // 200}",
                text=words(rng, 60),
                metadata={
                    "country_name": f"Country {row % COUNTRIES}",
                    "year": 2000 + row % 2,
                },
            )
            for row in range(start, min(start + 2000, rows))
        ]
        store.upsert(chunks, vectors[start : start + len(chunks)])


def median_ms(call: Callable[[int], object]) -> float:
    for number in range(3):
        call(number)
    times = []
    for number in range(QUERIES):
        started = time.perf_counter()
        call(number)
        times.append((time.perf_counter() - started) * 1000)
    return float(np.median(times))


def make_store(folder: Path) -> FaissStore:
    settings = Settings(data_dir=folder)
    database = open_database(settings)
    return build(
        settings=settings,
        database=database,
        changes=CorpusChanges(database),
        dimensions=DIMENSIONS,
    )


def first_answer(folder: Path) -> None:
    """In a process of its own: from the start of the interpreter to the first hits."""
    store = make_store(folder)
    store.vector_search(unit(1, 9)[0], top_k=TOP_K, scope=Scope())
    store.keyword_search("w1 w2", top_k=TOP_K, scope=Scope())
    print("answered", flush=True)
    store.close()
    print(memory_mb("VmHWM"), flush=True)


def start_seconds(folder: Path) -> tuple[float, float]:
    """Until the first answer, and the peak of the process's memory in MB when it has
    written its snapshot.
    """
    command = [
        sys.executable,
        "-m",
        "benchmarks",
        "inprocess_search",
        "--first-answer",
        str(folder),
    ]
    started = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        seconds = time.perf_counter() - started
        return seconds, float(process.stdout.readline())


def memory_mb(name: str) -> float:
    status = Path("/proc/self/status").read_text()
    return next(
        int(line.split()[1]) / 1024
        for line in status.splitlines()
        if line.startswith(name)
    )


def main(rows: int, bench: Path | None) -> None:
    faiss.omp_set_num_threads(1)
    vectors, questions = rows_and_questions(rows, bench)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fill(make_store(folder), vectors)
        without_snapshot = start_seconds(folder)
        with_snapshot = start_seconds(folder)
        store = make_store(folder)
        report(store, vectors, questions)
        store.close()
    print(
        f"start to first hits: {without_snapshot[0]:.1f} s building, "
        f"{with_snapshot[0]:.1f} s with the snapshot"
    )
    print(
        f"peak of the process: {without_snapshot[1]:.0f} MB building, "
        f"{with_snapshot[1]:.0f} MB with the snapshot"
    )


def recall(store: FaissStore, raw: Any, questions: Matrix) -> float:
    """Share of the ten nearest that the store finds."""
    _, wanted = raw.search(questions, 10)
    ids = [
        {f"doc{row // 200:06d}-v-{row % 200:05d}" for row in rows}
        for rows in wanted.tolist()
    ]
    found = [
        store.vector_search(question, top_k=10, scope=Scope()) for question in questions
    ]
    return float(
        np.mean(
            [
                len(a & {m.chunk_id for m in b}) / 10
                for a, b in zip(ids, found, strict=True)
            ]
        )
    )


def report(store: FaissStore, vectors: Matrix, queries: Matrix) -> None:
    rows = len(vectors)
    raw = faiss.IndexFlatIP(DIMENSIONS)
    raw.add(vectors)
    retriever = Retriever(store=store, embedder=Precomputed(queries))
    rng = np.random.default_rng(4)
    texts = [f"{number} {words(rng, 8)}" for number in range(QUERIES)]
    narrow = Scope.of({"country_name": Values(("Country 7",))})
    half = Scope.of({"year": Values((2000,))})

    def retrieve(method: str, scope: Scope) -> Callable[[int], object]:
        return lambda number: retriever.retrieve(
            texts[number], top_k=TOP_K, scope=scope, method=method
        )

    flat = median_ms(lambda number: raw.search(queries[number : number + 1], TOP_K))
    lines = [
        ("raw FAISS flat", flat),
        ("retrieve vector", median_ms(retrieve("vector", Scope()))),
        ("retrieve vector, 50 % filter", median_ms(retrieve("vector", half))),
        ("retrieve vector, 2 % filter", median_ms(retrieve("vector", narrow))),
        ("retrieve bm25", median_ms(retrieve("bm25", Scope()))),
        ("retrieve hybrid", median_ms(retrieve("hybrid", Scope()))),
        ("retrieve hybrid, 2 % filter", median_ms(retrieve("hybrid", narrow))),
    ]
    print(
        f"{rows} x {DIMENSIONS}, {os.cpu_count()} cores, FAISS on 1 thread, "
        f"{platform.machine()}"
    )
    print(
        f"Python {platform.python_version()}, faiss {faiss.__version__}, numpy "
        f"{np.__version__}"
    )
    for label, milliseconds in lines:
        print(f"{label:30}{milliseconds:8.2f} ms{milliseconds / flat:8.2f} x raw")
    print(f"recall of the ten nearest: {recall(store, raw, queries):.3f}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--first-answer"]:
        first_answer(Path(sys.argv[2]))
    else:
        parser = argparse.ArgumentParser(
            description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        parser.add_argument("rows", type=int, nargs="?", default=100_000)
        parser.add_argument("--bench", type=Path, help="a folder of data sets")
        options = parser.parse_args()
        main(options.rows, options.bench)
