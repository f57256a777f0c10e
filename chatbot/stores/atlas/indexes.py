"""The search indexes: their definitions, and how to create, change, watch and drop
them; why a search found nothing.

The server builds search indexes in the background, and a search of one that is missing
or unfinished gives no rows and no error. So creating one waits until it is queryable,
and an empty answer is believed only after a look at the index.
"""

import json
import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, Protocol, runtime_checkable

from ...config.settings import Settings
from ...database.core import CommandError, Database, Json
from ...database.rows import (
    EMBEDDING_FIELD,
    TEXT_FIELD,
    WITHOUT_EMBEDDING,
    embedding_field,
)
from ...domain.errors import SearchEngineError
from .errors import FOLLOWED_BY, failure, has_no_room, not_queryable, translate_refusals

log = logging.getLogger(__name__)
MISSING, NO_ROOM = "DOES_NOT_EXIST", "NO_ROOM"
ALREADY_EXISTS = 68
TRUSTED_SECONDS, DOUBTED_SECONDS = 60.0, 5.0
"""Seconds for which it is assumed that an index answers, and that it does not."""
TEXT_PATHS = (TEXT_FIELD, "report_title", "document_title")
"""The fields of the keyword search: it finds a passage by its report and heading
too.
"""
VECTOR_INDEX, TEXT_INDEX = "vector_index", "text_index"
"""Their names. One vector index holds both slots of vectors: a free cluster has room
for three indexes in all.
"""
LEFT_OVER = {f"{VECTOR_INDEX}_b"}
"""Names of indexes that only earlier releases used."""
Quantization = Literal["none", "scalar", "binary"]


@dataclass(frozen=True, slots=True)
class SearchTarget:
    """A search index with the ``definition`` it should have.

    ``dropped``: paths to remove from it; others that it has besides stay."""

    collection: str
    index: str
    kind: Literal["vectorSearch", "search"]
    definition: Json
    dropped: tuple[str, ...] = ()
    theirs: frozenset[str] | None = None
    """Of an index of another program: the filter fields that it has, by our names."""

    @property
    def described(self) -> str:
        """The index and its collection, for messages."""
        return f"search index {self.index!r} of {self.collection!r}"

    @property
    def optional(self) -> bool:
        """True if it may be left out on a tier without room for it."""
        return self.kind == "search"


def vector_index_definition(
    dimensions: Mapping[str, int],
    filter_fields: Iterable[str],
    quantization: Quantization = "none",
    options: Mapping[str, Any] = MappingProxyType({}),
) -> Json:
    """Return the `vectorSearch` index: cosine over the embeddings, and every field that
    a scope may name.

    ``dimensions`` by slot: two while the embedding model changes. Quantisation is
    advised above 100,000 vectors: scalar takes a quarter of the memory, binary a
    twenty-fourth. ``options``: see `Settings.index_options`.
    """
    of_index = {
        name: value for name, value in options.items() if name == "numPartitions"
    }
    of_field = {
        name: value for name, value in options.items() if name != "numPartitions"
    }
    shared: Json = {"similarity": "cosine", "quantization": quantization, **of_field}
    vectors: list[Json] = [
        {
            "type": "vector",
            "path": embedding_field(slot),
            "numDimensions": size,
            **shared,
        }
        for slot, size in dimensions.items()
    ]
    filters = [
        {"type": "filter", "path": name}
        for name in dict.fromkeys((*filter_fields, FOLLOWED_BY))
    ]
    return {"fields": [*vectors, *filters], **of_index}


def text_index_definition(filter_fields: Iterable[str], language: str) -> Json:
    """Return the `search` index: texts stemmed for the language, filter fields as exact
    strings and numbers.
    """
    fields: Json = {
        path: {"type": "string", "analyzer": f"lucene.{language}"}
        for path in TEXT_PATHS
    }
    fields |= {name: [{"type": "token"}, {"type": "number"}] for name in filter_fields}
    return {
        "mappings": {
            "dynamic": False,
            "fields": {**fields, FOLLOWED_BY: {"type": "token"}},
        }
    }


@runtime_checkable
class HasIndexes(Protocol):
    """A collection of another program, with search indexes of its own."""

    def index_plans(
        self, dimensions: int, fields: Iterable[str]
    ) -> list[SearchTarget]: ...


def index_plans(
    settings: Settings,
    dimensions: Mapping[str, int],
    *,
    dropped: Iterable[str] = (),
    database: Database | None = None,
) -> list[SearchTarget]:
    """Return a vector and a text index for each collection of passages, the most needed
    first.

    ``dimensions`` of the vectors by slot; ``dropped``: the slots to remove. The general
    collection is the first, that of the reports the second. Text indexes are optional,
    the general one's is last: the free tier has room for three. ``database``: where
    collections of another program have their own indexes.
    """
    names, fields = (
        list(dict.fromkeys(settings.chunk_collections)),
        settings.filter_fields,
    )
    if database is not None and database.mapped:
        size = next(iter(dimensions.values()))
        plans: list[SearchTarget] = []
        for collection in database.mapped.values():
            if isinstance(collection, HasIndexes):
                plans += collection.index_plans(size, fields)
        return plans
    options = json.loads(settings.index_options or "{}")
    vector = vector_index_definition(dimensions, fields, settings.quantization, options)
    text = text_index_definition(fields, settings.language)
    gone = tuple(map(embedding_field, dropped))
    return [
        *(
            SearchTarget(name, VECTOR_INDEX, "vectorSearch", vector, gone)
            for name in names
        ),
        *(
            SearchTarget(name, TEXT_INDEX, "search", text)
            for name in dict.fromkeys((*names[1:], names[0]))
        ),
    ]


