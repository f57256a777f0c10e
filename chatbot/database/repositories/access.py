"""API keys, sessions of browsers, the secret that signs cookies, and the audit log. A
key is 256 random bits, so its SHA-256 is as good as a slow hash.
"""

import hashlib
import secrets
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

from ...domain import ApiKey
from ...domain.callers import KeyRole
from ...domain.errors import DatabaseError, NotFoundError
from ...domain.scope import Scope
from ...domain.tables import Texts
from ..core import Database
from ..rows import Filter, from_row, now

EVERYTHING = Scope()
PREFIX = "rck_"
ID_CHARACTERS = len(PREFIX) + 8
"""Characters of a key that are its id."""
NOTE_SECONDS = 60.0
"""Time between two notes of a key's last use."""
SIGNING = "signing"
COMMAND_LINE = "command line"


class KeyRepository:
    """Collection `keys`: one row for each key, and one for the signing secret."""

    def __init__(self, database: Database) -> None:
        self._keys = database["keys"]
        self._notes = ThreadPoolExecutor(1, thread_name_prefix="used-at")
        self._noted = dict[str, float]()

    def create(self, name: str, role: KeyRole, **limits: Any) -> tuple[ApiKey, str]:
        """Create a key with these ``limits``, fields of an `ApiKey`. Return it with its
        secret, which is not stored.
        """
        secret = PREFIX + secrets.token_urlsafe(32)
        key = ApiKey(secret[:ID_CHARACTERS], name, role, now("seconds"), **limits)
        lists = {"collections": list(key.collections), "groups": list(key.groups)}
        row = {"_id": key.id, "digest": _digest(secret), **asdict(key), **lists}
        del row["id"]
        self._keys.insert_one(row)
        return key, secret

    def create_feed(self, key: ApiKey) -> str:
        """Create the key of the feed of changes for another one, in place of a former;
        return its secret.
        """
        self._keys.delete_many({"parent": key.id})
        limits = {
            "filters": key.filters,
            "collections": key.collections,
            "groups": key.groups,
        }
        return self.create(f"Feed of {key.name}", "feed", **limits, parent=key.id)[1]

    def all(self) -> list[ApiKey]:
        """Return all keys, revoked ones too, oldest first."""
        is_key = {"role": {"$exists": True}}
        rows = self._keys.find(is_key, sort=[("created_at", 1)])
        return [from_row(ApiKey, row) for row in rows]

    def get(self, key_id: str) -> ApiKey | None:
        """Return the key with this id; None where there is none or it is revoked."""
        row = self._keys.find_one({"_id": key_id, "revoked_at": ""})
        if row is None:
            return None
        return from_row(ApiKey, row)

    def find(self, secret: str) -> ApiKey | None:
        """Return the key with this secret, and note its use; None where there is none
        or it is revoked.
        """
        return self._used({"digest": _digest(secret), "revoked_at": ""})

    def of_session(self, session: "BrowserSession") -> ApiKey | None:
        """Return the key that a session was begun with, and note its use; None where it
        is revoked.
        """
        return self._used({"_id": session.holder, "revoked_at": ""})

    def _used(self, condition: Filter) -> ApiKey | None:
        row = self._keys.find_one(condition)
        if row is None:
            return None
        # The key of a feed ends with the key that it was made with.
        parent = row.get("parent")
        if parent and not row.get("groups") and self.get(parent) is None:
            return None
        seconds = time.monotonic()
        if seconds - self._noted.get(row["_id"], -NOTE_SECONDS) >= NOTE_SECONDS:
            self._noted[row["_id"]] = seconds
            self._notes.submit(self._note_use, row["_id"])
        return from_row(ApiKey, row)

    def _note_use(self, key_id: str) -> None:
        """Note it beside the request, which waits neither for another writer nor for
        space on the disk.
        """
        used = {"$set": {"used_at": now("seconds")}}
        with suppress(DatabaseError):
            self._keys.update_one({"_id": key_id}, used)

    def revoke(self, key_id: str, *, within: Scope = EVERYTHING) -> ApiKey:
        """Revoke a key, whose limits are ``within`` these; what was made with it stays.
        Raises NotFoundError.
        """
        may_revoke = True
        if within:
            key = self.get(key_id)
            may_revoke = key is not None and within.covers(key.limit)
        row = None
        if may_revoke:
            row = self._keys.find_one_and_update(
                {"_id": key_id, "revoked_at": ""},
                {"$set": {"revoked_at": now("seconds")}},
            )
        if row is None:
            raise NotFoundError(
                f"There is no key {key_id!r}, or it is revoked already. See: keys list."
            )
        return from_row(ApiKey, row)

    def signing_secret(self) -> bytes:
        """Return the secret that signs cookies for all workers; the first call makes
        it.
        """
        row = self._keys.ensure(SIGNING, {"secret": secrets.token_hex(32)})
        return bytes.fromhex(row["secret"])


