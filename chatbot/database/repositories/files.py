"""Original files in the database, where every worker can read them: in pieces, named by
their upload. An upload without space for its pieces, passages and log is refused, so
that reading and deleting keep working.

The shape is that of GridFS: a row of the upload, and pieces that carry its id. It is
not PyMongo's own GridFS, for three reasons. The same code has to serve the SQLite file.
GridFS calls the driver directly, past the time limits and error messages of
`Collection`. And it writes the file's row last of all, so that pieces of an upload that
was killed, or of a removal that was killed, are found by nobody.
"""

import hashlib
import threading
import time
import uuid
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from ...domain.documents import MEGABYTE
from ...domain.errors import DatabaseError, DiskFullError, NotFoundError
from ..changes import ORIGINALS
from ..core import Collection as Table
from ..core import Database, Json

FILES = "files"
PIECES = "file_pieces"
PIECE_BYTES = 1 << 20
"""MongoDB's documents hold at most 16 MB; a megabyte at a time keeps memory small."""
MIN_FREE_MB = 100
"""Megabytes of the disk that uploads leave free, for conversations and the log."""
PROBE = "probe"
"""The row that shows whether a server takes writes."""
PROBE_SECONDS = 10.0
"""Time between two writes of that row."""
DISK_FACTOR = 4
"""Disk space of an upload in sizes of the file: the original, its passages with their
vectors, the log.
"""


