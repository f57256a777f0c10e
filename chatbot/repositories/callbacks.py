"""Web hooks to call when a job has ended, kept in the job's own row: any process calls them, only one at a time."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Container
from typing import Generic, TypeVar

from ..database.core import Collection, Json

CALL_AGAIN = (10.0, 60.0, 600.0)
"""Seconds after a call that failed, or whose process died."""
AGAIN = {"call_at": 0.0, "calls": 0, "call": ""}
"""Fields of a row whose end is to be told from now on."""
T = TypeVar("T")


def callback_fields(callback_url: str) -> Json:
    """The fields of a row whose end is to be told to this address; none for ""."""
    return {"callback_url": callback_url, **AGAIN} if callback_url else {}


class CallbackQueue(Generic[T]):
    """The jobs of one collection whose end is to be told. ``read`` makes a job of its row, ``ended`` says whether it
    has ended.
    """

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
        """Note that this call was heard; where the job was tried again meanwhile, its new end is still to be told."""
        self._rows.update_one({"_id": job_id, "call": call}, {"$set": {"call_at": None}})

    def pending(self) -> bool:
        """Whether the end of any job is still to be told."""
        return self._rows.find_one({"call_at": {"$gte": 0}}, {"_id": 1}) is not None
