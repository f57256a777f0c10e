"""What a request reads once of the database: a few small rows that say whether anything changed.

Inside `held` a value is read at its first use and kept for that context and for the threads that get a copy of it, so
that all of a request sees one state. `look_again` lets go of it: before a search, and after a write of one's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from ..database.core import Database

T = TypeVar("T")
_HELD: ContextVar[dict[tuple[Database, str], Any] | None] = ContextVar("held", default=None)


@contextmanager
def held() -> Iterator[None]:
    """Also a decorator: of a function that answers one request."""
    token = _HELD.set({})
    try:
        yield
    finally:
        _HELD.reset(token)


def once(database: Database, name: str, read: Callable[[], T]) -> T:
    """What ``read`` returned before in this request, else what it returns now."""
    known = _HELD.get()
    if known is None:
        return read()
    if (database, name) not in known:
        known[database, name] = read()
    value: T = known[database, name]
    return value


def look_again(database: Database) -> None:
    """Let go of all that was read of this database."""
    known = _HELD.get()
    for key in [key for key in known or () if key[0] is database]:
        known.pop(key, None)  # type: ignore[union-attr]  # not empty
