"""The order of the search itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..cancellation import Cancellation
from ..protocols import ChatModel
from ..schema import SearchHit
from .reranker import Reranked


class NoReranker:
    def candidates(self, top_k: int) -> int:
        return top_k

    def rerank(self, query: str, hits: Sequence[SearchHit], *, top_k: int, cancel: Cancellation) -> Reranked:
        return Reranked(tuple(hits[:top_k]))


def build(*, chat_model: Callable[[], ChatModel], language: str) -> NoReranker:
    return NoReranker()
