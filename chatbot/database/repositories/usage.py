"""Usage: counters for each account and sums by day, increased atomically for all
workers together.
"""

import hashlib
import itertools
import logging
import secrets
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime, timedelta
from typing import Any

from ...domain import Usage
from ...domain.callers import limit_key
from ...domain.costs import DayUsage, LedgerRow, StageSums, Sums, add_up_stages
from ...domain.errors import DatabaseError, TooManyRequestsError
from ...domain.scope import Scope
from ..core import Collection, Database, bookkeeping
from ..failures import DUPLICATE
from ..limits import made_by, made_within

log = logging.getLogger(__name__)
EVERYTHING = Scope()
MINUTE = 60
DAY = 86_400
"""Seconds."""
PRUNE_EVERY = 500
"""Writes between two removals of expired rows."""
MAX_TOKENS = 200
"""Batches that a row of counts remembers: more than are sent again at the same time."""
MAX_UNWRITTEN = 10_000
"""Counts of requests that a process keeps while the database takes none: about 1 MB."""
SLOT = "slot "
STAGE_PREFIX = "stages:"
"""Prefix of a stage's counters. It has no dot: the embedded database does not update
nested fields.
"""


class Increments:
    """Adds to counts in rows, each time exactly once, and never fails its caller.
    Thread-safe. Counts that the database does not take wait for the next ones. A batch
    that may have been written, because its call timed out, is sent again with its own
    token, which the row keeps: so it counts once, also where the first call is still
    under way.
    """

    def __init__(self, rows: Collection) -> None:
        self._rows = rows
        self._has_tokens = not rows.embedded
        """A file is sure of what it has written."""
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._waiting: dict[str, Batch] = {}
        """Counts by the id of their row, which came while another thread wrote, or
        which the database did not take.
        """
        self._doubtful: list[Batch] = []

    def add(self, id: str, counts: Mapping[str, Any], **fields: Any) -> None:
        """Add to the counts of a row, and set its other ``fields``."""
        with self._lock:
            batch = self._waiting.setdefault(id, Batch(id))
            batch.counts.update(counts)
            batch.fields.update(fields)
        # Hundreds of streams may end at once: what waits is written as one update.
        with self._writing:
            with self._lock:
                batches = [*self._doubtful, *self._waiting.values()]
                self._doubtful = []
                self._waiting = {}
            for index, batch in enumerate(batches):
                try:
                    with bookkeeping():
                        self._write(batch)
                except DatabaseError as error:
                    log.warning("Usage is counted later: %s", error.message)
                    self._keep(batches[index:])
                    return

    def unwritten(self, id: str, name: str) -> int:
        """Return what a count of a row lacks, as far as this process knows."""
        with self._lock:
            batches = [*self._doubtful, *self._waiting.values()]
        return sum(int(batch.counts[name]) for batch in batches if batch.id == id)

    def _keep(self, batches: Sequence["Batch"]) -> None:
        """Keep for later a batch whose call failed, and those after it. One that was
        sent may be written, so it stays as it is, with its token.
        """
        with self._lock:
            for batch in batches:
                if batch.is_sent:
                    self._doubtful.append(batch)
                    continue
                waiting = self._waiting.setdefault(batch.id, Batch(batch.id))
                waiting.counts.update(batch.counts)
                waiting.fields.update(batch.fields)

    def _write(self, batch: "Batch") -> None:
        """Write a batch, once. Raises DatabaseError."""
        change: dict[str, Any] = {"$inc": dict(batch.counts)}
        if batch.fields:
            change["$set"] = batch.fields
        if not self._has_tokens:
            self._rows.update_one({"_id": batch.id}, change, upsert=True)
            return
        batch.is_sent = True
        tokens = {"$each": [batch.token], "$slice": -MAX_TOKENS}
        change["$push"] = {"batches": tokens}
        once = {"_id": batch.id, "batches": {"$nin": [batch.token]}}
        try:
            self._rows.update_one(once, change, upsert=True)
        except DatabaseError as error:
            if error.reason != DUPLICATE:
                raise
            # The row has the token; or another process has made it at the same moment.
            self._rows.update_one(once, change)


