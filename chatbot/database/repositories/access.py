"""API keys, the secret that signs cookies, and the audit log.

A key is 256 random bits, so its SHA-256 is as good as a slow hash: nothing can be guessed.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import TypeAdapter

from ...domain.access import ApiKey, KeyRole
from ...domain.errors import DiskFullError, NotFoundError
from ..core import Database, Json

PREFIX = "rck_"
ID_CHARACTERS = len(PREFIX) + 8
"""Characters of a key that are its id."""
NOTE_USE = timedelta(minutes=1)
"""Time between two notes of a key's last use."""
SIGNING = "signing"
COMMAND_LINE = "command line"
_KEY = TypeAdapter(ApiKey)


class KeyRepository:
    """Collection `keys`: one row for each key, and one for the signing secret."""

    def __init__(self, database: Database) -> None:
        self._keys = database["keys"]

    def ensure_indexes(self) -> None:
        self._keys.create_index("digest")

    def create(
        self,
        name: str,
        role: KeyRole,
        *,
        filters: Mapping[str, Any] | None = None,
        collections: Sequence[str] = (),
        daily_tokens: int | None = None,
        requests_per_minute: int | None = None,
    ) -> tuple[ApiKey, str]:
        """Create a key and return it with its secret, which is not stored."""
        secret = PREFIX + secrets.token_urlsafe(32)
        row: Json = {
            "_id": secret[:ID_CHARACTERS],
            "digest": _digest(secret),
            "name": name,
            "role": role,
            "created_at": _time(),
            "filters": dict(filters or {}),
            "collections": list(collections),
            "daily_tokens": daily_tokens,
            "requests_per_minute": requests_per_minute,
            "used_at": "",
            "revoked_at": "",
        }
        self._keys.insert_one(row)
        return _read(row), secret

    def all(self) -> list[ApiKey]:
        """Return all keys, revoked ones too, oldest first."""
        return [_read(row) for row in self._keys.find({"role": {"$exists": True}}, sort=[("created_at", 1)])]

    def get(self, key_id: str) -> ApiKey | None:
        """Return the key with this id; None where there is none or it is revoked."""
        row = self._keys.find_one({"_id": key_id, "revoked_at": ""})
        return _read(row) if row else None

    def find(self, secret: str) -> ApiKey | None:
        """Return the key with this secret, and note its use; None where there is none or it is revoked."""
        row = self._keys.find_one({"digest": _digest(secret), "revoked_at": ""})
        if row is None:
            return None
        if not row["used_at"] or datetime.now(UTC) - datetime.fromisoformat(row["used_at"]) > NOTE_USE:
            with suppress(DiskFullError):  # a full disk stops no question
                self._keys.update_one({"_id": row["_id"]}, {"$set": {"used_at": _time()}})
        return _read(row)

    def revoke(self, key_id: str) -> ApiKey:
        """Revoke a key; what was made with it stays. Raises NotFoundError."""
        row = self._keys.find_one_and_update({"_id": key_id, "revoked_at": ""}, {"$set": {"revoked_at": _time()}})
        if row is None:
            raise NotFoundError(f"There is no key {key_id!r}, or it is revoked already. See: keys list.")
        return _read(row)

    def signing_secret(self) -> bytes:
        """Return the secret that signs cookies for all workers; the first call makes it."""
        change = {"$setOnInsert": {"secret": secrets.token_hex(32)}}
        self._keys.update_one({"_id": SIGNING}, change, upsert=True)
        row = self._keys.find_one({"_id": SIGNING})
        assert row is not None
        return bytes.fromhex(row["secret"])


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """``actor``: an owner, the address of a caller without one, or the command line; ``target``: an id."""

    at: str
    actor: str
    action: str
    target: str


class AuditLog:
    """Collection `audit`: who changed or deleted what and when, without any content. One row for each action."""

    def __init__(self, database: Database) -> None:
        self._rows = database["audit"]

    def record(self, action: str, target: str, actor: str = COMMAND_LINE) -> None:
        id = f"{time.time_ns():016x}{secrets.token_hex(4)}"
        self._rows.insert_one({"_id": id, "at": _time(), "actor": actor, "action": action, "target": target})

    def latest(self, limit: int) -> Iterator[AuditEntry]:
        for row in self._rows.find(sort=[("_id", -1)], limit=limit):
            yield AuditEntry(row["at"], row["actor"], row["action"], row["target"])

    def prune(self, days: int) -> int:
        """Delete older entries and return how many."""
        return self._rows.delete_many({"at": {"$lt": _time(days_ago=days)}})


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _time(*, days_ago: int = 0) -> str:
    return (datetime.now(UTC) - timedelta(days=days_ago)).isoformat(timespec="seconds")


def _read(row: Json) -> ApiKey:
    return _KEY.validate_python({**row, "id": row["_id"]})
