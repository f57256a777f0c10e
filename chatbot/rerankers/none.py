"""The order of the search itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..protocols import ChatModel, Reranked, Store
from ..request import RequestContext
from ..schema import SearchHit


class NoReranker:
    """Implements `protocols.Reranker`: cuts, and orders nothing."""

    asks_model = False

    def candidates(self, top_k: int) -> int:
        """As many as are wanted."""
        return top_k

    def rerank(self, query: str, hits: Sequence[SearchHit], *, top_k: int, request: RequestContext) -> Reranked:
        """The first of them."""
        return Reranked(tuple(hits[:top_k]))


def build(*, chat_model: Callable[[], ChatModel], language: str, store: Callable[[], Store]) -> NoReranker:
    """Asks no model."""
    return NoReranker()
