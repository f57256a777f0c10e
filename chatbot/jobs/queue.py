"""Ingestion jobs in the database: any worker claims the next file, and continues where
another one died.

The order of the files is kept in their rows, so that a claim reads no others: of each
job, one free file is marked as its next one, with the number of its files in progress.
Whoever claims or releases a file chooses the next one of that job again. Where a
process dies in between, the marks are out of date and files are claimed in another
order, but none is forgotten: a claim that finds no marked file takes any free one.
"""

import secrets
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import Field, computed_field

from ..database.core import Database, Json
from ..database.events import event_fields
from ..database.limits import made_by, made_within
from ..database.repositories.corpus import CorpusFacts
from ..database.rows import from_row
from ..domain.documents import Proposal
from ..domain.errors import (
    LONGEST_SHOWN,
    DatabaseError,
    DiskFullError,
    NotFoundError,
    QueueFullError,
    TooManyRequestsError,
)
from ..domain.json import Hidden
from ..domain.scope import Scope

EVERYTHING = Scope()
LEASE_SECONDS = 20.0
"""Time after which another process reads a file whose worker has died: many times the
pause between two renewals, so that a slow database ends no lease.
"""
MAX_KEPT_JOBS = 200
"""Finished jobs that can be looked up; more than a page lists."""
LOOK_SECONDS = 0.25
"""Time between two looks for leases that have ended, while other files are free."""
MAX_UNFINISHED = 5_000
"""Unfinished files of all callers: the disk holds their originals."""
MAX_UNFINISHED_EACH = 1_000
"""Unfinished files of one caller, so that five can fill the queue, but not one."""
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
UNFINISHED = {
    "state": {"$in": ["queued", "loading", "embedding", "indexing", "waiting"]}
}
Standing = Literal["next", "later", "blocked", "busy", ""]
"""Of an unfinished file: whether it is the next one of its job, comes later, is blocked
by an older unfinished upload of its identity, or is in progress. "" = finished.
"""
FREE: Json = {"standing": {"$in": ["next", "later"]}}


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestionFile:
    """One file of a job. It is stored (``file_id``), fetched (``url``), or both after
    the first fetch.

    ``identity`` names the document it becomes. ``owner`` works on it until ``until``
    (seconds since 1970); then any worker may continue with it.
    """

    name: str
    identity: Hidden[str]
    id: Hidden[str] = ""
    """Given by the queue, as is that of its job."""
    ingestion_id: Hidden[str] = ""
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
    """By the database's clock; 0 unless it is in progress."""
    standing: Hidden[Standing] = ""
    busy: Hidden[int] = 0
    """Of the next file of a job: the number of the job's files in progress."""
    position: Hidden[str] = ""
    """Its number in its job, then the job: sorts as files of equally busy jobs are
    read.
    """

    @property
    def progress(self) -> float:
        """The finished share of this file, from 0 to 1."""
        if self.state in FINISHED:
            return 1.0
        if self.state == "indexing":
            return 0.97
        # Reading page by page counts as half of the work.
        reading_share = 0.5 if self.pages else 0.0
        if not self.chunks:
            return reading_share * self.pages_read / max(self.pages, 1)
        return reading_share + (0.95 - reading_share) * self.done_chunks / self.chunks


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
        if states == {"queued"}:
            return "queued"
        if not states <= set(FINISHED):
            return "running"
        if "cancelled" in states:
            return "cancelled"
        if states & {"done", "superseded"}:
            return "done"
        return "failed"

    @computed_field
    @property
    def progress(self) -> float:
        """The finished share of all files, from 0 to 1."""
        finished = sum(file.progress for file in self.files)
        return round(finished / max(1, len(self.files)), 3)


