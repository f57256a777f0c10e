"""Cached values in the database, shared by all workers; reads of the database kept for
one request; kept results.

Inside `request_cache` the few rows that say whether the database has changed are read
once, so that the whole request sees one state. `refresh` clears them: before a search,
and after a write in the request.
"""

import itertools
import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Generic, Literal, TypeVar

from ...domain import RequestContext
from ...domain.errors import DatabaseError
from ..core import Database, bookkeeping, current_request

log = logging.getLogger(__name__)
T = TypeVar("T")
Level = Literal["embedding", "response", "query"]
LEVELS: tuple[Level, ...] = ("embedding", "response", "query")
MARKERS = "markers"
"""Changes by other programs are read once in a request (`estimated_count`)."""
PAUSE_FACTOR = 20.0
"""Pause after a background read, in times of its duration, so that reading takes at
most a twentieth of the database's time.
"""
RETRY_SECONDS = 2.0
"""Pause after a background read that failed."""
FIRST_WAIT_SECONDS = 5.0
"""Seconds that a request waits for the first background read: as long as for a call."""
START_WAIT_SECONDS = 60.0
"""Seconds from the beginning of the first background read in which anybody waits."""
MAX_KEPT_RESULTS = 256
"""More scopes than are asked for between two changes."""
PRUNE_EVERY = 50
"""Writes between two counts of the entries: counting costs more than writing."""
STATE = (None, "state")
"""Key of a mark that changes whenever what was read is cleared."""
_CACHE: ContextVar[dict[tuple[Database | None, str], Any] | None] = ContextVar(
    "request_cache", default=None
)


@contextmanager
def request_cache() -> Iterator[None]:
    """Cache reads inside; as a decorator, for each call of a function that answers a
    request.
    """
    token = _CACHE.set({})
    try:
        yield
    finally:
        _CACHE.reset(token)


def cached(database: Database, name: str, read: Callable[[], T]) -> T:
    """Return what ``read`` returned before in this request, else call it; outside of a
    request always call it.
    """
    cache = _CACHE.get()
    if cache is None:
        return read()
    value: T | None = cache.get((database, name))
    if value is not None:
        return value
    state = cache.get(STATE)
    reads: dict[str, Callable[[], Any]] = {}
    if not database.embedded and name in database.reads:
        # The others will be needed, too: with a server, one round trip for all.
        for other_name, other_read in database.reads.items():
            if (database, other_name) not in cache:
                reads[other_name] = other_read
    reads[name] = read
    results = dict(zip(reads, database.at_once(list(reads.values())), strict=True))
    # Else another thread of this request has searched since, and needs later reads.
    if cache.get(STATE) is state:
        for name_read, result in results.items():
            cache[database, name_read] = result
    result_of_name: T = results[name]
    return result_of_name


def refresh(database: Database) -> None:
    """Clear what was read of this database in this request."""
    cache = _CACHE.get()
    if cache is None:
        return
    cache[STATE] = object()
    for key in list(cache):
        if key[0] is database and key[1] != MARKERS:
            cache.pop(key, None)


def keep(results: dict[Any, Any], key: Any, make: Callable[[], T]) -> T:
    """Return the result that is kept for a key, made at its first use; where there are
    too many, all are dropped: the next questions make anew what they need.
    """
    result: T | None = results.get(key)
    if result is None:
        if len(results) >= MAX_KEPT_RESULTS:
            results.clear()
        result = make()
        results[key] = result
    return result


