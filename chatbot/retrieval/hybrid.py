"""Both searches, merged into one ranking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..schema import Match
from ..settings import Settings
from .fusion import Fusion, fusion_named

CANDIDATES = 100


class HybridMethod:
    """``vector_weight`` in [0, 1]; the rest goes to the keywords."""

    uses_vectors = True
    uses_keywords = True

    def __init__(self, vector_weight: float, fusion: Fusion) -> None:
        self._vector_weight = vector_weight
        self._fusion = fusion

    def candidates(self, top_k: int) -> int:
        return max(CANDIDATES, top_k)

    def rank(
        self, vector_matches: Sequence[Match], keyword_matches: Sequence[Match], scores: Mapping[str, float]
    ) -> list[tuple[str, float | None]]:
        near = {match.chunk_id: match.score for match in vector_matches}
        worded = {match.chunk_id: match.score for match in keyword_matches}
        fused = self._fusion(near, worded, scores, vector_weight=self._vector_weight)
        ranked = sorted((-score, chunk_id) for chunk_id, score in fused.items())
        return [(chunk_id, -negative) for negative, chunk_id in ranked]


def build(settings: Settings) -> HybridMethod:
    return HybridMethod(settings.vector_weight, fusion_named(settings.fusion))
