"""One hit per source and round (seed 001, R-B7): an answer does not stand on one report alone where there are more."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..protocols import ChatModel, Reranked, Store
from ..request import RequestContext
from ..schema import SearchHit

FETCHED = 10
"""For three kept, as in the seed; more are asked for where more are wanted."""
FETCHED_PER_KEPT = 3


class DiversityReranker:
    """Groups the hits by document, in rank order, and takes one of each group in turn."""

    asks_model = False

    def candidates(self, top_k: int) -> int:
        """Ten, or three times as many as are wanted."""
        return max(FETCHED, FETCHED_PER_KEPT * top_k)

    def rerank(self, query: str, hits: Sequence[SearchHit], *, top_k: int, request: RequestContext) -> Reranked:
        """A source's second hit comes after the first of every other source."""
        groups: dict[str, list[SearchHit]] = {}
        for number, hit in enumerate(hits):
            # Without a source a hit is a group of its own; the number tells it apart from the others of that kind.
            source = hit.chunk.document_id or f"\0{number}"
            groups.setdefault(source, []).append(hit)
        longest = max(map(len, groups.values()), default=0)
        in_turn = [own[turn] for turn in range(longest) for own in groups.values() if turn < len(own)]
        return Reranked(tuple(in_turn[:top_k]))


def build(*, chat_model: Callable[[], ChatModel], language: str, store: Callable[[], Store]) -> DiversityReranker:
    """Asks no model."""
    return DiversityReranker()
