"""The chat model judges which passages help, several in one call (R-B8, R-C9; listwise as in RankGPT, EMNLP 2023)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from ..cancellation import Cancellation
from ..model_output.shapes import Shape, numbers
from ..prompts import render
from ..protocols import ChatModel
from ..schema import Context, Message, Prompt, SearchHit, Usage
from ..text import estimate_tokens
from .reranker import Reranked, may_call

BATCH = 20
FETCHED = 20
LONGEST = 2000
"""Characters of a passage that are judged."""
_CLOSING = re.compile(r"<(?=\s*/?\s*passage)", re.IGNORECASE)


class LlmReranker:
    """What the model names comes first, in its order; the rest follows as it was: a reranker orders, it cuts nothing.

    A reply that names nothing readable is asked for once more; then all passages of that call count as named.
    """

    def __init__(self, chat_model: Callable[[], ChatModel]) -> None:
        self._chat_model = chat_model

    def candidates(self, top_k: int) -> int:
        return max(FETCHED, 2 * top_k)

    def rerank(self, query: str, hits: Sequence[SearchHit], *, top_k: int, cancel: Cancellation) -> Reranked:
        """One call per BATCH hits, two where the first reply cannot be read. Raises ChatModelError."""
        if len(hits) < 2:
            return Reranked(tuple(hits[:top_k]))
        named: list[SearchHit] = []
        others: list[SearchHit] = []
        usage = Usage()
        for start in range(0, len(hits), BATCH):
            batch = hits[start : start + BATCH]
            helpful, cost = self._judge(query, batch, cancel)
            usage += cost
            kept = [number - 1 for number in helpful]
            named += [batch[place] for place in kept]
            others += [hit for place, hit in enumerate(batch) if place not in kept]
        return Reranked(tuple([*named, *others][:top_k]), usage)

    def _judge(self, query: str, hits: Sequence[SearchHit], cancel: Cancellation) -> tuple[list[int], Usage]:
        shape = numbers(len(hits))
        messages = [Message("system", render("rerank_system")), Message("user", _request(query, hits))]
        usage = Usage()
        for _ in range(2):
            if cancel.cancelled or not may_call():
                break
            reply, cost = self._ask(query, messages, shape, cancel)
            usage += cost
            if (helpful := shape.read(reply)) is not None:
                return helpful, usage
            # Some servers refuse an empty message.
            messages += [Message("assistant", reply or "(nothing)"), Message("user", shape.repair)]
        return list(range(1, len(hits) + 1)), usage

    def _ask(
        self, query: str, messages: Sequence[Message], shape: Shape[list[int]], cancel: Cancellation
    ) -> tuple[str, Usage]:
        pieces: list[str] = []
        counted: Usage | None = None
        prompt = Prompt(tuple(messages), query, Context(), json_schema=shape.schema)
        for delta in self._chat_model().stream(prompt, cancel=cancel):
            pieces.append(delta.text)
            counted = delta.usage or counted  # some servers count anew with every piece, others not at all
        reply = "".join(pieces)
        asked = sum(estimate_tokens(message.content) for message in messages)
        return reply, counted or Usage(asked, estimate_tokens(reply), calls=1)


def _request(query: str, hits: Sequence[SearchHit]) -> str:
    passages = "\n".join(
        f'<passage number="{number}">\n{_CLOSING.sub("(", hit.chunk.search_text[:LONGEST])}\n</passage>'
        for number, hit in enumerate(hits, start=1)
    )
    return render("rerank_user", passages=passages, question=query)


def build(*, chat_model: Callable[[], ChatModel], language: str) -> LlmReranker:
    return LlmReranker(chat_model)
