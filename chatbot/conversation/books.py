"""Every question's ledger: added to its answer's trace, to the day and to the conversation (R-C7)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Protocol

from ..chat_models.metered import begin_recording
from ..schema import AnswerEvent, LedgerRow, StepTiming, Usage
from ..schema.sums import Sums
from .ledger import Prices, ledger

UNFINISHED = "unfinished"
"""The stage of what failed or was cancelled."""


class Days(Protocol):
    """Sums by day, of all workers."""

    def book(self, rows: Sequence[LedgerRow], *, questions: int) -> None: ...


class Conversations(Protocol):
    """Sums by conversation."""

    def book(self, conversation_id: str, sums: Sums) -> Sums: ...


class Books:
    """``embedder_id`` is asked where texts were embedded: the model may change while this process serves."""

    def __init__(
        self,
        *,
        prices: Prices,
        chat_model_id: str,
        embedder_id: Callable[[], str],
        days: Days,
        conversations: Conversations,
    ) -> None:
        self._prices = prices
        self._chat_model_id = chat_model_id
        self._embedder_id = embedder_id
        self._days = days
        self._conversations = conversations

    @contextmanager
    def open(self, conversation_id: str | None) -> Iterator[Bill]:
        """The bill of one question. Left unsettled, what was spent is booked to the day and to this conversation.

        Of a question that failed or was cancelled no steps are known. What is booked is what reached the metered
        chat model until then: one row `unfinished`, no question. Not in there: embedded texts, cached calls, and
        calls on other threads that are still being given up (the day's `tokens` have those).
        """
        bill = Bill(self)
        spent, started = begin_recording(), time.perf_counter()
        try:
            yield bill
        finally:
            if not bill.settled and spent.usage != Usage():
                rows = self._ledger([StepTiming.since(UNFINISHED, started, spent.usage)])
                self._days.book(rows, questions=0)
                if conversation_id is not None:
                    self._conversations.book(conversation_id, Sums.of(rows, questions=0))

    def settle(self, event: AnswerEvent) -> AnswerEvent:
        """The answer with its ledger, which is booked to the day."""
        trace = event.answer.trace
        rows = self._ledger(trace.steps)
        self._days.book(rows, questions=1)
        return AnswerEvent(replace(event.answer, trace=replace(trace, ledger=rows)))

    def add(self, conversation_id: str, event: AnswerEvent) -> Sums:
        """Book an answer to its conversation; returns what that has taken in all."""
        return self._conversations.book(conversation_id, Sums.of(event.answer.trace.ledger))

    def _ledger(self, steps: Sequence[StepTiming]) -> tuple[LedgerRow, ...]:
        embedded = any(step.usage.embedding_tokens for step in steps)
        return ledger(steps, self._prices, self._chat_model_id, self._embedder_id() if embedded else "")


class Bill:
    """What one question takes: settled with its answer."""

    def __init__(self, books: Books) -> None:
        self._books = books
        self.settled = False

    def settle(self, event: AnswerEvent) -> AnswerEvent:
        """The answer with its ledger."""
        self.settled = True
        return self._books.settle(event)
