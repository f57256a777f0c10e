"""The chat model judges which passages help, several in one call (R-B8, R-C9; listwise as in RankGPT, EMNLP 2023)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..model_output.asking import ask, numbers, shape_prompt
from ..prompts import inert, passage_fence, render
from ..protocols import ChatModel, Reranked, Store
from ..request import RequestContext
from ..schema import Message, SearchHit, Usage

BATCH = 20
FETCHED = 20
LONGEST = 2000
"""Characters of a passage that are judged."""


class LlmReranker:
    """What the model names comes first, in its order; the rest follows as it was: a reranker orders, it cuts nothing.

    A reply that names nothing readable is asked for once more; then all passages of that call count as named.
    """

    asks_model = True

    def __init__(self, chat_model: Callable[[], ChatModel]) -> None:
        self._chat_model = chat_model

    def candidates(self, top_k: int) -> int:
        """Twenty, or twice as many as are wanted."""
        return max(FETCHED, 2 * top_k)

    def rerank(self, query: str, hits: Sequence[SearchHit], *, top_k: int, request: RequestContext) -> Reranked:
        """One call per BATCH hits, two where the first reply cannot be read. Raises ChatModelError."""
        if len(hits) < 2:
            return Reranked(tuple(hits[:top_k]))
        named: list[SearchHit] = []
        others: list[SearchHit] = []
        usage = Usage()
        for start in range(0, len(hits), BATCH):
            batch = hits[start : start + BATCH]
            helpful, cost = self._judge(query, batch, request)
            usage += cost
            kept = [number - 1 for number in helpful]
            named += [batch[place] for place in kept]
            others += [hit for place, hit in enumerate(batch) if place not in kept]
        return Reranked(tuple([*named, *others][:top_k]), usage)

    def _judge(self, query: str, hits: Sequence[SearchHit], request: RequestContext) -> tuple[list[int], Usage]:
        every = list(range(1, len(hits) + 1))
        if request.cancelled:
            return every, Usage()
        messages = [Message("system", render("rerank_system")), Message("user", _request(query, hits))]
        shape = numbers(len(hits))
        asked = ask(self._chat_model(), shape_prompt(messages, query, shape), shape, request, stage="rerank")
        if asked.error is not None:
            raise asked.error
        return every if asked.value is None else asked.value, Usage.total(step.usage for step in asked.steps)


def _request(query: str, hits: Sequence[SearchHit]) -> str:
    passages = "\n".join(
        passage_fence(number, inert(hit.chunk.search_text[:LONGEST])) for number, hit in enumerate(hits, start=1)
    )
    return render("rerank_user", passages=passages, question=query)


def build(*, chat_model: Callable[[], ChatModel], language: str, store: Callable[[], Store]) -> LlmReranker:
    """``chat_model`` is called at the first question: the model may be set up later."""
    return LlmReranker(chat_model)
