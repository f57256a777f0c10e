"""What many answers took together: of a day, of a conversation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from .answers import LedgerRow
from .chat import Usage


@dataclass(frozen=True, slots=True)
class Sums:
    """``cost`` is that of the tokens with a price; ``unpriced_tokens`` have none, embedded ones among them."""

    questions: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: float = 0.0
    unpriced_tokens: int = 0

    @classmethod
    def of(cls, rows: Sequence[LedgerRow], *, questions: int = 1) -> Sums:
        return cls(
            questions,
            Usage.total(row.usage for row in rows),
            sum(row.cost for row in rows if row.cost is not None),
            sum(row.usage.tokens + row.usage.embedding_tokens for row in rows if row.cost is None),
        )

    @classmethod
    def total(cls, several: Iterable[Sums]) -> Sums:
        return sum(several, cls())

    @property
    def full_cost(self) -> float | None:
        """None where a price is missing."""
        return None if self.unpriced_tokens else round(self.cost, 10)

    def to_json(self) -> dict[str, Any]:
        """``cost`` is null where a price is missing."""
        own = {"questions": self.questions, **asdict(self.usage)}
        return {**own, "cost": self.full_cost, "unpriced_tokens": self.unpriced_tokens}

    def __add__(self, other: Sums) -> Sums:
        return Sums(
            self.questions + other.questions,
            self.usage + other.usage,
            self.cost + other.cost,
            self.unpriced_tokens + other.unpriced_tokens,
        )


@dataclass(frozen=True, slots=True)
class StageSums:
    """One stage of many answers. ``tokens`` are the chat model's."""

    stage: str
    runs: int = 0
    calls: int = 0
    tokens: int = 0
    embedding_tokens: int = 0
    ms: float = 0.0

    def __add__(self, other: StageSums) -> StageSums:
        return StageSums(
            self.stage,
            self.runs + other.runs,
            self.calls + other.calls,
            self.tokens + other.tokens,
            self.embedding_tokens + other.embedding_tokens,
            self.ms + other.ms,
        )


@dataclass(frozen=True, slots=True)
class DayUsage:
    """One day (UTC). ``metered_tokens`` count against DAILY_TOKEN_LIMIT: those of summaries of reports, too."""

    day: str
    metered_tokens: int
    sums: Sums
    stages: tuple[StageSums, ...]

    def to_json(self) -> dict[str, Any]:
        own = {"day": self.day, "metered_tokens": self.metered_tokens, **self.sums.to_json()}
        return {**own, "stages": [asdict(stage) for stage in self.stages]}


def days_json(days: Sequence[DayUsage]) -> dict[str, Any]:
    """The `/api/usage` response: each day as it comes, and all of them."""
    stages = added_up(stage for day in days for stage in day.stages)
    in_all = DayUsage("", sum(day.metered_tokens for day in days), Sums.total(day.sums for day in days), stages)
    total = {name: value for name, value in in_all.to_json().items() if name != "day"}
    return {"days": [day.to_json() for day in days], "total": total}


def added_up(stages: Iterable[StageSums]) -> tuple[StageSums, ...]:
    """One of each name, in order of their time, the longest first."""
    found: dict[str, StageSums] = {}
    for stage in stages:
        found[stage.stage] = found[stage.stage] + stage if stage.stage in found else stage
    return tuple(sorted(found.values(), key=lambda stage: (-stage.ms, stage.stage)))
