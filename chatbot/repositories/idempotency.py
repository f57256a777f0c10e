"""Idempotency keys: what was answered to a request, so that its repetition is answered alike and not done again."""

from __future__ import annotations

import hashlib
import secrets
import time

from ..database.core import Database, Json
from ..errors import ConflictError, KeyReusedError

KEPT_SECONDS = 86_400.0
RUNNING_SECONDS = 300.0
"""A request without an answer for so long has no process any more: its repetition is done."""
MOST_KEPT = 1_000
"""Answers kept for each owner; the oldest go first."""


class IdempotencyRepository:
    """Rows of the collection `counters`, which are of no use after a day and are removed with the others there."""

    def __init__(self, database: Database) -> None:
        self._rows = database["counters"]

    def begin(self, owner: str, key: str, fingerprint: str) -> Json | None:
        """What was answered to the same request of this owner; None where it is to be done now.

        Raises:
            KeyReusedError: the key was another request's.
            ConflictError: the same request is being done.
        """
        now, id = time.time(), _id(owner, key)
        mark = secrets.token_hex(8)
        new = {"once": owner, "fingerprint": fingerprint, "mark": mark, "since": now, "until": now + KEPT_SECONDS}
        self._rows.delete_many({"_id": id, "until": {"$lt": now}})
        self._rows.update_one({"_id": id}, {"$setOnInsert": {**new, **self._rows.expiry(KEPT_SECONDS)}}, upsert=True)
        row = self._rows.find_one({"_id": id})
        if row is None or row["mark"] == mark:  # None: the first one has failed in this moment
            return None
        if row["fingerprint"] != fingerprint:
            raise KeyReusedError("This Idempotency-Key was sent with another request; send a new one.")
        if "answer" in row:
            answer: Json = row["answer"]
            return answer
        if not now - RUNNING_SECONDS <= row["since"] <= now + RUNNING_SECONDS:
            given_up = {"_id": id, "mark": row["mark"]}
            if self._rows.update_one(given_up, {"$set": {"mark": mark, "since": now}}) == 1:
                return None
        raise ConflictError("The request with this Idempotency-Key is being done; send it again for its answer.")

    def end(self, owner: str, key: str, answer: Json | None) -> None:
        """Keep what was answered; None: nothing was done, and the key is as if never sent."""
        id = _id(owner, key)
        if answer is None:
            self._rows.delete_many({"_id": id})
            return
        self._rows.update_one({"_id": id}, {"$set": {"answer": answer}})
        rows = self._rows.find({"once": owner}, {"_id": 1}, sort=[("until", -1)])
        if old := [row["_id"] for row in list(rows)[MOST_KEPT:]]:
            self._rows.delete_many({"_id": {"$in": old}})


def _id(owner: str, key: str) -> str:
    return f"once {hashlib.sha256(f'{owner} {key}'.encode()).hexdigest()}"
