"""search -> threshold -> fuse -> rerank -> cut, under a scope. A method is one file and one line below."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from ..registry import Registry
from ..schema import Match


class RetrievalMethod(Protocol):
    """Which searches run, and how their answers become one ranking."""

    @property
    def uses_vectors(self) -> bool: ...

    @property
    def uses_keywords(self) -> bool: ...

    @property
    def refines(self) -> bool:
        """Whether names that the scope says are left out, and headings and editions order what is found."""

    def candidates(self, top_k: int) -> int:
        """How many matches to ask of each search."""

    def rank(
        self, vector_matches: Sequence[Match], keyword_matches: Sequence[Match], scores: Mapping[str, float]
    ) -> list[tuple[str, float | None]]:
        """Chunk ids with fused scores (None without fusion), best first, ties by id.

        ``scores`` holds the vector score of every candidate.
        """


RETRIEVAL_METHODS: Registry[RetrievalMethod] = Registry(
    "retrieval method",
    {
        "bm25": "chatbot.retrieval.ranking:bm25",
        "hybrid": "chatbot.retrieval.ranking:hybrid",
        "vector": "chatbot.retrieval.ranking:vector",
    },
)
