"""Original files in the database, so that every worker can read them: in pieces, named by their content.

What has no room for its pieces, its passages and the log is refused, so that reading, deleting and mending still work.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from ..database.core import Database, Json
from ..errors import DiskFullError, NotFoundError
from ..settings import MEGABYTE

PIECE_BYTES = 1 << 20
"""MongoDB's documents hold 16 MB at most; a megabyte at a time keeps memory small."""
GRACE_SECONDS = 3600.0
"""How long a file is kept that nothing has referred to yet: its upload may still be about to be registered."""
MIN_FREE_MB = 100
"""Megabytes of the disk that no upload may take."""
TIMES = 4
"""What an upload takes of the disk, in sizes of the file: the original, its passages with their vectors, the log."""


class FileRepository:
    """Collections `files` (one row each) and `file_pieces`. A file's id is the SHA-256 of its content."""

    def __init__(self, database: Database) -> None:
        self._files = database["files"]
        self._pieces = database["file_pieces"]

    def put(self, path: Path) -> str:
        """Store a file, once however often it is put, and return its id."""
        with path.open("rb") as file:
            file_id = hashlib.file_digest(file, "sha256").hexdigest()
            count = -(-path.stat().st_size // PIECE_BYTES)
            # The row before the pieces, so that a kill leaves none that nobody knows of; each put begins a new grace.
            begun, size = {"stored": time.time(), "used": False}, path.stat().st_size
            new = {"pieces": count, "complete": False, "bytes": size}
            self._files.update_one({"_id": file_id}, {"$set": begun, "$setOnInsert": new}, upsert=True)
            if not self._row(file_id):
                file.seek(0)
                for number in range(count):
                    self._pieces.replace_many([{"_id": _piece(file_id, number), "data": file.read(PIECE_BYTES)}])
                self._files.update_one({"_id": file_id}, {"$set": {"complete": True}})
        return file_id

    def total_bytes(self) -> int:
        """The size of all files; those of version 0.4 and before count by their pieces."""
        return sum(int(row.get("bytes", row["pieces"] * PIECE_BYTES)) for row in self._files.find({}))

    def _row(self, file_id: str) -> Json | None:
        return self._files.find_one({"_id": file_id, "complete": True})

    def read(self, file_id: str) -> Iterator[bytes]:
        """The file, piece by piece.

        Raises:
            NotFoundError: no such file; before the first piece.
        """
        row = self._row(file_id)
        if row is None:
            raise NotFoundError("The original file is not kept.")

        def read_pieces() -> Iterator[bytes]:
            for number in range(int(row["pieces"])):
                found = self._pieces.find_one({"_id": _piece(file_id, number)})
                if found is None:
                    raise NotFoundError("The original file was removed while it was read.")
                yield bytes(found["data"])

        return read_pieces()

    def copy_to(self, file_id: str, path: Path) -> None:
        """Write the file to disk, for the work it was stored for. Raises NotFoundError."""
        pieces = self.read(file_id)
        with path.open("wb") as file:
            file.writelines(pieces)
        self._files.update_one({"_id": file_id}, {"$set": {"used": True}})

    def keep_only(self, wanted: Callable[[], Collection[str]]) -> int:
        """Remove the files that nothing refers to any more; returns how many. New ones have GRACE_SECONDS.

        ``wanted`` is called once the files have been read: a file that comes later, with its job, is none of these.
        """
        rows = list(self._files.find())
        kept = wanted()
        for row in rows:
            if row["_id"] in kept and not row["used"]:
                self._files.update_one({"_id": row["_id"]}, {"$set": {"used": True}})
        return sum(self._forget(row) for row in rows if row["_id"] not in kept)

    def _forget(self, row: Json) -> bool:
        """Remove a file, unless it is new, or was put again or used since ``row`` was read."""
        if not row["used"] and row["stored"] > time.time() - GRACE_SECONDS:
            return False
        if not self._files.delete_many({"_id": row["_id"], "used": row["used"], "stored": row["stored"]}):
            return False
        for number in range(int(row["pieces"])):
            self._pieces.delete_many({"_id": _piece(row["_id"], number)})
        return True


def _piece(file_id: str, number: int) -> str:
    return f"{file_id}-{number:06d}"


class Room:
    """``quota``: MB that all originals may take; None = any."""

    def __init__(self, database: Database, files: FileRepository, *, quota: int | None = None) -> None:
        self._database = database
        self._files = files
        self._quota = quota

    def describe(self) -> str:
        """How much is free. Raises DiskFullError where nothing more is taken in."""
        self.require(0)
        free = self._database.free_bytes()
        return "the database's own server" if free is None else f"{free // MEGABYTE:,} MB free"

    def make(self) -> None:
        """Before what gives room back, which has to be written first."""
        self._database.free_bytes(tidy=True)

    def require(self, size: int) -> None:
        """Raises DiskFullError: ``size`` more bytes do not fit."""
        least, free = MIN_FREE_MB * MEGABYTE + TIMES * size, self._database.free_bytes()
        if free is not None and free < least:
            free = self._database.free_bytes(tidy=True)
        if free is not None and free < least:
            raise DiskFullError(
                f"There is no room for {size / MEGABYTE:.1f} MB more: the disk has {free // MEGABYTE:,} MB left, "
                f"of which {MIN_FREE_MB} stay free.",
                remedy="Make room, or delete reports.",
            )
        if self._quota is not None and (used := self._files.total_bytes()) + size > self._quota * MEGABYTE:
            raise DiskFullError(
                f"The uploaded files take {used / MEGABYTE:.1f} of {self._quota:,} MB (UPLOAD_QUOTA_MB).",
                remedy="Delete reports that are not needed.",
            )
