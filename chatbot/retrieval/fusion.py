"""Merging two rankings: pure functions over scores by chunk id, by name (R-B6).

Each takes what the vector search found, what the keyword search found, and the vector score of every candidate, and
gives each candidate one score. `zscore` measured best over six sets (benchmarks/README.md); the others are there for
comparison, for seed 001's own system and for engines whose keyword scores mean something else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np

from ..errors import UnknownNameError

RANK_CONSTANT = 60
"""Of reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009); MongoDB's `$rankFusion` has the same."""
Scores = Mapping[str, float]


class Fusion(Protocol):
    def __call__(self, near: Scores, worded: Scores, vector: Scores, *, vector_weight: float) -> dict[str, float]:
        """Fused scores of every id in ``near`` or ``worded``, both best first; the rest of the weight is the keywords'.

        ``vector`` has the vector score of every candidate with an embedding.
        """


def zscore(near: Scores, worded: Scores, vector: Scores, *, vector_weight: float) -> dict[str, float]:
    """Standard deviations from the mean, over the union; a passage without a score has 0."""
    return _over_union(_z_scores, near, worded, vector, vector_weight)


def minmax(near: Scores, worded: Scores, vector: Scores, *, vector_weight: float) -> dict[str, float]:
    """0 to 1 between the lowest and the highest of the union; a passage without a score has 0 before."""
    return _over_union(_min_max, near, worded, vector, vector_weight)


def bounded(near: Scores, worded: Scores, vector: Scores, *, vector_weight: float) -> dict[str, float]:
    """Seed 001: the vector score as it is, the keyword score over the highest; 0 for what a search did not find."""
    highest = max(worded.values(), default=0.0) or 1.0
    keyword = {chunk_id: score / highest for chunk_id, score in worded.items()}
    return {
        chunk_id: vector_weight * near.get(chunk_id, 0.0) + (1 - vector_weight) * keyword.get(chunk_id, 0.0)
        for chunk_id in {**near, **worded}
    }


def rrf(near: Scores, worded: Scores, vector: Scores, *, vector_weight: float) -> dict[str, float]:
    """Reciprocal rank fusion: the sum of weight / (60 + rank)."""
    fused = dict.fromkeys({**near, **worded}, 0.0)
    for found, weight in ((near, vector_weight), (worded, 1 - vector_weight)):
        for rank, chunk_id in enumerate(found, start=1):
            fused[chunk_id] += weight / (RANK_CONSTANT + rank)
    return fused


FUSIONS: Mapping[str, Fusion] = {"bounded": bounded, "minmax": minmax, "rrf": rrf, "zscore": zscore}


def fusion_named(name: str) -> Fusion:
    """Raises UnknownNameError, listing the valid names."""
    if name not in FUSIONS:
        raise UnknownNameError.among("FUSION", "fusion", name, FUSIONS)
    return FUSIONS[name]


class _Normalisation(Protocol):
    def __call__(self, scores: Scores, /) -> dict[str, float]: ...


def _over_union(
    normalised: _Normalisation, near: Scores, worded: Scores, vector: Scores, vector_weight: float
) -> dict[str, float]:
    """Convex combination (Bruch, Gai and Ingber, ACM TOIS 2023)."""
    union = {**near, **worded}
    by_vector = normalised({chunk_id: vector.get(chunk_id, 0.0) for chunk_id in union})
    by_keyword = normalised({chunk_id: worded.get(chunk_id, 0.0) for chunk_id in union})
    return {
        chunk_id: vector_weight * by_vector[chunk_id] + (1 - vector_weight) * by_keyword[chunk_id] for chunk_id in union
    }


def _z_scores(scores: Scores) -> dict[str, float]:
    if not scores:
        return {}
    values = np.fromiter(scores.values(), dtype=np.float64)
    mean, deviation = float(values.mean()), float(values.std()) or 1.0
    return {chunk_id: (score - mean) / deviation for chunk_id, score in scores.items()}


def _min_max(scores: Scores) -> dict[str, float]:
    lowest, highest = min(scores.values(), default=0.0), max(scores.values(), default=0.0)
    spread = highest - lowest or 1.0
    return {chunk_id: (score - lowest) / spread for chunk_id, score in scores.items()}