class FileRepository:
    """Collections `files`, one row for each upload, and `file_pieces`. A file's id is
    the SHA-256 of its content; the id of an upload is never used again.

    The row of an upload is written before its pieces and completed after them, and
    removed before them. So a piece without a row is an orphan, whoever looks and
    whenever; and a writer whose row was removed meanwhile cannot complete it. Rows of
    version 0.5 and before have the file's id as that of their upload.
    """

    def __init__(
        self,
        database: Database,
        *,
        quota: int | None = None,
        grace_seconds: float = 3600.0,
        piece_bytes: int = PIECE_BYTES,
    ) -> None:
        """``quota``: megabytes for all files; None = unlimited. ``grace_seconds``: the
        time for which an unreferenced file is kept, because its upload may not be
        registered yet.
        """
        self._database = database
        self._quota = quota
        self._grace_seconds = grace_seconds
        self._piece_bytes = piece_bytes
        self._files = database["files"]
        self._pieces = database["file_pieces"]
        self._meta = database["meta"]
        self._probing = threading.Lock()
        self._probed_at = float("-inf")
        self._refusal: DatabaseError | None = None

    @contextmanager
    def _changing(self, name: str = FILES) -> Iterator[Table]:
        """Write one of the collections. Nothing is derived from originals, so the
        change is not announced.
        """
        with self._database.changes.of((), ORIGINALS) as change:
            yield change[name]

    def put(self, path: Path) -> str:
        """Store a file, unless it is stored with all of its pieces, and return its
        id. Each call begins the file's grace period anew.
        """
        with path.open("rb") as file:
            file_id = hashlib.file_digest(file, "sha256").hexdigest()
            size = path.stat().st_size
            while self._find_stored(file_id) is None:
                if self._upload(file_id, file, size):
                    break
        return file_id

    def _find_stored(self, file_id: str) -> Json | None:
        """Return the first complete upload that has all of its pieces; it is not
        removed within its grace period from now. Uploads that lack pieces are removed.
        """
        for row in self._complete_rows(file_id):
            # Counted after this change: until then it may be removed.
            renewed = self._renew(row)
            if renewed is None:
                continue
            if self._pieces.count(_pieces_of(row["_id"])) == int(row["pieces"]):
                return renewed
            self._remove(_unchanged(renewed))
        return None

    def _renew(self, row: Json) -> Json | None:
        """Begin the grace period of a complete upload anew; return its new row, None
        if it was removed meanwhile.
        """
        current: Json | None = row
        while current is not None:
            change = {"stored": _now(), "used": False}
            with self._changing() as files:
                renewed = files.update_one(_unchanged(current), {"$set": change})
            if renewed:
                return current | change
            current = self._files.find_one({"_id": row["_id"]})
        return None

    def _upload(self, file_id: str, file: BinaryIO, size: int) -> bool:
        """Store a file as a new upload; return False if it was taken for abandoned
        meanwhile.
        """
        file.seek(0)
        upload_id = uuid.uuid4().hex
        count = -(-size // self._piece_bytes)
        row = {
            "_id": upload_id,
            "file": file_id,
            "pieces": count,
            "bytes": size,
            "stored": _now(),
            "used": False,
            "complete": False,
        }
        with self._changing() as files:
            files.insert_one(row)
        for number in range(count):
            piece = {
                "_id": _piece(upload_id, number),
                "data": file.read(self._piece_bytes),
            }
            with self._changing(PIECES) as pieces:
                pieces.replace_many([piece])
        completed = {"$set": {"complete": True, "stored": _now()}}
        with self._changing() as files:
            is_stored = files.update_one({"_id": upload_id}, completed) > 0
        if not is_stored:
            self._remove_pieces(upload_id)
            return False
        self._keep_first(file_id)
        return True

    def _keep_first(self, file_id: str) -> None:
        """Remove all complete uploads of a file but one: others may have stored it at
        the same time. All of them agree on which one stays.
        """
        rows = self._complete_rows(file_id)
        if len(rows) < 2:
            return
        first = self._find_stored(file_id)
        for row in rows:
            # Also one that was stored again: the first is kept for as long.
            if first is not None and row["_id"] > first["_id"]:
                self._remove({"_id": row["_id"]})

    def _complete_rows(self, file_id: str) -> list[Json]:
        """Return the complete uploads of a file, in the order of their ids."""
        condition = {"$or": [{"file": file_id}, {"_id": file_id}], "complete": True}
        return list(self._files.find(condition, sort=[("_id", 1)]))

    def read(self, file_id: str) -> Iterator[bytes]:
        """Yield the pieces of a file. Raises NotFoundError, before the first piece
        where there is no such file.
        """
        return self._read_pieces(file_id, self._stored_rows(file_id))

    def _stored_rows(self, file_id: str) -> list[Json]:
        """Return the complete uploads of a file, at least one. Raises NotFoundError."""
        rows = self._complete_rows(file_id)
        if not rows:
            raise NotFoundError("The original file is not kept.")
        return rows

    def _read_pieces(self, file_id: str, rows: list[Json]) -> Iterator[bytes]:
        for number in range(int(rows[0]["pieces"])):
            piece = self._find_piece(rows, number)
            if piece is None:  # another upload of the same content may have replaced it
                rows = self._complete_rows(file_id)
                piece = self._find_piece(rows, number)
            if piece is None:
                raise NotFoundError("The original file was removed while it was read.")
            yield bytes(piece["data"])

    def _find_piece(self, rows: list[Json], number: int) -> Json | None:
        for row in rows:
            piece = self._pieces.find_one({"_id": _piece(row["_id"], number)})
            if piece is not None:
                return piece
        return None

    def copy_to(self, file_id: str, path: Path) -> None:
        """Write the file to disk, and note that it is used. Raises NotFoundError."""
        rows = self._stored_rows(file_id)
        with path.open("wb") as file:
            file.writelines(self._read_pieces(file_id, rows))
        self._note_used(rows)

    def _note_used(self, rows: Collection[Json]) -> None:
        used = {"$set": {"used": True}}
        # Reading and deleting need no space.
        with suppress(DiskFullError), self._changing() as files:
            files.update_each([(row["_id"], used) for row in rows])

    def keep_only(
        self,
        referenced: Callable[[], Collection[str]],
        among: Collection[str] | None = None,
    ) -> int:
        """Remove the files that nothing refers to and return how many; new ones stay
        for their grace period. ``referenced`` is called after the list of files was
        read, so that a file stored later is not removed. ``among``: look at these files
        only.
        """
        condition: Json = {}
        if among is not None:
            ids = {"$in": sorted(among)}
            condition = {"$or": [{"file": ids}, {"_id": ids}]}
        rows = list(self._files.find(condition))
        file_ids = referenced()
        needed = [row for row in rows if row["complete"] and _file_of(row) in file_ids]
        self._note_used([row for row in needed if not row["used"]])
        needed_ids = {row["_id"] for row in needed}
        return sum(self._forget(row) for row in rows if row["_id"] not in needed_ids)

    def _forget(self, row: Json) -> bool:
        """Remove an upload, unless it is new, or was stored again or used since ``row``
        was read.
        """
        if not row["used"] and row["stored"] > _now() - self._grace_seconds:
            return False
        return self._remove(_unchanged(row))

    def _remove(self, condition: Json) -> bool:
        with self._changing() as files:
            removed = files.delete_many(condition) > 0
        if removed:
            self._remove_pieces(condition["_id"])
        return removed

    def _remove_pieces(self, upload_id: str) -> None:
        with self._changing(PIECES) as pieces:
            pieces.delete_many(_pieces_of(upload_id))

    def remove_orphans(self) -> int:
        """Remove the pieces whose upload has no row, because a process died between
        the removal of the two; return of how many uploads.
        """
        pieces = self._pieces.find({}, {"_id": 1}, sort=[("_id", 1)])
        upload_ids = {str(piece["_id"]).rpartition("-")[0] for piece in pieces}
        # The rows are read after the pieces: a row is written before its first piece.
        upload_ids -= {row["_id"] for row in self._files.find({}, {"_id": 1})}
        for upload_id in upload_ids:
            self._remove_pieces(upload_id)
        return len(upload_ids)

    def describe_space(self) -> str:
        """Return the free space as text. Raises DiskFullError: uploads are refused;
        DatabaseError: the server takes no writes.
        """
        self.require_space(0)
        free = self._database.free_bytes()
        if free is None:
            self._try_to_write()
            return "the database's own server, which takes writes"
        return f"{free // MEGABYTE:,} MB free"

    def _try_to_write(self) -> None:
        """Write a row that nobody reads: a server does not say how much space it has.
        Raises DatabaseError, for a while the one of the last try.
        """
        with self._probing:
            if time.monotonic() - self._probed_at >= PROBE_SECONDS:
                self._refusal = None
                change = {"$set": {"at": _now()}}
                try:
                    self._meta.update_one({"_id": PROBE}, change, upsert=True)
                except DatabaseError as error:
                    self._refusal = error
                self._probed_at = time.monotonic()
            if self._refusal is not None:
                raise self._refusal

    def require_space(self, size: int) -> None:
        """Raises DiskFullError: ``size`` more bytes do not fit."""
        needed = MIN_FREE_MB * MEGABYTE + DISK_FACTOR * size
        free = self._database.free_bytes()
        if free is not None and free < needed:
            free = self._database.free_bytes(tidy=True)
        if free is not None and free < needed:
            raise DiskFullError(
                f"There is not enough disk space for {size / MEGABYTE:.1f} MB more: "
                f"{free // MEGABYTE:,} MB are free, of which {MIN_FREE_MB} MB are "
                "reserved.",
                remedy="Free some disk space, or delete reports.",
            )
        if self._quota is None:
            return
        # Files of version 0.4 and before count by their pieces.
        used = sum(
            int(row.get("bytes", row["pieces"] * self._piece_bytes))
            for row in self._files.find({}, {"bytes": 1, "pieces": 1})
        )
        if used + size > self._quota * MEGABYTE:
            raise DiskFullError(
                f"The uploaded files take {used / MEGABYTE:.1f} of {self._quota:,} MB.",
                remedy="Delete reports that are not needed.",
            )


def _now() -> float:
    """Return the time to the millisecond, so that every database gives it back as it
    was and a condition on it holds.
    """
    return round(time.time(), 3)


def _file_of(row: Json) -> str:
    """Return the id of the file of an upload, also of one of version 0.5."""
    return str(row.get("file", row["_id"]))


def _unchanged(row: Json) -> Json:
    """Return the filter for an upload that was neither stored again nor used since its
    row was read.
    """
    return {
        "_id": row["_id"],
        "complete": row["complete"],
        "used": row["used"],
        "stored": row["stored"],
    }


def _piece(upload_id: str, number: int) -> str:
    return f"{upload_id}-{number:06d}"


def _pieces_of(upload_id: str) -> Json:
    """Return the filter for the pieces of an upload; "." follows "-"."""
    return {"_id": {"$gte": f"{upload_id}-", "$lt": f"{upload_id}."}}
