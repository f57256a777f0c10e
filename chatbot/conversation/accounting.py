"""The usage and cost of an answer by stage: in its trace, in the sums of the day and of the conversation (R-C7)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from ..protocols import ChatModel, Embedder
from ..repositories.conversations import ConversationRepository
from ..repositories.usage import UsageRepository
from ..request import RequestMeter
from ..schema import LedgerRow, StepTiming, Trace, Usage
from ..schema.costs import ModelPrice, Sums

MILLION = 1_000_000
DECIMALS = 10
"""Decimals of a cost: a single token of a cheap model costs some 0.00000002."""
UNFINISHED = "unfinished"
"""The stage of a question that failed or was cancelled."""


Prices = Mapping[str, ModelPrice]
"""By model id."""


def price_table(prices: Iterable[ModelPrice], *, free: Iterable[str] = ()) -> Prices:
    """The prices by model. Models in ``free`` run in this process and cost nothing, unless the table says otherwise."""
    table = {model: ModelPrice(model, 0.0, 0.0) for model in free}
    return table | {price.model_id: price for price in prices}


def cost(usage: Usage, prices: Prices, *, chat_model_id: str, embedder_id: str) -> float | None:
    """The cost of some usage in the table's currency; 0 where nothing was used, None where a price is missing."""
    chat, embedding = prices.get(chat_model_id), prices.get(embedder_id)
    total = 0.0
    if usage.tokens:
        if chat is None:
            return None
        total += usage.prompt_tokens * chat.prompt + usage.completion_tokens * chat.completion
    if usage.embedding_tokens:
        if embedding is None:
            return None
        total += usage.embedding_tokens * embedding.prompt
    return round(total / MILLION, DECIMALS)


def ledger(steps: Sequence[StepTiming], prices: Prices, chat_model_id: str, embedder_id: str) -> tuple[LedgerRow, ...]:
    """One row for each name of a step, in order of first appearance. Steps side by side add up their milliseconds."""
    by_name: dict[str, list[StepTiming]] = {}
    for step in steps:
        by_name.setdefault(step.name, []).append(step)
    rows = []
    for name, several in by_name.items():
        usage = Usage.total(step.usage for step in several)
        price = cost(usage, prices, chat_model_id=chat_model_id, embedder_id=embedder_id)
        rows.append(LedgerRow(name, len(several), round(sum(step.ms for step in several), 2), usage, price))
    return tuple(rows)


class UsageAccounting:
    """``embedder`` is called where texts were embedded: the model may change while this process serves."""

    def __init__(
        self,
        *,
        prices: Iterable[ModelPrice],
        chat_model: ChatModel,
        embedder: Callable[[], Embedder],
        days: UsageRepository,
        conversations: ConversationRepository,
    ) -> None:
        self._prices = tuple(prices)
        self._chat_model = chat_model
        self._embedder = embedder
        self._days = days
        self._conversations = conversations

    @contextmanager
    def record(self, conversation_id: str | None, meter: RequestMeter) -> Iterator[Callable[[Trace], Trace]]:
        """Yield ``finish``, which adds the ledger to the trace of the answer and books it to the day.

        Without ``finish`` the question has failed or was cancelled, and its steps are unknown. Then the usage that
        reached the metered chat model is booked to the day and to this conversation, as one row `unfinished`. Not
        included: embedded texts, cached calls, and calls on other threads that are still being given up (the day's
        `tokens` have those).
        """
        finished = False
        started = time.perf_counter()

        def finish(trace: Trace) -> Trace:
            nonlocal finished
            finished = True
            rows = self._ledger(trace.steps)
            self._days.book(rows, questions=1)
            return replace(trace, ledger=rows)

        try:
            yield finish
        finally:
            if not finished and meter.usage != Usage():
                rows = self._ledger([StepTiming.since(UNFINISHED, started, meter.usage)])
                self._days.book(rows, questions=0)
                if conversation_id is not None:
                    self._conversations.book(conversation_id, Sums.of(rows, questions=0))

    def _ledger(self, steps: Sequence[StepTiming]) -> tuple[LedgerRow, ...]:
        chat_model, free = self._chat_model, list[str]()
        embedder = self._embedder() if any(step.usage.embedding_tokens for step in steps) else None
        if not chat_model.is_language_model:
            free.append(chat_model.model_id)
        if embedder and embedder.local:
            free.append(embedder.model_id)
        return ledger(
            steps, price_table(self._prices, free=free), chat_model.model_id, embedder.model_id if embedder else ""
        )
