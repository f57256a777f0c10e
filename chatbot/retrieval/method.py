"""What a retrieval method decides: which searches run, and how their answers become one ranking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from ..schema import Match


class RetrievalMethod(Protocol):
    uses_vectors: bool
    uses_keywords: bool

    def candidates(self, top_k: int) -> int:
        """How many matches to ask of each search."""

    def rank(
        self, vector_matches: Sequence[Match], keyword_matches: Sequence[Match], scores: Mapping[str, float]
    ) -> list[tuple[str, float | None]]:
        """Chunk ids with fused scores (None without fusion), best first, ties by id.

        ``scores`` holds the vector score of every candidate.
        """
