"""What was changed, when and by whom: documents, keys, conversations that were deleted. Nothing of their content."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from ..database.core import Database

COMMAND_LINE = "command line"


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """``actor``: an owner, the address of one who has none, or the command line; ``target``: an id."""

    at: str
    actor: str
    action: str
    target: str


class AuditLog:
    """Collection `audit`, one row for each action."""

    def __init__(self, database: Database) -> None:
        self._rows = database["audit"]

    def record(self, action: str, target: str, actor: str = COMMAND_LINE) -> None:
        """Call it after what it speaks of."""
        id = f"{time.time_ns():016x}{secrets.token_hex(4)}"
        self._rows.insert_one({"_id": id, "at": _ago(0), "actor": actor, "action": action, "target": target})

    def latest(self, limit: int) -> Iterator[AuditEntry]:
        """The newest entries, the newest first."""
        for row in self._rows.find(sort=[("_id", -1)], limit=limit):
            yield AuditEntry(row["at"], row["actor"], row["action"], row["target"])

    def prune(self, days: int) -> int:
        """Forget what is older; returns how many."""
        return self._rows.delete_many({"at": {"$lt": _ago(days)}})


def _ago(days: int) -> str:
    return (datetime.now(UTC) - timedelta(days=days)).isoformat(timespec="seconds")
