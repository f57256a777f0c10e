"""Deleting on request and by age: with the rows goes what was derived from them."""

from __future__ import annotations

import logging
import threading
from datetime import UTC, datetime, timedelta

from ..errors import DependencyError
from .storage import Storage

log = logging.getLogger(__name__)
EVERY_SECONDS = 3600.0
UNDO_SECONDS = 3600.0
"""The time in which a deleted conversation can be taken back by its owner."""
AUDIT_DAYS = 365
"""Age at which entries of the audit log are deleted."""
FIRST_SECONDS = 60.0
"""The wait after a start, which has enough to do."""


class Forgetting:
    """What the operator deletes, and what the settings say is old."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._settings = storage.settings

    def conversations(self, *, owner: str | None = None, before: str = "", deleted_before: str = "") -> int:
        """Delete those of an owner (None = of all), or of these those without a message since ``before`` (ISO).

        ``deleted_before`` (ISO): those that their owner deleted before then. Their shared links go with all of them,
        and the owner's batches with the conversations.

        Cached answers go with them: they repeat questions. Returns how many conversations went.
        """
        gone = self._storage.conversations.purge(owner=owner, before=before, deleted_before=deleted_before)
        batches = 0 if deleted_before else self._storage.batches.delete(owner=owner, before=before)
        if gone or batches:
            self._storage.cache.forget_answers()
            self._storage.database.empty_log()
        return gone

    def old(self) -> None:
        """What KEEP_CONVERSATIONS_DAYS, AUDIT_DAYS and CACHE_SECONDS no longer keep, and what was deleted.

        Raises:
            DependencyError: the database does not answer.
        """
        undone = datetime.now(UTC) - timedelta(seconds=UNDO_SECONDS)
        self.conversations(deleted_before=undone.isoformat(timespec="milliseconds"))
        if (days := self._settings.keep_conversations_days) is not None:
            since = datetime.now(UTC) - timedelta(days=days)
            self.conversations(before=since.isoformat(timespec="milliseconds"))
        self._storage.audit.prune(AUDIT_DAYS)
        self._storage.cache.prune()
        self._storage.counters.prune()

    def run(self, stop: threading.Event) -> None:
        """Delete what is old each hour, until told to stop."""
        wait = FIRST_SECONDS
        while not stop.wait(wait):
            wait = EVERY_SECONDS
            try:
                self.old()
            except DependencyError as error:
                log.warning("What is old was not deleted: %s", error.message)
