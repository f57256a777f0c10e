"""The table of idempotency keys: what was answered to a request, so that its repetition
is answered alike.

The row is inserted before the work, with a lease that its process renews, and gets the
answer after it. The row of a process that died is taken over when its lease has ended.
"""

import hashlib
import logging
import secrets
import threading
from dataclasses import dataclass
from typing import Any

from ...database.core import Database, Json
from ...domain.errors import ChatbotError, ConflictError, DatabaseError, read_table

log = logging.getLogger(__name__)
BOUNDS: dict[str, Any] = read_table(__package__, "bounds")


class KeyReusedError(ChatbotError, code="idempotency_key_reused", status=422):
    """The Idempotency-Key belongs to another request of the same caller."""


class InProgressError(ConflictError, code="request_in_progress"):
    """The request with this Idempotency-Key is being done."""


@dataclass(frozen=True, slots=True)
class Repeatable:
    """A request that is being done: its row, and the mark by which the row is its
    own.
    """

    id: str
    mark: str
    caller: str


class IdempotencyKeys:
    """Collection `idempotency`: one row for each key of a caller, for a day."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._rows = database["idempotency"]
        self._marks = set[str]()
        """Of the requests that this process is doing."""
        self._lock = threading.Lock()
        self._renewing = False

    def begin(self, caller: str, key: str, fingerprint: str) -> Repeatable | Json:
        """Note that a request is being done; return it, or the answer that it had
        before. Raises KeyReusedError: the key belongs to a request with another
        fingerprint; InProgressError: the same request is being done; DatabaseError.
        """
        now = self._database.now()
        id = hashlib.sha256(f"{caller}\n{key}".encode()).hexdigest()
        request = Repeatable(id, secrets.token_hex(8), caller)
        self._rows.delete_many({"expires_at": {"$lt": now}})
        fields = {
            "caller": caller,
            "fingerprint": fingerprint,
            "mark": request.mark,
            "until": now + BOUNDS["lease_seconds"],
            "expires_at": now + BOUNDS["kept_seconds"],
            "answer": None,
        }
        # An upsert, not `ensure`: a row of this mark is the one that was made here.
        row = self._rows.find_one_and_update(
            {"_id": id}, {"$setOnInsert": fields}, upsert=True
        )
        if row is not None and row["mark"] != request.mark:
            if row["fingerprint"] != fingerprint:
                raise KeyReusedError(
                    "This Idempotency-Key was sent with another request. Send a new "
                    "key."
                )
            if row["answer"] is not None:
                answer: Json = row["answer"]
                return answer
            self._take_over(row, request, now)
        self._hold(request.mark)
        return request

    def _take_over(self, row: Json, request: Repeatable, now: float) -> None:
        """Take the row of a request whose lease has ended. Raises InProgressError."""
        lease = BOUNDS["lease_seconds"]
        # One that ends much later than a lease was made before the clock was set back.
        has_ended = not now <= row["until"] <= now + 2 * lease
        if has_ended and self._rows.update_one(
            {"_id": row["_id"], "mark": row["mark"], "until": row["until"]},
            {"$set": {"mark": request.mark, "until": now + lease}},
        ):
            return
        raise InProgressError(
            "The request with this Idempotency-Key is being done. Send it again for "
            "its answer."
        )

    def finish(self, request: Repeatable, answer: Json | None) -> None:
        """Store the answer; None: nothing was done, and the key is free. Raises
        DatabaseError.
        """
        with self._lock:
            self._marks.discard(request.mark)
        own = {"_id": request.id, "mark": request.mark}
        if answer is None:
            self._rows.delete_many(own)
            return
        self._rows.update_one(own, {"$set": {"answer": answer}})
        kept = self._rows.find(
            {"caller": request.caller}, {"_id": 1}, sort=[("expires_at", -1)]
        )
        oldest = [row["_id"] for row in kept][BOUNDS["kept_answers"] :]
        if oldest:
            self._rows.delete_many({"_id": {"$in": oldest}})

    def _hold(self, mark: str) -> None:
        """Renew the lease of a request until it is finished."""
        with self._lock:
            self._marks.add(mark)
            if self._renewing:
                return
            self._renewing = True
        threading.Thread(
            target=self._renew, name="idempotency-leases", daemon=True
        ).start()

    def _renew(self) -> None:
        pause = threading.Event()
        lease = BOUNDS["lease_seconds"]
        while not pause.wait(lease / 4):
            with self._lock:
                marks = sorted(self._marks)
                if not marks:
                    self._renewing = False
                    return
            try:
                until = self._database.now() + lease
                self._rows.update_many(
                    {"mark": {"$in": marks}}, {"$set": {"until": until}}
                )
            except DatabaseError as error:
                log.warning("Leases of requests were not renewed: %s", error.message)
