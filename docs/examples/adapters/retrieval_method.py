"""Both searches in turn: the best by vectors, the best by keywords, the second best by
vectors, ...
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, zip_longest

from ..config.settings import Settings
from ..domain import Match


class TurnsMethod:
    uses_vectors = True
    uses_keywords = True
    refines = False

    def candidates(self, top_k: int) -> int:
        return top_k

    def rank(
        self,
        vector_matches: Sequence[Match],
        keyword_matches: Sequence[Match],
        scores: Mapping[str, float],
    ) -> list[tuple[str, float | None]]:
        turns = chain.from_iterable(zip_longest(vector_matches, keyword_matches))
        return [
            (chunk_id, None)
            for chunk_id in dict.fromkeys(match.chunk_id for match in turns if match)
        ]


def build(settings: Settings) -> TurnsMethod:
    return TurnsMethod()
