"""What a change of the embedding model remembers, so that it goes on after a kill and two never mix."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from dataclasses import asdict

from ..database import Database
from ..errors import DatabaseError
from ..repositories.changes import StoredEmbedder

CLEARING, FILLING, SERVING = "clearing", "filling", "serving"
"""The other slot is emptied; it is filled; it serves and the old one is emptied."""
SIGN_OF_LIFE_SECONDS = 15.0
"""A run that has written nothing for so long is taken for dead."""


class ReembedState:
    """One document of `meta`. ``beat`` counts a run's steps: a sign of life for others."""

    def __init__(self, database: Database, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self._meta = database["meta"]
        self._owner = uuid.uuid4().hex
        self._sleep = sleep

    def wanted(self) -> StoredEmbedder | None:
        """The model that an unfinished run changes to."""
        found = self._meta.find_one({"_id": "reembed"})
        return StoredEmbedder(**found["wanted"]) if found else None

    def take_over(self, wanted: StoredEmbedder) -> str:
        """Become the one run that changes to ``wanted``; returns its phase, an interrupted run's if it had the model.

        Raises:
            DatabaseError: a run to another model is alive.
        """
        found = self._meta.find_one({"_id": "reembed"})
        same = found is not None and found["wanted"] == asdict(wanted)
        if found is not None and not same:
            self._require_dead(int(found["beat"]), str(found["wanted"]["model_id"]))
        phase = str(found["phase"]) if found is not None and same else CLEARING
        fields = {"owner": self._owner, "wanted": asdict(wanted), "phase": phase, "beat": 0}
        self._meta.update_one({"_id": "reembed"}, {"$set": fields}, upsert=True)
        return phase

    def _require_dead(self, beat: int, model_id: str) -> None:
        self._sleep(SIGN_OF_LIFE_SECONDS)
        now = self._meta.find_one({"_id": "reembed"})
        if now is not None and int(now["beat"]) != beat:
            raise DatabaseError(
                f"Another process is embedding everything with {model_id} just now.",
                remedy="Wait for it, or stop it and run this again.",
            )

    def enter(self, phase: str) -> None:
        self._update({"$set": {"phase": phase}})

    def step(self) -> None:
        """Before each write.

        Raises:
            DatabaseError: another run has taken over.
        """
        self._update({"$inc": {"beat": 1}})

    def _update(self, update: dict[str, dict[str, object]]) -> None:
        if not self._meta.update_one({"_id": "reembed", "owner": self._owner}, update):
            raise DatabaseError("Another run of reembed has taken over; this one stops.")

    def finish(self) -> None:
        self._meta.delete_many({"_id": "reembed", "owner": self._owner})
