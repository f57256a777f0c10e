"""The corpus's change log, and the few facts that every process must agree on.

All in one small collection, `meta`. The log lives in one document that is updated atomically, so a reader can
never see a later change without the earlier ones.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from ..database.core import Database, Json
from ..schema.documents import Calibration, ErrorRates
from .request_cache import cached, refresh

KEPT_CHANGES = 500
"""Log entries kept; a reader further behind compares all ids."""

LONGEST_LEASE = 120.0
"""Seconds, more than any is given for at once."""
FORGOTTEN_SECONDS = 3600.0


CORPUS, CATALOG, EMBEDDER = "corpus", "catalog", "embedder"
DISMISSED, CALIBRATION = "dismissed:", "calibration:"


def _looked_at(database: Database) -> dict[str, Json]:
    """The rows that every question asks for, in one look; without the entries of the logs."""

    def read() -> dict[str, Json]:
        found = database["meta"].find({"_id": {"$in": [CORPUS, CATALOG, EMBEDDER]}}, {"recent": 0})
        return {row["_id"]: row for row in found}

    return cached(database, "meta", read)


class CorpusChanges:
    """Implements `protocols.ChangeLog`. A position is a count of writes; it only grows.

    ``log``: of the passages (CORPUS), or of the registered reports (CATALOG).
    """

    def __init__(self, database: Database, log: str = CORPUS) -> None:
        self._database = database
        self._meta = database["meta"]
        self._log = log

    def corpus_id(self) -> str:
        """The id of this database's corpus, made when it is first asked for."""
        self._meta.update_one({"_id": "corpus_id"}, {"$setOnInsert": {"value": uuid.uuid4().hex}}, upsert=True)
        found = self._meta.find_one({"_id": "corpus_id"})
        assert found is not None
        return str(found["value"])

    def position(self) -> int:
        """0 before the first write. Read once for each request (`request_cache`)."""
        found = _looked_at(self._database).get(self._log)
        return int(found["position"]) if found else 0

    def record(self, document_ids: Iterable[str], *, in_place: bool = False) -> int:
        """Append one entry: call it after the write it speaks of. Returns the new position.

        ``in_place``: chunks changed, and kept their ids.
        """
        # One string per entry, as every version has written them.
        push = {"recent": {"$each": [" ".join(document_ids)], "$slice": -KEPT_CHANGES}}
        return self._move({"$push": push}, in_place=in_place)

    def record_everything(self) -> int:
        """An entry that says: anything may have changed, load everything again. Returns the new position."""
        return self._move({"$set": {"recent": []}}, in_place=True)

    def _move(self, update: Json, *, in_place: bool) -> int:
        update = {"$inc": {"position": 1, "epoch": int(in_place)}, **update}
        found = self._meta.find_one_and_update({"_id": self._log}, update, upsert=True)
        assert found is not None
        refresh(self._database)
        return int(found["position"])

    def epoch(self) -> int:
        """How often chunks changed and kept their ids."""
        found = self._meta.find_one({"_id": self._log}, {"epoch": 1})
        return int(found.get("epoch", 0)) if found else 0

    def since(self, position: int) -> tuple[int, set[str] | None]:
        """The current position and the documents changed after ``position``; None = further back than the log."""
        found = self._meta.find_one({"_id": self._log})
        refresh(self._database)  # all that follows in this request is of now, too
        if found is None:
            return 0, set() if position == 0 else None
        current, recent = int(found["position"]), found.get("recent", [])
        missed = current - position
        if missed < 0 or missed > len(recent):
            return current, None
        return current, {document_id for entry in recent[len(recent) - missed :] for document_id in entry.split()}


@dataclass(frozen=True, slots=True)
class StoredEmbedder:
    """The embedding model the database was written with, and which of the two slots holds its vectors."""

    provider: str
    model: str
    model_id: str
    dimensions: int
    slot: str = ""

    def same_vectors(self, model_id: str, dimensions: int, *, slot: str) -> bool:
        """Whether vectors of that model are in that slot."""
        return (self.model_id, self.dimensions, self.slot) == (model_id, dimensions, slot)


