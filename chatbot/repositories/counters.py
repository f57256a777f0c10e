"""Counters of what each caller has used, for all workers together: requests, open questions, tokens."""

from __future__ import annotations

import secrets
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from ..database.core import Database, Json
from ..errors import DiskFullError, TooManyRequestsError

MINUTE, DAY = 60, 86_400
PRUNE_EVERY = 500
"""Writes between two looks for old rows; a server deletes them by itself."""
SLOT = "slot "


class Counters:
    """Collection `counters`: rows that are increased atomically, and are of no use after a while. Thread-safe."""

    def __init__(self, database: Database) -> None:
        self._rows = database["counters"]
        self._lock = threading.Lock()
        self._writes = 0
        self._unwritten: Counter[str] = Counter()

    def ensure_indexes(self) -> None:
        """Idempotent."""
        self._rows.create_expiry_index()

    def request(self, account: str) -> tuple[int, int]:
        """Count one request: how many these are in this minute, and the seconds until the next one begins."""
        now = int(time.time())
        count = self._increase(f"minute {now // MINUTE} {account}", 1, until=now + 2 * MINUTE)
        return count, MINUTE - now % MINUTE

    def add_tokens(self, account: str, tokens: int) -> None:
        """Count tokens of the chat model to today (UTC)."""
        if tokens:
            self._increase(_today(account), tokens, until=time.time() + 2 * DAY)

    def tokens_today(self, account: str) -> int:
        """An account's tokens today (UTC)."""
        row = self._rows.find_one({"_id": _today(account)})
        return int(row["count"]) if row else 0

    @contextmanager
    def question(self, account: str, *, most: int, seconds: float) -> Iterator[None]:
        """Count one of ``most`` questions of this account at once, for ``seconds`` at most, in case its process dies.

        Raises:
            TooManyRequestsError: there are as many already.
        """
        slot, now, id = f"{SLOT}{secrets.token_hex(6)}", time.time(), f"open {account}"
        taken: Json = {slot: now + seconds, **self._until(now + DAY)}
        try:
            row = self._rows.find_one_and_update({"_id": id}, {"$set": taken}, upsert=True) or {}
        except DiskFullError:  # a full disk stops no question
            yield
            return
        slots = {name: until for name, until in row.items() if name.startswith(SLOT)}
        before = sorted((until, name) for name, until in slots.items() if until > now)
        ended = [name for name, until in slots.items() if until <= now]
        try:
            if before.index((slots[slot], slot)) >= most:
                raise TooManyRequestsError(
                    f"{most} of your questions are being answered already (QUESTIONS_PER_CALLER).", retry_after=1
                )
            yield
        finally:
            self._rows.update_one({"_id": id}, {"$unset": dict.fromkeys((slot, *ended), "")})

    def _increase(self, id: str, by: int, *, until: float) -> int:
        change = {"$inc": {"count": by}, "$set": self._until(until)}
        try:
            row = self._rows.find_one_and_update({"_id": id}, change, upsert=True)
        except DiskFullError:  # a full disk stops no question: this process counts alone
            with self._lock:
                self._unwritten[id] += by
                return self._unwritten[id]
        with self._lock:
            self._writes += 1
            prune = self._writes % PRUNE_EVERY == 0
        if prune:
            self.prune()
        return int(row["count"]) if row else by

    def _until(self, until: float) -> Json:
        return {"until": until, **self._rows.expiry(until - time.time())}

    def prune(self) -> int:
        """Remove what is of no use any more; returns how many."""
        return self._rows.delete_many({"until": {"$lt": time.time()}})


def _today(account: str) -> str:
    return f"tokens {datetime.now(UTC).date().isoformat()} {account}"
