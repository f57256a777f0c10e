"""Search, threshold, fusion, reranking and cut under a scope. A method is one file and
one row below.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from ..domain import Match
from ..domain.registry import Registry


class RetrievalMethod(Protocol):
    """The searches that run, and the way their results become one ranking."""

    @property
    def uses_vectors(self) -> bool: ...

    @property
    def uses_keywords(self) -> bool: ...

    @property
    def refines(self) -> bool:
        """True if names of the scope are left out of the search, and headings and
        editions order the hits.
        """

    def candidates(self, top_k: int) -> int:
        """Matches to request of each search."""

    def rank(
        self,
        vector_matches: Sequence[Match],
        keyword_matches: Sequence[Match],
        scores: Mapping[str, float],
    ) -> Sequence[tuple[str, float | None]]:
        """Chunk ids with fused scores (None without fusion), best first, ties by id.

        ``scores`` holds the vector score of every candidate."""


RETRIEVAL_METHODS: Registry[RetrievalMethod] = Registry(
    "retrieval method",
    {
        "bm25": "chatbot.search.ranking:bm25",
        "hybrid": "chatbot.search.ranking:hybrid",
        "vector": "chatbot.search.ranking:vector",
    },
    group="retrieval_methods",
)
