"""Room on the disk: what is refused while there is some left, so that reading, deleting and mending still work."""

from __future__ import annotations

from ..database.core import Database
from ..errors import DiskFullError
from ..settings import MEGABYTE
from .files import FileRepository

TIMES = 4
"""What an upload takes of the disk, in sizes of the file: the original, its passages with their vectors, the log."""


class Room:
    """``floor``: MB of the disk that stay free; ``quota``, ``own``: MB that originals may take in all, and those of one
    owner; None = any."""

    def __init__(
        self, database: Database, files: FileRepository, *, floor: int, quota: int | None = None, own: int | None = None
    ) -> None:
        self._database = database
        self._files = files
        self._floor = floor * MEGABYTE
        self._quota = quota
        self._own = own

    def describe(self) -> str:
        """How much is free. Raises DiskFullError where nothing more is taken in."""
        self.require(0)
        free = self._database.free_bytes()
        return "the database's own server" if free is None else f"{free // MEGABYTE:,} MB free"

    def make(self) -> None:
        """Before what gives room back, which has to be written first."""
        self._database.free_bytes(tidy=True)

    def require(self, size: int, owner: str = "") -> None:
        """Raises DiskFullError where ``size`` bytes more of this owner's files have no room; "" = nobody's."""
        least, free = self._floor + TIMES * size, self._database.free_bytes()
        if free is not None and free < least:
            free = self._database.free_bytes(tidy=True)
        if free is not None and free < least:
            raise DiskFullError(
                f"There is no room for {size / MEGABYTE:.1f} MB more: the disk has {free // MEGABYTE:,} MB left, "
                f"of which {self._floor // MEGABYTE:,} stay free (MIN_FREE_MB).",
                remedy="Make room, or delete reports.",
            )
        for most, whose, setting in (
            (self._quota, None, "UPLOAD_QUOTA_MB"),
            (self._own, owner, "UPLOAD_QUOTA_EACH_MB"),
        ):
            if most is not None and (used := self._files.total_bytes(whose)) + size > most * MEGABYTE:
                who = "were" if whose is None else "you"
                raise DiskFullError(
                    f"The files that {who} added take {used / MEGABYTE:.1f} of {most:,} MB ({setting}).",
                    remedy="Delete reports that are not needed.",
                )
