"""What was used, by day: what all workers together may spend, and what their answers took."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from ..database import Database
from ..schema import LedgerRow
from ..schema.sums import DayUsage, Sums
from .sums import increments, read_stages, read_sums, stage_increments


class UsageRepository:
    """Collection `usage`, one row per day (UTC).

    ``tokens`` is the meter's: all that the chat model was paid for. The rest is added up from the answers' ledgers.
    """

    def __init__(self, database: Database) -> None:
        self._days = database["usage"]

    def add(self, tokens: int) -> None:
        """Count tokens to today, atomically."""
        if tokens:
            self._days.update_one({"_id": _day()}, {"$inc": {"tokens": tokens}}, upsert=True)

    def today(self) -> int:
        """Tokens used today, by everybody."""
        found = self._days.find_one({"_id": _day()}, {"tokens": 1})
        return int(found.get("tokens", 0)) if found else 0

    def book(self, rows: Sequence[LedgerRow], *, questions: int) -> None:
        """Add a ledger to today, atomically. Names of stages have no dots."""
        counters = increments(Sums.of(rows, questions=questions))
        for row in rows:
            counters.update(stage_increments(row))
        if counters:
            self._days.update_one({"_id": _day()}, {"$inc": counters}, upsert=True)

    def days(self, count: int) -> list[DayUsage]:
        """The last ``count`` days, today among them, newest first; without those on which nothing was used."""
        found = self._days.find({"_id": {"$gte": _day(count - 1)}}, sort=[("_id", -1)])
        return [DayUsage(str(row["_id"]), int(row.get("tokens", 0)), read_sums(row), read_stages(row)) for row in found]


def seconds_to_reset(now: datetime | None = None) -> int:
    """Until the next day begins (UTC)."""
    now = now or datetime.now(UTC)
    midnight = (now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    return max(1, round((midnight - now).total_seconds()))


def _day(ago: int = 0) -> str:
    return (datetime.now(UTC).date() - timedelta(days=ago)).isoformat()
