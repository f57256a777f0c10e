"""Facts that every process must agree on, and changes by other programs; all in one
small collection, `meta`.
"""

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ...domain.documents import Calibration
from ...domain.errors import DatabaseError
from ..changes import PASSAGES
from ..core import LOST_STREAM, NO_CHANGE_STREAMS, CommandError, Database, Json
from ..rows import NAMING, document_id_of, from_row
from .caches import refresh

if TYPE_CHECKING:
    from pymongo.change_stream import ChangeStream

log = logging.getLogger(__name__)
MAX_LEASE_SECONDS = 120.0
"""No lease is taken for longer, so one that ends later was made by another clock."""
ABANDONED_SECONDS = 3600.0
"""Time after its end when a lease of a dead process is removed."""
EMBEDDER = "embedder"
STREAM = "change_stream"
UPLOADS = "uploads"
"""The rows of single facts."""
DISMISSED = "dismissed:"
CALIBRATION = "calibration:"
"""Before the ids of rows of their kind."""
IDLE_SECONDS = 0.4
"""Pause after an empty look at the change stream: changes are seen within a second."""
RETRY_SECONDS = 5.0
"""Pause after a failure."""


@dataclass(frozen=True, slots=True)
class StoredEmbedder:
    """The embedding model of the database, and which of the two slots holds its
    vectors.
    """

    provider: str
    model: str
    model_id: str
    dimensions: int
    slot: str = ""

    @property
    def shortened(self) -> int | None:
        """The length that EMBEDDING_DIMENSIONS gave the vectors; None = the model's
        own.
        """
        if not self.model_id.endswith(f"@{self.dimensions}"):
            return None
        return self.dimensions

    def same_vectors(self, model_id: str, dimensions: int, *, slot: str) -> bool:
        """Return whether vectors of this model and slot are the database's."""
        is_same_model = self.model_id == model_id and self.dimensions == dimensions
        return is_same_model and self.slot == slot


