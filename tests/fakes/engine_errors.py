"""The search engine's refusals, in its own words (mongot's source and measured servers, 2026)."""

from __future__ import annotations

from pymongo.errors import OperationFailure

NOT_ENABLED = (
    "Using $search and $vectorSearch aggregation stages requires additional configuration. Please connect to Atlas "
    "or an AtlasCLI local deployment to enable. For more information on how to connect, see "
    "https://dochub.mongodb.org/core/atlas-cli-deploy-local-reqs."
)


def failure(message: str, code: int, name: str) -> OperationFailure:
    return OperationFailure(message, code, {"ok": 0.0, "errmsg": message, "code": code, "codeName": name})


def refused(message: str) -> OperationFailure:
    """What the search engine itself says, as the server passes it on."""
    return failure(f"PlanExecutor error during aggregation :: caused by :: {message}", 8, "UnknownError")


def location(code: int, message: str) -> OperationFailure:
    """What the server says before it asks the engine."""
    return failure(message, code, f"Location{code}")


def not_enabled() -> OperationFailure:
    return failure(NOT_ENABLED, 31082, "SearchNotEnabled")
