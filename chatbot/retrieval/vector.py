"""Vector search alone: seed 003 to the letter; or keyword search alone. The database is asked once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..schema import Match
from ..settings import Settings


class SingleMethod:
    """Vector search or keyword search alone, in its own order."""

    refines = False

    def __init__(self, *, vectors: bool) -> None:
        self.uses_vectors = vectors
        self.uses_keywords = not vectors

    def candidates(self, top_k: int) -> int:
        """See `RetrievalMethod`."""
        return top_k

    def rank(
        self, vector_matches: Sequence[Match], keyword_matches: Sequence[Match], scores: Mapping[str, float]
    ) -> list[tuple[str, float | None]]:
        """See `RetrievalMethod`."""
        return [(match.chunk_id, None) for match in (*vector_matches, *keyword_matches)]


def bm25(settings: Settings) -> SingleMethod:
    """Keyword search alone; no setting changes it."""
    return SingleMethod(vectors=False)


def build(settings: Settings) -> SingleMethod:
    """Vector search alone; no setting changes it."""
    return SingleMethod(vectors=True)
