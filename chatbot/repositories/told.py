"""Whom to tell when a job has ended: kept in the job's own row, so that any process does it, and only one at a time."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Container
from typing import Generic, TypeVar

from ..database.core import Collection, Json

CALL_AGAIN = (10.0, 60.0, 600.0)
"""Seconds after a call that failed, or whose process died."""
AGAIN = {"call_at": 0.0, "calls": 0, "call": ""}
"""Of a row that is to be told of, from now on."""
T = TypeVar("T")


def to_tell(callback_url: str) -> Json:
    """What a row has for it; nothing where nobody wants to be told."""
    return {"callback_url": callback_url, **AGAIN} if callback_url else {}


class Told(Generic[T]):
    """Of one collection. ``read`` makes a job of its row, ``ended`` says whether it is to be told."""

    def __init__(self, rows: Collection, read: Callable[[Json], T], ended: Callable[[T], bool]) -> None:
        self._rows = rows
        self._read = read
        self._ended = ended

    def due(self, in_hand: Container[str] = ()) -> tuple[T, str, str] | None:
        """A job that has ended, the address, the call's id: one at a time, 1 + len(CALL_AGAIN) of them at most.

        None of those that the caller has ``in_hand``.
        """
        for row in self._rows.find({"call_at": {"$lte": time.time()}}):
            job, calls = self._read(row), int(row["calls"])
            if row["_id"] in in_hand or not self._ended(job):
                continue
            again = time.time() + CALL_AGAIN[calls] if calls < len(CALL_AGAIN) else None
            held = {"_id": row["_id"], "call_at": row["call_at"]}
            mine = {"call_at": again, "calls": calls + 1, "call": secrets.token_hex(8)}
            if self._rows.update_one(held, {"$set": mine}) == 1:
                return job, row["callback_url"], str(mine["call"])
        return None

    def done(self, job_id: str, call: str) -> None:
        """It was told by this call; where whoever was told has had it tried again meanwhile, that is to be told."""
        self._rows.update_one({"_id": job_id, "call": call}, {"$set": {"call_at": None}})

    def pending(self) -> bool:
        """Whether a job waits to be told of."""
        return self._rows.find_one({"call_at": {"$gte": 0}}, {"_id": 1}) is not None
