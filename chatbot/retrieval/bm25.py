"""Keyword search alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..schema import Match
from ..settings import Settings


class BM25Method:
    uses_vectors = False
    uses_keywords = True
    refines = False

    def candidates(self, top_k: int) -> int:
        return top_k

    def rank(
        self, vector_matches: Sequence[Match], keyword_matches: Sequence[Match], scores: Mapping[str, float]
    ) -> list[tuple[str, float | None]]:
        return [(match.chunk_id, None) for match in keyword_matches]


def build(settings: Settings) -> BM25Method:
    return BM25Method()