@dataclass(frozen=True, slots=True)
class BrowserSession:
    """A browser that is signed in. ``id``: the digest of what its cookie holds, which
    reveals nothing; ``holder``: the id of a key, or of a person, who had these
    ``groups`` of the file when they signed in.
    """

    id: str
    holder: str
    name: str
    groups: Texts
    created_at: str
    expires_at: str


class SessionRepository:
    """Collection `sessions`: one row for each browser that is signed in. Rows that have
    ended stay until they would have expired.
    """

    def __init__(self, database: Database) -> None:
        self._sessions = database["sessions"]

    def begin(
        self,
        holder: str,
        name: str,
        groups: Sequence[str] = (),
        *,
        days: float,
        token: str = "",
    ) -> str:
        """Begin a session and return its token, for a cookie. ``token``: that of a
        cookie of an older release, whose session begins once.
        """
        token = token or secrets.token_urlsafe(32)
        fields = {
            "holder": holder,
            "name": name,
            "groups": list(groups),
            "created_at": now("seconds"),
            "expires_at": now("seconds", days_ago=-days),
            "is_open": True,
        }
        self._sessions.ensure(_digest(token), fields)
        return token

    def find(self, token: str) -> BrowserSession | None:
        """Return the session of a cookie; None where it has ended."""
        row = self._sessions.find_one({"_id": _digest(token), "is_open": True})
        if row is None or row["expires_at"] <= now("seconds"):
            return None
        return from_row(BrowserSession, row)

    def all(self) -> list[BrowserSession]:
        """Return the sessions that have not ended, the newest first."""
        is_open = {"is_open": True, "expires_at": {"$gt": now("seconds")}}
        rows = self._sessions.find(is_open, sort=[("created_at", -1)])
        return [from_row(BrowserSession, row) for row in rows]

    def end(self, session_id: str) -> None:
        """End a session. Raises NotFoundError."""
        ended = self._sessions.find_one_and_update(
            {"_id": session_id, "is_open": True}, {"$set": {"is_open": False}}
        )
        if ended is None:
            raise NotFoundError(f"There is no open session {session_id!r}.")

    def prune(self) -> None:
        """Delete the rows of sessions that have expired."""
        self._sessions.delete_many({"expires_at": {"$lte": now("seconds")}})


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """``actor``: an owner, the address of a caller without one, or the command line;
    ``target``: an id.
    """

    at: str
    actor: str
    action: str
    target: str


class AuditLog:
    """Collection `audit`: who changed or deleted what and when, without any content.
    One row for each action.
    """

    def __init__(self, database: Database) -> None:
        self._rows = database["audit"]

    def record(self, action: str, target: str, actor: str = COMMAND_LINE) -> None:
        id = f"{time.time_ns():016x}{secrets.token_hex(4)}"
        self._rows.insert_one(
            {
                "_id": id,
                "at": now("seconds"),
                "actor": actor,
                "action": action,
                "target": target,
            }
        )

    def latest(self, limit: int) -> Iterator[AuditEntry]:
        return (
            from_row(AuditEntry, row)
            for row in self._rows.find(sort=[("_id", -1)], limit=limit)
        )

    def prune(self, days: int) -> int:
        """Delete older entries and return how many."""
        return self._rows.delete_many({"at": {"$lt": now("seconds", days_ago=days)}})


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