def fits_definition(stored: Mapping[str, Any], target: SearchTarget) -> bool:
    """Return whether an update of the server's definition would change nothing but
    spell out a default.
    """
    return _by_path(keep_extras(target, stored)) == _by_path(stored)


def changed_paths(stored: Mapping[str, Any], target: SearchTarget) -> list[str]:
    """Return the paths of an index that an update to its plan would add or change."""
    if fits_definition(stored, target):
        return []
    planned = keep_extras(target, stored)
    if "fields" in planned:
        before, after = _by_path(stored)["fields"], _by_path(planned)["fields"]
    else:
        before = stored.get("mappings", {}).get("fields", {})
        after = planned["mappings"]["fields"]
    paths = [str(path) for path in after if after[path] != before.get(path)]
    return paths or ["its options"]


def _by_path(definition: Mapping[str, Any]) -> Json:
    fields = {
        field.get("path"): {"quantization": "none", **field}
        for field in definition.get("fields", ())
    }
    return {**definition, "fields": fields}


def keep_extras(target: SearchTarget, stored: Mapping[str, Any]) -> Json:
    """Return the planned definition with all that an operator declared besides, which
    an update must not remove. That is other fields, `storedSource`, `numPartitions`,
    analyzers, and what a field has beyond its plan (`hnswOptions`, another mapping
    beside ours).
    """
    planned = target.definition
    if "fields" in planned:
        by_path = {field.get("path"): field for field in stored.get("fields", ())}
        kept = {
            path: field for path, field in by_path.items() if path not in target.dropped
        }
        ours = {}
        for field in planned["fields"]:
            old = kept.get(field["path"], {})
            ours[field["path"]] = {
                **(old if old.get("type") == field["type"] else {}),
                **field,
            }
        return {**stored, **planned, "fields": list({**ours, **kept, **ours}.values())}
    mappings = stored.get("mappings", {})
    fields = mappings.get("fields", {})
    needed = {
        path: fields[path] if _same_mapping(fields.get(path), mapping) else mapping
        for path, mapping in planned["mappings"]["fields"].items()
    }
    return {**stored, "mappings": {**mappings, "fields": {**fields, **needed}}}


def _same_mapping(stored: Any, planned: Any) -> bool:
    mappings = stored if isinstance(stored, list) else [stored or {}]
    needs = planned if isinstance(planned, list) else [planned]
    return all(
        any(need.items() <= mapping.items() for mapping in mappings) for need in needs
    )


@dataclass(frozen=True, slots=True)
class Polling:
    """Seconds to wait for an index; clock and sleep are for the tests."""

    timeout: float = 300.0
    interval: float = 1.0
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


