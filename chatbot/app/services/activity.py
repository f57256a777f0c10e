"""Jobs, questions, feedback, usage and keys, as one caller may see and change them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...database.repositories.answers import Asked, Feedback, Rating
from ...domain import ApiKey, Scope
from ...domain.callers import KeyRole
from ...domain.costs import DayUsage, Sums
from ...domain.errors import ForbiddenError
from ...jobs.queue import Ingestion, IngestionFile
from .storage import Storage


@dataclass(frozen=True, slots=True)
class Activity:
    """What callers with this ``limit`` see of what others do: only what was done by
    callers who see nothing outside of it. ``owner``: whose rows; None = everybody's.
    """

    storage: Storage
    limit: Scope
    owner: str | None

    def require_everything(self) -> None:
        """Raise ForbiddenError: what is about the whole installation is only for
        callers without a limit.
        """
        if self.limit:
            raise ForbiddenError(
                "This is about the whole installation, and this key is limited to a "
                "part of the reports. Use an administrator's key without filters and "
                "collections."
            )

    # Jobs

    def start(self, files: Sequence[IngestionFile], uploader: str) -> Ingestion:
        """Queue files as a job of the caller."""
        return self.storage.ingestions.create(list(files), uploader, self.limit)

    def jobs(self, count: int) -> list[Ingestion]:
        """Return the newest jobs first."""
        return self.storage.ingestions.latest(count, self.owner, self.limit)

    def job(self, ingestion_id: str) -> Ingestion:
        """Return a job. Raises NotFoundError."""
        return self.storage.ingestions.get(ingestion_id, self.owner, self.limit)

    def cancel(self, ingestion_id: str) -> Ingestion:
        """Cancel the files of a job that are not finished. Raises NotFoundError."""
        return self.storage.ingestions.cancel(ingestion_id, self.owner, self.limit)

    def retry(self, ingestion_id: str) -> Ingestion:
        """Queue the failed files of a job again. Raises NotFoundError."""
        return self.storage.ingestions.retry(ingestion_id, self.owner, self.limit)

    # Questions

    def feedback(self, rating: Rating | None, count: int) -> list[Feedback]:
        """Return the newest feedback first."""
        found = self.storage.feedback.latest(rating, count, self.owner, self.limit)
        return list(found)

    def unanswered(self, count: int) -> list[Asked]:
        """Return the latest questions that the reports did not answer."""
        return self.storage.feedback.unanswered(count, self.owner, self.limit)

    def usage(self, days: int) -> list[DayUsage]:
        """Return the days with usage among the last ``days``, newest first."""
        if self.limit:
            return self.storage.usage.days_within(days, self.limit)
        return self.storage.usage.days(days)

    # Keys

    def keys(self) -> list[ApiKey]:
        """Return the keys that are not wider than the caller, the newest first."""
        keys = self.storage.keys.all()[::-1]
        return [key for key in keys if self.limit.covers(key.limit)]

    def usage_of(self, keys: Sequence[ApiKey]) -> dict[str, Sums]:
        """Return the usage of the conversations that each key owns and that are kept,
        by the key's owner.
        """
        return self.storage.conversations.usage_of([key.owner for key in keys])

    def create_key(
        self, name: str, role: KeyRole, scope: Scope, **limits: Any
    ) -> tuple[ApiKey, str]:
        """Create a key with this scope, which is inside of the caller's limit; return
        it with its secret.
        """
        if not self.limit.covers(Scope(scope.conditions, scope.collections)):
            raise ForbiddenError("A key cannot be wider than the key that creates it.")
        return self.storage.keys.create(
            name,
            role,
            filters=scope.to_json(),
            collections=scope.collections,
            **limits,
        )

    def revoke_key(self, key_id: str) -> ApiKey:
        """Revoke a key that is not wider than the caller. Raises NotFoundError: there
        is none, or it is revoked already.
        """
        return self.storage.keys.revoke(key_id, within=self.limit)
