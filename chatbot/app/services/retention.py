"""The deletion of what has expired."""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from ...domain.errors import DependencyError
from .storage import Storage

log = logging.getLogger(__name__)
PURGE_SECONDS = 3600.0
"""Pause between two deletions of what has expired."""
FIRST_PURGE_SECONDS = 60.0
"""Pause after a start, which is busy enough."""
AUDIT_DAYS = 365
"""Age at which entries of the audit log are deleted."""


@dataclass(frozen=True, slots=True)
class Retention:
    """Deletes conversations, cached values and log entries that are no longer kept."""

    storage: Storage

    def delete_conversations(
        self, *, owner: str | None = None, before: str = "", deleted_before: str = ""
    ) -> int:
        """Delete the conversations of an owner (None = of all), or those of them
        without a message since ``before``.

        ``deleted_before``: those that their owner deleted before then. Both are ISO
        times. Shared links go with their conversation, and so do cached answers, which
        repeat questions. Returns how many conversations went.
        """
        storage = self.storage
        deleted = storage.conversations.purge(
            owner=owner, before=before, deleted_before=deleted_before
        )
        if deleted:
            storage.cache.forget_answers()
            storage.database.empty_log()
        return deleted

    def purge_expired(self) -> None:
        """Delete what KEEP_CONVERSATIONS_DAYS, AUDIT_DAYS and CACHE_SECONDS no longer
        keep, and old deletions. Raises DependencyError: the database does not answer.
        """
        storage = self.storage
        # The owner can restore a deleted conversation for an hour.
        self.delete_conversations(deleted_before=_iso_before(seconds=3600.0))
        days = storage.settings.keep_conversations_days
        if days is not None:
            self.delete_conversations(before=_iso_before(days=days))
        storage.audit.prune(AUDIT_DAYS)
        storage.cache.prune()
        storage.counters.prune()
        storage.uploads.prune()
        storage.sessions.prune()
        storage.facts.prune_leases()

    def purge_regularly(
        self, stop: threading.Event, also: Callable[[], None] = lambda: None
    ) -> None:
        """Call `purge_expired` and ``also`` each hour until ``stop`` is set."""
        wait = FIRST_PURGE_SECONDS
        while not stop.wait(wait):
            wait = PURGE_SECONDS
            try:
                self.purge_expired()
                also()
            except DependencyError as error:
                log.warning("What has expired was not deleted: %s", error.message)


def _iso_before(*, days: float = 0, seconds: float = 0) -> str:
    """Return the time that lies so long ago, in ISO format."""
    time = datetime.now(UTC) - timedelta(days=days, seconds=seconds)
    return time.isoformat(timespec="milliseconds")