POLLING = Polling()


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """A search index as the server describes it. ``state`` is the server's, or
    DOES_NOT_EXIST, or NO_ROOM.
    """

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
        SearchEngineError: the server has no search engine."""
    with translate_refusals(target):
        described = next(
            iter(database[target.collection].search_indexes(target.index)), None
        )
    if described is None:
        return IndexStatus(
            target.collection, target.index, target.kind, MISSING, queryable=False
        )
    # Atlas has one message; Community one for each host's main index, and for the one
    # that is being built.
    hosts = described.get("statusDetail") or ()
    parts = (
        host.get(part) or {} for host in hosts for part in ("mainIndex", "stagedIndex")
    )
    messages = (described.get("message"), *(part.get("message") for part in parts))
    kind, queryable = index_kind(described), bool(described.get("queryable"))
    state = str(described.get("status") or ("READY" if queryable else "PENDING"))
    definition = dict(described.get("latestDefinition") or {})
    message = "; ".join(dict.fromkeys(str(message) for message in messages if message))
    return IndexStatus(
        target.collection, target.index, kind, state, queryable, definition, message
    )


def index_kind(described: Mapping[str, Any]) -> str:
    """Return vectorSearch or search. Community does not name the type: there it follows
    from the definition.
    """
    is_search = "mappings" in (described.get("latestDefinition") or {})
    return str(described.get("type") or ("search" if is_search else "vectorSearch"))


def ensure_indexes(
    database: Database, plans: Sequence[SearchTarget], polling: Polling = POLLING
) -> list[IndexStatus]:
    """Create what is missing, update what differs, and wait until everything is
    queryable.

    The collections must exist: `create_missing` of the ordinary indexes creates them.

    Raises: SearchEngineError: no search engine, no room, an index failed, or the time
        is up.
    """
    waiting: list[tuple[SearchTarget, bool]] = []
    left_out: list[IndexStatus] = []
    # all are requested before any is waited for: the server builds them side by side
    for target in plans:
        try:
            waiting.append((target, _request(database, target, polling)))
        except CommandError as error:
            if not (target.optional and has_no_room(error)):
                with translate_refusals(target):
                    raise
            left_out.append(
                IndexStatus(
                    target.collection,
                    target.index,
                    target.kind,
                    NO_ROOM,
                    False,
                    message=error.server_message,
                )
            )
    return [
        _wait(database, target, polling, updated=updated) for target, updated in waiting
    ] + left_out


def is_own_index(described: Mapping[str, Any]) -> bool:
    """Return whether a vector index has a vector of ours. One by our name that has none
    is another program's.
    """
    fields = (described.get("latestDefinition") or {}).get("fields", ())
    paths = {field.get("path") for field in fields if field.get("type") != "filter"}
    return not paths or not paths.isdisjoint(WITHOUT_EMBEDDING)


def _request(database: Database, target: SearchTarget, polling: Polling) -> bool:
    """Ask the server for the index; True when an existing one is being changed."""
    collection = database[target.collection]
    status = index_status(database, target)
    if status.state == "DELETING":
        status = _poll(database, target, polling, lambda now: now.state == MISSING)
    if status.state == MISSING:
        try:
            collection.create_search_index(
                target.index, kind=target.kind, definition=target.definition
            )
            return False
        except CommandError as error:
            if error.server_code != ALREADY_EXISTS:
                raise
            status = index_status(database, target)  # another process was faster
    if status.kind != target.kind:
        raise failure(
            "kind", index=target.described, stored=status.kind, kind=target.kind
        )
    if fits_definition(status.definition, target):
        return False
    if target.kind == "vectorSearch" and not is_own_index(
        {"latestDefinition": status.definition}
    ):
        raise failure("foreign", index=target.described, field=EMBEDDING_FIELD)
    collection.update_search_index(target.index, keep_extras(target, status.definition))
    return True


def _wait(
    database: Database, target: SearchTarget, polling: Polling, *, updated: bool
) -> IndexStatus:
    """Wait until the index answers; after an update, until the new definition does (the
    old one is queryable).
    """

    def ready(now: IndexStatus) -> bool:
        return now.queryable and (
            not updated
            or (now.state == "READY" and fits_definition(now.definition, target))
        )

    return _poll(database, target, polling, ready)


def _poll(
    database: Database,
    target: SearchTarget,
    polling: Polling,
    done: Callable[[IndexStatus], bool],
) -> IndexStatus:
    deadline = polling.clock() + polling.timeout
    while True:
        now = index_status(database, target)
        if done(now):
            return now
        if now.state == "FAILED":
            raise not_queryable(target, now.state, now.message)
        if polling.clock() >= deadline:
            raise failure(
                "slow:building",
                index=target.described,
                state=now.state,
                seconds=polling.timeout,
            )
        polling.sleep(polling.interval)


def drop_indexes(database: Database, plans: Iterable[SearchTarget]) -> list[str]:
    """Ask the server to drop the indexes that exist; return them as
    `collection.index`.
    """
    dropped = []
    for plan in plans:
        if index_status(database, plan).state not in (MISSING, "DELETING"):
            with translate_refusals(plan):
                database[plan.collection].drop_search_index(plan.index)
            dropped.append(f"{plan.collection}.{plan.index}")
    return dropped


class IndexHealth:
    """Availability of a search index, checked before an empty or refused answer is
    believed. Thread-safe.
    """

    def __init__(
        self, database: Database, target: SearchTarget, clock: Callable[[], float]
    ) -> None:
        self.target = target
        self._database = database
        self._clock = clock
        self._latest: tuple[float, SearchEngineError | None] = (float("-inf"), None)

    def known_failure(self) -> SearchEngineError | None:
        """Return what the last check found, if that was a moment ago."""
        until, problem = self._latest
        return problem if self._clock() < until else None

    def failure(self) -> SearchEngineError | None:
        """Return why the index cannot answer. None where it can, and where its
        collection is empty.

        Raises:
            SearchEngineError: the engine itself does not answer.
        """
        until, before = self._latest
        if before is None and self._clock() < until:
            return None
        if self._database[self.target.collection].estimated_count() == 0:
            self._latest = self._clock() + DOUBTED_SECONDS, None
            return None
        problem, status = None, index_status(self._database, self.target)
        if status.state == MISSING:
            with translate_refusals(self.target):
                indexes = self._database[self.target.collection].search_indexes()
            others = (
                ", ".join(sorted(str(index.get("name")) for index in indexes)) or "none"
            )
            problem = failure(
                "missing",
                collection=self.target.collection,
                name=self.target.index,
                others=others,
            )
        elif not status.queryable:
            problem = not_queryable(self.target, status.state, status.message)
        if problem is not None and before is None:
            log.warning("%s", problem.message)
        self._latest = (
            self._clock() + (DOUBTED_SECONDS if problem else TRUSTED_SECONDS),
            problem,
        )
        return problem
