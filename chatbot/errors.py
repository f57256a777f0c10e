"""Every error this package raises on purpose.

    ChatbotError
    ├── SettingsError            a setting has a wrong value; the start stops
    ├── InvalidRequestError      the caller's input is wrong (400); names the fields
    │   └── UnknownNameError     a name that no registry knows; lists the valid ones
    ├── UnauthorizedError        a key is needed, or the one sent is none (401)
    ├── ForbiddenError           the key's role is not enough for this (403)
    ├── ForbiddenHostError       the server was asked by a name that is not its own (403)
    ├── ForbiddenOriginError     another web site's page asks for a change (403)
    ├── NotFoundError            an id that does not exist, or is not the caller's (404)
    ├── LoadError                a file cannot be read as what it claims to be (422)
    │   └── ReaderFailedError    the reader failed on the file: our fault, the file may be sound
    ├── BudgetExhaustedError     the day's tokens are used up (429)
    ├── TooManyRequestsError     the caller has had its share of requests (429)
    ├── ConflictError            somebody else has it in hand (409)
    ├── SupersededError          a newer upload of the same file is registered (409)
    ├── DocumentExistsError      a report of that name is there: replace it, or keep both? (409)
    ├── CancelledError           a person stopped it (409)
    │   └── StoppedError         this process ends; the work goes on later
    ├── IngestingError           the report is registered, its passages are not there yet (503)
    ├── EmbedderMismatchError    the stored vectors come from another embedding model (503)
    └── DependencyError          something outside this process failed (503)
        ├── DatabaseError            MongoDB or the embedded file
        │   └── DiskFullError        there is no room to write; reading goes on
        ├── SearchEngineError        $vectorSearch, $search, FAISS, pgvector
        ├── EmbeddingError           the embedding model
        ├── ChatModelError           the chat model
        │   └── ContextLengthError   the prompt was longer than the model reads
        └── MissingPackageError      an optional package is not installed

Adapters translate foreign exceptions once, at their edge, with ``raise ... from``. Every message is
written for the person who has to mend it and never holds a secret; ``code`` is stable and machine-readable.
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
    """A setting that cannot be used: its name, its value and the valid ones are in the message."""

    code = "invalid_setting"


class InvalidRequestError(ChatbotError):
    """Input that cannot be served. ``details`` has one entry per field: field, message, valid_values."""

    code = "invalid_request"
    status = 400

    @classmethod
    def for_field(cls, field: str, message: str, valid_values: Iterable[object] | None = None) -> Self:
        """An error about one field, with the values that would have been accepted."""
        detail: dict[str, Any] = {"field": field, "message": message}
        if valid_values is not None:
            detail["valid_values"] = list(valid_values)
        return cls(f"{field}: {message}", details=[detail])


class UnknownNameError(InvalidRequestError):
    """A registry was asked for a name it does not have."""

    code = "unknown_name"

    @classmethod
    def among(cls, field: str, kind: str, name: str, valid: Iterable[str]) -> Self:
        """``name`` came in ``field``, and is none of the ``valid`` ones of its ``kind``."""
        valid = sorted(valid)
        return cls.for_field(
            field, f"{name[:LONGEST_SHOWN]!r} is not a valid {kind}. Valid: {', '.join(valid)}.", valid
        )


class UnauthorizedError(ChatbotError):
    """Strangers may not do this here, and no key that counts was sent."""

    code = "unauthorized"
    status = 401


class ForbiddenError(ChatbotError):
    """The caller is known, and may not do this."""

    code = "forbidden"
    status = 403


class ForbiddenHostError(ChatbotError):
    """The Host header has a name that is not in ALLOWED_HOSTS."""

    code = "forbidden_host"
    status = 403


class ForbiddenOriginError(ChatbotError):
    """A browser sends this for the page of another web site, which is not in CORS_ORIGINS."""

    code = "forbidden_origin"
    status = 403


class NotFoundError(ChatbotError):
    """No such id, or not visible to the caller: both look the same from outside."""

    code = "not_found"
    status = 404


class LoadError(ChatbotError):
    """A file or page that cannot become a document. The message names it and says what to do."""

    code = "unreadable_document"
    status = 422


class ReaderFailedError(LoadError):
    """A reader met what it was not written for. Nothing is said against the file; the message is fit for a report."""

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
    """More than REQUESTS_PER_MINUTE, or QUESTIONS_PER_CALLER at once."""

    code = "too_many_requests"
    status = 429


class DocumentExistsError(ChatbotError):
    """Nothing was stored: ``details`` name the reports, and the ``choices`` there are for ``on_conflict``."""

    code = "document_exists"
    status = 409


class ConflictError(ChatbotError):
    """Somebody else is at work on it; it may be tried again in a few seconds."""

    code = "conflict"
    status = 409
    retry_after = 5


class SupersededError(ChatbotError):
    """An older upload of a file whose newer upload is registered: it never replaces the newer one."""

    code = "superseded"
    status = 409


class CancelledError(ChatbotError):
    """Somebody stopped the work; what it had begun is taken back."""

    code = "cancelled"
    status = 409


class StoppedError(CancelledError):
    """This process ends. What it had begun stays for the one that goes on with it."""

    code = "stopped"


class IngestingError(ChatbotError):
    """The reports asked for are registered, but their passages are still being indexed."""

    code = "ingesting"
    status = 503
    retry_after = 3


class EmbedderMismatchError(ChatbotError):
    """The database was written with another embedding model than the one configured."""

    code = "embedder_mismatch"
    status = 503


class DependencyError(ChatbotError):
    """Something this process depends on failed; ``dependency`` names it, ``remedy`` says what helps.

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
    """MongoDB, or the embedded database's file, failed or does not answer."""

    code = "database_unavailable"
    dependency = "database"


class DiskFullError(DatabaseError):
    """There is no room to write, or it is kept free; what only reads goes on."""

    code = "no_space"
    status = 507

    def __init__(self, message: str, *, remedy: str = "Free some space on the disk of DATA_DIR.") -> None:
        super().__init__(message, remedy=remedy, retry_after=60)


class SearchEngineError(DependencyError):
    """What searches passages: $vectorSearch, $search, FAISS or pgvector."""

    code = "search_unavailable"
    dependency = "vector_search"


class EmbeddingError(DependencyError):
    """The embedding model, or its endpoint, failed or does not answer."""

    code = "embedder_unavailable"
    dependency = "embedder"


class ChatModelError(DependencyError):
    """The chat model, or its endpoint, failed or does not answer."""

    code = "chat_model_unavailable"
    dependency = "chat_model"


class ContextLengthError(ChatModelError):
    """The prompt is longer than the model reads."""

    code = "context_too_long"


class MissingPackageError(DependencyError):
    """An optional package is not installed."""

    code = "missing_package"
    dependency = "python_package"
