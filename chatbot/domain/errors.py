"""Every error this package raises on purpose.

    ChatbotError
    ├── SettingsError            a setting has a wrong value; the start stops and names the valid ones
    ├── InvalidRequestError      the request is wrong (400); names the fields
    │   └── UnknownNameError     no registry has this name; lists the valid ones
    ├── UnauthorizedError        a key is needed, or the key sent is not valid (401)
    ├── ForbiddenError           the key's role is not enough for this (403)
    ├── ForbiddenHostError       the Host header has a name that is not in ALLOWED_HOSTS (403)
    ├── ForbiddenOriginError     the page of another web site, not in CORS_ORIGINS, sends a change (403)
    ├── NotFoundError            the id does not exist, or is not visible to the caller (404)
    ├── LoadError                a file or page cannot become a document (422); says what to do
    │   └── ReaderFailedError    the reader failed: a bug of ours, the file may be sound
    ├── BudgetExhaustedError     today's tokens are used up (429)
    ├── TooManyRequestsError     over REQUESTS_PER_MINUTE, or QUESTIONS_PER_CALLER at once (429)
    ├── ConflictError            another request is changing it (409); retry in a few seconds
    ├── SupersededError          a newer upload of the same file is registered and stays (409)
    ├── DocumentExistsError      a report of that name exists; nothing was stored (409)
    ├── CancelledError           a person stopped the work, and it was undone (409)
    │   └── StoppedError         this process ends; another one continues the work
    ├── IngestingError           the reports are registered, their passages are still being indexed (503)
    ├── EmbedderMismatchError    the database was written with another embedding model (503)
    └── DependencyError          something outside this process failed (503)
        ├── DatabaseError            MongoDB or the embedded file
        │   └── DiskFullError        no space to write (507); reading continues
        ├── SearchEngineError        $vectorSearch, $search, FAISS, pgvector
        ├── EmbeddingError           the embedding model
        ├── ChatModelError           the chat model
        │   └── ContextLengthError   the prompt is longer than the model reads
        └── MissingPackageError      an optional package is not installed

Adapters translate foreign exceptions once, at their edge, with ``raise ... from``. Messages
say what is wrong and what to do, and never contain a secret; ``code`` is stable and machine-readable.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self

TIMEOUT = "timeout"
"""A `DependencyError.reason`: no answer in time; what was asked may still have been done, and be paid for."""
NOTHING_WRITTEN = "nothing_written"
"""A `DependencyError.reason`: the model reached its limit before the first word."""
LONGEST_SHOWN = 100
"""Characters of a wrong value that a message repeats."""


class ChatbotError(Exception):
    """Base of the tree. ``details`` is JSON-serialisable and safe to show.

    ``retry_after``: the seconds after which trying again may help, None where it does not or only a person can mend it.
    """

    code: ClassVar[str] = "internal_error"
    status: ClassVar[int] = 500
    """The HTTP status."""
    retry_after: int | None = None

    def __init__(
        self, message: str, *, details: Sequence[Mapping[str, Any]] = (), retry_after: int | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.details = [dict(detail) for detail in details]
        if retry_after is not None:
            self.retry_after = retry_after


class SettingsError(ChatbotError):
    code = "invalid_setting"


class InvalidRequestError(ChatbotError):
    """``details`` has one entry per field: field, message, valid_values."""

    code = "invalid_request"
    status = 400

    @classmethod
    def for_field(cls, field: str, message: str, valid_values: Iterable[object] | None = None) -> Self:
        """Return an error about one field, with the values that would have been accepted."""
        detail: dict[str, Any] = {"field": field, "message": message}
        if valid_values is not None:
            detail["valid_values"] = list(valid_values)
        return cls(f"{field}: {message}", details=[detail])


class UnknownNameError(InvalidRequestError):
    code = "unknown_name"

    @classmethod
    def among(cls, field: str, kind: str, name: str, valid: Iterable[str]) -> Self:
        """``name`` came in ``field``, and is none of the ``valid`` ones of its ``kind``."""
        valid = sorted(valid)
        return cls.for_field(
            field, f"{name[:LONGEST_SHOWN]!r} is not a valid {kind}. Valid: {', '.join(valid)}.", valid
        )


class UnauthorizedError(ChatbotError):
    code = "unauthorized"
    status = 401


class ForbiddenError(ChatbotError):
    code = "forbidden"
    status = 403


class ForbiddenHostError(ChatbotError):
    code = "forbidden_host"
    status = 403


class ForbiddenOriginError(ChatbotError):
    code = "forbidden_origin"
    status = 403


class NotFoundError(ChatbotError):
    code = "not_found"
    status = 404


class LoadError(ChatbotError):
    code = "unreadable_document"
    status = 422


class ReaderFailedError(LoadError):
    code = "reader_failed"


class BudgetExhaustedError(ChatbotError):
    """DAILY_TOKEN_LIMIT is reached; ``retry_after`` is the seconds until the next day (UTC)."""

    code = "budget_exhausted"
    status = 429

    def __init__(self, *, used: int, limit: int, retry_after: int, whose: str = "Today's") -> None:
        hours = f"{retry_after // 3600} h {retry_after % 3600 // 60} min"
        super().__init__(
            f"{whose} budget of {limit:,} tokens is used up ({used:,}); it begins anew in {hours}, at midnight UTC. "
            "Passages can still be searched.",
            retry_after=retry_after,
        )


class TooManyRequestsError(ChatbotError):
    code = "too_many_requests"
    status = 429


class DocumentExistsError(ChatbotError):
    """``details`` name the reports, and the ``choices`` for ``on_conflict``."""

    code = "document_exists"
    status = 409


class ConflictError(ChatbotError):
    code = "conflict"
    status = 409
    retry_after = 5


class SupersededError(ChatbotError):
    code = "superseded"
    status = 409


class CancelledError(ChatbotError):
    code = "cancelled"
    status = 409


class StoppedError(CancelledError):
    code = "stopped"


class IngestingError(ChatbotError):
    code = "ingesting"
    status = 503
    retry_after = 3


class EmbedderMismatchError(ChatbotError):
    code = "embedder_mismatch"
    status = 503


class DependencyError(ChatbotError):
    """``dependency`` names what failed, ``remedy`` says what helps.

    ``reason`` is a machine-readable word where the doctor tells causes apart (``auth_refused``, ...).
    """

    code = "dependency_unavailable"
    status = 503
    dependency: ClassVar[str] = "dependency"

    def __init__(self, message: str, *, remedy: str = "", retry_after: int | None = None, reason: str = "") -> None:
        details = [{"dependency": self.dependency, "remedy": remedy}]
        super().__init__(f"{message} {remedy}".strip(), details=details, retry_after=retry_after)
        self.finding = message
        self.remedy = remedy
        self.reason = reason


class DatabaseError(DependencyError):
    code = "database_unavailable"
    dependency = "database"


class DiskFullError(DatabaseError):
    code = "no_space"
    status = 507

    def __init__(self, message: str, *, remedy: str = "Free some space on the disk of DATA_DIR.") -> None:
        super().__init__(message, remedy=remedy, retry_after=60)


class SearchEngineError(DependencyError):
    code = "search_unavailable"
    dependency = "vector_search"


class EmbeddingError(DependencyError):
    code = "embedder_unavailable"
    dependency = "embedder"


class ChatModelError(DependencyError):
    code = "chat_model_unavailable"
    dependency = "chat_model"


class ContextLengthError(ChatModelError):
    code = "context_too_long"


class MissingPackageError(DependencyError):
    code = "missing_package"
    dependency = "python_package"