class CorpusFacts:
    """The stored embedder, calibrations, deleted sample reports, and leases for work of
    one process at a time.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._meta = database["meta"]

    def embedder(self) -> StoredEmbedder | None:
        row = self._database.changes.rows().get(EMBEDDER)
        if row is None:
            return None
        return from_row(StoredEmbedder, row)

    def remember_embedder(self, embedder: StoredEmbedder) -> None:
        """Store the embedder of the first write; later calls do nothing."""
        self._meta.update_one(
            {"_id": EMBEDDER}, {"$setOnInsert": asdict(embedder)}, upsert=True
        )
        refresh(self._database)

    def replace_embedder(self, old: StoredEmbedder | None, new: StoredEmbedder) -> bool:
        """Change the stored embedder in one step; False if it is no longer ``old``."""
        if old is None:
            self.remember_embedder(new)
            return self.embedder() == new
        condition = {
            "_id": EMBEDDER,
            "model_id": old.model_id,
            "dimensions": old.dimensions,
        }
        if old.slot:
            condition["slot"] = old.slot
        replaced = self._meta.update_one(condition, {"$set": asdict(new)}) == 1
        refresh(self._database)
        return replaced

    def unfinished_change(self) -> StoredEmbedder | None:
        """Return the model to which `reembed` is changing the passages, or was when it
        was interrupted.
        """
        row = self._meta.find_one({"_id": "reembed"})
        if row is None:
            return None
        return StoredEmbedder(**row["wanted"])

    def calibration(self, model_id: str) -> Calibration | None:
        """Return what `calibrate` measured for this embedding model on this
        database.
        """
        row = self._database.changes.rows().get(f"{CALIBRATION}{model_id}")
        if row is None:
            return None
        return from_row(Calibration, row)

    def put_calibration(self, calibration: Calibration) -> None:
        """Store a calibration, replacing an earlier one of the same model."""
        self._meta.replace_many(
            [{"_id": f"{CALIBRATION}{calibration.model_id}", **asdict(calibration)}]
        )

    def delete_calibration(self, model_id: str) -> bool:
        """Return to the shipped values; False if nothing was measured."""
        return self._meta.delete_many({"_id": f"{CALIBRATION}{model_id}"}) > 0

    def dismiss_sample(self, document_id: str) -> None:
        """Note that a sample report was deleted, so that it is not added again."""
        self._meta.update_one(
            {"_id": f"{DISMISSED}{document_id}"},
            {"$set": {"sample": document_id}},
            upsert=True,
        )

    def dismissed_samples(self) -> set[str]:
        return {row["sample"] for row in self._meta.find({"sample": {"$exists": True}})}

    def decisions(self) -> list[Json]:
        """Return the rows that cannot be derived: deleted samples and calibrations."""
        return [
            row
            for row in self._meta.find({})
            if str(row["_id"]).startswith((DISMISSED, CALIBRATION))
        ]

    def adopt(self, decisions: list[Json]) -> None:
        """Write the `decisions` of another database; equal ids are replaced."""
        self._meta.replace_many(decisions)

    def next_upload_number(self, count: int = 1) -> int:
        """Reserve ``count`` consecutive numbers, higher than all before; return the
        first. They are at least the milliseconds since 1970, so that they also grow in
        a copy of the database, which has a counter of its own.
        """
        now = time.time_ns() // 1_000_000
        behind = {"_id": UPLOADS, "value": {"$lt": now}}
        if self._meta.find_one_and_update(behind, {"$set": {"value": now + count}}):
            return now + 1
        # The first number of all, or more than one in this millisecond.
        self._meta.update_one(
            {"_id": UPLOADS}, {"$setOnInsert": {"value": now}}, upsert=True
        )
        counter = self._meta.find_one_and_update(
            {"_id": UPLOADS}, {"$inc": {"value": count}}
        )
        assert counter is not None
        return int(counter["value"]) - count + 1

    def acquire_lease(self, name: str, owner: str, seconds: float) -> bool:
        """Take a lease that is free, expired or ``owner``'s; return whether ``owner``
        holds it now. Leases are compared by the database's clock.
        """
        now = self._database.now()
        lease_id = f"lease:{name}"
        lease: Json = {"owner": owner, "until": now + seconds}
        # A lease that ends later than any that can be given now dates from before the
        # clock was set back.
        free = [
            {"owner": owner},
            {"until": {"$lt": now}},
            {"until": {"$gt": now + MAX_LEASE_SECONDS}},
        ]
        # Most are free, and then have no row.
        row = self._meta.find_one_and_update(
            {"_id": lease_id}, {"$setOnInsert": lease}, upsert=True
        )
        if row is not None and lease.items() <= row.items():
            return True
        updated = self._meta.update_one({"_id": lease_id, "$or": free}, {"$set": lease})
        return updated > 0

    def release_lease(self, name: str, owner: str) -> None:
        """Give a lease back."""
        self._meta.delete_many({"_id": f"lease:{name}", "owner": owner})

    def prune_leases(self) -> None:
        """Remove the leases of dead processes."""
        abandoned = self._database.now() - ABANDONED_SECONDS
        self._meta.delete_many({"until": {"$lt": abandoned}})


class ForeignChanges:
    """Follows the server's change stream of passages, and announces those that other
    programs change in place. Own writes are announced when they are made, and the
    number of rows shows what others insert or delete. Every serving process follows the
    stream: announcing a change twice does no harm. The position is stored, so changes
    are noticed that happen while no process serves.
    """

    def __init__(self, database: Database, collections: Sequence[str]) -> None:
        self._database = database
        self._collections = list(dict.fromkeys(collections))
        self._changes = database.changes
        self._meta = database["meta"]

    def supported(self) -> bool:
        """Return whether the server has change streams. Raises DatabaseError."""
        try:
            with self._database.watch(self._collections):
                return True
        except CommandError as error:
            if error.reason == NO_CHANGE_STREAMS:
                return False
            raise

    def follow(self, stop: threading.Event) -> None:
        """Follow the changes until ``stop`` is set; return at once where the server has
        no change streams.
        """
        pause = 0.0
        reported = ""
        is_lost = False
        while not stop.wait(pause):
            pause = IDLE_SECONDS
            try:
                self._read(stop, anew=is_lost)
            except DatabaseError as error:
                is_lost = error.reason == LOST_STREAM
                if is_lost:
                    continue
                if error.reason == NO_CHANGE_STREAMS:
                    log.warning(
                        "Changes in place by other programs are not noticed: %s",
                        error.message,
                    )
                    return
                # A thread cannot raise to anybody: questions and /ready report the same
                # error.
                if error.message != reported:
                    log.warning(
                        "Changes by other programs are not noticed for now: %s",
                        error.message,
                    )
                pause = RETRY_SECONDS
                reported = error.message

    def _read(self, stop: threading.Event, *, anew: bool) -> None:
        """Announce what the stream says until ``stop`` is set. ``anew``: the stored
        position is of no use.
        """
        position = None
        if not anew:
            position = self._meta.find_one({"_id": STREAM})
        token = position["token"] if position else None
        with self._database.watch(self._collections, token) as stream:
            if position is None:  # earlier changes are unknown
                self._changes.announce(None, PASSAGES, in_place=True)
            self._store_position(stream)
            stored_at = time.monotonic()
            while stream.alive and not stop.is_set():
                changed_rows = _next_rows(stream)
                document_ids: set[str] = set()
                for name, ids in changed_rows.items():
                    for row in self._database[name].find({"_id": {"$in": ids}}, NAMING):
                        document_ids.add(document_id_of(row))
                if document_ids:
                    self._changes.announce(document_ids, PASSAGES, in_place=True)
                # Once a minute also without changes, so that it never is far behind.
                if changed_rows or time.monotonic() - stored_at > 60.0:
                    self._store_position(stream)
                    stored_at = time.monotonic()
                if not changed_rows:
                    stop.wait(IDLE_SECONDS)

    def _store_position(self, stream: "ChangeStream[Json]") -> None:
        if stream.resume_token is not None:
            self._meta.replace_many([{"_id": STREAM, "token": stream.resume_token}])


def _next_rows(stream: "ChangeStream[Json]") -> dict[str, list[Any]]:
    """Return the ids of rows that have changed by now, by collection."""
    rows: defaultdict[str, list[Any]] = defaultdict(list)
    for _ in range(1_000):  # announced together
        event = stream.try_next()
        if event is None:
            break
        rows[event["ns"]["coll"]].append(event["documentKey"]["_id"])
    return rows
