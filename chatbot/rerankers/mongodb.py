"""The model beside MongoDB's search engine: the stage `$rerank` (Voyage; a preview, on Atlas with MongoDB 8.3+)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..errors import SearchEngineError
from ..protocols import ChatModel, Reranked, RerankingStore, Store
from ..request import RequestContext
from ..schema import SearchHit

FETCHED = 20


class MongoReranker:
    """Implements `protocols.Reranker`. What the server gives no score, and equal ones, keep the order of the search."""

    asks_model = False

    def __init__(self, store: Callable[[], Store]) -> None:
        self._store = store

    def candidates(self, top_k: int) -> int:
        """Twenty, or twice as many as are wanted."""
        return max(FETCHED, 2 * top_k)

    def rerank(self, query: str, hits: Sequence[SearchHit], *, top_k: int, request: RequestContext) -> Reranked:
        """Raises SearchEngineError: the server has no such stage, or refuses it."""
        store = self._store()
        if not isinstance(store, RerankingStore):
            raise SearchEngineError(
                "RERANKER=mongodb needs MongoDB's own search engine.", remedy="Set another RERANKER, or none."
            )
        scores = store.relevance(query, [hit.chunk for hit in hits]) if hits else {}
        order = sorted(hits, key=lambda hit: -scores.get(hit.chunk.id, 0.0))
        return Reranked(tuple(order[:top_k]))


def build(*, chat_model: Callable[[], ChatModel], language: str, store: Callable[[], Store]) -> MongoReranker:
    """``store`` is called at each question: `reembed` may replace it."""
    return MongoReranker(store)
