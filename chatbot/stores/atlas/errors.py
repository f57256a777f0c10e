"""Errors of MongoDB's search engine, with their causes and remedies."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ...database.core import CommandError
from ...domain.errors import SearchEngineError
from ..chunks import no_direction

if TYPE_CHECKING:
    from .indexes import SearchTarget

FOLLOWED_BY = "document_id"
"""The field by which the store asks how much of a document the engine has indexed; declared in every index."""
OVERLOADED = 489
NOT_QUERYABLE, UNDECLARED = "index_not_queryable", "field_undeclared"
"""Reasons of errors of one index, not of the question: its state, and a field that it does not declare."""
NO_ENGINE_CODES = {115, 31082, 40324, 6047401}
"""CommandNotSupported, SearchNotEnabled, unrecognised stage, and "only allowed on MongoDB Atlas" (7.x)."""
_NO_ENGINE = re.compile(
    r"SearchNotEnabled|requires additional configuration|only (?:allowed on|supported with) (?:MongoDB )?Atlas"
    r"|\$\w+ is not allowed(?! within| to be used)|Aggregation stage '\$\w+' not supported|Unrecognized pipeline stage"
    r"|no such command: '\w*SearchIndex",
    re.IGNORECASE,
)
_ENGINE_DOWN = re.compile(r"Error connecting to \S+:\d+")
_FILTER = re.compile(r"Path '(?P<path>[^']+)' needs to be indexed as (?P<type>\w+)")
_VECTOR_PATH = re.compile(r"(?P<path>\S+) (?:is not indexed as vector|must be indexed as \"vector\")")
_DIMENSIONS = re.compile(r"indexed with (?P<stored>\d+) dimensions but queried with (?P<asked>\d+)")
_ZERO = re.compile(r"against a zero (?:vector|knnVector)|non-finite value")
_NOT_READY = re.compile(r"while in state (?P<state>\w+)|Index \S+ (?P<new>not initialized)")
_FULL = re.compile(r"(?:maximum number of|too many) (?:\w+ )*index|index limit", re.IGNORECASE)


@contextmanager
def translate_refusals(target: SearchTarget) -> Iterator[None]:
    """Raise a refused command as a SearchEngineError that says what to do."""
    try:
        yield
    except CommandError as error:
        raise explain(error, target) from error


def lacks_engine(error: CommandError) -> bool:
    """Return whether the server has no such stage or command. An engine that does not answer may come back."""
    return error.server_code in NO_ENGINE_CODES or bool(_NO_ENGINE.search(error.server_message))


def is_away(error: CommandError) -> bool:
    """Return whether there is a search engine that does not answer just now."""
    return bool(_ENGINE_DOWN.search(error.server_message))


def has_no_room(error: CommandError) -> bool:
    """Return whether the server's tier allows no further search index (the free tier has three)."""
    return bool(_FULL.search(error.server_message))


def explain(error: CommandError, target: SearchTarget) -> SearchEngineError:
    """Return the cause and the remedy of known refusals, and the server's words of others."""
    if error.server_code == OVERLOADED:
        return SearchEngineError("The search engine is overloaded.", remedy="Try again.", retry_after=2)
    if is_away(error):
        return SearchEngineError(
            "MongoDB cannot reach its search engine.",
            remedy="Start the search engine (mongot) beside the server, or set VECTOR_SEARCH=faiss.",
            retry_after=5,
        )
    if lacks_engine(error):
        return SearchEngineError(
            "This MongoDB server has no search engine: it does not know $vectorSearch and $search.",
            remedy="Set VECTOR_SEARCH=faiss to search in this process, or use Atlas or Community 8.2+ with mongot.",
        )
    if _ZERO.search(error.server_message):
        return no_direction()
    if match := _NOT_READY.search(error.server_message):
        return not_queryable(target, match["state"] or match["new"])
    return _wrong_index(error.server_message, target) or SearchEngineError(
        f"The search engine refused a search of {target.collection!r}: {error.server_message}",
        retry_after=error.retry_after,
    )


def _wrong_index(message: str, target: SearchTarget) -> SearchEngineError | None:
    """Return the error for an index that is not as it should be, or has no room; None for any other message."""
    definition = f"python -m chatbot index create. The index should be: {json.dumps(target.definition)}"
    if match := _FILTER.search(message):
        declare = "Run:" if match["path"] == FOLLOWED_BY else "Add it to FILTER_FIELDS and run:"
        return SearchEngineError(
            f"The field {match['path']!r} is not declared as {match['type']} in the {target.described}.",
            remedy=f"{declare} {definition}",
            reason=UNDECLARED,
        )
    if match := _VECTOR_PATH.search(message):
        return SearchEngineError(
            f"{match['path']!r} is not the vector field of the {target.described}.",
            remedy=f"Update the index: {definition}",
        )
    if match := _DIMENSIONS.search(message):
        return SearchEngineError(
            f"The {target.described} holds vectors of {match['stored']} dimensions, "
            f"the question's has {match['asked']}: the embedding model has changed.",
            remedy="Set the embedding model it was written with, or embed it again: python -m chatbot reembed.",
        )
    if _FULL.search(message):
        return SearchEngineError(
            f"There is no room for the {target.described}: the cluster has as many search indexes as its tier allows.",
            remedy="Drop one that is not used (the free tier allows three), or use a larger tier.",
        )
    return None


def no_reranking(error: CommandError) -> SearchEngineError:
    """Return the error for a server that lacks `$rerank` or refuses it: it has rate limits, and can be off."""
    lacking = error.server_code in NO_ENGINE_CODES
    return SearchEngineError(
        "This MongoDB server has no $rerank." if lacking else f"MongoDB refused $rerank: {error.server_message}",
        remedy="It is a preview of Atlas (MongoDB 8.3+, Native Reranking switched on in the project's settings); "
        "RERANKER=none does without.",
        retry_after=error.retry_after,
    )


def not_queryable(target: SearchTarget, state: str, message: str = "") -> SearchEngineError:
    """Return the error for an index that exists and does not answer (yet); ``message`` is the server's own."""
    if state == "FAILED":
        return SearchEngineError(
            f"The {target.described} has failed{f' ({message})' if message else ''}.",
            remedy="Drop it and create it again: python -m chatbot index drop, then index create.",
            reason=NOT_QUERYABLE,
        )
    return SearchEngineError(
        f"The {target.described} is not queryable: its state is {state}.",
        remedy="It answers once it is built; see: python -m chatbot index status.",
        retry_after=10,
        reason=NOT_QUERYABLE,
    )


def missing(target: SearchTarget, others: Iterable[str]) -> SearchEngineError:
    """Return the error for an index that does not exist, beside ``others`` of the same collection."""
    return SearchEngineError(
        f"The collection {target.collection!r} has no search index {target.index!r}, so nothing can be found in it "
        f"(its search indexes: {', '.join(sorted(others)) or 'none'}).",
        remedy="Create it: python -m chatbot index create.",
        reason=NOT_QUERYABLE,
    )
