"""Tokens used, by day: what all workers together may spend."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from ..database import Database


class UsageRepository:
    """Collection `usage`, one row per day (UTC)."""

    def __init__(self, database: Database) -> None:
        self._days = database["usage"]

    def add(self, tokens: int) -> None:
        """Count tokens to today, atomically."""
        if tokens:
            self._days.update_one({"_id": _today()}, {"$inc": {"tokens": tokens}}, upsert=True)

    def today(self) -> int:
        """Tokens used today, by everybody."""
        found = self._days.find_one({"_id": _today()})
        return int(found["tokens"]) if found else 0


def seconds_to_reset(now: datetime | None = None) -> int:
    """Until the next day begins (UTC)."""
    now = now or datetime.now(UTC)
    midnight = (now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    return max(1, round((midnight - now).total_seconds()))


def _today() -> str:
    return datetime.now(UTC).date().isoformat()