@dataclass(slots=True)
class Batch:
    """Counts to be added to a row at once. ``is_sent``: they may be there already."""

    id: str
    counts: Counter[str] = field(default_factory=Counter)
    fields: dict[str, Any] = field(default_factory=dict)
    token: str = field(default_factory=lambda: secrets.token_hex(8))
    is_sent: bool = False


class Counters:
    """Requests, open questions and tokens of each account, in the collection
    `counters`. Thread-safe. Whatever happens to the database, counting fails no
    request: then this process counts for itself.
    """

    def __init__(self, database: Database) -> None:
        self._rows = database["counters"]
        self._lock = threading.Lock()
        self._writes = itertools.count(1)
        self._unwritten: Counter[str] = Counter()
        self._tokens = Increments(self._rows)

    def request(self, account: str) -> tuple[int, int]:
        """Count a request and return the number of requests in this minute, and the
        seconds until the next minute.
        """
        now = int(time.time())
        minute, second = divmod(now, MINUTE)
        id = f"minute {minute} {account}"
        reset = MINUTE - second
        change = {"$inc": {"count": 1}, "$set": {"until": now + 2 * MINUTE}}
        try:
            with bookkeeping():
                row = self._rows.find_one_and_update({"_id": id}, change, upsert=True)
                if next(self._writes) % PRUNE_EVERY == 0:
                    self.prune()
        except DatabaseError as error:
            log.warning("A request is counted here alone: %s", error.message)
            with self._lock:
                if len(self._unwritten) >= MAX_UNWRITTEN:
                    self._unwritten.clear()  # of minutes that are over
                self._unwritten[id] += 1
                return self._unwritten[id], reset
        return int(row["count"]) if row else 1, reset

    def add_tokens(self, account: str, tokens: int) -> None:
        """Add tokens of the chat model to those of today (UTC)."""
        if tokens:
            id = f"tokens {_day()} {account}"
            self._tokens.add(id, {"count": tokens}, until=time.time() + 2 * DAY)

    def tokens_today(self, account: str) -> int:
        id = f"tokens {_day()} {account}"
        row = self._rows.find_one({"_id": id})
        written = int(row["count"]) if row else 0
        return written + self._tokens.unwritten(id, "count")

    @contextmanager
    def question(self, account: str, *, most: int, seconds: float) -> Iterator[None]:
        """Hold one of the ``most`` questions that an account may have open, for
        ``seconds`` if its process dies. Raises TooManyRequestsError: that many are
        open. If the database does not take it, the question is asked without.
        """
        slot = f"{SLOT}{secrets.token_hex(6)}"
        id = f"open {account}"
        now = time.time()
        change = {"$set": {slot: now + seconds, "until": now + DAY}}
        row: Mapping[str, Any] | None = None
        try:
            with bookkeeping():
                row = self._rows.find_one_and_update({"_id": id}, change, upsert=True)
        except DatabaseError as error:
            log.warning("An open question is not counted: %s", error.message)
        if row is None:
            yield
            return
        running: list[tuple[float, str]] = []
        ended: list[str] = []
        for name, until in row.items():
            if not name.startswith(SLOT):
                continue
            if until > now:
                running.append((until, name))
            else:
                ended.append(name)
        running.sort()
        try:
            if running.index((row[slot], slot)) >= most:
                raise TooManyRequestsError(
                    f"{most} of your questions are being answered already.",
                    retry_after=1,
                )
            yield
        finally:
            self._leave(id, (slot, *ended))

    def _leave(self, id: str, slots: Sequence[str]) -> None:
        """Free the slots; one that stays ends by itself."""
        try:
            with bookkeeping():
                self._rows.update_one({"_id": id}, {"$unset": dict.fromkeys(slots, "")})
        except DatabaseError as error:
            log.warning("An open question is counted on: %s", error.message)

    def prune(self) -> int:
        return self._rows.delete_many({"until": {"$lt": time.time()}})


