"""Every error this package raises on purpose. Adapters translate foreign exceptions
once, at their edge. Messages say what is wrong and what to do, and never contain a
secret; ``code`` is stable and machine-readable.
"""

import tomllib
from collections.abc import Collection as AnyOf
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any, ClassVar, Literal, Self

TIMEOUT = "timeout"
"""A `DependencyError.reason`: no answer in time; what was asked may still have been
done, and be paid for.
"""
Fault = Literal[
    "key_refused",
    "unknown_model",
    "rate_limited",
    "quota_used_up",
    "timeout",
    "unreachable",
    "broken_off",
    "failed",
    "empty",
    "refused",
    "content_filter",
    "context_too_long",
]
"""A `ChatModelError.reason`. ``empty``: it wrote nothing, or reached its limit before
the first word. ``refused``: the model declined to answer, or its endpoint the request.
"""
LASTING_FAULTS: AnyOf[str] = (
    "key_refused",
    "unknown_model",
    "quota_used_up",
    "rate_limited",
    "timeout",
    "unreachable",
)
"""Faults that the next call of the same question would only meet again."""
WORDLESS_FAULTS: AnyOf[str] = ("empty", "refused", "content_filter")
"""Faults of a model that works, and writes nothing to this prompt."""
LONGEST_SHOWN = 100
"""Characters of a wrong value that a message repeats."""


