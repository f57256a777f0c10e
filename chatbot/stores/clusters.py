"""Approximate search as one more mask: only the clusters nearest to the question are scanned (IVF, Jégou et al., 2011).

The vectors stay where they are; a cluster number for each row is all that is added. Worth it for large segments only:
see `benchmarks/approximate_search.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import faiss as _faiss
import numpy as np

from ..schema import Matrix, Vector
from .columns import Codes, Mask

faiss: Any = _faiss
PROBED_SHARE = 0.04
"""Share of the clusters that is scanned."""
ITERATIONS = 8
POINTS_PER_CLUSTER = 64


@dataclass(frozen=True, slots=True)
class Clusters:
    """``centroids`` has shape (clusters, dimensions), ``codes`` the cluster of each row."""

    centroids: Matrix
    codes: Codes

    @classmethod
    def build(cls, vectors: Matrix) -> Clusters:
        """Square root of the rows many clusters, by spherical k-means on a sample; deterministic."""
        count = max(int(len(vectors) ** 0.5), 1)
        kmeans = faiss.Kmeans(
            vectors.shape[1],
            count,
            niter=ITERATIONS,
            seed=1,
            spherical=True,
            max_points_per_centroid=POINTS_PER_CLUSTER,
            min_points_per_centroid=1,
        )
        kmeans.train(vectors)
        _, nearest = kmeans.index.search(vectors, 1)
        return cls(np.asarray(kmeans.centroids, dtype=np.float32), nearest[:, 0].astype(np.int32))

    def near(self, vector: Vector) -> Mask:
        """Rows of the clusters nearest to ``vector``, shape (rows,)."""
        probed = max(int(len(self.centroids) * PROBED_SHARE), 1)
        nearest = np.argpartition(-(self.centroids @ vector), probed - 1)[:probed]
        chosen = np.zeros(len(self.centroids), dtype=np.bool_)
        chosen[nearest] = True
        found: Mask = chosen[self.codes]
        return found
