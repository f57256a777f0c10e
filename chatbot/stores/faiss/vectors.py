"""Search of many vectors without comparing all of them: which rows are near, and the
whole vectors of few rows.

`Clusters`: one-bit codes (RaBitQ, Gao and Long, SIGMOD 2024) in inverted lists (IVF,
Jégou et al., 2011), a thirtieth of the vectors' size. The lists nearest to the question
are scanned until they hold a share of the rows in scope, and the best by their codes
are compared exactly by the caller. How large that share must be depends on the vectors:
`Clusters.build` measures it, with rows as questions for the others: on real sentences
that gives the recall of held-out sentences to a hundredth; rows with noise gave up to
three hundredths less, and real corpora were searched exactly for it. Vectors without
any structure (random ones) cannot be searched so; they get no clusters.

`ShortVectors` and `WholeVectors`: the whole vectors of a million rows are 1.5 GB, and
mapping them soon has all of them in memory, as a read row brings its neighbours.
Vectors of one byte a component are a quarter of that. They tell which few rows may be
among the nearest, as their greatest error is known, and only those are read from the
file. The result is that of comparing all. Figures: benchmarks/README.md, "Search in
process".
"""

import os
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import faiss as _faiss
import numpy as np
from numpy.typing import NDArray

from ...domain import Vector
from ...domain.documents import Matrix
from ..keywords import Floats

faiss: Any = _faiss
"""Its type hints lack its SWIG half."""
Places = NDArray[np.int64]
"""Row numbers."""
ITERATIONS = 8
POINTS_PER_CLUSTER = 64
SEED = 1
SHARES = (0.02, 0.04, 0.06, 0.08, 0.12, 0.16, 0.24, 0.32, 0.5)
"""Of the rows in scope. Scanning half of the codes takes an eighth of the time of
comparing all vectors.
"""
SUFFICIENT_RECALL = 0.985
"""Mean recall of the DEPTH nearest to a probe; that of the ten nearest to a question is
above .99 then.
"""
DEPTH = 50
PROBES = 256
ROWS_PER_ADDITION = 50_000
ROWS_IN_CACHE = 512
"""Rows that are converted to floats together: as many as stay in the processor's
cache.
"""
MAX_CODE = 127


def candidates(top_k: int) -> int:
    """Return how many of the best by their codes are compared exactly."""
    return 200 + 10 * top_k


@dataclass(frozen=True)
class Clusters:
    """``index`` is FAISS's, its ids are row numbers; ``share`` of the rows in scope is
    scanned.
    """

    index: Any
    share: float

    @classmethod
    def build(cls, vectors: Matrix) -> "Clusters | None":
        """Cluster unit vectors; deterministic. None where even the largest of SHARES
        finds too little.
        """
        rows, dimensions = vectors.shape
        count = max(int(rows**0.5), 1)
        flat = faiss.IndexFlatIP(dimensions)
        index = faiss.IndexIVFRaBitQFastScan(
            flat, dimensions, count, faiss.METRIC_INNER_PRODUCT
        )
        index.cp.niter, index.cp.seed, index.cp.spherical = ITERATIONS, SEED, True
        index.cp.max_points_per_centroid, index.cp.min_points_per_centroid = (
            POINTS_PER_CLUSTER,
            1,
        )
        rng = np.random.default_rng(SEED)
        sample = np.sort(
            rng.choice(rows, min(rows, count * POINTS_PER_CLUSTER), replace=False)
        )
        index.train(vectors[sample])
        for start in range(0, rows, ROWS_PER_ADDITION):
            index.add(np.ascontiguousarray(vectors[start : start + ROWS_PER_ADDITION]))
        # The least share that finds what an exact search of the probes finds, besides
        # each itself.
        probes = rng.choice(rows, min(rows, PROBES), replace=False)
        depth = min(DEPTH, rows)
        _, nearest = faiss.knn(
            vectors[probes], vectors, depth + 1, metric=faiss.METRIC_INNER_PRODUCT
        )
        others = [
            exact[exact != probe][:depth]
            for probe, exact in zip(probes, nearest, strict=True)
        ]
        everything = np.bincount(cls(index, 1.0).codes, minlength=count)
        for clusters in (cls(index, share) for share in SHARES):
            near = (
                clusters.near(vectors[probe], None, everything, candidates(depth))
                for probe in probes
            )
            recall = np.mean(
                [
                    np.isin(exact, places).mean()
                    for exact, places in zip(others, near, strict=True)
                ]
            )
            if recall >= SUFFICIENT_RECALL:
                return clusters
        return None

    @cached_property
    def codes(self) -> NDArray[np.int32]:
        """The cluster of each row."""
        codes = np.empty(self.index.ntotal, dtype=np.int32)
        lists = self.index.invlists
        for number in range(self.index.nlist):
            if size := lists.list_size(number):
                codes[faiss.rev_swig_ptr(lists.get_ids(number), size)] = number
        return codes

    @cached_property
    def _centroids(self) -> Matrix:
        centroids: Matrix = faiss.downcast_index(self.index.quantizer).reconstruct_n(
            0, self.index.nlist
        )
        return centroids

    def near(
        self,
        vector: Vector,
        bitmap: NDArray[np.uint8] | None,
        sizes: Places,
        count: int,
    ) -> Places:
        """Return at most ``count`` rows that are near by their codes. ``bitmap``: one
        bit for each row in scope, None for all; ``sizes``: how many of them each
        cluster has.
        """
        similar = self._centroids @ vector
        order = np.argsort(-similar)
        order = order[sizes[order] > 0]
        held = np.cumsum(sizes[order])
        if not len(held):
            return np.empty(0, dtype=np.int64)
        # In a scope the nearest lie farther apart, so that more of it has to be
        # scanned.
        share = self.share * (self.index.ntotal / held[-1]) ** 0.5
        probed = order[: int(np.searchsorted(held, max(share * held[-1], count))) + 1]
        rows, scores = (
            np.empty(count, dtype=np.int64),
            np.empty(count, dtype=np.float32),
        )
        vector, similar = (
            np.ascontiguousarray(vector),
            np.ascontiguousarray(similar[probed]),
        )
        inside = (
            faiss.IDSelectorBitmap(len(bitmap), faiss.swig_ptr(bitmap))
            if bitmap is not None
            else None
        )
        pointers = map(faiss.swig_ptr, (vector, probed, similar, scores, rows))
        question, lists, distances, nearest_scores, nearest_rows = pointers
        parameters = faiss.SearchParametersIVF(sel=inside, nprobe=len(probed))
        with one_thread():
            self.index.search_preassigned_c(
                1,
                question,
                count,
                lists,
                distances,
                nearest_scores,
                nearest_rows,
                False,
                parameters,
                None,
            )
        return rows[rows >= 0]


