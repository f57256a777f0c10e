"""Which release of the program serves a database: two of them at the same time may not
understand each other's changes.
"""

import logging
import threading
import time

from ...domain.errors import DependencyError, SettingsError
from ..core import Database, Json

log = logging.getLogger(__name__)
RELEASE = "release"
"""The row of `meta`: ``release`` and ``beat``, the time of the last sign of life by the
database's clock.
"""
BEAT_SECONDS = 10.0
"""Time between two signs of life: a start waits for three of them at most."""
MISSED_BEATS = 3
"""Beats after which the other release counts as stopped."""


class ServingRelease:
    """Says that ``release``, the version of the program, serves the database. Each
    serving process shows that it is alive.
    """

    def __init__(
        self,
        database: Database,
        release: str,
        *,
        beat_seconds: float = BEAT_SECONDS,
    ) -> None:
        self._database = database
        self._meta = database["meta"]
        self._release = release
        self._beat_seconds = beat_seconds

    def require_alone(self) -> None:
        """Wait until a process of another release would have shown that it is alive;
        return at once where none was serving lately. Raises SettingsError: one is
        alive; DatabaseError.
        """
        seen = self._other()
        while seen is not None and self._is_young(seen):
            time.sleep(min(1.0, self._beat_seconds / 2))
            current = self._other()
            if current is None:
                break
            if current["beat"] != seen["beat"]:
                raise SettingsError(
                    f"report-chat {current['release']} serves this database, and this "
                    f"is {self._release}. Stop it first, then start this one again. "
                    "See Upgrade in docs/deploy.md."
                )
        self.beat()

    def beat(self) -> None:
        """Show that this process is alive, as far as the database can be written."""
        try:
            fields = {"release": self._release, "beat": self._database.now()}
            self._meta.update_one({"_id": RELEASE}, {"$set": fields}, upsert=True)
        except DependencyError as error:
            # It serves also a database that is full or only read.
            log.info("The release in the database was not renewed: %s", error.message)

    def follow(self, stop: threading.Event) -> None:
        """Show that this process is alive until ``stop`` is set."""
        while not stop.wait(self._beat_seconds):
            self.beat()

    def _other(self) -> Json | None:
        """Return the row of another release."""
        row = self._meta.find_one({"_id": RELEASE})
        if row is None or row["release"] == self._release:
            return None
        return row

    def _is_young(self, row: Json) -> bool:
        age = self._database.now() - float(row["beat"])
        return age < MISSED_BEATS * self._beat_seconds
