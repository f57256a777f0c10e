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
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import Field, computed_field

from ..database.core import Database, Json
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
KEPT_JOBS = 200
LOOK_SECONDS = 0.25
"""Time between two looks for leases that have ended, while other files are free."""
MAX_WAITING, MAX_WAITING_EACH = 5_000, 1_000
"""Unfinished files of all callers and of one: the disk holds their originals."""
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
                standing="next" if n == 0 else "later",
                position=f"{n:05d}-{job}",
            )
            for n, file in enumerate(files)
        )
        created_at = datetime.now(UTC).isoformat(timespec="milliseconds")
        job_row = {
            "_id": job,
            "created_at": created_at,
            "files": len(rows),
            "owner": uploader,
            **made_by(limit),
        }
        # First, so that no file is read of a job that nobody can see or cancel.
        self._jobs.replace_many([job_row])
        try:
            self._files.replace_many([_row_of(row) for row in rows])
        except DatabaseError:
            with suppress(DatabaseError):
                self._remove(job)
            raise
        return Ingestion(job, created_at, rows)

    def get(
        self,
        ingestion_id: str,
        uploader: str | None = "",
        limit: Scope = EVERYTHING,
    ) -> Ingestion:
        """Return a job of this uploader or of nobody, made within this limit. Raises
        NotFoundError.
        """
        owners = (
            {} if uploader is None else {"owner": {"$in": [None, "", uploader]}}
        )  # None: rows of version 0.4
        inside = made_within(self._jobs, limit)
        job = self._jobs.find_one({"_id": ingestion_id, **owners, **inside})
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
        owners: Json = {} if uploader is None else {"owner": uploader}
        owners |= made_within(self._jobs, limit)
        rows = self._jobs.find(owners, sort=[("created_at", -1)], limit=count)
        jobs = [self._with_files(row) for row in rows]
        return [job for job in jobs if job.files]  # others are being made

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
        mine = {**UNFINISHED, "uploader": uploader}
        of_uploader, of_all = self._database.at_once(
            [partial(self._files.count, mine), partial(self._files.count, UNFINISHED)]
        )
        if of_uploader + more > MAX_WAITING_EACH:
            message = (
                f"You may have {MAX_WAITING_EACH:,} unfinished files. Wait until some "
                "are read, or cancel a job."
            )
            raise TooManyRequestsError(message, retry_after=60)
        if of_all + more > MAX_WAITING:
            raise QueueFullError(
                f"{MAX_WAITING:,} files wait to be read. Send these later."
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
        identities = {file.identity for file in ended}
        blocked = self._files.find({"standing": "blocked"}, {"identity": 1})
        for identity in identities & {row["identity"] for row in blocked}:
            self._unblock(identity)
        for job in {file.ingestion_id for file in ended}:
            self._choose_next(job)

    def withdraw(self, identity: str) -> set[str]:
        """Cancel every upload of a report that is about to be deleted, so that none
        brings it back. Return the stored files of all of its uploads: the withdrawn
        ones do not need them any more.
        """
        uploads = list(map(_FILE, self._files.find({"identity": identity})))
        withdrawn = [file for file in uploads if file.state != "done"]
        for file in withdrawn:
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
                change = queued | {"position": _position(file.id)}
                self._files.update_one(
                    {"_id": file.id, "state": file.state}, {"$set": change}
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
            is_first = not self._has_older(file)
            if not is_first:
                self._block(file)
            self._choose_next(file.ingestion_id)
            if is_first:
                return file

    def _adopt(self) -> None:
        """Give the unfinished files of an earlier release their place in the order."""
        if self._has_adopted:
            return
        for row in list(self._files.find({**UNFINISHED, "standing": None})):
            is_free = not row.get("until")
            change = {
                "standing": "later" if is_free else "busy",
                "busy": 0,
                "position": _position(row["_id"]),
                "upload_number": row.get("upload_number", 0),
            }
            self._files.update_one(
                {"_id": row["_id"], "standing": None}, {"$set": change}
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
            held = {"_id": row["_id"], "owner": row["owner"], "until": row["until"]}
            free = {"standing": "later", "busy": 0, "owner": "", "until": 0.0}
            self._files.update_one(held, {"$set": free})
            self._choose_next(row["ingestion_id"])
        return bool(rows)

    def _take(self, standing: Standing, owner: str) -> IngestionFile | None:
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
        return None if row is None else _FILE(row)

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
        uploads = self._files.find(
            {"identity": identity, **UNFINISHED}, sort=[("upload_number", 1)], limit=1
        )
        for row in list(uploads):
            if self._files.update_one(
                {"_id": row["_id"], "standing": "blocked"},
                {"$set": {"standing": "later"}},
            ):
                self._choose_next(row["ingestion_id"])
                return True
        return False

    def _unblock_some(self) -> bool:
        """Look at blocked files again: the process that had to unblock them may have
        died. Return whether one can be claimed now.
        """
        rows = list(
            self._files.find({"standing": "blocked"}, {"identity": 1}, limit=20)
        )
        unblocked = [
            self._unblock(identity) for identity in {row["identity"] for row in rows}
        ]
        return any(unblocked)

    def _choose_next(self, job: str) -> None:
        """Mark the first free file of a job as its next one, with the number of its
        files in progress.
        """
        fields = {"standing": 1, "busy": 1, "position": 1}
        marked = list(
            self._files.find({"ingestion_id": job, "standing": "next"}, fields)
        )
        later = self._files.find(
            {"ingestion_id": job, "standing": "later"},
            fields,
            sort=[("position", 1)],
            limit=1,
        )
        free = sorted((*marked, *later), key=lambda row: str(row["position"]))
        if not free:
            return
        for row in free[1:]:
            if row["standing"] == "next":
                self._files.update_one(
                    {"_id": row["_id"], "standing": "next"},
                    {"$set": {"standing": "later", "busy": 0}},
                )
        busy = self._files.count({"ingestion_id": job, "standing": "busy"})
        if (free[0]["standing"], free[0]["busy"]) != ("next", busy):
            self._files.update_one(
                {"_id": free[0]["_id"], **FREE},
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
        has_ended = values["state"] in FINISHED
        given_back = {
            **values,
            "until": 0.0,
            "owner": "",
            "standing": "" if has_ended else "later",
            "busy": 0,
        }
        if not self._files.update_one(
            {"_id": file.id, "owner": file.owner}, {"$set": given_back}
        ):
            return
        if has_ended:
            self._unblock(file.identity)
        self._choose_next(file.ingestion_id)

    def prune(self) -> None:
        """Delete finished jobs, except the KEPT_JOBS newest, and files without a job,
        which earlier releases left where a process died.
        """
        # Read before the jobs: the row of a job is written before those of its files.
        with_files = set(self._files.distinct("ingestion_id"))
        jobs = list(self._jobs.find(sort=[("created_at", -1)]))
        for job in with_files - {row["_id"] for row in jobs}:
            self._files.delete_many({"ingestion_id": job})
        for row in jobs[KEPT_JOBS:]:
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
        wanted: Json = {"$ne": ""} if among is None else {"$in": sorted(among)}
        needed = {"file_id": wanted, "state": {"$ne": "done"}}
        return {row["file_id"] for row in self._files.find(needed, {"file_id": 1})}


def _row_of(file: IngestionFile) -> Json:
    values = asdict(file)
    return {"_id": values.pop("id"), **values}


def _position(file_id: str) -> str:
    """Return the `IngestionFile.position` of a file."""
    job, _, number = file_id.rpartition("-")
    return f"{number}-{job}"
