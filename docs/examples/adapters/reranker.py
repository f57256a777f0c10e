"""The newest reports first; hits of one year stay in the order of the search."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...domain import SearchHit
from ...domain.protocols import ChatModel, Reranked, Store
from ...domain.request import RequestContext

FETCHED_PER_KEPT = 3


class NewestReranker:
    """What has no year comes last."""

    def candidates(self, top_k: int) -> int:
        return FETCHED_PER_KEPT * top_k

    def rerank(
        self,
        query: str,
        hits: Sequence[SearchHit],
        *,
        top_k: int,
        request: RequestContext,
    ) -> Reranked:
        return Reranked(tuple(sorted(hits, key=_age)[:top_k]))


def _age(hit: SearchHit) -> int:
    year = hit.chunk.metadata.get("year")
    return -year if isinstance(year, int) else 0


def build(
    *, chat_model: Callable[[], ChatModel], language: str, store: Callable[[], Store]
) -> NewestReranker:
    return NewestReranker()
