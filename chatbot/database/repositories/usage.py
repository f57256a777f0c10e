"""Usage: counters for each account and sums by day, increased atomically for all
workers together.
"""

import itertools
import secrets
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import asdict, fields
from datetime import UTC, datetime, timedelta
from typing import Any

from ...domain import Usage
from ...domain.costs import DayUsage, LedgerRow, StageSums, Sums, add_up_stages
from ...domain.errors import DatabaseError, DiskFullError, TooManyRequestsError
from ..core import Database

MINUTE, DAY = 60, 86_400
PRUNE_EVERY = 500
"""Writes between two removals of expired rows."""
PATIENCE = 1.0
"""Seconds that a request waits until its counter is written, while another program
writes the embedded database.
"""
SLOT = "slot "
STAGE_PREFIX = "stages:"
"""Prefix of a stage's counters. It has no dot: the embedded database does not update
nested fields.
"""


class Counters:
    """Requests, open questions and tokens of each account, in the collection
    `counters`. Thread-safe. Neither a full disk nor another program that writes stops a
    request: then this process counts for itself.
    """

    def __init__(self, database: Database) -> None:
        self._rows = database["counters"]
        # The embedded database has one writer, so more threads would not write faster.
        # A server needs none.
        self._counting = (
            ThreadPoolExecutor(1, thread_name_prefix="counters")
            if database.embedded
            else None
        )
        self._late = Future[int]()
        self._late.set_result(0)
        self._lock = threading.Lock()
        self._writes = itertools.count(1)
        self._unwritten: Counter[str] = Counter()

    def request(self, account: str) -> tuple[int, int]:
        """Count a request and return the number of requests in this minute, and the
        seconds until the next minute.
        """
        now = int(time.time())
        id, until, reset = (
            f"minute {now // MINUTE} {account}",
            now + 2 * MINUTE,
            MINUTE - now % MINUTE,
        )
        if self._counting is None:
            return self._increase(id, 1, until=until), reset
        writing = self._counting.submit(self._increase, id, 1, until=until)
        if self._late.done() and wait((writing,), PATIENCE).done:
            return writing.result(), reset
        self._late = writing  # the requests after it do not wait until it is written
        with self._lock:
            self._unwritten[id] += 1
            return self._unwritten[id], reset

    def add_tokens(self, account: str, tokens: int) -> None:
        """Add tokens of the chat model to those of today (UTC)."""
        if tokens:
            self._increase(
                f"tokens {_day()} {account}", tokens, until=time.time() + 2 * DAY
            )

    def tokens_today(self, account: str) -> int:
        row = self._rows.find_one({"_id": f"tokens {_day()} {account}"})
        return int(row["count"]) if row else 0

    @contextmanager
    def question(self, account: str, *, most: int, seconds: float) -> Iterator[None]:
        """Hold one of the ``most`` questions that an account may have open, for
        ``seconds`` if its process dies. Raises TooManyRequestsError: that many are
        open.
        """
        slot, now, id = f"{SLOT}{secrets.token_hex(6)}", time.time(), f"open {account}"
        try:
            change = {"$set": {slot: now + seconds, "until": now + DAY}}
            row = self._rows.find_one_and_update({"_id": id}, change, upsert=True) or {}
        except DiskFullError:
            yield
            return
        slots = {name: until for name, until in row.items() if name.startswith(SLOT)}
        ended = [name for name, until in slots.items() if until <= now]
        try:
            if (
                sorted(
                    (until, name) for name, until in slots.items() if until > now
                ).index((slots[slot], slot))
                >= most
            ):
                raise TooManyRequestsError(
                    (
                        f"{most} of your questions are being answered already "
                        "(QUESTIONS_PER_CALLER)."
                    ),
                    retry_after=1,
                )
            yield
        finally:
            self._rows.update_one(
                {"_id": id}, {"$unset": dict.fromkeys((slot, *ended), "")}
            )

    def _increase(self, id: str, by: int, *, until: float) -> int:
        change = {"$inc": {"count": by}, "$set": {"until": until}}
        try:
            row = self._rows.find_one_and_update({"_id": id}, change, upsert=True)
        except DiskFullError:
            with self._lock:
                self._unwritten[id] += by
                return self._unwritten[id]
        if next(self._writes) % PRUNE_EVERY == 0:
            self.prune()
        return int(row["count"]) if row else by

    def prune(self) -> int:
        return self._rows.delete_many({"until": {"$lt": time.time()}})


