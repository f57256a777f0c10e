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
RowNumbers = NDArray[np.int64]
TRAINING_ROWS_PER_CLUSTER = 64
"""Rows that a cluster's centre is fitted to; FAISS's 256 take four times as long."""
SEED = 1
"""Any fixed number: the same rows give the same clusters."""
SCANNED_SHARES = (0.02, 0.04, 0.06, 0.08, 0.12, 0.16, 0.24, 0.32, 0.5)
"""Of the rows in scope. Scanning half of the codes takes an eighth of the time of
comparing all vectors.
"""
MIN_RECALL = 0.985
"""Mean recall of the PROBE_DEPTH nearest to a probe; that of the ten nearest to a
question is above .99 then.
"""
PROBE_DEPTH = 50
"""Neighbours that a probe should find: more than a question shows, so that one more or
less moves its recall by two hundredths only.
"""
PROBES = 256
"""Rows that serve as questions; the mean of so many is sure to a hundredth."""
ROWS_PER_ADDITION = 50_000
"""Rows given to FAISS at once: its working memory grows with them."""
ROWS_IN_CACHE = 512
"""Rows that are converted to floats together: as many as stay in the processor's
cache.
"""
MAX_CODE = np.iinfo(np.int8).max
"""The codes are symmetric around zero: -128 is not used."""


def compared_exactly(top_k: int) -> int:
    """Return how many of the best by their codes are compared exactly. One-bit codes
    order neighbours roughly: the ``top_k`` best are among ten times as many.
    """
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
        """Cluster unit vectors; deterministic. None where even the largest of
        SCANNED_SHARES finds too little.
        """
        rows, dimensions = vectors.shape
        count = max(int(rows**0.5), 1)
        flat = faiss.IndexFlatIP(dimensions)
        index = faiss.IndexIVFRaBitQFastScan(
            flat, dimensions, count, faiss.METRIC_INNER_PRODUCT
        )
        # How good the clusters are is measured below.
        index.cp.niter = 8
        index.cp.seed = SEED
        index.cp.spherical = True
        index.cp.max_points_per_centroid = TRAINING_ROWS_PER_CLUSTER
        index.cp.min_points_per_centroid = 1  # without its warning about few rows
        rng = np.random.default_rng(SEED)
        sample_rows = min(rows, count * TRAINING_ROWS_PER_CLUSTER)
        sample = np.sort(rng.choice(rows, sample_rows, replace=False))
        index.train(vectors[sample])
        for start in range(0, rows, ROWS_PER_ADDITION):
            index.add(np.ascontiguousarray(vectors[start : start + ROWS_PER_ADDITION]))
        probes = rng.choice(rows, min(rows, PROBES), replace=False)
        depth = min(PROBE_DEPTH, rows)
        _, nearest = faiss.knn(
            vectors[probes], vectors, depth + 1, metric=faiss.METRIC_INNER_PRODUCT
        )
        neighbours = [
            rows_found[rows_found != probe][:depth]  # a probe finds itself, too
            for probe, rows_found in zip(probes, nearest, strict=True)
        ]
        sizes = np.bincount(cls(index, 1.0).codes, minlength=count)
        for share in SCANNED_SHARES:
            clusters = cls(index, share)
            recalls = []
            for probe, expected in zip(probes, neighbours, strict=True):
                nearby = clusters.nearby(
                    vectors[probe], None, sizes, compared_exactly(depth)
                )
                recalls.append(np.isin(expected, nearby).mean())
            if np.mean(recalls) >= MIN_RECALL:
                return clusters
        return None

    @cached_property
    def codes(self) -> NDArray[np.int32]:
        """The cluster of each row."""
        codes = np.empty(self.index.ntotal, dtype=np.int32)
        lists = self.index.invlists
        for number in range(self.index.nlist):
            size = lists.list_size(number)
            if size:
                codes[faiss.rev_swig_ptr(lists.get_ids(number), size)] = number
        return codes

    @cached_property
    def _centroids(self) -> Matrix:
        centroids: Matrix = faiss.downcast_index(self.index.quantizer).reconstruct_n(
            0, self.index.nlist
        )
        return centroids

    def nearby(
        self,
        vector: Vector,
        bitmap: NDArray[np.uint8] | None,
        sizes: RowNumbers,
        count: int,
    ) -> RowNumbers:
        """Return at most ``count`` rows that are near by their codes. ``bitmap``: one
        bit for each row in scope, None for all; ``sizes``: how many of them each
        cluster has.
        """
        similarities = self._centroids @ vector
        order = np.argsort(-similarities)
        order = order[sizes[order] > 0]
        rows_so_far = np.cumsum(sizes[order])
        if not len(rows_so_far):
            return np.empty(0, dtype=np.int64)
        in_scope = rows_so_far[-1]
        # In a scope the nearest lie farther apart, so that more of it has to be
        # scanned.
        share = self.share * (self.index.ntotal / in_scope) ** 0.5
        scanned = np.searchsorted(rows_so_far, max(share * in_scope, count))
        probed = order[: int(scanned) + 1]
        # FAISS reads and fills plain memory, which has to be contiguous.
        vector = np.ascontiguousarray(vector)
        distances = np.ascontiguousarray(similarities[probed])
        rows = np.empty(count, dtype=np.int64)
        scores = np.empty(count, dtype=np.float32)
        selector = None
        if bitmap is not None:
            selector = faiss.IDSelectorBitmap(len(bitmap), faiss.swig_ptr(bitmap))
        parameters = faiss.SearchParametersIVF(sel=selector, nprobe=len(probed))
        with one_thread():
            self.index.search_preassigned_c(
                1,
                faiss.swig_ptr(vector),
                count,
                faiss.swig_ptr(probed),
                faiss.swig_ptr(distances),
                faiss.swig_ptr(scores),
                faiss.swig_ptr(rows),
                False,
                parameters,
                None,
            )
        return rows[rows >= 0]  # -1 where fewer were found


