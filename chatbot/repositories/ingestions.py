"""Ingestion jobs in the database: any worker takes the next file, and goes on where another one died."""

from __future__ import annotations

import secrets
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any

from ..database.core import Database, Json
from ..errors import NotFoundError
from ..schema.jobs import FINISHED, Ingestion, IngestionFile
from .conversations import own_or_nobodys
from .corpus import CorpusFacts

LEASE_SECONDS = 20.0
KEPT_JOBS = 200
CANDIDATES = 20
WITHDRAWN = "The report was deleted after this upload. Upload the file again to add it."


class IngestionRepository:
    """Collections `ingestions` and `ingestion_items`, one row for each file.

    Another ``uploader``'s jobs are as if not there; None = everybody's are.
    """

    def __init__(self, database: Database) -> None:
        self._jobs = database["ingestions"]
        self._files = database["ingestion_items"]
        self._facts = CorpusFacts(database)

    def ensure_indexes(self) -> None:
        """Idempotent."""
        self._files.create_index("ingestion_id")
        self._files.create_index("state")
        self._files.create_index("identity")

    def create(self, files: Sequence[IngestionFile], uploader: str = "") -> Ingestion:
        """Queue files as one job; their ids are made here. A job of nobody has whoever knows its id."""
        job = f"{time.time_ns():016x}{secrets.token_hex(8)}"  # sorts by time: first come, first served
        first = self._facts.next_upload_number(len(files))
        rows = tuple(
            replace(file, id=f"{job}-{n:05d}", ingestion_id=job, uploader=uploader, upload_number=first + n)
            for n, file in enumerate(files)
        )
        created_at = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._files.replace_many([{"_id": (values := asdict(row)).pop("id"), **values} for row in rows])
        # Last, so that a job which is listed has all its files.
        about = {"created_at": created_at, "files": len(rows), "owner": uploader}
        self._jobs.replace_many([{"_id": job, **about}])
        return Ingestion(job, created_at, rows)

    def get(self, ingestion_id: str, uploader: str | None = "") -> Ingestion:
        """A job of this uploader, None = anybody's. Raises NotFoundError."""
        whose = {} if uploader is None else {"owner": own_or_nobodys(uploader)}
        job = self._jobs.find_one({"_id": ingestion_id, **whose})
        if job is None:
            raise NotFoundError(f"There is no ingestion {ingestion_id!r}.")
        return self._with_files(job)

    def latest(self, limit: int, uploader: str | None = None) -> list[Ingestion]:
        """Newest first. Those of nobody stand in nobody's list."""
        if uploader == "":
            return []
        whose = {} if uploader is None else {"owner": uploader}
        return [self._with_files(job) for job in self._jobs.find(whose, sort=[("created_at", -1)], limit=limit)]

    def unfinished(self) -> list[IngestionFile]:
        """Files that are waiting or being read."""
        return list(map(_from_json, self._files.find({"state": {"$nin": list(FINISHED)}}, sort=[("_id", 1)])))

    def active(self) -> int:
        """How many files are waiting or being read."""
        return len(self.unfinished())

    def cancel(self, ingestion_id: str, uploader: str | None = "") -> Ingestion:
        """Ask for an end: what nobody works on is cancelled now, the rest by whoever works on it."""
        for file in self.get(ingestion_id, uploader).files:
            self._cancel(file)
        return self.get(ingestion_id, uploader)

    def _cancel(self, file: IngestionFile) -> None:
        if file.state == "queued":
            self._files.update_one({"_id": file.id, "state": "queued", "owner": ""}, {"$set": {"state": "cancelled"}})
        if file.state not in FINISHED:
            self._files.update_one({"_id": file.id}, {"$set": {"cancel": True}})

    def withdraw(self, identity: str) -> None:
        """Cancel every upload of a report that is about to be deleted, so that none brings it back.

        Their stored files are not needed any more.
        """
        for row in self._files.find({"identity": identity, "state": {"$ne": "done"}}):
            file = _from_json(row)
            about = {} if file.state in FINISHED else {"error": WITHDRAWN}
            self._files.update_one({"_id": file.id}, {"$set": {"withdrawn": True, "file_id": "", **about}})
            self._cancel(file)

    def retry(self, ingestion_id: str, uploader: str | None = "") -> Ingestion:
        """Queue the failed and the cancelled files again."""
        again = {"state": "queued", "error": "", "detail": "", "cancel": False, "tries": 0, "until": 0.0}
        for file in self.get(ingestion_id, uploader).files:
            if file.state in {"failed", "cancelled"} and not file.withdrawn:
                self._files.update_one({"_id": file.id, "state": file.state}, {"$set": again})
        return self.get(ingestion_id, uploader)

    def claim(self, owner: str) -> IngestionFile | None:
        """The next file that nobody works on, now ``owner``'s for LEASE_SECONDS; None when there is none.

        A file waits for unfinished older uploads of its identity. The jobs take turns: the one with the fewest files
        in hand, then with the fewest before, then the oldest.
        """
        for file in self._free()[:CANDIDATES]:
            held = {"_id": file.id, "state": file.state, "until": file.until}
            mine = {"owner": owner, "until": time.time() + LEASE_SECONDS, "tries": file.tries + 1}
            if self._files.update_one(held, {"$set": mine}) == 1:
                return replace(file, owner=owner, tries=file.tries + 1)
        return None

    def renew(self, file: IngestionFile) -> bool | None:
        """Hold on to a file; whether it is to be cancelled, None when it is somebody else's by now."""
        mine = {"_id": file.id, "owner": file.owner}
        found = self._files.find_one_and_update(mine, {"$set": {"until": time.time() + LEASE_SECONDS}})
        return None if found is None else bool(found["cancel"])

    def note(self, file: IngestionFile, **values: Any) -> None:
        """Write how a file is doing; without effect when it is somebody else's by now."""
        self._files.update_one({"_id": file.id, "owner": file.owner}, {"$set": values})

    def release(self, file: IngestionFile, **values: Any) -> None:
        """Let go of a file; ``values`` say how it ended, or "queued" for another worker."""
        self.note(file, until=0.0, owner="", **values)

    def prune(self) -> None:
        """Forget the oldest jobs that are finished."""
        old = list(self._jobs.find(sort=[("created_at", -1)]))[KEPT_JOBS:]
        for job in old:
            if self._with_files(job).state in FINISHED:
                self._files.delete_many({"ingestion_id": job["_id"]})
                self._jobs.delete_many({"_id": job["_id"]})

    def file_ids(self) -> set[str]:
        """Stored files that a job still may need; of what is done the document says so itself."""
        wanted = {"file_id": {"$ne": ""}, "state": {"$ne": "done"}}
        return {row["file_id"] for row in self._files.find(wanted, {"file_id": 1})}

    def _with_files(self, job: Json) -> Ingestion:
        rows = self._files.find({"ingestion_id": job["_id"]}, sort=[("_id", 1)])
        return Ingestion(job["_id"], job["created_at"], tuple(map(_from_json, rows)))

    def _free(self) -> list[IngestionFile]:
        unfinished, now = self.unfinished(), time.time()
        oldest: dict[str, IngestionFile] = {}
        for file in sorted(unfinished, key=lambda file: (file.upload_number, file.id)):
            oldest.setdefault(file.identity, file)
        # A lease that ends much later than one made now was made before the clock was set back: nobody waits for it.
        free = [file for file in unfinished if not now <= file.until <= now + 2 * LEASE_SECONDS]
        busy = Counter(file.ingestion_id for file in unfinished) - Counter(file.ingestion_id for file in free)
        free = [file for file in free if oldest[file.identity] is file]
        return sorted(free, key=lambda file: (busy[file.ingestion_id], file.id.rpartition("-")[2], file.id))


def _from_json(row: Json) -> IngestionFile:
    return IngestionFile(id=row["_id"], **{name: row[name] for name in IngestionFile.__slots__ if name in row})
