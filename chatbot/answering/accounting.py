"""What an answer has cost: its steps by name, booked to the day and to its conversation
(R-C7).
"""

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from ..database.core import bookkeeping
from ..database.repositories.conversations import ConversationRepository
from ..database.repositories.usage import UsageRepository
from ..domain.chat import Answer, StepTiming
from ..domain.costs import LedgerRow, ModelPrice, Sums, Usage
from ..domain.errors import DatabaseError
from ..domain.protocols import ChatModel, Embedder
from ..domain.request import RequestMeter
from ..domain.scope import Scope

log = logging.getLogger(__name__)
MILLION = 1_000_000
COST_DECIMALS = 10
"""A single token of a cheap model costs some 0.00000002."""
WRITING = ("generate", "shorten")
"""Stages of `CHAT_MODEL`; all others are those of `CHAT_MODEL_SMALL`."""
UNFINISHED = "unfinished"
"""The stage of a question that failed or was cancelled."""
EVERYTHING = Scope()


def cost(
    usage: Usage, chat: ModelPrice | None, embedding: ModelPrice | None
) -> float | None:
    """The cost of some usage in the table's currency: 0 for none, None if a price is
    missing.
    """
    total = 0.0
    if usage.tokens:
        if chat is None:
            return None
        total += (
            usage.prompt_tokens * chat.prompt
            + usage.completion_tokens * chat.completion
        )
    if usage.embedding_tokens:
        if embedding is None:
            return None
        total += usage.embedding_tokens * embedding.prompt
    return round(total / MILLION, COST_DECIMALS)


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageAccounting:
    """Books the usage of answers. ``embedder`` is called each time: the model may
    change while this process serves.
    """

    prices: Sequence[ModelPrice]
    chat_model: ChatModel
    small_chat_model: ChatModel
    embedder: Callable[[], Embedder]
    days: UsageRepository
    conversations: ConversationRepository

    @contextmanager
    def record(
        self,
        conversation_id: str | None,
        meter: RequestMeter,
        limit: Scope = EVERYTHING,
    ) -> Iterator[Callable[[Answer], Answer]]:
        """Yield ``finish``, which adds the ledger to the trace of the answer, to be
        booked by `book`.

        Without ``finish`` the question has failed or was cancelled, and its steps are
        unknown. Then the usage that reached the metered chat model is booked to the day
        and to this conversation, as one row `unfinished`. Not included: embedded texts,
        cached calls, and calls on other threads that are still being given up (the
        day's `tokens` have those).
        """
        finished = False
        started = time.perf_counter()

        def finish(answer: Answer) -> Answer:
            nonlocal finished
            finished = True
            rows = self.ledger(answer.trace.steps)
            return replace(answer, trace=replace(answer.trace, ledger=rows))

        try:
            yield finish
        finally:
            if not finished and meter.usage != Usage():
                rows = self.ledger([StepTiming.since(UNFINISHED, started, meter.usage)])
                self.days.book(rows, questions=0, limit=limit)
                if conversation_id is not None:
                    self._book(conversation_id, Sums.of(rows, questions=0))

    def book(self, answer: Answer, limit: Scope = EVERYTHING) -> None:
        """Add a finished answer to the usage of today."""
        self.days.book(
            answer.trace.ledger,
            questions=1,
            limit=limit,
            is_degraded=answer.degraded is not None,
        )

    def _book(self, conversation_id: str, sums: Sums) -> None:
        """Add to the usage of a conversation, if the database takes it."""
        try:
            with bookkeeping():
                self.conversations.book(conversation_id, sums)
        except DatabaseError as error:
            log.warning("The usage of a question was not noted: %s", error.message)

    def ledger(self, steps: Sequence[StepTiming]) -> tuple[LedgerRow, ...]:
        """One row for each name of a step, in order of first appearance. Parallel steps
        add up their milliseconds.
        """
        embedding = None
        written, planned = (
            self._price(model.model_id, local=not model.is_language_model)
            for model in (self.chat_model, self.small_chat_model)
        )
        if any(step.usage.embedding_tokens for step in steps):
            embedder = self.embedder()
            embedding = self._price(embedder.model_id, local=embedder.local)
        by_name: dict[str, list[StepTiming]] = {}
        for step in steps:
            by_name.setdefault(step.name, []).append(step)
        rows = []
        for name, several in by_name.items():
            usage, ms = (
                Usage.total(step.usage for step in several),
                round(sum(step.ms for step in several), 2),
            )
            chat = written if name in WRITING else planned
            rows.append(
                LedgerRow(name, len(several), ms, usage, cost(usage, chat, embedding))
            )
        return tuple(rows)

    def _price(self, model_id: str, *, local: bool) -> ModelPrice | None:
        """The price of a model. One that runs in this process is free unless the table
        names it.
        """
        free = ModelPrice(model_id, 0.0, 0.0) if local else None
        return next(
            (price for price in self.prices if price.model_id == model_id), free
        )
