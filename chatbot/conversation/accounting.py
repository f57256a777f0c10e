"""Accounting: the usage and cost of an answer by stage, added to its trace, to the day and to the conversation
(R-C7).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from ..protocols import ChatModel, Embedder
from ..repositories.conversations import ConversationRepository
from ..repositories.usage import UsageRepository
from ..request import RequestMeter
from ..schema import AnswerEvent, LedgerRow, StepTiming, Usage
from ..schema.costs import ModelPrice, Sums

MILLION = 1_000_000
DECIMALS = 10
"""Decimals of a cost: a single token of a cheap model costs some 0.00000002."""
UNFINISHED = "unfinished"
"""The stage of what failed or was cancelled."""


class Prices:
    """The price table. Models in ``free`` run in this process: they cost nothing, unless the table says."""

    def __init__(self, table: Iterable[ModelPrice], *, free: Iterable[str] = ()) -> None:
        self._by_model = {model: ModelPrice(model, 0.0, 0.0) for model in free}
        self._by_model |= {price.model_id: price for price in table}

    def cost(self, usage: Usage, *, chat_model_id: str, embedder_id: str) -> float | None:
        """The cost of some usage in the table's currency; 0 where nothing was used, None where a price is missing."""
        cost = 0.0
        if usage.tokens:
            chat = self._by_model.get(chat_model_id)
            if chat is None:
                return None
            cost += usage.prompt_tokens * chat.prompt + usage.completion_tokens * chat.completion
        if usage.embedding_tokens:
            embedding = self._by_model.get(embedder_id)
            if embedding is None:
                return None
            cost += usage.embedding_tokens * embedding.prompt
        return round(cost / MILLION, DECIMALS)


def ledger(steps: Sequence[StepTiming], prices: Prices, chat_model_id: str, embedder_id: str) -> tuple[LedgerRow, ...]:
    """One row for each name of a step, in order of first appearance. Steps side by side add up their milliseconds."""
    by_name: dict[str, list[StepTiming]] = {}
    for step in steps:
        by_name.setdefault(step.name, []).append(step)
    rows = []
    for name, several in by_name.items():
        usage = Usage.total(step.usage for step in several)
        cost = prices.cost(usage, chat_model_id=chat_model_id, embedder_id=embedder_id)
        rows.append(LedgerRow(name, len(several), round(sum(step.ms for step in several), 2), usage, cost))
    return tuple(rows)


class Books:
    """``embedder`` is asked for where texts were embedded: the model may change while this process serves."""

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
    def open(self, conversation_id: str | None, meter: RequestMeter) -> Iterator[Callable[[AnswerEvent], AnswerEvent]]:
        """What settles one question: gives its answer with a ledger, which is booked to the day.

        Left unsettled, what was spent is booked to the day and to this conversation.

        Of a question that failed or was cancelled no steps are known. What is booked is what reached the metered
        chat model until then: one row `unfinished`, no question. Not in there: embedded texts, cached calls, and
        calls on other threads that are still being given up (the day's `tokens` have those).
        """
        settled = False
        started = time.perf_counter()

        def settle(event: AnswerEvent) -> AnswerEvent:
            nonlocal settled
            settled = True
            trace = event.answer.trace
            rows = self._ledger(trace.steps)
            self._days.book(rows, questions=1)
            return AnswerEvent(replace(event.answer, trace=replace(trace, ledger=rows)))

        try:
            yield settle
        finally:
            if not settled and meter.usage != Usage():
                rows = self._ledger([StepTiming.since(UNFINISHED, started, meter.usage)])
                self._days.book(rows, questions=0)
                if conversation_id is not None:
                    self._conversations.book(conversation_id, Sums.of(rows, questions=0))

    def _ledger(self, steps: Sequence[StepTiming]) -> tuple[LedgerRow, ...]:
        chat_model = self._chat_model
        embedder = self._embedder() if any(step.usage.embedding_tokens for step in steps) else None
        free = [] if chat_model.is_language_model else [chat_model.model_id]
        free += [embedder.model_id] if embedder and embedder.local else []
        prices = Prices(self._prices, free=free)
        return ledger(steps, prices, chat_model.model_id, embedder.model_id if embedder else "")
