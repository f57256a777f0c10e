"""Deletes conversations on request and by age, with everything derived from them."""

from __future__ import annotations

import logging
import threading
from datetime import UTC, datetime, timedelta

from ..errors import DependencyError
from .storage import Storage

log = logging.getLogger(__name__)
INTERVAL_SECONDS = 3600.0
UNDO_SECONDS = 3600.0
"""The time in which the owner can restore a deleted conversation."""
AUDIT_DAYS = 365
"""Age at which entries of the audit log are deleted."""
FIRST_SECONDS = 60.0
"""Pause after a start, which is busy enough."""


class Retention:
    """Deletes what the operator names and what has expired."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def conversations(self, *, owner: str | None = None, before: str = "", deleted_before: str = "") -> int:
        """Delete the conversations of an owner (None = of all), or those of them without a message since ``before``.

        ``deleted_before``: those that their owner deleted before then. Both are ISO times. Shared links go with their
        conversation, and so do cached answers, which repeat questions. Returns how many conversations went.
        """
        gone = self._storage.conversations.purge(owner=owner, before=before, deleted_before=deleted_before)
        if gone:
            self._storage.cache.forget_answers()
            self._storage.database.empty_log()
        return gone

    def purge_expired(self) -> None:
        """Delete what KEEP_CONVERSATIONS_DAYS, AUDIT_DAYS and CACHE_SECONDS no longer keep, and old deletions.

        Raises:
            DependencyError: the database does not answer.
        """
        settings, now = self._storage.settings, datetime.now(UTC)
        self.conversations(deleted_before=_iso(now - timedelta(seconds=UNDO_SECONDS)))
        if (days := settings.keep_conversations_days) is not None:
            self.conversations(before=_iso(now - timedelta(days=days)))
        self._storage.audit.prune(AUDIT_DAYS)
        self._storage.cache.prune()
        self._storage.counters.prune()

    def run(self, stop: threading.Event) -> None:
        """Purge each hour until ``stop`` is set."""
        wait = FIRST_SECONDS
        while not stop.wait(wait):
            wait = INTERVAL_SECONDS
            try:
                self.purge_expired()
            except DependencyError as error:
                log.warning("Expired conversations were not deleted: %s", error.message)


def _iso(time: datetime) -> str:
    return time.isoformat(timespec="milliseconds")
