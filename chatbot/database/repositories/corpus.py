"""Facts that every process must agree on, and changes by other programs; all in one
small collection, `meta`.
"""

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from typing import TYPE_CHECKING

from ...domain.documents import Calibration
from ...domain.errors import DatabaseError
from ..changes import PASSAGES
from ..core import LOST_STREAM, NO_CHANGE_STREAMS, CommandError, Database, Json
from ..rows import NAMING, document_id_of, from_row
from .caches import refresh

if TYPE_CHECKING:
    from pymongo.change_stream import ChangeStream

log = logging.getLogger(__name__)
LONGEST_LEASE = 120.0
"""Seconds; no lease is taken for longer."""
ABANDONED_SECONDS = 3600.0
"""Time after its end when a lease of a dead process is removed."""
EMBEDDER, STREAM, UPLOADS = "embedder", "change_stream", "uploads"
DISMISSED, CALIBRATION = "dismissed:", "calibration:"
BATCH = 1_000
IDLE_SECONDS, RETRY_SECONDS, KEEP_SECONDS = 0.4, 5.0, 60.0
"""Pause after an empty look at the change stream, pause after a failure, and time
between two notes of the position.
"""


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
        return (
            self.dimensions if self.model_id.endswith(f"@{self.dimensions}") else None
        )

    def same_vectors(self, model_id: str, dimensions: int, *, slot: str) -> bool:
        return (self.model_id, self.dimensions, self.slot) == (
            model_id,
            dimensions,
            slot,
        )


class CorpusFacts:
    """The stored embedder, calibrations, deleted sample reports, and leases for work of
    one process at a time.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._meta = database["meta"]

    def embedder(self) -> StoredEmbedder | None:
        row = self._database.changes.rows().get(EMBEDDER)
        return None if row is None else from_row(StoredEmbedder, row)

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
        return None if row is None else StoredEmbedder(**row["wanted"])

    def calibration(self, model_id: str) -> Calibration | None:
        """Return what `calibrate` measured for this embedding model on this
        database.
        """
        row = self._database.changes.rows().get(f"{CALIBRATION}{model_id}")
        return None if row is None else from_row(Calibration, row)

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
            {"until": {"$gt": now + LONGEST_LEASE}},
        ]
        # Most are free, and then have no row.
        row = self._meta.find_one_and_update(
            {"_id": lease_id}, {"$setOnInsert": lease}, upsert=True
        )
        if row is not None and (row["owner"], row["until"]) == (owner, lease["until"]):
            return True
        taken = self._meta.update_one({"_id": lease_id, "$or": free}, {"$set": lease})
        return taken > 0

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
        pause, reported, lost = 0.0, "", False
        while not stop.wait(pause):
            pause = IDLE_SECONDS
            try:
                self._read(stop, anew=lost)
            except DatabaseError as error:
                if error.reason == LOST_STREAM:
                    lost = True
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
                pause, reported, lost = RETRY_SECONDS, error.message, False

    def _read(self, stop: threading.Event, *, anew: bool) -> None:
        state = None if anew else self._meta.find_one({"_id": STREAM})
        with self._database.watch(
            self._collections, state["token"] if state else None
        ) as stream:
            if state is None:
                # earlier changes are unknown
                self._changes.announce(None, PASSAGES, in_place=True)
            self._keep_position(stream)
            kept = time.monotonic()
            while stream.alive and not stop.is_set():
                rows = defaultdict(list)
                for _ in range(BATCH):
                    if (event := stream.try_next()) is None:
                        break
                    rows[event["ns"]["coll"]].append(event["documentKey"]["_id"])
                found = (
                    self._database[name].find({"_id": {"$in": ids}}, NAMING)
                    for name, ids in rows.items()
                )
                if changed := set(map(document_id_of, chain.from_iterable(found))):
                    self._changes.announce(changed, PASSAGES, in_place=True)
                if rows or time.monotonic() - kept > KEEP_SECONDS:
                    self._keep_position(stream)
                    kept = time.monotonic()
                if not rows:
                    stop.wait(IDLE_SECONDS)

    def _keep_position(self, stream: "ChangeStream[Json]") -> None:
        if stream.resume_token is not None:
            self._meta.replace_many([{"_id": STREAM, "token": stream.resume_token}])