class BackgroundRead(Generic[T]):
    """The result of a read that takes long. It is read again in a thread, once it is
    outdated; meanwhile the last result is served. Thread-safe.
    """

    def __init__(self, read: Callable[[], T], empty: T) -> None:
        self._read = read
        self._ended = threading.Condition()
        self._result: tuple[int, T] = (0, empty)
        """What the last read returned, and its number; 0 = none has ended yet."""
        self.begun = 0
        """The number of the last read that has begun."""
        self._is_reading = False
        self._is_outdated = True
        self._pause_until = float("-inf")
        self._wait_until = float("inf")
        self._failure: DatabaseError | None = None

    def latest(self, *, outdated: bool) -> tuple[int, T]:
        """Return the number and the result of the last read, and begin another one
        where this one is ``outdated``, unless that was done a moment ago. The first
        calls wait for the first read, FIRST_WAIT_SECONDS in a request. Raises
        DatabaseError: the first read has failed.
        """
        with self._ended:
            self._is_outdated = self._is_outdated or outdated
            self._begin()
            if self._is_reading and not self._result[0]:
                limit = self._wait_until - time.monotonic()
                if current_request() is not None:
                    limit = min(limit, FIRST_WAIT_SECONDS)
                self._ended.wait_for(lambda: not self._is_reading, max(limit, 0.0))
            if self._failure is not None and not self._result[0]:
                raise self._failure
            return self._result

    def _begin(self) -> None:
        """Begin a read where one is needed and allowed."""
        now = time.monotonic()
        if not self._is_outdated or self._is_reading or now < self._pause_until:
            return
        if not self.begun:
            self._wait_until = now + START_WAIT_SECONDS
        self.begun += 1
        self._is_outdated = False
        self._is_reading = True
        threading.Thread(target=self._run, name="background-read", daemon=True).start()

    def _run(self) -> None:
        result = self._result[1]
        began = time.monotonic()
        # Of a bug, which ends this thread: the next caller tries again.
        failure: DatabaseError | None = DatabaseError(
            "Rows of other programs could not be read.", retry_after=5
        )
        try:
            result = self._read()
            failure = None
        except DatabaseError as error:  # the first callers raise it
            failure = error
        finally:
            self._end(result, failure, began)

    def _end(self, result: T, failure: DatabaseError | None, began: float) -> None:
        """Keep what a read gave, or why it failed, and wake those who wait."""
        now = time.monotonic()
        with self._ended:
            self._is_reading = False
            self._pause_until = now + PAUSE_FACTOR * (now - began)
            if failure is None:
                _, last_result = self._result
                if result == last_result:  # the same object, for those who compare it
                    result = last_result
                self._result = (self.begun, result)
            else:
                if self._failure is None:
                    log.warning("Changes by others are not read: %s", failure.message)
                self._pause_until = max(self._pause_until, now + RETRY_SECONDS)
                self._is_outdated = True
            self._failure = failure
            self._ended.notify_all()


class CacheRepository:
    """Collection `cache`, bounded in age and number. Each level has its own bound, so
    that many entries of one push out none of another. Thread-safe.
    """

    def __init__(self, database: Database, *, seconds: float, entries: int) -> None:
        """``entries``: of each level. 0 for ``seconds`` or ``entries`` turns the cache
        off.
        """
        self._cache = database["cache"]
        self._seconds = seconds
        self._entries = entries
        self._writes = itertools.count(1)

    @property
    def enabled(self) -> bool:
        return self._seconds > 0 and self._entries > 0

    def get(
        self, level: Level, key: str, *, request: RequestContext | None = None
    ) -> Any:
        """Return the value; None where there is none, it is too old, or the database
        does not answer: an answer needs no cache.
        """
        if not self.enabled:
            return None
        try:
            with bookkeeping():
                row = self._cache.find_one({"_id": f"{level}:{key}"})
        except DatabaseError as error:
            log.warning("The cache was not read: %s", error.message)
            row = None
        if row is not None and row["at"] <= time.time() - self._seconds:
            row = None
        if request is not None:
            request.meter.count_lookup(level, hit=row is not None)
        if row is None:
            return None
        return row["value"]

    def put(self, level: Level, key: str, value: Any) -> None:
        """Store a value, if the database takes it. Every PRUNE_EVERY writes old entries
        are removed.
        """
        if not self.enabled:
            return
        row = {
            "_id": f"{level}:{key}",
            "level": level,
            "at": time.time(),
            "value": value,
        }
        try:
            with bookkeeping():
                self._cache.replace_many([row])
                if next(self._writes) % PRUNE_EVERY == 0:
                    self.prune()
        except DatabaseError as error:
            log.warning("An entry of the cache was not stored: %s", error.message)

    def prune(self) -> int:
        """Remove entries that are too old, and the oldest of each level beyond its
        limit; return how many.
        """
        removed = self._cache.delete_many({"at": {"$lte": time.time() - self._seconds}})
        for level in LEVELS:
            surplus = self._cache.count({"level": level}) - self._entries
            if surplus > 0:
                oldest = self._cache.find(
                    {"level": level}, {"_id": 1}, sort=[("at", 1)], limit=surplus
                )
                ids = [row["_id"] for row in oldest]
                removed += self._cache.delete_many({"_id": {"$in": ids}})
        return removed

    def forget_answers(self) -> None:
        """Remove entries that repeat passages or questions; vectors of texts stay."""
        for level in ("query", "response"):
            self._cache.delete_many({"_id": {"$gte": f"{level}:", "$lt": f"{level};"}})
