"""Both searches, merged into one ranking by a fusion: pure functions over scores by chunk id, by name (R-B6).

`zscore` measured best over six sets (benchmarks/README.md); the others are there for comparison, for seed 001's own
system and for engines whose keyword scores mean something else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Protocol

import numpy as np

from ..errors import UnknownNameError
from ..schema import Match
from ..scores import ScoreArray, standard
from ..settings import Settings

RANK_CONSTANT = 60
"""The constant of reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009), the same as in MongoDB's
`$rankFusion`.
"""
Scores = Mapping[str, float]


class Fusion(Protocol):
    """How the scores of two searches become one."""

    def __call__(self, near: Scores, worded: Scores, vector: Scores, *, vector_weight: float) -> dict[str, float]:
        """Fused scores of every id in ``near`` or ``worded``, both best first; the rest of the weight is the keywords'.

        ``vector`` has the vector score of every candidate with an embedding.
        """


class HybridMethod:
    """``vector_weight`` in [0, 1]; the rest goes to the keywords. Each search is asked for ``candidates``."""

    uses_vectors = True
    uses_keywords = True
    refines = True

    def __init__(self, vector_weight: float, fusion: Fusion, candidates: int) -> None:
        self._vector_weight = vector_weight
        self._candidates = candidates
        self._fusion = fusion

    def candidates(self, top_k: int) -> int:
        """See `RetrievalMethod`."""
        return max(self._candidates, top_k)

    def rank(
        self, vector_matches: Sequence[Match], keyword_matches: Sequence[Match], scores: Scores
    ) -> list[tuple[str, float | None]]:
        """See `RetrievalMethod`."""
        near = {match.chunk_id: match.score for match in vector_matches}
        worded = {match.chunk_id: match.score for match in keyword_matches}
        fused = self._fusion(near, worded, scores, vector_weight=self._vector_weight)
        ranked = sorted((-score, chunk_id) for chunk_id, score in fused.items())
        return [(chunk_id, -negative) for negative, chunk_id in ranked]


def zscore(near: Scores, worded: Scores, vector: Scores, *, vector_weight: float) -> dict[str, float]:
    """Standard deviations from the mean, over the union; a passage without a score has 0."""
    return _over_union(standard, near, worded, vector, vector_weight)


def minmax(near: Scores, worded: Scores, vector: Scores, *, vector_weight: float) -> dict[str, float]:
    """0 to 1 between the lowest and the highest of the union; a passage without a score has 0 before."""
    return _over_union(
        lambda scores: (scores - scores.min()) / (np.ptp(scores) or 1.0), near, worded, vector, vector_weight
    )


def bounded(near: Scores, worded: Scores, vector: Scores, *, vector_weight: float) -> dict[str, float]:
    """Seed 001: the vector score as it is, the keyword score over the highest; 0 for what a search did not find."""
    highest = max(worded.values(), default=0.0) or 1.0
    return {
        chunk_id: vector_weight * near.get(chunk_id, 0.0) + (1 - vector_weight) * (worded.get(chunk_id, 0.0) / highest)
        for chunk_id in {**near, **worded}
    }


def rrf(
    near: Scores, worded: Scores, vector: Scores, *, vector_weight: float, constant: int = RANK_CONSTANT
) -> dict[str, float]:
    """Reciprocal rank fusion: the sum of weight / (constant + rank)."""
    fused = dict.fromkeys({**near, **worded}, 0.0)
    for found, weight in ((near, vector_weight), (worded, 1 - vector_weight)):
        for rank, chunk_id in enumerate(found, start=1):
            fused[chunk_id] += weight / (constant + rank)
    return fused


FUSIONS: Mapping[str, Fusion] = {"bounded": bounded, "minmax": minmax, "rrf": rrf, "zscore": zscore}


def fusion_named(name: str) -> Fusion:
    """The fusion of that name. Raises UnknownNameError, which lists the valid names."""
    if name not in FUSIONS:
        raise UnknownNameError.among("FUSION", "fusion", name, FUSIONS)
    return FUSIONS[name]


def _over_union(
    normalise: Callable[[ScoreArray], ScoreArray], near: Scores, worded: Scores, vector: Scores, vector_weight: float
) -> dict[str, float]:
    """Convex combination (Bruch, Gai and Ingber, ACM TOIS 2023)."""
    union = [*{**near, **worded}]
    if not union:
        return {}
    by_vector, by_keyword = (normalise(np.array([found.get(id, 0.0) for id in union])) for found in (vector, worded))
    fused = vector_weight * by_vector + (1 - vector_weight) * by_keyword
    return dict(zip(union, fused.tolist(), strict=True))


def build(settings: Settings) -> HybridMethod:
    """Build it from VECTOR_WEIGHT, FUSION, RRF_K and SEARCH_CANDIDATES."""
    fusion = fusion_named(settings.fusion)
    fusion = partial(rrf, constant=settings.rrf_k) if fusion is rrf else fusion
    return HybridMethod(settings.vector_weight, fusion, settings.search_candidates)
