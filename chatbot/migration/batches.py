"""Walking through a collection in bounded steps.

Only ids are held at once. A server's time limit is for one call, so no call walks through everything; and SQLite
finds rows by ids fast, but not rows after an id.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..database import Collection, Json

BATCH = 500
Place = tuple[str, str]
"""Where an id stands: ids of different types may share a collection, and only those of one type can be compared."""


def place(id: Any) -> Place:
    return type(id).__name__, str(id)


def id_batches(collection: Collection, *, after: Place | None = None, size: int = BATCH) -> Iterator[list[Any]]:
    """Every id that exists now, in the order of `place`, in lists of at most ``size``."""
    ids = [row["_id"] for row in collection.find({}, {"_id": 1}, sort=[("_id", 1)])]
    ids = sorted((id for id in ids if after is None or place(id) > after), key=place)
    for start in range(0, len(ids), size):
        yield ids[start : start + size]


def rows_of(
    collection: Collection,
    ids: Sequence[Any],
    filter: Mapping[str, Any] | None = None,
    projection: Mapping[str, int] | None = None,
) -> list[Json]:
    """Those of the rows that still exist and match, in the order of ``ids``."""
    found = {row["_id"]: row for row in collection.find({"_id": {"$in": list(ids)}, **(filter or {})}, projection)}
    return [found[id] for id in ids if id in found]
