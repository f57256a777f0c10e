"""Ingestion jobs in the database: any worker claims the next file, and continues where
another one died.
"""

import secrets
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from operator import attrgetter
from typing import Annotated, Any, Literal

from pydantic import Field, computed_field

from ..database.core import Database, Json
from ..database.repositories.corpus import CorpusFacts
from ..database.rows import from_row
from ..domain.documents import Proposal
from ..domain.errors import (
    LONGEST_SHOWN,
    DiskFullError,
    NotFoundError,
    QueueFullError,
    TooManyRequestsError,
)
from ..domain.json import Hidden

LEASE_SECONDS = 20.0
KEPT_JOBS = 200
CANDIDATES = 20
MAX_WAITING, MAX_WAITING_EACH = 5_000, 1_000
"""Unfinished files of all callers and of one: each claim reads them all, and the disk
holds their originals.
"""
WITHDRAWN = "The report was deleted after this upload. Upload the file again to add it."
FileState = Literal[
    "queued",
    "loading",
    "embedding",
    "indexing",
    "waiting",
    "done",
    "failed",
    "cancelled",
    "superseded",
]
FINISHED: tuple[FileState, ...] = ("done", "failed", "cancelled", "superseded")
UNFINISHED = {"state": {"$nin": list(FINISHED)}}


@dataclass(frozen=True, slots=True)
class IngestionFile:
    """One file of a job. It is stored (``file_id``), fetched (``url``), or both after
    the first fetch.

    ``identity`` names the document it becomes. ``owner`` works on it until ``until``
    (seconds since 1970); then any worker may continue with it.
    """

    id: Hidden[str]
    ingestion_id: Hidden[str]
    name: str
    identity: Hidden[str]
    file_id: Hidden[str] = ""
    url: Hidden[str] = ""
    overrides: Hidden[Mapping[str, Any]] = field(default_factory=dict)
    limit: Hidden[Mapping[str, Any]] = field(default_factory=dict)
    """Of the key that sent it: ``filters`` and ``collections``; empty = none."""
    about: Hidden[Mapping[str, Any]] = field(default_factory=dict)
    """Fields of a `Source` that the file alone does not state, from the document's
    previous ingestion.
    """
    state: FileState = "queued"
    outcome: str = ""
    error: str = ""
    detail: str = ""
    chunks: int = 0
    done_chunks: int = 0
    pages: int = 0
    """Pages in all; 0 unless the file is read page by page."""
    pages_read: int = 0
    document_id: str = ""
    proposed: tuple[Proposal, ...] = ()
    """What its text says about it; ``taken``: the report has it, the others wait for a
    person.
    """
    notes: tuple[str, ...] = ()
    """What was left out of the file."""
    cancel: Hidden[bool] = False
    upload_number: Hidden[int] = 0
    """Grows with every accepted file: of one identity, a lower number never replaces a
    higher one.
    """
    withdrawn: Hidden[bool] = False
    """The report was deleted after this upload: it is never read again, not even by a
    retry.
    """
    tries: Hidden[int] = 0
    uploader: Hidden[str] = ""
    """The job's owner; "" = nobody."""
    owner: Hidden[str] = ""
    until: Hidden[float] = 0.0

    @property
    def progress(self) -> float:
        """The finished share of this file, from 0 to 1."""
        if self.state in FINISHED:
            return 1.0
        if self.state == "indexing":
            return 0.97
        read, reading = (
            (0.5 * self.pages_read / self.pages, 0.5) if self.pages else (0.0, 0.0)
        )
        return (
            reading + (0.95 - reading) * self.done_chunks / self.chunks
            if self.chunks
            else read
        )


_FILE = partial(from_row, IngestionFile)


@dataclass(frozen=True, slots=True)
class Ingestion:
    """A job: the files of one request; ``progress`` from 0 to 1."""

    id: Annotated[str, Field(serialization_alias="ingestion_id")]
    created_at: str
    files: tuple[IngestionFile, ...]

    @computed_field
    @property
    def state(self) -> Literal["queued", "running", "done", "failed", "cancelled"]:
        """queued, running, or how it ended: cancelled (a file), done (at least one
        file) or failed.
        """
        states = {file.state for file in self.files}
        if states <= set(FINISHED):
            ended: Literal["done", "failed"] = (
                "done" if states & {"done", "superseded"} else "failed"
            )
            return "cancelled" if "cancelled" in states else ended
        return "queued" if states == {"queued"} else "running"

    @computed_field
    @property
    def progress(self) -> float:
        """The finished share of all files, from 0 to 1."""
        return round(
            sum(file.progress for file in self.files) / max(1, len(self.files)), 3
        )


