"""How far a copy has come, kept in its target, so that it goes on where it was killed."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime

from ..database import Database, Json
from .batches import Place

COPYING, DONE = "copying", "done"


class CopyProgress:
    """One document of the target's `meta`."""

    def __init__(self, target: Database, source_name: str) -> None:
        self._meta = target["meta"]
        self._name = source_name
        self._id = f"copy:{hashlib.sha256(source_name.encode()).hexdigest()[:12]}"
        self._reached: dict[str, Place] = {}

    def unfinished(self, *, merge: bool) -> bool:
        """True when a copy of this source was begun here; one that merges only goes on as one that merges."""
        found = self._meta.find_one({"_id": self._id})
        return found is not None and found["state"] == COPYING and (merge or not found["merge"])

    def begin(self, position: int, *, merge: bool) -> None:
        """Begin or go on; from the start if the source's change log has moved to another ``position`` since."""
        found = self._meta.find_one({"_id": self._id})
        if found is not None and found["state"] == COPYING and found["position"] == position:
            self._reached = {entry["collection"]: (entry["type"], entry["last"]) for entry in found["reached"]}
        begun = {"source": self._name, "state": COPYING, "merge": merge, "position": position}
        self._write({**begun, "reached": self._entries()})

    def reached(self, collection: str) -> Place | None:
        return self._reached.get(collection)

    def note(self, collection: str, place: Place) -> None:
        """All rows up to this place are written."""
        self._reached[collection] = place
        self._write({"reached": self._entries()})

    def start_over(self) -> None:
        self._reached = {}
        self._write({"reached": []})

    def finish(self) -> None:
        self._write({"state": DONE, "finished_at": datetime.now(UTC).isoformat(timespec="seconds")})

    def _entries(self) -> list[Json]:
        return [{"collection": name, "type": kind, "last": last} for name, (kind, last) in self._reached.items()]

    def _write(self, fields: Json) -> None:
        self._meta.update_one({"_id": self._id}, {"$set": fields}, upsert=True)