class CorpusFacts:
    """The stored embedder, and leases for work that one process at a time should do."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._meta = database["meta"]

    def ensure_indexes(self) -> None:
        """Idempotent."""
        self._meta.create_expiry_index()

    def embedder(self) -> StoredEmbedder | None:
        """The embedder that the vectors are of; None before the first write. Read once a request (`request_cache`)."""
        found = _looked_at(self._database).get(EMBEDDER)
        if found is None:
            return None
        return StoredEmbedder(
            found["provider"], found["model"], found["model_id"], int(found["dimensions"]), found.get("slot", "")
        )

    def remember_embedder(self, embedder: StoredEmbedder) -> None:
        """Set once, by the first write; later calls do not change it."""
        self._meta.update_one({"_id": EMBEDDER}, {"$setOnInsert": asdict(embedder)}, upsert=True)
        refresh(self._database)

    def replace_embedder(self, old: StoredEmbedder | None, new: StoredEmbedder) -> bool:
        """Change the stored embedder in one step; False when it is not ``old`` any more."""
        if old is None:
            self.remember_embedder(new)
            return self.embedder() == new
        known = {"_id": EMBEDDER, "model_id": old.model_id, "dimensions": old.dimensions}
        if old.slot:
            known["slot"] = old.slot
        replaced = self._meta.update_one(known, {"$set": asdict(new)}) == 1
        refresh(self._database)
        return replaced

    def dismiss_sample(self, document_id: str) -> None:
        """A sample report was deleted: it does not come back."""
        self._meta.update_one({"_id": f"{DISMISSED}{document_id}"}, {"$set": {"sample": document_id}}, upsert=True)

    def dismissed_samples(self) -> set[str]:
        """Ids of the sample reports that were deleted."""
        return {row["sample"] for row in self._meta.find({"sample": {"$exists": True}})}

    def decisions(self) -> list[Json]:
        """The rows that nothing else tells: which samples were deleted, what was measured of a model's scores."""
        return [row for row in self._meta.find({}) if str(row["_id"]).startswith((DISMISSED, CALIBRATION))]

    def adopt(self, decisions: list[Json]) -> None:
        """Write those of another database; equal ids are replaced."""
        self._meta.replace_many(decisions)

    def acquire_lease(self, name: str, owner: str, seconds: float) -> bool:
        """True when ``owner`` holds the lease now: it was free, expired, or already its own."""
        now = time.time()
        self._meta.update_one({"_id": f"lease:{name}"}, {"$setOnInsert": {"owner": "", "until": now - 1}}, upsert=True)
        mine = {"$set": {"owner": owner, "until": now + seconds, **self._meta.expiry(FORGOTTEN_SECONDS)}}
        # A lease that ends later than any that can be given now dates from before the clock was set back.
        free = {"$or": [{"owner": owner}, {"until": {"$lt": now}}, {"until": {"$gt": now + LONGEST_LEASE}}]}
        return self._meta.update_one({"_id": f"lease:{name}", **free}, mine) == 1

    def release_lease(self, name: str, owner: str) -> None:
        """Give a lease back; those that dead processes left behind long ago go with it."""
        self._meta.delete_many({"_id": f"lease:{name}", "owner": owner})
        self._meta.delete_many({"until": {"$lt": time.time() - FORGOTTEN_SECONDS}})


class CalibrationRepository:
    """What `calibrate` has measured, one document for each embedding model in the collection `meta`."""

    def __init__(self, database: Database) -> None:
        self._meta = database["meta"]

    def get(self, model_id: str) -> Calibration | None:
        """What was measured with this embedding model on this database; None where nothing was."""
        found = self._meta.find_one({"_id": _id(model_id)})
        if found is None:
            return None
        fields = {name: found[name] for name in Calibration.__slots__ if name in found}
        return Calibration(**{**fields, "errors": tuple(ErrorRates(**rates) for rates in found["errors"])})

    def put(self, calibration: Calibration) -> None:
        """Store what was measured, in place of an earlier measurement with the same model."""
        stored = {**asdict(calibration), "errors": [asdict(rates) for rates in calibration.errors]}
        self._meta.replace_many([{"_id": _id(calibration.model_id), **stored}])

    def delete(self, model_id: str) -> bool:
        """Back to what is shipped; False when nothing was measured."""
        return self._meta.delete_many({"_id": _id(model_id)}) > 0


def _id(model_id: str) -> str:
    return f"{CALIBRATION}{model_id}"
