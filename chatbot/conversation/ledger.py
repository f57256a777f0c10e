"""What an answer took and cost, by stage (R-C7)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from ..schema import LedgerRow, StepTiming, Usage
from ..schema.prices import ModelPrice

MILLION = 1_000_000
DECIMALS = 10
"""Of a cost: a single token of a cheap model costs some 0.00000002."""


class Prices:
    """The price table. Models of ``free`` providers run in this process: they cost nothing, unless the table says."""

    def __init__(self, table: Iterable[ModelPrice], *, free: Collection[str] = ()) -> None:
        self._by_model = {price.model_id: price for price in table}
        self._free = frozenset(free)

    def cost(self, usage: Usage, *, chat_model_id: str, embedder_id: str) -> float | None:
        """In the table's currency; 0 where nothing was used, None where a price is missing."""
        cost = 0.0
        if usage.tokens:
            chat = self._of(chat_model_id)
            if chat is None:
                return None
            cost += usage.prompt_tokens * chat.prompt + usage.completion_tokens * chat.completion
        if usage.embedding_tokens:
            embedding = self._of(embedder_id)
            if embedding is None:
                return None
            cost += usage.embedding_tokens * embedding.prompt
        return round(cost / MILLION, DECIMALS)

    def _of(self, model_id: str) -> ModelPrice | None:
        if found := self._by_model.get(model_id):
            return found
        return ModelPrice(model_id, 0.0, 0.0) if model_id.partition(":")[0] in self._free else None


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