class ChatbotError(Exception):
    """Base of the tree. ``details`` is JSON-serialisable and safe to show.

    ``retry_after``: the seconds after which trying again may help, None where it does
    not or only a person can mend it. A class names its ``code`` and its HTTP
    ``status``, and what it does not name is that of its base.
    """

    code: ClassVar[str] = "internal_error"
    status: ClassVar[int] = 500
    retry_after: int | None = None

    def __init_subclass__(cls, **attributes: Any) -> None:
        super().__init_subclass__()
        for name, value in attributes.items():
            setattr(cls, name, value)

    def __init__(
        self,
        message: str,
        *,
        details: Sequence[Mapping[str, Any]] = (),
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.details = [dict(detail) for detail in details]
        if retry_after is not None:
            self.retry_after = retry_after


class SettingsError(ChatbotError, code="invalid_setting"):
    """A setting has a wrong value; the start stops and names the valid ones."""


class InvalidRequestError(ChatbotError, code="invalid_request", status=400):
    """The request is wrong. ``details`` has one entry per field: field, message,
    valid_values.
    """

    @classmethod
    def for_field(
        cls, field: str, message: str, valid_values: Iterable[object] | None = None
    ) -> Self:
        """Return an error about one field, with the values that would have been
        accepted.
        """
        detail: dict[str, Any] = {"field": field, "message": message}
        if valid_values is not None:
            detail["valid_values"] = list(valid_values)
        return cls(f"{field}: {message}", details=[detail])


class UnknownNameError(InvalidRequestError, code="unknown_name"):
    """No registry has this name; lists the valid ones."""

    @classmethod
    def among(cls, field: str, kind: str, name: str, valid: Iterable[str]) -> Self:
        """``name`` came in ``field``, and is none of the ``valid`` ones of its
        ``kind``.
        """
        valid = sorted(valid)
        return cls.for_field(
            field,
            f"{name[:LONGEST_SHOWN]!r} is not a valid {kind}. Valid: {', '.join(valid)}.",  # noqa: E501
            valid,
        )


class UnauthorizedError(ChatbotError, code="unauthorized", status=401):
    """A key is needed, or the key sent is not valid."""


class ForbiddenError(ChatbotError, code="forbidden", status=403):
    """The key's role is not enough for this."""


class ForbiddenHostError(ChatbotError, code="forbidden_host", status=403):
    """The Host header has a name that is not in ALLOWED_HOSTS."""


class ForbiddenOriginError(ChatbotError, code="forbidden_origin", status=403):
    """The page of another web site, not in CORS_ORIGINS, sends a change."""


class NotFoundError(ChatbotError, code="not_found", status=404):
    """The id does not exist, or is not visible to the caller."""


class LoadError(ChatbotError, code="unreadable_document", status=422):
    """A file or page cannot become a document; says what to do."""


class ReaderFailedError(LoadError, code="reader_failed"):
    """The reader failed: a bug of ours, the file may be sound."""


class BudgetExhaustedError(ChatbotError, code="budget_exhausted", status=429):
    """Today's tokens are used up; ``retry_after`` is the seconds until the next day
    (UTC).
    """

    def __init__(
        self, *, used: int, limit: int, retry_after: int, whose: str = "Today's"
    ) -> None:
        hours = f"{retry_after // 3600} h {retry_after % 3600 // 60} min"
        super().__init__(
            f"{whose} budget of {limit:,} tokens is used up ({used:,}); it begins anew in {hours}, at midnight UTC. "  # noqa: E501
            "Passages can still be searched.",
            retry_after=retry_after,
        )


class TooManyRequestsError(ChatbotError, code="too_many_requests", status=429):
    """Over REQUESTS_PER_MINUTE, or QUESTIONS_PER_CALLER at once."""


class DocumentExistsError(ChatbotError, code="document_exists", status=409):
    """A report of that name exists; nothing was stored. ``details`` name it and the
    ``choices`` for ``on_conflict``.
    """


class ConflictError(ChatbotError, code="conflict", status=409, retry_after=5):
    """Another request is changing it."""


class ReadOnlyError(ChatbotError, code="read_only", status=409):
    """The passages belong to another program, which alone changes them."""


class SupersededError(ChatbotError, code="superseded", status=409):
    """A newer upload of the same file is registered and stays."""


class DeletedReportError(ChatbotError, code="deleted", status=409):
    """A person deleted this report, so that no source adds it again."""


class CancelledError(ChatbotError, code="cancelled", status=409):
    """A person stopped the work, and it was undone."""


class StoppedError(CancelledError, code="stopped"):
    """This process ends; another one continues the work."""


class QuotaError(ChatbotError, code="too_many_files", status=507, retry_after=60):
    """Too many files wait to be used."""


class QueueFullError(ChatbotError, code="queue_full", status=503, retry_after=60):
    """Too many files of all callers wait to be read."""


class IngestingError(ChatbotError, code="ingesting", status=503, retry_after=3):
    """The reports are registered, their passages are still being indexed."""


class EmbedderMismatchError(ChatbotError, code="embedder_mismatch", status=503):
    """The database was written with another embedding model."""


class DependencyError(ChatbotError, code="dependency_unavailable", status=503):
    """Something outside this process failed. ``dependency`` names it, ``remedy`` says
    what helps.

    ``reason`` is a machine-readable word where the doctor tells causes apart
    (``auth_refused``, ...). ``said``: its own words, which may name hosts: for the log
    and administrators.
    """

    dependency: ClassVar[str] = "dependency"

    def __init__(
        self,
        message: str,
        *,
        remedy: str = "",
        retry_after: int | None = None,
        reason: str = "",
        said: str = "",
    ) -> None:
        details = [{"dependency": self.dependency, "remedy": remedy}]
        super().__init__(
            f"{message} {remedy}".strip(), details=details, retry_after=retry_after
        )
        self.finding = message
        self.remedy = remedy
        self.reason = reason
        self.said = said

    @property
    def in_full(self) -> str:
        """The message with what the dependency said itself."""
        if self.said:
            return f"{self.message} It said: {self.said}"
        return self.message


def read_table(package: str, name: str) -> dict[str, Any]:
    """Return the table that a package keeps as TOML."""
    return tomllib.loads(files(package).joinpath(f"{name}.toml").read_text("utf-8"))


class DatabaseError(
    DependencyError, code="database_unavailable", dependency="database"
):
    """MongoDB or the embedded file failed."""


class DiskFullError(DatabaseError, code="no_space", status=507):
    """There is no space to write; reading continues."""

    def __init__(
        self, message: str, *, remedy: str = "Free some space on the disk of DATA_DIR."
    ) -> None:
        super().__init__(message, remedy=remedy, retry_after=60, reason="full")


class SearchEngineError(
    DependencyError, code="search_unavailable", dependency="vector_search"
):
    """$vectorSearch, $search, FAISS or pgvector failed."""


class EmbeddingError(
    DependencyError, code="embedder_unavailable", dependency="embedder"
):
    """The embedding model failed."""


class ChatModelError(
    DependencyError, code="chat_model_unavailable", dependency="chat_model"
):
    """The chat model failed. ``reason`` is a `Fault`."""

    default_reason: ClassVar[Fault] = "failed"

    def __init__(self, message: str, *, reason: str = "", **details: Any) -> None:
        super().__init__(message, reason=reason or self.default_reason, **details)


class ContextLengthError(
    ChatModelError, code="context_too_long", default_reason="context_too_long"
):
    """The prompt is longer than the model reads."""


class IdentityProviderError(
    DependencyError, code="sign_in_unavailable", dependency="identity_provider"
):
    """OIDC_ISSUER failed."""


class MissingPackageError(
    DependencyError, code="missing_package", dependency="python_package"
):
    """An optional package is not installed."""
