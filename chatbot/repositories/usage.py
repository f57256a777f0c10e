"""What was used, by day; and counters of a row, added atomically, whoever else adds at the same time (`Sums`)."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import Any

from ..database.core import Database
from ..errors import DatabaseError, DiskFullError
from ..schema import LedgerRow, Usage
from ..schema.costs import DayUsage, StageSums, Sums, add_up_stages


class UsageRepository:
    """Collection `usage`, one row per day (UTC).

    ``tokens`` is the meter's: all that the chat model was paid for. The rest is added up from the answers' ledgers.
    """

    def __init__(self, database: Database) -> None:
        self._days = database["usage"]
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._unwritten: Counter[str] = Counter()
        """What was counted while another thread wrote, or while the database took nothing."""

    def add(self, tokens: int) -> None:
        """Add to today's tokens of everybody, atomically."""
        if tokens:
            self._count({"tokens": tokens})

    def today(self) -> int:
        """Tokens used today, by everybody."""
        found = self._days.find_one({"_id": _day()}, {"tokens": 1})
        return (int(found.get("tokens", 0)) if found else 0) + self._unwritten["tokens"]

    def book(self, rows: Sequence[LedgerRow], *, questions: int) -> None:
        """Add a ledger to today, atomically. Names of stages have no dots."""
        counters = increments(Sums.of(rows, questions=questions))
        for row in rows:
            counters.update(stage_increments(row))
        if counters:
            self._count(counters)

    def _count(self, counters: Mapping[str, Any]) -> None:
        """Add to today's counters. What comes while another thread writes becomes one update: hundreds of streams
        may be broken off at once.
        """
        with self._lock:
            self._unwritten.update(counters)
        with self._writing:
            with self._lock:
                waiting, self._unwritten = self._unwritten, Counter()
            if waiting:
                self._write(waiting)

    def _write(self, counters: Counter[str]) -> None:
        try:
            self._days.update_one({"_id": _day()}, {"$inc": dict(counters)}, upsert=True)
        except DatabaseError as error:
            with self._lock:
                self._unwritten.update(counters)  # among them what others have counted
            if not isinstance(error, DiskFullError):
                raise

    def days(self, count: int) -> list[DayUsage]:
        """The last ``count`` days, today among them, newest first; without those on which nothing was used."""
        found = self._days.find({"_id": {"$gte": _day(count - 1)}}, sort=[("_id", -1)])
        return [DayUsage(str(row["_id"]), int(row.get("tokens", 0)), read_sums(row), read_stages(row)) for row in found]


def seconds_to_reset(now: datetime | None = None) -> int:
    """Seconds until the next day begins (UTC), at least 1."""
    now = now or datetime.now(UTC)
    midnight = (now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    return max(1, round((midnight - now).total_seconds()))


def _day(ago: int = 0) -> str:
    return (datetime.now(UTC).date() - timedelta(days=ago)).isoformat()


PREFIX = "stages:"
"""In front of a stage's counters. No dots: the embedded database takes them literally in an upsert, and beyond 64
fields.
"""
_USAGE = tuple(part.name for part in fields(Usage))
_STAGE_FIELDS = tuple(part.name for part in fields(StageSums) if part.name != "stage")


def increments(sums: Sums) -> dict[str, Any]:
    """The sums that are not zero, as `$inc` takes them."""
    own = {"questions": sums.questions, "cost": sums.cost, "unpriced_tokens": sums.unpriced_tokens}
    return {name: value for name, value in {**own, **sums.usage.to_json()}.items() if value}


def stage_increments(row: LedgerRow) -> dict[str, Any]:
    """`increments` for one stage of an answer."""
    usage = row.usage
    found = StageSums(row.stage, row.runs, usage.calls, usage.tokens, usage.embedding_tokens, row.ms)
    values = {name: getattr(found, name) for name in _STAGE_FIELDS}
    return {f"{PREFIX}{row.stage}:{name}": value for name, value in values.items() if value}


def read_sums(row: Mapping[str, Any]) -> Sums:
    """What a row has been increased by; a counter that is not there is 0."""
    usage = Usage(**{name: int(row.get(name, 0)) for name in _USAGE})
    cost = round(float(row.get("cost", 0.0)), 10)
    return Sums(int(row.get("questions", 0)), usage, cost, int(row.get("unpriced_tokens", 0)))


def read_stages(row: Mapping[str, Any]) -> tuple[StageSums, ...]:
    """The stages of a row, the longest first."""
    found: dict[str, dict[str, Any]] = {}
    for name, value in row.items():
        if name.startswith(PREFIX):
            stage, _, part = name.removeprefix(PREFIX).rpartition(":")
            found.setdefault(stage, {})[part] = round(value, 2)
    return add_up_stages(StageSums(stage, **values) for stage, values in found.items())
