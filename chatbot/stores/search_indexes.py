"""Search indexes by code: create, change, watch and drop them, and find out what a server can do.

The server builds search indexes in the background, and a search of one that is missing gives no rows and no error:
so nothing here is done until the index says it is queryable.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from ..database import Collection, CommandError, Database, Json
from ..errors import SearchEngineError
from .atlas_definitions import (
    IndexPlan,
    as_wanted,
    keeping_extras,
    plan_indexes,
    text_index_definition,
    vector_index_definition,
)
from .atlas_errors import SearchTarget, explained, has_no_room, not_queryable
from .atlas_probe import SearchCapabilities, probe_search

__all__ = [
    "IndexPlan",
    "IndexStatus",
    "Polling",
    "SearchCapabilities",
    "drop_indexes",
    "ensure_indexes",
    "ensure_ordinary_indexes",
    "index_status",
    "plan_indexes",
    "probe_search",
    "text_index_definition",
    "vector_index_definition",
]

MISSING = "DOES_NOT_EXIST"
NO_ROOM = "NO_ROOM"
ALREADY_EXISTS = 68


@dataclass(frozen=True, slots=True)
class Polling:
    """How long to wait for an index, in seconds; clock and sleep are for the tests."""

    timeout: float = 300.0
    interval: float = 1.0
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """A search index as the server describes it. ``state`` is the server's, or DOES_NOT_EXIST, or NO_ROOM."""

    collection: str
    name: str
    kind: str
    state: str
    queryable: bool
    definition: Json = field(default_factory=dict)
    message: str = ""


def index_status(database: Database, target: SearchTarget) -> IndexStatus:
    """What the server says of one index.

    Raises:
        SearchEngineError: the server has no search engine.
    """
    with explained(target):
        found = database[target.collection].search_indexes(target.index)
    if not found:
        return IndexStatus(target.collection, target.index, target.kind, MISSING, queryable=False)
    described = found[0]
    return IndexStatus(
        target.collection,
        target.index,
        str(described.get("type") or target.kind),
        str(described.get("status") or ("READY" if described.get("queryable") else "PENDING")),
        queryable=bool(described.get("queryable")),
        definition=dict(described.get("latestDefinition") or {}),
        message=str(described.get("message") or ""),
    )


def ensure_indexes(database: Database, plans: Sequence[IndexPlan], polling: Polling | None = None) -> list[IndexStatus]:
    """Create what is missing, update what differs, and wait until everything is queryable.

    The collections must exist: call `ensure_ordinary_indexes` first, which creates them.

    Raises:
        SearchEngineError: no search engine, no room, an index failed, or the time is up.
    """
    waiting: list[tuple[IndexPlan, bool]] = []
    left_out: list[IndexStatus] = []
    for plan in plans:  # all are requested before any is waited for: the server builds them side by side
        try:
            waiting.append((plan, _request(database, plan.target, polling or Polling())))
        except CommandError as error:
            if not (plan.optional and has_no_room(error)):
                with explained(plan.target):
                    raise
            target = plan.target
            left_out.append(
                IndexStatus(target.collection, target.index, target.kind, NO_ROOM, False, message=error.server_message)
            )
    statuses = [_wait(database, plan.target, polling or Polling(), updated=updated) for plan, updated in waiting]
    return statuses + left_out


def _request(database: Database, target: SearchTarget, polling: Polling) -> bool:
    """Ask the server for the index; True when an existing one is being changed."""
    collection = database[target.collection]
    status = index_status(database, target)
    if status.state == "DELETING":
        status = _poll(database, target, polling, lambda now: now.state == MISSING)
    if status.state == MISSING:
        if _created(collection, target):
            return False
        status = index_status(database, target)  # another process was faster
    if status.kind != target.kind:
        raise SearchEngineError(
            f"The {target.described} is of the type {status.kind!r}, not {target.kind!r}.",
            remedy="A type cannot be changed; drop the index first: python -m chatbot index drop.",
        )
    if as_wanted(status.definition, target.definition):
        return False
    collection.update_search_index(target.index, keeping_extras(target.definition, status.definition))
    return True


def _created(collection: Collection, target: SearchTarget) -> bool:
    try:
        collection.create_search_index(target.index, kind=target.kind, definition=target.definition)
    except CommandError as error:
        if error.server_code != ALREADY_EXISTS:
            raise
        return False
    return True


def _wait(database: Database, target: SearchTarget, polling: Polling, *, updated: bool) -> IndexStatus:
    """Until the index answers; after an update, until the new definition does (the old one is queryable all along)."""

    def ready(now: IndexStatus) -> bool:
        return now.queryable and (
            not updated or (now.state == "READY" and as_wanted(now.definition, target.definition))
        )

    return _poll(database, target, polling, ready)


def _poll(
    database: Database, target: SearchTarget, polling: Polling, done: Callable[[IndexStatus], bool]
) -> IndexStatus:
    deadline = polling.clock() + polling.timeout
    while True:
        now = index_status(database, target)
        if done(now):
            return now
        if now.state == "FAILED":
            raise not_queryable(target, now.state, now.message)
        if polling.clock() >= deadline:
            raise SearchEngineError(
                f"The {target.described} is still {now.state} after {polling.timeout:.0f} seconds.",
                remedy="The server goes on building; look again with: python -m chatbot index status.",
                retry_after=30,
            )
        polling.sleep(polling.interval)


def drop_indexes(database: Database, plans: Iterable[IndexPlan]) -> list[str]:
    """Ask the server to drop the indexes that exist; returns what goes, as `collection.index`."""
    dropped = []
    for plan in plans:
        if index_status(database, plan.target).state not in (MISSING, "DELETING"):
            with explained(plan.target):
                database[plan.target.collection].drop_search_index(plan.target.index)
            dropped.append(f"{plan.target.collection}.{plan.target.index}")
    return dropped


def ensure_ordinary_indexes(database: Database, collections: Iterable[str], filter_fields: Iterable[str]) -> None:
    """Ordinary indexes for everything that is looked up; creates the collections where they do not exist."""
    fields = tuple(filter_fields)
    for name in collections:
        database[name].create_index([("document_id", 1), ("ordinal", 1)])
        for filter_field in fields:
            database[name].create_index(filter_field)
