"""Hooks, and what is to be delivered to them."""

import base64
import json
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from ...database.core import Database, Json
from ...database.events import EVENTS
from ...database.rows import from_row
from ...domain.errors import NotFoundError, read_table
from ...domain.tables import Texts

BOUNDS: dict[str, Any] = read_table(__package__, "bounds")
KINDS = (
    "file.done",
    "file.failed",
    "question.unanswered",
    "source.failed",
    "reports.changed",
    "budget.spent",
)
PROGRESS = "hooks"
"""The row of `meta` that says up to which change of the library events are made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """An address that is told of events of these ``kinds`` since ``created_at``
    (seconds since 1970).
    """

    id: str
    url: str
    kinds: Texts
    secret: str
    created_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """An event for one hook. ``until``: the end of the lease of who tries it now, or
    the time of the next try; ``problem``: why the last one failed.
    """

    id: str
    hook: str
    webhook_id: str
    body: str
    tries: int
    mark: str = ""
    problem: str = ""


class Outbox:
    """Collections `hooks` and `deliveries`, and the events of the rows of others."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._hooks = database["hooks"]
        self._deliveries = database["deliveries"]
        self._meta = database["meta"]

    def add(self, url: str, kinds: Texts) -> Hook:
        """Store a hook with a new secret."""
        key = base64.b64encode(secrets.token_bytes(32)).decode()
        row = {
            "_id": f"hook_{secrets.token_hex(8)}",
            "url": url,
            "kinds": list(kinds),
            "secret": f"whsec_{key}",
            "created_at": time.time(),
        }
        self._hooks.insert_one(row)
        return from_row(Hook, row)

    def hooks(self) -> list[Hook]:
        """Return all hooks, the oldest first."""
        rows = self._hooks.find(sort=[("created_at", 1)])
        return [from_row(Hook, row) for row in rows]

    def remove(self, id: str) -> None:
        """Delete a hook with what was not delivered to it. Raises NotFoundError."""
        if not self._hooks.delete_many({"_id": id}):
            raise NotFoundError(f"There is no hook {id[:64]!r}.")
        self._deliveries.delete_many({"hook": id})

    def counts(self, hook: Hook) -> dict[str, int]:
        """Return the number of deliveries by state: waiting, done, failed."""
        count = self._deliveries.count
        return {
            state: count({"hook": hook.id, "state": state})
            for state in ("waiting", "done", "failed")
        }

    def last_problem(self, hook: Hook) -> str:
        """Return why the last failed try failed, "" where none did."""
        failed = {"hook": hook.id, "problem": {"$gt": ""}}
        rows = list(self._deliveries.find(failed, sort=[("until", -1)], limit=1))
        return str(rows[0]["problem"]) if rows else ""

    def collect(self, hooks: list[Hook]) -> None:
        """Make deliveries of new events. One that dies in between makes the same ones
        again: their ids follow from the events.
        """
        for name in EVENTS:
            rows = self._database[name]
            new = {"new_event": {"$gt": ""}}
            for row in list(rows.find(new, {"event": 1}, limit=BOUNDS["batch"])):
                event = row["event"]
                data = {"id": str(row["_id"]), **event["data"]}
                self._deliver(hooks, event["id"], event["kind"], event["at"], data)
                # Not one that has changed again meanwhile.
                same = {"_id": row["_id"], "new_event": event["id"]}
                rows.update_one(same, {"$set": {"new_event": ""}})
        self._collect_changes(hooks)

    def _collect_changes(self, hooks: list[Hook]) -> None:
        """Make deliveries of the changes of the library since the last look. The range
        is stored first, so that the same ids are made again after a death.
        """
        state = self._database.changes.state()
        if state.open:
            return
        fields = {"from": state.position, "to": state.position}
        row = self._meta.ensure(PROGRESS, fields)
        if row["to"] == row["from"]:
            if state.position == row["from"]:
                return
            step = {"_id": PROGRESS, "from": row["from"], "to": row["from"]}
            self._meta.update_one(step, {"$set": {"to": state.position}})
            row = self._meta.ensure(PROGRESS, fields)
        changed = self._database.changes.since(row["from"], "passages", "catalog")
        if changed.ids is None or changed.ids:
            ids = None if changed.ids is None else sorted(changed.ids)
            data = {"document_ids": ids}
            id = f"evt_changes_{row['from']}_{row['to']}"
            self._deliver(hooks, id, "reports.changed", time.time(), data)
        step = {"_id": PROGRESS, "from": row["from"], "to": row["to"]}
        self._meta.update_one(step, {"$set": {"from": row["to"]}})

    def note_budget(self, hooks: list[Hook], used: int, limit: int) -> None:
        """Make deliveries for a day's tokens that are used up, once a day (UTC)."""
        if used < limit:
            return
        day = datetime.now(UTC).date().isoformat()
        data = {"day": day, "used": used, "limit": limit}
        self._deliver(hooks, f"evt_budget_{day}", "budget.spent", time.time(), data)

    def _deliver(
        self, hooks: list[Hook], id: str, kind: str, at: float, data: Json
    ) -> None:
        time_text = datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
        body = {"type": kind, "timestamp": time_text, "data": data}
        for hook in hooks:
            if kind not in hook.kinds or at < hook.created_at:
                continue
            fields = {
                "hook": hook.id,
                "webhook_id": id,
                "body": json.dumps(body, ensure_ascii=False),
                "state": "waiting",
                "tries": 0,
                "until": 0.0,
                "mark": "",
                "problem": "",
                "expires_at": self._database.now() + BOUNDS["kept_seconds"],
            }
            self._deliveries.ensure(f"{hook.id}:{id}", fields)

    def due(self) -> Iterator[Delivery]:
        """Yield deliveries that are to be tried now, each leased to the caller."""
        for _ in range(BOUNDS["batch"]):
            now = self._database.now()
            lease = {"until": now + BOUNDS["lease_seconds"]}
            row = self._deliveries.find_one_and_update(
                {"state": "waiting", "until": {"$lte": now}},
                {"$set": {**lease, "mark": secrets.token_hex(8)}, "$inc": {"tries": 1}},
                sort=[("until", 1)],
            )
            if row is None:
                return
            yield from_row(Delivery, row)

    def finish(self, delivery: Delivery, problem: str) -> None:
        """Note how a try ended; after the last one the delivery has failed."""
        pauses: list[float] = BOUNDS["retry_seconds"]
        fields: Json = {"state": "done", "problem": problem}
        if problem:
            has_failed = delivery.tries > len(pauses)
            fields["state"] = "failed" if has_failed else "waiting"
            pause = 0.0 if has_failed else pauses[delivery.tries - 1]
            fields["until"] = self._database.now() + pause
        mine = {"_id": delivery.id, "mark": delivery.mark}
        self._deliveries.update_one(mine, {"$set": fields})

    def prune(self) -> None:
        """Delete deliveries that are no longer kept."""
        self._deliveries.delete_many({"expires_at": {"$lt": self._database.now()}})
