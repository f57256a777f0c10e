"""Cached values in the database, so that every worker profits: bounded in age and in number."""

from __future__ import annotations

import threading
import time
from typing import Any, Literal

from ..database.core import Database
from ..errors import DiskFullError
from ..request import RequestContext

Level = Literal["embedding", "response", "query"]
PRUNE_EVERY = 50
"""Writes between two looks at the number of entries: counting costs more than writing."""


class CacheRepository:
    """Collection `cache`, one row per entry; an entry older than ``seconds`` counts as gone. Thread-safe."""

    def __init__(self, database: Database, *, seconds: float, entries: int) -> None:
        """``seconds`` or ``entries`` of 0 switch it off."""
        self._cache = database["cache"]
        self._seconds = seconds
        self._entries = entries
        self._lock = threading.Lock()
        self._writes = 0

    @property
    def enabled(self) -> bool:
        """False where a setting of 0 switches it off."""
        return self._seconds > 0 and self._entries > 0

    def ensure_indexes(self) -> None:
        """Idempotent."""
        self._cache.create_expiry_index()
        self._cache.create_index("at")

    def get(self, level: Level, key: str, *, request: RequestContext | None = None) -> Any:
        """The value; None where there is none, or none that is young enough."""
        if not self.enabled:
            return None
        found = self._cache.find_one({"_id": f"{level}:{key}"})
        fresh = found is not None and found["at"] > time.time() - self._seconds
        if request is not None:
            request.meter.count_lookup(level, hit=fresh)
        return found["value"] if found is not None and fresh else None

    def put(self, level: Level, key: str, value: Any, *, owner: str = "") -> None:
        """Store it; each PRUNE_EVERY writes the old ones go."""
        if not self.enabled:
            return
        row = {"_id": f"{level}:{key}", "at": time.time(), "value": value, **({"owner": owner} if owner else {})}
        try:
            self._cache.replace_many([{**row, **self._cache.expiry(self._seconds)}])
        except DiskFullError:
            return  # an answer is worth more than being remembered
        with self._lock:
            self._writes += 1
            prune = self._writes % PRUNE_EVERY == 0
        if prune:
            self.prune()

    def prune(self) -> int:
        """Remove what is too old, and the oldest of what is too much; returns how many."""
        gone = self._cache.delete_many({"at": {"$lte": time.time() - self._seconds}})
        if (surplus := self._cache.estimated_count() - self._entries) <= 0:
            return gone
        oldest = self._cache.find({}, {"at": 1}, sort=[("at", 1)], limit=surplus)
        return gone + self._cache.delete_many({"_id": {"$in": [row["_id"] for row in oldest]}})

    def forget_answers(self) -> None:
        """Remove what repeats passages or questions, of all workers; vectors of texts stay."""
        for level in ("query", "response"):
            self._cache.delete_many({"_id": {"$gte": f"{level}:", "$lt": f"{level};"}})

    def clear(self) -> None:
        """Forget all entries of all workers."""
        self._cache.delete_many({})
