"""Approximate search of many vectors: which rows are worth an exact look.

The vectors' one-bit codes (RaBitQ, Gao and Long, SIGMOD 2024) in inverted lists (IVF, Jégou et al., 2011): a thirtieth
of the vectors' size. The lists nearest to the question are scanned until they hold a share of the rows in scope, and
the best by their codes are compared exactly by the caller. How large that share must be depends on the vectors:
`Clusters.build` measures it. Vectors without any structure (random ones) cannot be searched so; they get no clusters.
Figures: benchmarks/README.md, "Search in process".
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import faiss as _faiss
import numpy as np
from numpy.typing import NDArray

from ...schema import Matrix, Vector

faiss: Any = _faiss
"""Its own type hints do not know its SWIG half."""
Places = NDArray[np.int64]
"""Row numbers."""
ITERATIONS = 8
POINTS_PER_CLUSTER = 64
SEED = 1
SHARES = (0.02, 0.04, 0.06, 0.08, 0.12, 0.16, 0.24, 0.32, 0.5)
"""Of the rows in scope. Scanning half of the codes takes an eighth of the time of comparing all vectors."""
WANTED_RECALL = 0.985
"""Of the DEPTH nearest to a probe, in the mean: of the ten nearest to a question it is above .99 then."""
DEPTH = 50
PROBES = 128
PROBE_NOISE = 1.0
"""Length of the noise that makes a question out of a row: cosine .7, as questions have to their passages."""
ADDED_AT_ONCE = 50_000


def candidates(top_k: int) -> int:
    """How many of the best by their codes are compared exactly."""
    return 100 + 5 * top_k


@dataclass(frozen=True)
class Clusters:
    """``index`` is FAISS's, its ids are row numbers; ``share`` of the rows in scope is scanned."""

    index: Any
    share: float

    @classmethod
    def build(cls, vectors: Matrix) -> Clusters | None:
        """Of unit vectors; deterministic. None where even the largest of SHARES finds too little."""
        rows, dimensions = vectors.shape
        count = max(int(rows**0.5), 1)
        flat = faiss.IndexFlatIP(dimensions)
        index = faiss.IndexIVFRaBitQFastScan(flat, dimensions, count, faiss.METRIC_INNER_PRODUCT)
        index.cp.niter, index.cp.seed, index.cp.spherical = ITERATIONS, SEED, True
        index.cp.max_points_per_centroid, index.cp.min_points_per_centroid = POINTS_PER_CLUSTER, 1
        rng = np.random.default_rng(SEED)
        sample = np.sort(rng.choice(rows, min(rows, count * POINTS_PER_CLUSTER), replace=False))
        index.train(vectors[sample])
        for start in range(0, rows, ADDED_AT_ONCE):
            index.add(np.ascontiguousarray(vectors[start : start + ADDED_AT_ONCE]))
        probes = vectors[rng.choice(rows, min(rows, PROBES), replace=False)]
        probes = probes + rng.normal(scale=PROBE_NOISE * dimensions**-0.5, size=probes.shape).astype(np.float32)
        return cls(index, SHARES[-1])._calibrated(vectors, probes)

    def _calibrated(self, vectors: Matrix, probes: Matrix) -> Clusters | None:
        """With the least share that finds what an exact search of the probes finds."""
        depth = min(DEPTH, len(vectors))
        _, wanted = faiss.knn(probes, vectors, depth, metric=faiss.METRIC_INNER_PRODUCT)
        everything = np.bincount(self.codes, minlength=self.index.nlist)
        for tried in (Clusters(self.index, share) for share in SHARES):
            found = (tried.near(probe, None, everything, candidates(depth)) for probe in probes)
            recall = np.mean([np.isin(rows, near).mean() for rows, near in zip(wanted, found, strict=True)])
            if recall >= WANTED_RECALL:
                return tried
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
        centroids: Matrix = faiss.downcast_index(self.index.quantizer).reconstruct_n(0, self.index.nlist)
        return centroids

    def near(self, vector: Vector, bitmap: NDArray[np.uint8] | None, sizes: Places, count: int) -> Places:
        """At most ``count`` rows that are near by their codes.

        ``bitmap``: one bit for each row in scope, None for all; ``sizes``: how many of them each cluster has.
        """
        similar = self._centroids @ vector
        order = np.argsort(-similar)
        order = order[sizes[order] > 0]
        held = np.cumsum(sizes[order])
        if not len(held):
            return np.empty(0, dtype=np.int64)
        # In a scope the nearest lie farther apart, so that more of it has to be scanned.
        share = self.share * (self.index.ntotal / held[-1]) ** 0.5
        probed = order[: int(np.searchsorted(held, max(share * held[-1], count))) + 1]
        return self._scan(vector, probed, similar[probed], bitmap, count)

    def _scan(
        self, vector: Vector, probed: Places, similar: Vector, bitmap: NDArray[np.uint8] | None, count: int
    ) -> Places:
        rows, scores = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.float32)
        vector, similar = np.ascontiguousarray(vector), np.ascontiguousarray(similar)
        inside = faiss.IDSelectorBitmap(len(bitmap), faiss.swig_ptr(bitmap)) if bitmap is not None else None
        pointers = map(faiss.swig_ptr, (vector, probed, similar, scores, rows))
        question, lists, distances, found_scores, found_rows = pointers
        parameters = faiss.SearchParametersIVF(sel=inside, nprobe=len(probed))
        with one_thread():
            self.index.search_preassigned_c(
                1, question, count, lists, distances, found_scores, found_rows, False, parameters, None
            )
        return rows[rows >= 0]


@contextmanager
def one_thread() -> Iterator[None]:
    """FAISS computes in the calling thread alone: two that meet at the end wait for each other.

    Measured at 10^5 on two busy cores: 1.4 ms by one, 6 to 12 by two.
    """
    before = faiss.omp_get_max_threads()  # of this thread, as what is set
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)
