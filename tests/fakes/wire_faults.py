"""What `WireProxy` can do with a command, and the refusals of real servers, word for
word where it matters.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Delay:
    """Answered late."""

    seconds: float


@dataclass(frozen=True)
class Drop:
    """The connection is closed; ``after``: the server has done the work, only the
    answer is lost.
    """

    after: bool = False


@dataclass(frozen=True)
class Hang:
    """Never answered: until `heal`, then the connection is closed."""


@dataclass(frozen=True)
class Answer:
    """Answered by the proxy; the server never sees it."""

    document: Mapping[str, Any]


Action = Delay | Drop | Hang | Answer


def failure(code: int, name: str, message: str, *labels: str) -> Answer:
    """A refused command."""
    details = {"ok": 0, "code": code, "codeName": name, "errmsg": message}
    return Answer({**details, "errorLabels": list(labels)} if labels else details)


def rows(*found: Mapping[str, Any]) -> Answer:
    """What an aggregation finds."""
    return Answer(
        {
            "ok": 1,
            "cursor": {"id": 0, "ns": "report_chat.any", "firstBatch": list(found)},
        }
    )


RETRYABLE = "RetryableWriteError"
NOT_PRIMARY = failure(10107, "NotWritablePrimary", "not primary", RETRYABLE)
STEPPED_DOWN = failure(189, "PrimarySteppedDown", "primary stepped down", RETRYABLE)
SHUTTING_DOWN = failure(
    91, "ShutdownInProgress", "The server is in quiesce mode", RETRYABLE
)
BAD_PASSWORD = failure(18, "AuthenticationFailed", "Authentication failed.")
ATLAS_BAD_PASSWORD = failure(8000, "AtlasError", "bad auth : authentication failed")
NO_RIGHTS = failure(
    13,
    "Unauthorized",
    "not authorized on report_chat to execute command { find: 'documents' }",
)
OVERLOADED = failure(489, "SearchOverloaded", "search engine is overloaded")
FULL = failure(
    8000, "AtlasError", "you are over your space quota, using 513 MB of 512 MB"
)
"""mongodb.com/docs/atlas/reference/faq/storage; deletions are still taken."""
TOO_SLOW = failure(50, "MaxTimeMSExpired", "operation exceeded time limit")
NO_ENGINE = failure(
    31082,
    "SearchNotEnabled",
    "Using Atlas Search Database Commands requires additional configuration",
)
NOT_ALLOWED = failure(
    8000, "AtlasError", "$vectorSearch is not allowed or the syntax is incorrect"
)
UNKNOWN_STAGE = failure(
    40324, "Location40324", "Unrecognized pipeline stage name: '$vectorSearch'"
)
ENGINE_DOWN = failure(
    6,
    "HostUnreachable",
    "Error connecting to localhost:28000 :: caused by :: Connection refused",
)
BUILDING = failure(
    8,
    "UnknownError",
    (
        "PlanExecutor error :: cannot query vector index vector_index while in state "
        "INITIAL_SYNC"
    ),
)
