"""A cache for the time of one request: the few small rows of the database that say whether anything has changed.

Inside `request_cache` a value is read at its first use and kept for that context and for the threads that get a copy
of it, so that all of a request sees one state. `refresh` forgets it: before a search, and after a write of one's own.
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
    """Cache what is read inside; as a decorator, for each call of a function that answers a request."""
    token = _CACHE.set({})
    try:
        yield
    finally:
        _CACHE.reset(token)


def cached(database: Database, name: str, read: Callable[[], T]) -> T:
    """What ``read`` returned before in this request, else what it returns now; outside of a request always now."""
    known = _CACHE.get()
    if known is None:
        return read()
    if (database, name) not in known:
        known[database, name] = read()
    value: T = known[database, name]
    return value


def refresh(database: Database) -> None:
    """Forget all that was read of this database in this request."""
    known = _CACHE.get()
    for key in [key for key in known or () if key[0] is database]:
        known.pop(key, None)  # type: ignore[union-attr]  # not empty
