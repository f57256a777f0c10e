"""Vector search alone: seed 003 to the letter. The database is asked once, for exactly what is wanted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..schema import Match
from ..settings import Settings


class VectorMethod:
    uses_vectors = True
    uses_keywords = False
    refines = False

    def candidates(self, top_k: int) -> int:
        return top_k

    def rank(
        self, vector_matches: Sequence[Match], keyword_matches: Sequence[Match], scores: Mapping[str, float]
    ) -> list[tuple[str, float | None]]:
        return [(match.chunk_id, None) for match in vector_matches]


def build(settings: Settings) -> VectorMethod:
    return VectorMethod()
