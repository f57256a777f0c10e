"""Files that a caller has sent and not used yet. Requests name them by their ids, for
a day.
"""

import secrets
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from ...domain.documents import MEGABYTE
from ...domain.errors import NotFoundError, QuotaError, read_table
from ..core import Database
from ..rows import from_row
from .files import FileRepository

BOUNDS = read_table(__package__, "uploads")


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadedFile:
    """A file that waits for a request which names it; until then nobody else sees
    it.
    """

    id: str
    name: str
    bytes: int
    expires_at: float
    """Seconds since 1970, by the database's clock."""
    file: str
    """Its content in `FileRepository`."""


class UploadRepository:
    """Collection `uploads`: one row for each file that was sent."""

    def __init__(self, database: Database, files: FileRepository) -> None:
        self._database = database
        self._rows = database["uploads"]
        self._files = files

    def add(self, path: Path, name: str, owner: str) -> UploadedFile:
        """Store a file for ``owner``. Raises QuotaError: too many files wait, of this
        owner or of all; DiskFullError.
        """
        size = path.stat().st_size
        self._require_room(size, owner)
        self._files.require_space(size)
        file = self._files.put(path)
        row = {
            "_id": f"file_{secrets.token_hex(16)}",
            "owner": owner,
            "name": name,
            "bytes": size,
            "expires_at": self._database.now() + BOUNDS["kept_seconds"],
            "file": file,
        }
        self._rows.insert_one(row)
        return from_row(UploadedFile, row)

    def _require_room(self, size: int, owner: str) -> None:
        mine = 0
        mine_bytes = 0
        all_bytes = 0
        now = self._database.now()
        fields = {"owner": 1, "bytes": 1}
        for row in self._rows.find({"expires_at": {"$gt": now}}, fields):
            all_bytes += row["bytes"]
            if row["owner"] == owner:
                mine += 1
                mine_bytes += row["bytes"]
        if mine >= BOUNDS["files_each"]:
            raise QuotaError(f"{mine} of your files wait to be used. Use them first.")
        if mine_bytes + size > BOUNDS["megabytes_each"] * MEGABYTE:
            raise QuotaError(
                f"Your files that wait to be used take {mine_bytes / MEGABYTE:.0f} of "
                f"{BOUNDS['megabytes_each']} MB. Use them first."
            )
        if all_bytes + size > BOUNDS["megabytes"] * MEGABYTE:
            raise QuotaError("Too many files wait to be used. Send this one later.")

    def find(self, id: str, owner: str) -> UploadedFile:
        """Return a file of this owner. Raises NotFoundError."""
        now = self._database.now()
        row = self._rows.find_one(
            {"_id": id, "owner": owner, "expires_at": {"$gt": now}}
        )
        if row is None:
            raise NotFoundError(
                f"There is no file {id[:64]!r}. Files are kept for a day: send it "
                "again (POST /api/files)."
            )
        return from_row(UploadedFile, row)

    def read(self, stored: UploadedFile) -> Iterator[bytes]:
        """Yield the content of a file that `find` has returned. Raises
        NotFoundError.
        """
        return self._files.read(stored.file)

    def file_ids(self, among: Collection[str] | None = None) -> set[str]:
        """Return the contents of all files that wait. ``among``: look for these
        only.
        """
        condition = {} if among is None else {"file": {"$in": sorted(among)}}
        return {row["file"] for row in self._rows.find(condition, {"file": 1})}

    def prune(self) -> None:
        """Delete the rows of files whose day is over."""
        self._rows.delete_many({"expires_at": {"$lt": self._database.now()}})
