"""Both searches, merged by a weighted sum of their z-scores over the union of what they found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..schema import Match
from ..settings import Settings
from .fusion import weighted_sum, z_scores

CANDIDATES = 100


class HybridMethod:
    """``vector_weight`` in [0, 1]; the rest goes to the keywords."""

    uses_vectors = True
    uses_keywords = True

    def __init__(self, vector_weight: float) -> None:
        self._vector_weight = vector_weight

    def candidates(self, top_k: int) -> int:
        return max(CANDIDATES, top_k)

    def rank(
        self, vector_matches: Sequence[Match], keyword_matches: Sequence[Match], scores: Mapping[str, float]
    ) -> list[tuple[str, float | None]]:
        found = {match.chunk_id: 0.0 for match in vector_matches}
        found.update((match.chunk_id, match.score) for match in keyword_matches)
        vector = z_scores({chunk_id: scores.get(chunk_id, 0.0) for chunk_id in found})
        fused = weighted_sum(vector, z_scores(found), vector_weight=self._vector_weight)
        ranked = sorted((-score, chunk_id) for chunk_id, score in fused.items())
        return [(chunk_id, -negative) for negative, chunk_id in ranked]


def build(settings: Settings) -> HybridMethod:
    return HybridMethod(settings.vector_weight)