@contextmanager
def one_thread() -> Iterator[None]:
    """Let FAISS compute in the calling thread alone: two that meet at the end wait for
    each other. Measured at 10^5 on two busy cores: 1.4 ms by one, 6 to 12 by two.
    """
    # The number belongs to the calling thread, also the one that is set.
    threads_before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(threads_before)


@dataclass(frozen=True, slots=True)
class ShortVectors:
    """``codes[row] * steps[row]`` is nearly the row; ``error`` is the greatest distance
    between the two.
    """

    codes: NDArray[np.int8]
    steps: Floats
    error: float

    def nearest(self, vector: Vector, rows: RowNumbers, top_k: int) -> RowNumbers:
        """Return those of the rows that may be among the ``top_k`` nearest to
        ``vector``, which has length 1.
        """
        if len(rows) <= top_k:
            return rows
        cosines = np.empty(len(rows), dtype=np.float32)
        for block in _blocks(len(rows)):
            cosines[block] = self.codes[rows[block]].astype(np.float32) @ vector
        cosines *= self.steps[rows]
        # By Cauchy and Schwarz: a cosine errs by no more than the vector does. Both
        # sides of a comparison may.
        min_cosine = np.partition(cosines, -top_k)[-top_k] - 2 * self.error
        nearest: RowNumbers = rows[cosines >= min_cosine]
        return nearest

    @staticmethod
    def write(vectors: Matrix, folder: Path) -> None:
        """Store the short vectors of ``vectors``, some at a time, so that nobody has to
        hold them all.
        """
        steps = np.empty(len(vectors), dtype=np.float32)
        max_error = 0.0
        with (folder / "short.npy").open("wb") as file:
            header = {"descr": "|i1", "fortran_order": False, "shape": vectors.shape}
            np.lib.format.write_array_header_1_0(file, header)
            for block in _blocks(len(vectors)):
                whole = vectors[block]
                steps[block] = np.abs(whole).max(axis=1, initial=0.0) / MAX_CODE
                step = steps[block, None]
                # A row of zeros has the step 0, and stays zeros.
                divisor = np.maximum(step, np.finfo(np.float32).tiny)
                codes = np.rint(whole / divisor).astype(np.int8)
                errors = np.linalg.norm(whole - codes * step, axis=1)
                max_error = max(max_error, float(errors.max(initial=0.0)))
                file.write(codes.data)
        np.save(folder / "steps.npy", steps)
        np.save(folder / "error.npy", max_error)

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]]) -> "ShortVectors | None":
        """Return those among the arrays of a folder, by name; None = it has none."""
        if "short" not in arrays:
            return None
        return cls(arrays["short"], arrays["steps"], float(arrays["error"]))


def _blocks(count: int) -> Iterator[slice]:
    for start in range(0, count, ROWS_IN_CACHE):
        yield slice(start, start + ROWS_IN_CACHE)


class WholeVectors:
    """The rows of a matrix of float32 in a file of numpy's, which stays open for as
    long as this is in use.
    """

    def __init__(self, path: Path) -> None:
        """Raises OSError, ValueError: it is no file of numpy's."""
        mapped = np.load(path, mmap_mode="r")
        self._offset = mapped.offset
        self._dimensions = mapped.shape[1]
        self._file = os.open(path, os.O_RDONLY)
        weakref.finalize(self, os.close, self._file)

    def read(self, rows: RowNumbers) -> Matrix:
        """Return shape (len(rows), dimensions). Raises OSError."""
        row_bytes = np.dtype(np.float32).itemsize * self._dimensions
        stored_rows = [
            os.pread(self._file, row_bytes, self._offset + row_bytes * row)
            for row in rows.tolist()
        ]
        content = b"".join(stored_rows)
        return np.frombuffer(content, dtype=np.float32).reshape(-1, self._dimensions)
