"""Errors of MongoDB's search engine, with their causes and remedies."""

import json
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ...database.core import CommandError
from ...database.failures import Failures, ServerCode
from ...domain.errors import SearchEngineError
from ..chunks import no_direction

if TYPE_CHECKING:
    from .indexes import SearchTarget

FOLLOWED_BY = "document_id"
"""The field by which the store asks how much of a document the engine has indexed;
declared in every index.
"""
NOT_QUERYABLE = "index_not_queryable"
UNDECLARED = "field_undeclared"
"""Reasons of errors of one index, not of the question: its state, and a field that it
does not declare.
"""
RATE_LIMITED = "embedding_limited"
"""The reason of the error where MongoDB embeds no more questions for now."""
NO_ENGINE_CODES = {115, 31082, 40324, 6047401}
"""CommandNotSupported, SearchNotEnabled, unrecognised stage, and "only allowed on
MongoDB Atlas" (7.x).
"""
_NO_ENGINE = re.compile(
    r"SearchNotEnabled|requires additional configuration|only (?:allowed "
    r"on|supported with) (?:MongoDB )?Atlas"
    r"|\$\w+ is not allowed(?! within| to be used)|Aggregation stage '\$\w+' not "
    r"supported|Unrecognized pipeline stage"
    r"|no such command: '\w*SearchIndex",
    re.IGNORECASE,
)
_ENGINE_DOWN = re.compile(r"Error connecting to \S+:\d+")
_ZERO = re.compile(r"against a zero (?:vector|knnVector)|non-finite value")
_NOT_READY = re.compile(
    r"while in state (?P<state>\w+)|Index \S+ (?P<new>not initialized)"
)
_FULL = re.compile(
    r"(?:maximum number of|too many) (?:\w+ )*index|index limit", re.IGNORECASE
)
_WRONG_INDEX = (
    (
        re.compile(r"Path '(?P<path>[^']+)' needs to be indexed as (?P<type>\w+)"),
        "undeclared",
    ),
    (
        re.compile(
            r"(?P<path>\S+) (?:is not indexed as vector|must be indexed as \"vector\")"
        ),
        "vector_path",
    ),
    (
        re.compile(
            r"indexed with (?P<stored>\d+) dimensions but queried with (?P<asked>\d+)"
        ),
        "dimensions",
    ),
    (_FULL, "full:indexes"),
    # AutoEmbeddingIndexValidator.java of github.com/mongodb/mongot has these two, and
    # VectorSearchCommand.java the third; the fourth is the vendor's page on models.
    (re.compile(r"embedding model\(s\) are not supported: (?P<said>.+)"), "no_model"),
    (re.compile(r"cannot (?:update type:autoEmbed|convert a type)"), "other_model"),
    (re.compile(r"queryVector must be present|\"?queryVector\"? is req"), "by_vector"),
    (re.compile(r"context-limit-exceeded"), "long_question"),
)
"""Refusals by an index that is not as it should be, or has no room."""
_RATE_LIMIT = re.compile(
    r"\bstatus: 429\b|rate.?limit|too many requests", re.IGNORECASE
)
"""In what the server says of the service behind it: `MmsApiError(HttpError { status:
429, message: ... })`, of the form in jira.mongodb.org/browse/COMPASS-10595.
"""
_SECONDS = re.compile(
    r"(?:retry|wait|try again)\D{0,20}(\d+(?:\.\d+)?) ?s", re.IGNORECASE
)
failure = Failures("search", SearchEngineError)


@contextmanager
def translate_refusals(target: "SearchTarget") -> Iterator[None]:
    """Raise a refused command as a SearchEngineError that says what to do."""
    try:
        yield
    except CommandError as error:
        raise explain(error, target) from error


def lacks_engine(error: CommandError) -> bool:
    """Return whether the server has no such stage or command. An engine that does not
    answer may come back.
    """
    return error.server_code in NO_ENGINE_CODES or bool(
        _NO_ENGINE.search(error.server_message)
    )


def is_away(error: CommandError) -> bool:
    """Return whether there is a search engine that does not answer just now."""
    return bool(_ENGINE_DOWN.search(error.server_message))


def has_no_room(error: CommandError) -> bool:
    """Return whether the server's tier allows no further search index (the free tier
    has three).
    """
    return bool(_FULL.search(error.server_message))


def is_rate_limited(error: CommandError) -> bool:
    """Return whether a service of models behind the server takes no more for now."""
    return bool(_RATE_LIMIT.search(error.server_message))


def explain(error: CommandError, target: "SearchTarget") -> SearchEngineError:
    """Return the cause and the remedy of known refusals, and the server's words of
    others.
    """
    message = error.server_message
    if error.server_code == ServerCode.SEARCH_OVERLOADED:
        return failure("throttled")
    if is_away(error):
        return failure("away")
    if lacks_engine(error):
        return failure("no_engine")
    if is_rate_limited(error):
        return failure("embedding_limited")
    if _ZERO.search(message):
        return no_direction()
    not_ready = _NOT_READY.search(message)
    if not_ready:
        return not_queryable(target, not_ready["state"] or not_ready["new"])
    for pattern, name in _WRONG_INDEX:
        match = pattern.search(message)
        if match:
            return _wrong_index(name, match.groupdict(), target)
    return SearchEngineError(
        f"The search engine refused a search of {target.collection!r}: {message}",
        remedy=error.remedy,
        retry_after=error.retry_after,
    )


def _wrong_index(
    name: str, details: dict[str, str | None], target: "SearchTarget"
) -> SearchEngineError:
    """Return the error of an index that does not fit the search."""
    declare = "Add it to FILTER_FIELDS and run:"
    if details.get("path") == FOLLOWED_BY:  # this program's own, in every definition
        declare = "Run:"
    return failure(
        name,
        index=target.described,
        definition=json.dumps(target.definition),
        declare=declare,
        **details,
    )


def no_reranking(error: CommandError) -> SearchEngineError:
    """Return the error for a server that lacks `$rerank` or refuses it: it has rate
    limits, and can be off.
    """
    if is_rate_limited(error):
        seconds = 60  # limits are per minute
        stated = _SECONDS.search(error.server_message)
        if stated:
            seconds = math.ceil(float(stated[1]))
        return SearchEngineError(
            "MongoDB's model service limits the rate of $rerank.",
            remedy=(
                f"Wait {seconds} s. The limits are in the project's settings, under "
                "Native Reranking."
            ),
            retry_after=seconds,
        )
    message = f"MongoDB refused $rerank: {error.server_message}"
    if error.server_code in NO_ENGINE_CODES:
        message = "This MongoDB server has no $rerank."
    return SearchEngineError(
        message,
        remedy=(
            "It is a preview of Atlas (MongoDB 8.3+, Native Reranking switched on in "
            "the project's settings); RERANKER=none does without."
        ),
        retry_after=error.retry_after,
    )


def not_queryable(
    target: "SearchTarget", state: str, message: str = ""
) -> SearchEngineError:
    """Return the error for an index that exists and does not answer (yet); ``message``
    is the server's own.
    """
    if state == "FAILED":
        detail = f" ({message})" if message else ""
        return failure("failed", index=target.described, detail=detail)
    return failure("not_ready", index=target.described, state=state)
