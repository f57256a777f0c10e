"""Original files in the database, where every worker can read them: in pieces, named by
their content. An upload without space for its pieces, passages and log is refused, so
that reading and deleting keep working.
"""

import hashlib
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from ...config.settings import MEGABYTE
from ...domain import DiskFullError, NotFoundError
from ..core import Database, Json

PIECE_BYTES = 1 << 20
"""MongoDB's documents hold at most 16 MB; a megabyte at a time keeps memory small."""
GRACE_SECONDS = 3600.0
"""Seconds for which an unreferenced file is kept, because its upload may not be
registered yet.
"""
MIN_FREE_MB = 100
"""Megabytes of the disk that uploads leave free."""
DISK_SHARE = 4
"""Disk space of an upload in sizes of the file: the original, its passages with their
vectors, the log.
"""


class FileRepository:
    """Collections `files`, one row for each, and `file_pieces`. A file's id is the
    SHA-256 of its content.
    """

    def __init__(self, database: Database, *, quota: int | None = None) -> None:
        """``quota``: megabytes for all files; None = unlimited."""
        self._database = database
        self._quota = quota
        self._files = database["files"]
        self._pieces = database["file_pieces"]

    def put(self, path: Path) -> str:
        """Store a file, if it is not stored yet, and return its id."""
        with path.open("rb") as file:
            file_id = hashlib.file_digest(file, "sha256").hexdigest()
            count = -(-path.stat().st_size // PIECE_BYTES)
            # The row before the pieces, so that a kill leaves no orphans. Each put
            # restarts the grace period.
            new = {"pieces": count, "complete": False, "bytes": path.stat().st_size}
            change = {
                "$set": {"stored": time.time(), "used": False},
                "$setOnInsert": new,
            }
            self._files.update_one({"_id": file_id}, change, upsert=True)
            if not self._row(file_id):
                file.seek(0)
                for number in range(count):
                    self._pieces.replace_many(
                        [
                            {
                                "_id": _piece(file_id, number),
                                "data": file.read(PIECE_BYTES),
                            }
                        ]
                    )
                self._files.update_one({"_id": file_id}, {"$set": {"complete": True}})
        return file_id

    def _row(self, file_id: str) -> Json | None:
        return self._files.find_one({"_id": file_id, "complete": True})

    def read(self, file_id: str) -> Iterator[bytes]:
        """Yield the pieces of a file. Raises NotFoundError, before the first piece
        where there is no such file.
        """
        row = self._row(file_id)
        if row is None:
            raise NotFoundError("The original file is not kept.")

        def read_pieces() -> Iterator[bytes]:
            for number in range(int(row["pieces"])):
                piece = self._pieces.find_one({"_id": _piece(file_id, number)})
                if piece is None:
                    raise NotFoundError(
                        "The original file was removed while it was read."
                    )
                yield bytes(piece["data"])

        return read_pieces()

    def copy_to(self, file_id: str, path: Path) -> None:
        """Write the file to disk, and note that it is used. Raises NotFoundError."""
        pieces = self.read(file_id)
        with path.open("wb") as file:
            file.writelines(pieces)
        self._files.update_one({"_id": file_id}, {"$set": {"used": True}})

    def keep_only(self, referenced: Callable[[], Collection[str]]) -> int:
        """Remove the files that nothing refers to and return how many; new ones stay
        for GRACE_SECONDS. ``referenced`` is called after the list of files was read, so
        that a file stored later is not removed.
        """
        rows = list(self._files.find())
        kept = referenced()
        for row in rows:
            if row["_id"] in kept and not row["used"]:
                self._files.update_one({"_id": row["_id"]}, {"$set": {"used": True}})
        return sum(self._forget(row) for row in rows if row["_id"] not in kept)

    def _forget(self, row: Json) -> bool:
        """Remove a file, unless it is new, or was stored again or used since ``row``
        was read.
        """
        if not row["used"] and row["stored"] > time.time() - GRACE_SECONDS:
            return False
        if not self._files.delete_many(
            {"_id": row["_id"], "used": row["used"], "stored": row["stored"]}
        ):
            return False
        for number in range(int(row["pieces"])):
            self._pieces.delete_many({"_id": _piece(row["_id"], number)})
        return True

    def describe_space(self) -> str:
        """Return the free space as text. Raises DiskFullError: uploads are refused."""
        self.require_space(0)
        free = self._database.free_bytes()
        return (
            "the database's own server"
            if free is None
            else f"{free // MEGABYTE:,} MB free"
        )

    def require_space(self, size: int) -> None:
        """Raises DiskFullError: ``size`` more bytes do not fit."""
        needed, free = (
            MIN_FREE_MB * MEGABYTE + DISK_SHARE * size,
            self._database.free_bytes(),
        )
        if free is not None and free < needed:
            free = self._database.free_bytes(tidy=True)
        if free is not None and free < needed:
            raise DiskFullError(
                f"There is not enough disk space for {size / MEGABYTE:.1f} MB more: {free // MEGABYTE:,} MB are free, "  # noqa: E501
                f"of which {MIN_FREE_MB} MB are reserved.",
                remedy="Free some disk space, or delete reports.",
            )
        # Files of version 0.4 and before count by their pieces.
        sizes = (
            int(row.get("bytes", row["pieces"] * PIECE_BYTES))
            for row in self._files.find({})
        )
        if (
            self._quota is not None
            and (used := sum(sizes)) + size > self._quota * MEGABYTE
        ):
            raise DiskFullError(
                f"The uploaded files take {used / MEGABYTE:.1f} of {self._quota:,} MB (UPLOAD_QUOTA_MB).",  # noqa: E501
                remedy="Delete reports that are not needed.",
            )


def _piece(file_id: str, number: int) -> str:
    return f"{file_id}-{number:06d}"
