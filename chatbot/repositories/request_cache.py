"""A cache for the time of one request: the few small rows that say whether the database has changed.

Inside `request_cache` a value is read at its first use and kept for that context and threads with a copy of it, so that
the whole request sees one state. `refresh` clears the cache: before a search, and after a write in the request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from ..database.core import Database

T = TypeVar("T")
_CACHE: ContextVar[dict[tuple[Database, str], Any] | None] = ContextVar("request_cache", default=None)


@contextmanager
def request_cache() -> Iterator[None]:
    """Cache reads inside; as a decorator, for each call of a function that answers a request."""
    token = _CACHE.set({})
    try:
        yield
    finally:
        _CACHE.reset(token)


def cached(database: Database, name: str, read: Callable[[], T]) -> T:
    """Return what ``read`` returned before in this request, else call it; outside of a request always call it."""
    cache = _CACHE.get()
    if cache is None:
        return read()
    if (database, name) not in cache:
        cache[database, name] = read()
    value: T = cache[database, name]
    return value


def refresh(database: Database) -> None:
    """Clear what was read of this database in this request."""
    cache = _CACHE.get() or {}
    for key in [key for key in cache if key[0] is database]:
        cache.pop(key, None)
