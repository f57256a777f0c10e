"""Tokens and calls of models, their prices (MODEL_PRICES), and sums over answers."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Annotated, ClassVar, Self

from pydantic import Field, computed_field

from .json import Hidden, Inlines

FORM = (
    "must be provider:model=PROMPT/COMPLETION or provider:model=PRICE, in numbers from "
    "0"
)


class Addable:
    """Base of a dataclass of numbers, which are added up field by field; a name
    stays.
    """

    __slots__ = ()

    def __add__(self, other: Self) -> Self:
        values = attrgetter(*type(self).__match_args__)  # type: ignore[attr-defined]
        pairs = zip(values(self), values(other), strict=True)
        return type(self)(
            *[one if isinstance(one, str) else one + more for one, more in pairs]
        )

    @classmethod
    def total(cls, several: Iterable[Self]) -> Self:
        return sum(several, cls())


@dataclass(frozen=True, slots=True)
class Usage(Addable):
    """Tokens and calls of the chat model. Added up per stage and per answer. ``calls``
    reached the model; of these ``failed_calls`` brought nothing. ``cached_calls`` were
    answered before. ``reused_tokens`` of the prompts had the provider read before;
    ``fixed_tokens`` are the same in every question: rules, tools, what the library has.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    embedding_tokens: int = 0
    calls: int = 0
    cached_calls: int = 0
    failed_calls: int = 0
    reused_tokens: Annotated[int, Field(exclude_if=lambda tokens: not tokens)] = 0
    fixed_tokens: Annotated[int, Field(exclude_if=lambda tokens: not tokens)] = 0

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True, slots=True)
class LedgerRow(Inlines):
    """The sum of an answer's steps of one name. ``cost`` is in the price table's
    currency, None without a price.
    """

    INLINED: ClassVar = ("usage",)
    stage: str
    runs: int
    ms: float
    usage: Usage
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class ModelPrice:
    """The price of a million tokens of a model, in the currency of the whole table."""

    model_id: str
    prompt: float
    completion: float


def read_prices(value: object) -> object:
    """Read `openai:gpt-4o=2.50/10; openai:text-embedding-3-small=0.02`; a single figure
    is the price of all tokens. Raises ValueError: naming the entry that cannot be read,
    or the repeated model.
    """
    if not isinstance(value, str):
        return value
    prices = [_price(entry.strip()) for entry in value.split(";") if entry.strip()]
    names = [price.model_id for price in prices]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ValueError(f"{twice!r} is there twice.")
    return tuple(prices)


def _price(entry: str) -> ModelPrice:
    name, _, figures = entry.rpartition("=")
    prompt, divided, completion = figures.partition("/")
    try:
        price = ModelPrice(
            name.strip(), float(prompt), float(completion if divided else prompt)
        )
    except ValueError:
        raise ValueError(f"{entry!r} {FORM}.") from None
    are_prices = all(
        math.isfinite(each) and each >= 0 for each in (price.prompt, price.completion)
    )
    if not price.model_id or "," in price.model_id or not are_prices:
        raise ValueError(f"{entry!r} {FORM}.")
    return price


@dataclass(frozen=True, slots=True)
class Sums(Addable, Inlines):
    """The usage of several answers. ``cost`` is that of the tokens with a price;
    ``unpriced_tokens`` have none, embedded ones among them.
    """

    INLINED: ClassVar = ("usage",)
    questions: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: Hidden[float] = 0.0
    unpriced_tokens: int = 0

    @classmethod
    def of(cls, rows: Sequence[LedgerRow], *, questions: int = 1) -> "Sums":
        """Add up one answer's ledger, or the ledgers of several ``questions``."""
        usage, cost = (
            Usage.total(row.usage for row in rows),
            sum(row.cost for row in rows if row.cost is not None),
        )
        unpriced = sum(
            row.usage.tokens + row.usage.embedding_tokens
            for row in rows
            if row.cost is None
        )
        return cls(questions, usage, cost, unpriced)

    @computed_field(alias="cost")
    @property
    def full_cost(self) -> float | None:
        """The cost of all tokens; None where a price is missing."""
        if self.unpriced_tokens:
            return None
        return round(self.cost, 10)


@dataclass(frozen=True, slots=True)
class StageSums(Addable):
    """One stage of many answers. ``tokens`` are the chat model's."""

    stage: str
    runs: int = 0
    calls: int = 0
    tokens: int = 0
    embedding_tokens: int = 0
    ms: float = 0.0


@dataclass(frozen=True, slots=True)
class DayUsage(Inlines):
    """One day (UTC); a ``day`` of "" stands for several days. ``metered_tokens`` count
    against DAILY_TOKEN_LIMIT: those of summaries of reports, too.
    """

    INLINED: ClassVar = ("sums",)
    day: Annotated[str, Field(exclude_if=lambda day: not day)]
    metered_tokens: int
    sums: Sums
    stages: tuple[StageSums, ...]
    degraded: int = 0
    """Answers that quotations gave because the language model failed."""


@dataclass(frozen=True, slots=True)
class UsageReport:
    """Usage by day, the newest first, without days of no use; and their total."""

    days: tuple[DayUsage, ...]
    total: DayUsage

    @classmethod
    def of(cls, days: Sequence[DayUsage]) -> "UsageReport":
        stages = add_up_stages(stage for day in days for stage in day.stages)
        metered, sums = (
            sum(day.metered_tokens for day in days),
            Sums.total(day.sums for day in days),
        )
        degraded = sum(day.degraded for day in days)
        return cls(tuple(days), DayUsage("", metered, sums, stages, degraded))


def add_up_stages(stages: Iterable[StageSums]) -> tuple[StageSums, ...]:
    """Return one sum for each stage, the longest first."""
    sums: dict[str, StageSums] = {}
    for stage in stages:
        sums[stage.stage] = sums[stage.stage] + stage if stage.stage in sums else stage
    return tuple(sorted(sums.values(), key=lambda stage: (-stage.ms, stage.stage)))