class UsageRepository:
    """Collections `usage`, one row per day (UTC), and `usage_of_limited`, one for each
    day and limit of callers. ``tokens`` is the meter's count of all
    paid tokens of the chat model. The rest is summed from the answers' ledgers.
    """

    def __init__(self, database: Database) -> None:
        self._days = database["usage"]
        self._increments = Increments(self._days)
        self._limited = database["usage_of_limited"]
        self._increments_of_limited = Increments(self._limited)

    def add(self, tokens: int) -> None:
        if tokens:
            self._increments.add(_day(), {"tokens": tokens})

    def today(self) -> int:
        day = _day()
        row = self._days.find_one({"_id": day}, {"tokens": 1})
        written = int(row.get("tokens", 0)) if row else 0
        return written + self._increments.unwritten(day, "tokens")

    def book(
        self,
        rows: Sequence[LedgerRow],
        *,
        questions: int,
        limit: Scope = EVERYTHING,
        is_degraded: bool = False,
    ) -> None:
        """Add a ledger to today, and to the usage of callers with this limit. Names of
        stages have no dots. ``is_degraded``: the language model failed.
        """
        counters = increments(Sums.of(rows, questions=questions))
        if is_degraded:
            counters["degraded"] = 1
        for row in rows:
            usage = row.usage
            sums = {
                "runs": row.runs,
                "calls": usage.calls,
                "tokens": usage.tokens,
                "embedding_tokens": usage.embedding_tokens,
                "ms": row.ms,
            }
            for name, value in sums.items():
                if value:
                    counters[f"{STAGE_PREFIX}{row.stage}:{name}"] = value
        if counters:
            self._increments.add(_day(), counters)
        if counters and limit:
            digest = hashlib.sha256(limit_key(limit).encode()).hexdigest()[:16]
            fields = {"day": _day(), **made_by(limit)}
            self._increments_of_limited.add(f"{_day()} {digest}", counters, **fields)

    def days_within(self, count: int, limit: Scope) -> list[DayUsage]:
        """Return the days with usage of callers within this limit among the last
        ``count``, newest first.
        """
        condition = {"day": {"$gte": _day(count - 1)}}
        condition |= made_within(self._limited, limit)
        days: dict[str, dict[str, float]] = {}
        for row in self._limited.find(condition, sort=[("_id", -1)]):
            counts = days.setdefault(row["day"], {})
            for name, value in row.items():
                if isinstance(value, int | float):
                    counts[name] = counts.get(name, 0) + value
        usage: list[DayUsage] = []
        for day, counts in days.items():
            sums = read_sums(counts)
            usage.append(_day_usage(day, sums.usage.tokens, counts))
        return usage

    def days(self, count: int) -> list[DayUsage]:
        """Return the days with usage among the last ``count``, newest first."""
        rows = self._days.find({"_id": {"$gte": _day(count - 1)}}, sort=[("_id", -1)])
        return [
            _day_usage(str(row["_id"]), int(row.get("tokens", 0)), row) for row in rows
        ]


def _day_usage(day: str, tokens: int, row: Mapping[str, Any]) -> DayUsage:
    return DayUsage(
        day,
        tokens,
        read_sums(row),
        _read_stages(row),
        int(row.get("degraded", 0)),
    )


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
    counts |= asdict(sums.usage)
    return {name: value for name, value in counts.items() if value}


def read_sums(row: Mapping[str, Any]) -> Sums:
    names = [field.name for field in fields(Usage)]
    return Sums(
        questions=int(row.get("questions", 0)),
        usage=Usage(**{name: int(row.get(name, 0)) for name in names}),
        cost=round(float(row.get("cost", 0.0)), 10),
        unpriced_tokens=int(row.get("unpriced_tokens", 0)),
    )


def _read_stages(row: Mapping[str, Any]) -> tuple[StageSums, ...]:
    stages: dict[str, dict[str, Any]] = {}
    for name, value in row.items():
        if name.startswith(STAGE_PREFIX):
            stage, _, field_name = name.removeprefix(STAGE_PREFIX).rpartition(":")
            stages.setdefault(stage, {})[field_name] = round(value, 2)
    return add_up_stages(StageSums(stage, **values) for stage, values in stages.items())


def _day(ago: int = 0) -> str:
    return (datetime.now(UTC).date() - timedelta(days=ago)).isoformat()