class IngestionQueue:
    """Collections `ingestions` and `ingestion_items`, one row for each file. A caller
    sees the jobs of its ``uploader`` only; None sees everybody's.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._jobs = database["ingestions"]
        self._files = database["ingestion_items"]
        self._facts = CorpusFacts(database)
        self._has_adopted = False
        self._looked_at = float("-inf")
        """Time of the last look for leases that have ended, by `time.monotonic`."""

    def create(
        self,
        files: Sequence[IngestionFile],
        uploader: str = "",
        limit: Scope = EVERYTHING,
    ) -> Ingestion:
        """Queue files as one job; their ids are made here. Anybody who has the id may
        see a job without uploader. ``limit``: of the uploader. Raises
        TooManyRequestsError, QueueFullError.
        """
        self.require_room(len(files), uploader)
        # Sorts by time: first come, first served.
        job = f"{time.time_ns():016x}{secrets.token_hex(8)}"
        first_upload_number = self._facts.next_upload_number(len(files))
        queued: list[IngestionFile] = []
        for number, file in enumerate(files):
            standing: Standing = "later" if queued else "next"
            queued_file = replace(
                file,
                id=f"{job}-{number:05d}",
                ingestion_id=job,
                uploader=uploader,
                upload_number=first_upload_number + number,
                standing=standing,
                position=f"{number:05d}-{job}",
            )
            queued.append(queued_file)
        created_at = datetime.now(UTC).isoformat(timespec="milliseconds")
        job_row = {
            "_id": job,
            "created_at": created_at,
            "files": len(queued),
            "owner": uploader,
            **made_by(limit),
        }
        # First, so that no file is read of a job that nobody can see or cancel.
        self._jobs.replace_many([job_row])
        try:
            self._files.replace_many([_row_of(file) for file in queued])
        except DatabaseError:
            with suppress(DatabaseError):
                self._remove(job)
            raise
        return Ingestion(job, created_at, tuple(queued))

    def get(
        self,
        ingestion_id: str,
        uploader: str | None = "",
        limit: Scope = EVERYTHING,
    ) -> Ingestion:
        """Return a job of this uploader or of nobody, made within this limit. Raises
        NotFoundError.
        """
        condition = {"_id": ingestion_id, **made_within(self._jobs, limit)}
        if uploader is not None:
            condition["owner"] = {"$in": [None, "", uploader]}  # None: of version 0.4
        job = self._jobs.find_one(condition)
        if job is None:
            raise NotFoundError(
                f"There is no ingestion {ingestion_id[:LONGEST_SHOWN]!r}."
            )
        return self._with_files(job)

    def latest(
        self, count: int, uploader: str | None = None, limit: Scope = EVERYTHING
    ) -> list[Ingestion]:
        """Return the newest ``count`` jobs first, made within this limit. Jobs without
        uploader are in nobody's list.
        """
        if uploader == "":
            return []
        condition = made_within(self._jobs, limit)
        if uploader is not None:
            condition["owner"] = uploader
        rows = self._jobs.find(condition, sort=[("created_at", -1)], limit=count)
        jobs = [self._with_files(row) for row in rows]
        return [job for job in jobs if job.files]  # others are being made

    def _with_files(self, job: Json) -> Ingestion:
        files = self._find({"ingestion_id": job["_id"]})
        return Ingestion(job["_id"], job["created_at"], tuple(files))

    def _find(self, condition: Json) -> list[IngestionFile]:
        rows = self._files.find(condition, sort=[("_id", 1)])
        return [from_row(IngestionFile, row) for row in rows]

    def unfinished(self) -> list[IngestionFile]:
        """Return the files that wait or are being read."""
        return self._find(UNFINISHED)

    def require_room(self, more: int, uploader: str) -> None:
        """Raise TooManyRequestsError, QueueFullError: with ``more`` files of
        ``uploader`` there would be too many of its own, or of all.
        """
        of_uploader, of_all = self._database.at_once(
            [
                lambda: self._files.count({**UNFINISHED, "uploader": uploader}),
                lambda: self._files.count(UNFINISHED),
            ]
        )
        if of_uploader + more > MAX_UNFINISHED_EACH:
            raise TooManyRequestsError(
                f"You may have {MAX_UNFINISHED_EACH:,} unfinished files. Wait until "
                "some are read, or cancel a job.",
                retry_after=60,
            )
        if of_all + more > MAX_UNFINISHED:
            raise QueueFullError(
                f"{MAX_UNFINISHED:,} files wait to be read. Send these later."
            )

    def cancel(
        self,
        ingestion_id: str,
        uploader: str | None = "",
        limit: Scope = EVERYTHING,
    ) -> Ingestion:
        """Cancel a job: files that nobody works on now, the others by their worker."""
        files = self.get(ingestion_id, uploader, limit).files
        for file in files:
            self._cancel(file)
        self._free_others(files)
        return self.get(ingestion_id, uploader, limit)

    def _cancel(self, file: IngestionFile) -> None:
        if file.state == "queued":
            self._files.update_one(
                {"_id": file.id, "state": "queued", "owner": ""},
                {"$set": {"state": "cancelled", "standing": ""}},
            )
        if file.state not in FINISHED:
            self._files.update_one({"_id": file.id}, {"$set": {"cancel": True}})

    def _free_others(self, ended: Iterable[IngestionFile]) -> None:
        """Let the files go on that have waited for these, which may have ended."""
        identities = set()
        jobs = set()
        for file in ended:
            identities.add(file.identity)
            jobs.add(file.ingestion_id)
        blocked = self._files.find({"standing": "blocked"}, {"identity": 1})
        for identity in identities & {row["identity"] for row in blocked}:
            self._unblock(identity)
        for job in jobs:
            self._choose_next(job)

    def withdraw(self, identity: str) -> set[str]:
        """Cancel every upload of a report that is about to be deleted, so that none
        brings it back. Return the stored files of all of its uploads: the withdrawn
        ones do not need them any more.
        """
        uploads = self._find({"identity": identity})
        withdrawn = [file for file in uploads if file.state != "done"]
        for file in withdrawn:
            fields = {"withdrawn": True, "file_id": ""}
            if file.state not in FINISHED:
                fields["error"] = WITHDRAWN
            try:
                self._files.update_one({"_id": file.id}, {"$set": fields})
                self._cancel(file)
            except DiskFullError:
                # A full database still deletes, and without a row nothing is read.
                self._files.delete_many({"_id": file.id})
        with suppress(DiskFullError):  # a claim looks again at files that are blocked
            self._free_others(withdrawn)
        return {file.file_id for file in uploads if file.file_id}

    def retry(
        self,
        ingestion_id: str,
        uploader: str | None = "",
        limit: Scope = EVERYTHING,
    ) -> Ingestion:
        """Queue the failed and the cancelled files of a job again."""
        queued = {
            "state": "queued",
            "error": "",
            "detail": "",
            "cancel": False,
            "tries": 0,
            "until": 0.0,
            "standing": "later",
            "busy": 0,
        }
        for file in self.get(ingestion_id, uploader, limit).files:
            if file.state in {"failed", "cancelled"} and not file.withdrawn:
                fields = {**queued, "position": _position(file.id)}
                self._files.update_one(
                    {"_id": file.id, "state": file.state}, {"$set": fields}
                )
        self._choose_next(ingestion_id)
        return self.get(ingestion_id, uploader, limit)

    def claim(self, owner: str) -> IngestionFile | None:
        """Give ``owner`` the next free file for LEASE_SECONDS; None when there is none.
        Older unfinished uploads of its identity go first; then the job with the fewest
        files in progress, with the fewest before, the oldest.
        """
        self._adopt()
        if self._files.find_one({"standing": {"$gt": ""}}, {"_id": 1}) is None:
            return None  # one read, while no file is unfinished
        if time.monotonic() - self._looked_at > LOOK_SECONDS:
            self._free_expired()
        while True:
            file = self._take("next", owner) or self._take("later", owner)
            if file is None:
                if self._free_expired() or self._unblock_some():
                    continue
                return None
            if not self._has_older(file):
                self._choose_next(file.ingestion_id)
                return file
            self._block(file)
            self._choose_next(file.ingestion_id)

    def _adopt(self) -> None:
        """Give the unfinished files of an earlier release their place in the order."""
        if self._has_adopted:
            return
        for row in list(self._files.find({**UNFINISHED, "standing": None})):
            standing = "busy" if row.get("until") else "later"
            fields = {
                "standing": standing,
                "busy": 0,
                "position": _position(row["_id"]),
                "upload_number": row.get("upload_number", 0),
            }
            self._files.update_one(
                {"_id": row["_id"], "standing": None}, {"$set": fields}
            )
        self._has_adopted = True

    def _free_expired(self) -> bool:
        """Free the files whose worker has died: their lease has ended. Return whether
        there are any.
        """
        self._looked_at = time.monotonic()
        now = self._database.now()
        # A lease that ends much later than one made now was made before the clock was
        # set back.
        ended = [{"until": {"$lt": now}}, {"until": {"$gt": now + 2 * LEASE_SECONDS}}]
        fields = {"owner": 1, "until": 1, "ingestion_id": 1}
        rows = list(self._files.find({"standing": "busy", "$or": ended}, fields))
        for row in rows:
            lease = {"_id": row["_id"], "owner": row["owner"], "until": row["until"]}
            free = {"standing": "later", "busy": 0, "owner": "", "until": 0.0}
            self._files.update_one(lease, {"$set": free})
            self._choose_next(row["ingestion_id"])
        return bool(rows)

    def _take(self, standing: Standing, owner: str) -> IngestionFile | None:
        """Give ``owner`` the first file of this standing; None where there is none."""
        lease = {
            "standing": "busy",
            "owner": owner,
            "until": self._database.now() + LEASE_SECONDS,
        }
        row = self._files.find_one_and_update(
            {"standing": standing},
            {"$set": lease, "$inc": {"tries": 1}},
            sort=[("busy", 1), ("position", 1)],
        )
        if row is None:
            return None
        return from_row(IngestionFile, row)

    def _has_older(self, file: IngestionFile) -> bool:
        older = {
            "identity": file.identity,
            "upload_number": {"$lt": file.upload_number},
            **UNFINISHED,
        }
        return self._files.find_one(older, {"_id": 1}) is not None

    def _block(self, file: IngestionFile) -> None:
        """Give a file back until the older uploads of its identity are finished."""
        blocked = {"standing": "blocked", "busy": 0, "owner": "", "until": 0.0}
        self._files.update_one(
            {"_id": file.id, "owner": file.owner},
            {"$set": blocked, "$inc": {"tries": -1}},
        )
        # The older one may have been finished before this one was blocked.
        self._unblock(file.identity)

    def _unblock(self, identity: str) -> bool:
        """Let the oldest unfinished upload of an identity be read; return whether it
        was blocked.
        """
        uploads = list(
            self._files.find(
                {"identity": identity, **UNFINISHED},
                sort=[("upload_number", 1)],
                limit=1,
            )
        )
        if not uploads:
            return False
        blocked = {"_id": uploads[0]["_id"], "standing": "blocked"}
        if not self._files.update_one(blocked, {"$set": {"standing": "later"}}):
            return False
        self._choose_next(uploads[0]["ingestion_id"])
        return True

    def _unblock_some(self) -> bool:
        """Look at blocked files again: the process that had to unblock them may have
        died. Return whether one can be claimed now.
        """
        # A few at a time: there is a next claim.
        rows = self._files.find({"standing": "blocked"}, {"identity": 1}, limit=20)
        has_unblocked = False
        for identity in {row["identity"] for row in rows}:
            if self._unblock(identity):
                has_unblocked = True
        return has_unblocked

    def _choose_next(self, job: str) -> None:
        """Mark the first free file of a job as its next one, with the number of its
        files in progress.
        """
        fields = {"standing": 1, "busy": 1, "position": 1}
        free = list(self._files.find({"ingestion_id": job, "standing": "next"}, fields))
        free += self._files.find(
            {"ingestion_id": job, "standing": "later"},
            fields,
            sort=[("position", 1)],
            limit=1,
        )
        if not free:
            return
        free.sort(key=lambda row: str(row["position"]))
        first, *others = free
        for row in others:
            if row["standing"] == "next":
                self._files.update_one(
                    {"_id": row["_id"], "standing": "next"},
                    {"$set": {"standing": "later", "busy": 0}},
                )
        busy = self._files.count({"ingestion_id": job, "standing": "busy"})
        if first["standing"] != "next" or first["busy"] != busy:
            self._files.update_one(
                {"_id": first["_id"], **FREE},
                {"$set": {"standing": "next", "busy": busy}},
            )

    def renew(self, file: IngestionFile) -> bool | None:
        """Extend the lease; return whether the file is to be cancelled, None when
        another worker has it.
        """
        lease = {"$set": {"until": self._database.now() + LEASE_SECONDS}}
        row = self._files.find_one_and_update(
            {"_id": file.id, "owner": file.owner}, lease
        )
        if row is None:
            return None
        return bool(row["cancel"])

    def note(self, file: IngestionFile, **values: Any) -> None:
        """Store values of a file's row; without effect when another worker has the
        file.
        """
        self._files.update_one({"_id": file.id, "owner": file.owner}, {"$set": values})

    def release(self, file: IngestionFile, **values: Any) -> None:
        """Give a file back; ``values`` say how it ended, or "queued" or "waiting" for
        another worker.
        """
        has_ended = values["state"] in FINISHED
        standing = "" if has_ended else "later"
        fields = {**values, "until": 0.0, "owner": "", "standing": standing, "busy": 0}
        if values["state"] in {"done", "failed"}:
            fields |= _event_of(file, values)
        mine = {"_id": file.id, "owner": file.owner}
        if not self._files.update_one(mine, {"$set": fields}):
            return
        if has_ended:
            self._unblock(file.identity)
        self._choose_next(file.ingestion_id)

    def prune(self) -> None:
        """Delete finished jobs, except the MAX_KEPT_JOBS newest, and files without a
        job, which earlier releases left where a process died.
        """
        # Read before the jobs: the row of a job is written before those of its files.
        with_files = set(self._files.distinct("ingestion_id"))
        jobs = list(self._jobs.find(sort=[("created_at", -1)]))
        for job in with_files - {row["_id"] for row in jobs}:
            self._files.delete_many({"ingestion_id": job})
        for row in jobs[MAX_KEPT_JOBS:]:
            if self._with_files(row).state in FINISHED:
                self._remove(row["_id"])

    def _remove(self, job: str) -> None:
        self._files.delete_many({"ingestion_id": job})
        self._jobs.delete_many({"_id": job})

    def stored_files(self, identity: str) -> set[str]:
        """Return the stored files of all uploads of an identity."""
        rows = self._files.find({"identity": identity}, {"file_id": 1})
        return {row["file_id"] for row in rows if row["file_id"]}

    def file_ids(self, among: Collection[str] | None = None) -> set[str]:
        """Return the stored files that a job may still need; a finished document names
        its file itself. ``among``: look for these files only.
        """
        file_ids: Json = {"$ne": ""}
        if among is not None:
            file_ids = {"$in": sorted(among)}
        needed = {"file_id": file_ids, "state": {"$ne": "done"}}
        return {row["file_id"] for row in self._files.find(needed, {"file_id": 1})}


def _event_of(file: IngestionFile, values: Json) -> Json:
    return event_fields(
        "file.done" if values["state"] == "done" else "file.failed",
        ingestion_id=file.ingestion_id,
        name=file.name,
        document_id=values.get("document_id", file.document_id),
        error=values.get("error", ""),
    )


def _row_of(file: IngestionFile) -> Json:
    values = asdict(file)
    return {"_id": values.pop("id"), **values}


def _position(file_id: str) -> str:
    """Return the `IngestionFile.position` of a file."""
    job, _, number = file_id.rpartition("-")
    return f"{number}-{job}"