class IngestionQueue:
    """Collections `ingestions` and `ingestion_items`, one row for each file. A caller
    sees the jobs of its ``uploader`` only; None sees everybody's.
    """

    def __init__(self, database: Database) -> None:
        self._jobs = database["ingestions"]
        self._files = database["ingestion_items"]
        self._facts = CorpusFacts(database)

    def create(self, files: Sequence[IngestionFile], uploader: str = "") -> Ingestion:
        """Queue files as one job; their ids are made here. Anybody who has the id may
        see a job without uploader. Raises TooManyRequestsError, QueueFullError.
        """
        self.require_room(len(files), uploader)
        # sorts by time: first come, first served
        job = f"{time.time_ns():016x}{secrets.token_hex(8)}"
        first = self._facts.next_upload_number(len(files))
        rows = tuple(
            replace(
                file,
                id=f"{job}-{n:05d}",
                ingestion_id=job,
                uploader=uploader,
                upload_number=first + n,
            )
            for n, file in enumerate(files)
        )
        created_at = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._files.replace_many(
            [{"_id": (values := asdict(row)).pop("id"), **values} for row in rows]
        )
        # Last, so that a job which is listed has all its files.
        self._jobs.replace_many(
            [
                {
                    "_id": job,
                    "created_at": created_at,
                    "files": len(rows),
                    "owner": uploader,
                }
            ]
        )
        return Ingestion(job, created_at, rows)

    def get(self, ingestion_id: str, uploader: str | None = "") -> Ingestion:
        """Return a job of this uploader or of nobody. Raises NotFoundError."""
        owners = (
            {} if uploader is None else {"owner": {"$in": [None, "", uploader]}}
        )  # None: rows of version 0.4
        job = self._jobs.find_one({"_id": ingestion_id, **owners})
        if job is None:
            raise NotFoundError(
                f"There is no ingestion {ingestion_id[:LONGEST_SHOWN]!r}."
            )
        return self._with_files(job)

    def latest(self, limit: int, uploader: str | None = None) -> list[Ingestion]:
        """Return the newest jobs first. Jobs without uploader are in nobody's list."""
        if uploader == "":
            return []
        owners = {} if uploader is None else {"owner": uploader}
        return [
            self._with_files(job)
            for job in self._jobs.find(owners, sort=[("created_at", -1)], limit=limit)
        ]

    def _with_files(self, job: Json) -> Ingestion:
        rows = self._files.find({"ingestion_id": job["_id"]}, sort=[("_id", 1)])
        return Ingestion(job["_id"], job["created_at"], tuple(map(_FILE, rows)))

    def unfinished(self) -> list[IngestionFile]:
        """Return the files that wait or are being read."""
        return list(map(_FILE, self._files.find(UNFINISHED, sort=[("_id", 1)])))

    def require_room(self, more: int, uploader: str) -> None:
        """Raise TooManyRequestsError, QueueFullError: with ``more`` files of
        ``uploader`` there would be too many of its own, or of all.
        """
        if (
            self._files.count({**UNFINISHED, "uploader": uploader}) + more
            > MAX_WAITING_EACH
        ):
            message = (
                f"You may have {MAX_WAITING_EACH:,} unfinished files. Wait until some "
                "are read, or cancel a job."
            )
            raise TooManyRequestsError(message, retry_after=60)
        if self._files.count(UNFINISHED) + more > MAX_WAITING:
            raise QueueFullError(
                f"{MAX_WAITING:,} files wait to be read. Send these later."
            )

    def cancel(self, ingestion_id: str, uploader: str | None = "") -> Ingestion:
        """Cancel a job: files that nobody works on now, the others by their worker."""
        for file in self.get(ingestion_id, uploader).files:
            self._cancel(file)
        return self.get(ingestion_id, uploader)

    def _cancel(self, file: IngestionFile) -> None:
        if file.state == "queued":
            self._files.update_one(
                {"_id": file.id, "state": "queued", "owner": ""},
                {"$set": {"state": "cancelled"}},
            )
        if file.state not in FINISHED:
            self._files.update_one({"_id": file.id}, {"$set": {"cancel": True}})

    def withdraw(self, identity: str) -> None:
        """Cancel every upload of a report that is about to be deleted, so that none
        brings it back. Their stored files are not needed any more.
        """
        for row in self._files.find({"identity": identity, "state": {"$ne": "done"}}):
            file = _FILE(row)
            error = {} if file.state in FINISHED else {"error": WITHDRAWN}
            try:
                self._files.update_one(
                    {"_id": file.id},
                    {"$set": {"withdrawn": True, "file_id": "", **error}},
                )
                self._cancel(file)
            except DiskFullError:
                # A full database still deletes, and without a row nothing is read.
                self._files.delete_many({"_id": file.id})

    def retry(self, ingestion_id: str, uploader: str | None = "") -> Ingestion:
        """Queue the failed and the cancelled files of a job again."""
        queued = {
            "state": "queued",
            "error": "",
            "detail": "",
            "cancel": False,
            "tries": 0,
            "until": 0.0,
        }
        for file in self.get(ingestion_id, uploader).files:
            if file.state in {"failed", "cancelled"} and not file.withdrawn:
                self._files.update_one(
                    {"_id": file.id, "state": file.state}, {"$set": queued}
                )
        return self.get(ingestion_id, uploader)

    def claim(self, owner: str) -> IngestionFile | None:
        """Give ``owner`` the next free file for LEASE_SECONDS; None when there is none.
        Older unfinished uploads of its identity go first; then the job with the fewest
        files in progress, with the fewest before, the oldest.
        """
        unfinished, now = self.unfinished(), time.time()
        oldest: dict[str, IngestionFile] = {}
        for file in sorted(unfinished, key=attrgetter("upload_number", "id")):
            oldest.setdefault(file.identity, file)
        # A lease that ends much later than one made now was made before the clock was
        # set back: it counts as expired.
        leased = [
            file for file in unfinished if now <= file.until <= now + 2 * LEASE_SECONDS
        ]
        busy, held = (
            Counter(map(attrgetter("ingestion_id"), leased)),
            {file.id for file in leased},
        )
        free = [
            file
            for file in unfinished
            if file.id not in held and oldest[file.identity] is file
        ]
        free.sort(
            key=lambda file: (
                busy[file.ingestion_id],
                file.id.rpartition("-")[2],
                file.id,
            )
        )
        for file in free[:CANDIDATES]:
            unchanged = {"_id": file.id, "state": file.state, "until": file.until}
            lease = {
                "owner": owner,
                "until": time.time() + LEASE_SECONDS,
                "tries": file.tries + 1,
            }
            if self._files.update_one(unchanged, {"$set": lease}) == 1:
                return replace(file, owner=owner, tries=file.tries + 1)
        return None

    def renew(self, file: IngestionFile) -> bool | None:
        """Extend the lease; return whether the file is to be cancelled, None when
        another worker has it.
        """
        lease = {"$set": {"until": time.time() + LEASE_SECONDS}}
        row = self._files.find_one_and_update(
            {"_id": file.id, "owner": file.owner}, lease
        )
        return None if row is None else bool(row["cancel"])

    def note(self, file: IngestionFile, **values: Any) -> None:
        """Store values of a file's row; without effect when another worker has the
        file.
        """
        self._files.update_one({"_id": file.id, "owner": file.owner}, {"$set": values})

    def release(self, file: IngestionFile, **values: Any) -> None:
        """Give a file back; ``values`` say how it ended, or "queued" or "waiting" for
        another worker.
        """
        self.note(file, until=0.0, owner="", **values)

    def prune(self) -> None:
        """Delete finished jobs, except the KEPT_JOBS newest."""
        for job in list(self._jobs.find(sort=[("created_at", -1)]))[KEPT_JOBS:]:
            if self._with_files(job).state in FINISHED:
                self._files.delete_many({"ingestion_id": job["_id"]})
                self._jobs.delete_many({"_id": job["_id"]})

    def file_ids(self) -> set[str]:
        """Return the stored files that a job may still need; a finished document names
        its file itself.
        """
        needed = {"file_id": {"$ne": ""}, "state": {"$ne": "done"}}
        return {row["file_id"] for row in self._files.find(needed, {"file_id": 1})}