@contextmanager
def one_thread() -> Iterator[None]:
    """Let FAISS compute in the calling thread alone: two that meet at the end wait for
    each other. Measured at 10^5 on two busy cores: 1.4 ms by one, 6 to 12 by two.
    """
    before = faiss.omp_get_max_threads()  # of this thread, like the value that is set
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


@dataclass(frozen=True, slots=True)
class ShortVectors:
    """``codes[row] * steps[row]`` is nearly the row; ``error`` is the greatest distance
    between the two.
    """

    codes: NDArray[np.int8]
    steps: Floats
    error: float

    def nearest(self, vector: Vector, rows: Places, top_k: int) -> Places:
        """Return those of the rows that may be among the ``top_k`` nearest to
        ``vector``, which has length 1.
        """
        if len(rows) <= top_k:
            return rows
        cosines = np.empty(len(rows), dtype=np.float32)
        for part in _parts(len(rows)):
            cosines[part] = self.codes[rows[part]].astype(np.float32) @ vector
        cosines *= self.steps[rows]
        # By Cauchy and Schwarz: a cosine errs by no more than the vector does. Both
        # sides of a comparison may.
        least = np.partition(cosines, -top_k)[-top_k] - 2 * self.error
        near: Places = rows[cosines >= least]
        return near

    @staticmethod
    def write(vectors: Matrix, folder: Path) -> None:
        """Store the short vectors of ``vectors``, some at a time, so that nobody has to
        hold them all.
        """
        steps, error = np.empty(len(vectors), dtype=np.float32), 0.0
        with (folder / "short.npy").open("wb") as file:
            header = {"descr": "|i1", "fortran_order": False, "shape": vectors.shape}
            np.lib.format.write_array_header_1_0(file, header)
            for part in _parts(len(vectors)):
                whole = vectors[part]
                steps[part] = np.abs(whole).max(axis=1, initial=0.0) / MAX_CODE
                step = steps[part, None]
                codes = np.rint(
                    whole / np.maximum(step, np.finfo(np.float32).tiny)
                ).astype(np.int8)  # zeros stay so
                error = max(
                    error,
                    float(
                        np.linalg.norm(whole - codes * step, axis=1).max(initial=0.0)
                    ),
                )
                file.write(codes.data)
        np.save(folder / "steps.npy", steps)
        np.save(folder / "error.npy", error)

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]]) -> "ShortVectors | None":
        """Return those among the arrays of a folder, by name; None = it has none."""
        return (
            cls(arrays["short"], arrays["steps"], float(arrays["error"]))
            if "short" in arrays
            else None
        )


def _parts(count: int) -> Iterator[slice]:
    return (
        slice(start, start + ROWS_IN_CACHE) for start in range(0, count, ROWS_IN_CACHE)
    )


class WholeVectors:
    """The rows of a matrix of float32 in a file of numpy's, which stays open for as
    long as this is in use.
    """

    def __init__(self, path: Path) -> None:
        """Raises OSError, ValueError: it is no file of numpy's."""
        mapped = np.load(path, mmap_mode="r")
        self._offset, self._dimensions = mapped.offset, mapped.shape[1]
        self._file = os.open(path, os.O_RDONLY)
        weakref.finalize(self, os.close, self._file)

    def read(self, rows: Places) -> Matrix:
        """Return shape (len(rows), dimensions). Raises OSError."""
        size = np.dtype(np.float32).itemsize * self._dimensions
        content = b"".join(
            [
                os.pread(self._file, size, self._offset + size * row)
                for row in rows.tolist()
            ]
        )
        return np.frombuffer(content, dtype=np.float32).reshape(-1, self._dimensions)
