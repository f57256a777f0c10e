"""Batches of questions in the database: any worker takes the next one, and goes on where another one died."""

from __future__ import annotations

import json
import secrets
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..database.core import Database, Json
from ..errors import NotFoundError
from ..schema.access import Caller
from ..schema.jobs import ENDED, Batch, BatchQuestion
from .callbacks import CallbackQueue, callback_fields
from .conversations import now, own_or_nobodys
from .ingestions import CANDIDATES, LEASE_SECONDS


class BatchRepository:
    """Collections `batches` and `batch_items`, a row for each question. Another ``owner``'s are as if not there."""

    def __init__(self, database: Database) -> None:
        self._batches = database["batches"]
        self._items = database["batch_items"]
        self.callbacks = CallbackQueue(self._batches, self._batch, lambda batch: batch.state in {"done", "cancelled"})

    def ensure_indexes(self) -> None:
        """Idempotent."""
        self._batches.create_index([("owner", 1), ("created_at", -1)])
        self._items.create_index([("batch_id", 1), ("state", 1)])

    def create(self, requests: Sequence[Mapping[str, Any]], caller: Caller, callback_url: str = "") -> Batch:
        """Queue questions as one batch; a batch of nobody has whoever knows its id."""
        batch = secrets.token_hex(16)
        rows = [
            {"_id": f"{batch}-{number:05d}", "batch_id": batch, "number": number, "request": json.dumps(dict(one))}
            | {"state": "queued", "worker": "", "until": 0.0, "tries": 0}
            for number, one in enumerate(requests, start=1)
        ]
        self._items.replace_many(rows)
        # Last, so that a batch which is found has all its questions.
        about: Json = {"owner": caller.owner, "account": caller.account}
        about |= {"caller": json.dumps(_caller_json(caller)), "taken_at": 0.0, "active": True}
        self._batches.replace_many([{"_id": batch, "created_at": now(), **about, **callback_fields(callback_url)}])
        return self.get(batch, caller.owner)

    def get(self, batch_id: str, owner: str) -> Batch:
        """A batch of this owner. Raises NotFoundError."""
        row = self._batches.find_one({"_id": batch_id, "owner": own_or_nobodys(owner)})
        if row is None:
            raise NotFoundError("There is no such batch.")
        return self._batch(row)

    def latest(self, owner: str, limit: int) -> list[Batch]:
        """The newest first. Those of nobody stand in nobody's list."""
        found = self._batches.find({"owner": owner}, sort=[("created_at", -1)], limit=limit) if owner else ()
        return list(map(self._batch, found))

    def questions(self, batch_id: str) -> Iterator[BatchQuestion]:
        """The questions of a batch, in the order they were sent in."""
        return map(_question, self._items.find({"batch_id": batch_id}, sort=[("_id", 1)]))

    def cancel(self, batch_id: str, owner: str) -> Batch:
        """End it: what was answered stays, and what has ended by itself is not cancelled. Raises NotFoundError."""
        batch = self.get(batch_id, owner)
        if batch.state == "done":  # it is active until a worker looks for its next question
            return batch
        ended = {"cancelled": True, "active": False, "detail": ""}
        self._batches.update_one({"_id": batch_id, "active": True}, {"$set": ended})
        return self.get(batch_id, owner)

    def unfinished(self, account: str) -> int:
        """How many of an account's have not ended."""
        return self._batches.count({"active": True, "account": account})

    def active(self) -> bool:
        """Whether there is one that has not ended, or that is to be told."""
        return self._batches.find_one({"active": True}, {"_id": 1}) is not None or self.callbacks.pending()

    def claim(self, worker: str) -> tuple[BatchQuestion, Json] | None:
        """The next question that nobody has in hand, now this ``worker``'s, and who asks; None where there is none.

        Batches take turns: first the one of which a question was taken longest ago.
        """
        for row in self._batches.find({"active": True}, sort=[("taken_at", 1)]):
            if row.get("wait_until", 0.0) > time.time():
                continue
            question = self._take(row["_id"], worker)
            if question is not None:
                self._batches.update_one({"_id": row["_id"]}, {"$set": {"taken_at": time.time(), "detail": ""}})
                return question, json.loads(row["caller"])
            if not self._items.count({"batch_id": row["_id"], "state": {"$nin": list(ENDED)}}):
                self._batches.update_one({"_id": row["_id"]}, {"$set": {"active": False}})
        return None

    def _take(self, batch_id: str, worker: str) -> BatchQuestion | None:
        wanted = {"batch_id": batch_id, "state": {"$in": ["queued", "running"]}}
        for row in self._items.find(wanted, sort=[("_id", 1)], limit=CANDIDATES):
            now = time.time()
            if row["state"] == "running" and now <= row["until"] <= now + 2 * LEASE_SECONDS:
                continue
            held = {"_id": row["_id"], "state": row["state"], "until": row["until"]}
            mine = {"state": "running", "worker": worker, "until": now + LEASE_SECONDS, "tries": row["tries"] + 1}
            if self._items.update_one(held, {"$set": mine}) == 1:
                return _question({**row, **mine})
        return None

    def renew(self, question: BatchQuestion) -> bool:
        """Hold on to a question; False where nobody wants its answer any more, or somebody else has it."""
        mine = {"_id": question.id, "worker": question.worker, "state": "running"}
        held = self._items.update_one(mine, {"$set": {"until": time.time() + LEASE_SECONDS}}) == 1
        row = self._batches.find_one({"_id": question.batch_id}, {"cancelled": 1}) if held else None
        return row is not None and not row.get("cancelled")

    def finish(
        self, question: BatchQuestion, state: str, *, answer: Json | None = None, error: Json | None = None
    ) -> None:
        """Store a question's outcome, unless another worker has taken the question over."""
        mine = {"_id": question.id, "worker": question.worker, "state": "running"}
        said = {"answer": json.dumps(answer, ensure_ascii=False) if answer else ""}
        said["error"] = json.dumps(error, ensure_ascii=False) if error else ""
        self._items.update_one(mine, {"$set": {"state": state, "worker": "", "until": 0.0, **said}})

    def tell(self, question: BatchQuestion, detail: str) -> None:
        """What it waits for, until its next question is taken."""
        self._batches.update_one({"_id": question.batch_id}, {"$set": {"detail": detail}})

    def put_back(self, question: BatchQuestion, *, detail: str = "", seconds: float = 0.0) -> None:
        """Put a question off: its batch goes on in so many seconds."""
        mine = {"_id": question.id, "worker": question.worker, "state": "running"}
        self._items.update_one(
            mine, {"$set": {"state": "queued", "worker": "", "until": 0.0, "tries": question.tries - 1}}
        )
        if detail:
            until = {"detail": detail, "wait_until": time.time() + seconds}
            self._batches.update_one({"_id": question.batch_id}, {"$set": until})

    def delete(self, *, owner: str | None = None, before: str = "") -> int:
        """Remove those of an owner (None = of all), or of these those made before; returns how many."""
        wanted: Json = {} if owner is None else {"owner": owner} if owner else {"owner": own_or_nobodys("")}
        wanted |= {"created_at": {"$lt": before}} if before else {}
        ids = [row["_id"] for row in self._batches.find(wanted, {"_id": 1})]
        for batch_id in ids:
            self._items.delete_many({"batch_id": batch_id})
            self._batches.delete_many({"_id": batch_id})
        return len(ids)

    def _batch(self, row: Json) -> Batch:
        states = Counter(item["state"] for item in self._items.find({"batch_id": row["_id"]}, {"state": 1}))
        cancelled = bool(row.get("cancelled"))
        detail = row.get("detail", "") if states.keys() - set(ENDED) else ""
        if cancelled:
            states["cancelled"] += states.pop("queued", 0)
        return Batch(row["_id"], row["created_at"], dict(states), cancelled, detail)


def _question(row: Json) -> BatchQuestion:
    kept: dict[str, Any] = {name: row[name] for name in ("batch_id", "number", "state", "worker", "until", "tries")}
    kept |= {name: json.loads(row[name]) if row.get(name) else None for name in ("answer", "error")}
    return BatchQuestion(id=row["_id"], request=json.loads(row["request"]), **kept)


def _caller_json(caller: Caller) -> Json:
    """A caller as a batch keeps them: of the key its id alone, as it may be revoked or changed before a question's
    turn.
    """
    known = {name: getattr(caller, name) for name in ("role", "owner", "account", "daily_tokens")}
    return {**known, "key": caller.key.id if caller.key else ""}
