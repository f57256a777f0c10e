"""Create, change, watch and drop search indexes, and find out why a search found nothing.

The server builds search indexes in the background, and a search of one that is missing or unfinished gives no rows and
no error. So creating one waits until it is queryable, and an empty answer is believed only after a look at the index.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...database.core import CommandError, Database, Json
from ...domain.errors import SearchEngineError
from .definitions import SearchTarget, fits_definition, keep_extras
from .errors import has_no_room, missing, not_queryable, translate_refusals

MISSING = "DOES_NOT_EXIST"
NO_ROOM = "NO_ROOM"
ALREADY_EXISTS = 68
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Polling:
    """How long to wait for an index, in seconds; clock and sleep are for the tests."""

    timeout: float = 300.0
    interval: float = 1.0
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


POLLING = Polling()


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
    """Ask the server about one index.

    Raises:
        SearchEngineError: the server has no search engine.
    """
    with translate_refusals(target):
        described = next(iter(database[target.collection].search_indexes(target.index)), None)
    if described is None:
        return IndexStatus(target.collection, target.index, target.kind, MISSING, queryable=False)
    return IndexStatus(
        target.collection,
        target.index,
        index_kind(described),
        str(described.get("status") or ("READY" if described.get("queryable") else "PENDING")),
        queryable=bool(described.get("queryable")),
        definition=dict(described.get("latestDefinition") or {}),
        message=_message(described),
    )


def index_kind(described: Mapping[str, Any]) -> str:
    """Return vectorSearch or search. Community does not name the type: there it follows from the definition."""
    is_search = "mappings" in (described.get("latestDefinition") or {})
    return str(described.get("type") or ("search" if is_search else "vectorSearch"))


def _message(described: Mapping[str, Any]) -> str:
    """Atlas has one message; Community one for each host's main index, and for the one that is being built."""
    hosts = described.get("statusDetail") or ()
    parts = (host.get(part) or {} for host in hosts for part in ("mainIndex", "stagedIndex"))
    messages = (described.get("message"), *(part.get("message") for part in parts))
    return "; ".join(dict.fromkeys(str(message) for message in messages if message))


def ensure_indexes(database: Database, plans: Sequence[SearchTarget], polling: Polling = POLLING) -> list[IndexStatus]:
    """Create what is missing, update what differs, and wait until everything is queryable.

    The collections must exist: call `ensure_ordinary_indexes` first, which creates them.

    Raises:
        SearchEngineError: no search engine, no room, an index failed, or the time is up.
    """
    waiting: list[tuple[SearchTarget, bool]] = []
    left_out: list[IndexStatus] = []
    for target in plans:  # all are requested before any is waited for: the server builds them side by side
        try:
            waiting.append((target, _request(database, target, polling)))
        except CommandError as error:
            if not (target.optional and has_no_room(error)):
                with translate_refusals(target):
                    raise
            left_out.append(
                IndexStatus(target.collection, target.index, target.kind, NO_ROOM, False, message=error.server_message)
            )
    return [_wait(database, target, polling, updated=updated) for target, updated in waiting] + left_out


def _request(database: Database, target: SearchTarget, polling: Polling) -> bool:
    """Ask the server for the index; True when an existing one is being changed."""
    collection = database[target.collection]
    status = index_status(database, target)
    if status.state == "DELETING":
        status = _poll(database, target, polling, lambda now: now.state == MISSING)
    if status.state == MISSING:
        try:
            collection.create_search_index(target.index, kind=target.kind, definition=target.definition)
            return False
        except CommandError as error:
            if error.server_code != ALREADY_EXISTS:
                raise
            status = index_status(database, target)  # another process was faster
    if status.kind != target.kind:
        raise SearchEngineError(
            f"The {target.described} is of the type {status.kind!r}, not {target.kind!r}.",
            remedy="A type cannot be changed; drop the index first: python -m chatbot index drop.",
        )
    if fits_definition(status.definition, target):
        return False
    collection.update_search_index(target.index, keep_extras(target, status.definition))
    return True


def _wait(database: Database, target: SearchTarget, polling: Polling, *, updated: bool) -> IndexStatus:
    """Wait until the index answers; after an update, until the new definition does (the old one is queryable)."""

    def ready(now: IndexStatus) -> bool:
        return now.queryable and (not updated or (now.state == "READY" and fits_definition(now.definition, target)))

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


def drop_indexes(database: Database, plans: Iterable[SearchTarget]) -> list[str]:
    """Ask the server to drop the indexes that exist; return them as `collection.index`."""
    dropped = []
    for plan in plans:
        if index_status(database, plan).state not in (MISSING, "DELETING"):
            with translate_refusals(plan):
                database[plan.collection].drop_search_index(plan.index)
            dropped.append(f"{plan.collection}.{plan.index}")
    return dropped


TRUSTED_SECONDS, DOUBTED_SECONDS = 60.0, 5.0
"""How long it is believed that an index answers, and that it does not."""


class IndexHealth:
    """Whether a search index answers. It is checked before an empty or refused answer is believed. Thread-safe."""

    def __init__(self, database: Database, target: SearchTarget, clock: Callable[[], float]) -> None:
        self.target = target
        self._database = database
        self._clock = clock
        self._latest: tuple[float, SearchEngineError | None] = (float("-inf"), None)

    def known_failure(self) -> SearchEngineError | None:
        """Return what the last check found, if that was a moment ago."""
        until, failure = self._latest
        return failure if self._clock() < until else None

    def failure(self) -> SearchEngineError | None:
        """Return why the index cannot answer. None where it can, and where its collection is empty.

        Raises:
            SearchEngineError: the engine itself does not answer.
        """
        until, before = self._latest
        if (before is None and self._clock() < until) or self._database[self.target.collection].estimated_count() == 0:
            return None
        failure = self._check()
        if failure is not None and before is None:
            log.warning("%s", failure.message)
        self._latest = self._clock() + (DOUBTED_SECONDS if failure else TRUSTED_SECONDS), failure
        return failure

    def _check(self) -> SearchEngineError | None:
        status = index_status(self._database, self.target)
        if status.state == MISSING:
            with translate_refusals(self.target):
                indexes = self._database[self.target.collection].search_indexes()
            return missing(self.target, [str(index.get("name")) for index in indexes])
        return None if status.queryable else not_queryable(self.target, status.state, status.message)
