"""API keys, and the secret that signs the cookies of those without one.

A key is 256 random bits, so that its SHA-256 is as good as a slow hash: there is nothing to guess.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

from ..database.core import Database, Json
from ..errors import DiskFullError, NotFoundError
from ..schema.access import ApiKey, KeyRole

PREFIX = "rck_"
SHOWN = len(PREFIX) + 8
"""Characters of a key that are its id."""
NOTE_USE = timedelta(minutes=1)
"""The time between two notes of a key's last use."""
SIGNING = "signing"


class KeyRepository:
    """Collection `keys`, one row for each key, and one for the signing secret."""

    def __init__(self, database: Database) -> None:
        self._keys = database["keys"]

    def ensure_indexes(self) -> None:
        """Idempotent."""
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
        """The key, and its secret: this once, it is not kept."""
        secret = PREFIX + secrets.token_urlsafe(32)
        row: Json = {
            "_id": secret[:SHOWN],
            "digest": _digest(secret),
            "name": name,
            "role": role,
            "created_at": _now(),
            "filters": dict(filters or {}),
            "collections": list(collections),
            "daily_tokens": daily_tokens,
            "requests_per_minute": requests_per_minute,
            "used_at": "",
            "revoked_at": "",
        }
        self._keys.insert_one(row)
        return _from_json(row), secret

    def all(self) -> list[ApiKey]:
        """All keys, revoked ones too, the oldest first."""
        return [_from_json(row) for row in self._keys.find({"role": {"$exists": True}}, sort=[("created_at", 1)])]

    def get(self, key_id: str) -> ApiKey | None:
        """The key with this id; None where there is none, or no more."""
        row = self._keys.find_one({"_id": key_id, "revoked_at": ""})
        return _from_json(row) if row else None

    def find(self, secret: str) -> ApiKey | None:
        """The key with this secret; None where there is none, or no more. Its use is noted."""
        row = self._keys.find_one({"digest": _digest(secret), "revoked_at": ""})
        if row is None:
            return None
        now = datetime.now(UTC)
        if not row["used_at"] or now - datetime.fromisoformat(row["used_at"]) > NOTE_USE:
            with suppress(DiskFullError):  # a full disk stops no question
                self._keys.update_one({"_id": row["_id"]}, {"$set": {"used_at": _now()}})
        return _from_json(row)

    def revoke(self, key_id: str) -> ApiKey:
        """Revoke a key: it opens nothing from now on; what was made with it stays. Raises NotFoundError."""
        row = self._keys.find_one_and_update({"_id": key_id, "revoked_at": ""}, {"$set": {"revoked_at": _now()}})
        if row is None:
            raise NotFoundError(f"There is no key {key_id!r}, or it is revoked already. See: keys list.")
        return _from_json(row)

    def signing_secret(self) -> bytes:
        """The secret that cookies are signed with, the same for all workers; made when it is first asked for."""
        made = {"secret": secrets.token_hex(32)}
        self._keys.update_one({"_id": SIGNING}, {"$setOnInsert": made}, upsert=True)
        row = self._keys.find_one({"_id": SIGNING})
        assert row is not None
        return bytes.fromhex(row["secret"])


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _from_json(row: Json) -> ApiKey:
    values = {name: row[name] for name in ApiKey.__slots__ if name in row}
    return ApiKey(**{**values, "id": row["_id"], "collections": tuple(row["collections"])})
