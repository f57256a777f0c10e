"""Original files in the database, so that every worker can read them: in pieces, named by their content."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Collection, Iterator
from pathlib import Path

from ..database import Database
from ..errors import NotFoundError

PIECE_BYTES = 1 << 20
"""MongoDB's documents hold 16 MB at most; a megabyte at a time keeps memory small."""
GRACE_SECONDS = 3600.0
"""How long a file that nothing refers to is kept: its upload may still be about to be registered."""


class FileRepository:
    """Collections `files` (one row each) and `file_pieces`. A file's id is the SHA-256 of its content."""

    def __init__(self, database: Database) -> None:
        self._files = database["files"]
        self._pieces = database["file_pieces"]

    def put(self, path: Path) -> str:
        """Store a file, once however often it is put; returns its id."""
        with path.open("rb") as file:
            file_id = hashlib.file_digest(file, "sha256").hexdigest()
            if self._files.find_one({"_id": file_id}) is None:
                file.seek(0)
                count = 0
                while piece := file.read(PIECE_BYTES):
                    self._pieces.replace_many([{"_id": f"{file_id}-{count:06d}", "data": piece}])
                    count += 1
                # Last, so that a file which is listed is complete.
                self._files.replace_many([{"_id": file_id, "pieces": count, "stored": time.time()}])
        return file_id

    def read(self, file_id: str) -> Iterator[bytes]:
        """The file, piece by piece.

        Raises:
            NotFoundError: no such file; before the first piece.
        """
        found = self._files.find_one({"_id": file_id})
        if found is None:
            raise NotFoundError("The original file is not kept.")
        return self._read(file_id, int(found["pieces"]))

    def _read(self, file_id: str, pieces: int) -> Iterator[bytes]:
        for number in range(pieces):
            found = self._pieces.find_one({"_id": f"{file_id}-{number:06d}"})
            if found is None:
                raise NotFoundError("The original file was removed while it was read.")
            yield bytes(found["data"])

    def copy_to(self, file_id: str, path: Path) -> None:
        """Write the file to disk. Raises NotFoundError."""
        with path.open("wb") as file:
            for piece in self.read(file_id):
                file.write(piece)

    def keep_only(self, wanted: Collection[str]) -> int:
        """Remove the files that nothing refers to any more; returns how many."""
        old = time.time() - GRACE_SECONDS
        doomed = [row for row in self._files.find() if row["_id"] not in wanted and row["stored"] < old]
        for row in doomed:
            self.delete(row["_id"])
        return len(doomed)

    def delete(self, file_id: str) -> None:
        if found := self._files.find_one({"_id": file_id}):
            self._files.delete_many({"_id": file_id})
            for number in range(int(found["pieces"])):
                self._pieces.delete_many({"_id": f"{file_id}-{number:06d}"})