class UsageRepository:
    """Collection `usage`, one row per day (UTC). ``tokens`` is the meter's count of all
    paid tokens of the chat model. The rest is summed from the answers' ledgers.
    """

    def __init__(self, database: Database) -> None:
        self._days = database["usage"]
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._unwritten: Counter[str] = Counter()
        """Counts that came while another thread wrote, or that the database did not
        take.
        """

    def add(self, tokens: int) -> None:
        if tokens:
            self._count({"tokens": tokens})

    def today(self) -> int:
        row = self._days.find_one({"_id": _day()}, {"tokens": 1})
        return (int(row.get("tokens", 0)) if row else 0) + self._unwritten["tokens"]

    def book(self, rows: Sequence[LedgerRow], *, questions: int) -> None:
        """Add a ledger to today. Names of stages have no dots."""
        counters = increments(Sums.of(rows, questions=questions))
        for row in rows:
            usage = row.usage
            stage = StageSums(
                row.stage,
                row.runs,
                usage.calls,
                usage.tokens,
                usage.embedding_tokens,
                row.ms,
            )
            for name, value in asdict(stage).items():
                if name != "stage" and value:
                    counters[f"{STAGE_PREFIX}{row.stage}:{name}"] = value
        if counters:
            self._count(counters)

    def _count(self, counters: Mapping[str, Any]) -> None:
        """Add to today's row. Hundreds of streams may end at once, so counts that wait
        are written as one update.
        """
        with self._lock:
            self._unwritten.update(counters)
        with self._writing:
            with self._lock:
                waiting, self._unwritten = self._unwritten, Counter()
            if not waiting:
                return
            try:
                self._days.update_one(
                    {"_id": _day()}, {"$inc": dict(waiting)}, upsert=True
                )
            except DatabaseError as error:
                with self._lock:
                    self._unwritten.update(
                        waiting
                    )  # among them counts of other threads
                if not isinstance(error, DiskFullError):
                    raise

    def days(self, count: int) -> list[DayUsage]:
        """Return the days with usage among the last ``count``, newest first."""
        rows = self._days.find({"_id": {"$gte": _day(count - 1)}}, sort=[("_id", -1)])
        return [
            DayUsage(
                str(row["_id"]),
                int(row.get("tokens", 0)),
                read_sums(row),
                _read_stages(row),
            )
            for row in rows
        ]


def seconds_to_reset(now: datetime | None = None) -> int:
    """Return the seconds until the next day begins (UTC), at least 1."""
    now = now or datetime.now(UTC)
    midnight = (now + timedelta(days=1)).replace(
        hour=0, minute=0, second=0, microsecond=0
    )
    return max(1, round((midnight - now).total_seconds()))


def increments(sums: Sums) -> dict[str, Any]:
    """Return the sums that are not zero, as `$inc` takes them."""
    counts = {
        "questions": sums.questions,
        "cost": sums.cost,
        "unpriced_tokens": sums.unpriced_tokens,
    }
    return {
        name: value for name, value in {**counts, **asdict(sums.usage)}.items() if value
    }


def read_sums(row: Mapping[str, Any]) -> Sums:
    usage = Usage(**{part.name: int(row.get(part.name, 0)) for part in fields(Usage)})
    cost = round(float(row.get("cost", 0.0)), 10)
    return Sums(
        int(row.get("questions", 0)), usage, cost, int(row.get("unpriced_tokens", 0))
    )


def _read_stages(row: Mapping[str, Any]) -> tuple[StageSums, ...]:
    stages: dict[str, dict[str, Any]] = {}
    for name, value in row.items():
        if name.startswith(STAGE_PREFIX):
            stage, _, part = name.removeprefix(STAGE_PREFIX).rpartition(":")
            stages.setdefault(stage, {})[part] = round(value, 2)
    return add_up_stages(StageSums(stage, **values) for stage, values in stages.items())


def _day(ago: int = 0) -> str:
    return (datetime.now(UTC).date() - timedelta(days=ago)).isoformat()
