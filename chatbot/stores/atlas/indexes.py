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
from ...database.failures import ServerCode
from ...database.rows import (
    EMBEDDING_FIELD,
    TEXT_FIELD,
    WITHOUT_EMBEDDING,
    embedding_field,
)
from ...domain.errors import SearchEngineError
from .errors import FOLLOWED_BY, failure, has_no_room, not_queryable, translate_refusals
from .meaning import AutoEmbedField, MeaningField, VectorField

log = logging.getLogger(__name__)
MISSING = "DOES_NOT_EXIST"
NO_ROOM = "NO_ROOM"
ANSWERS_SECONDS = 60.0
"""Seconds for which it is assumed that an index answers: one that is dropped is noticed
within a minute.
"""
SILENT_SECONDS = 5.0
"""Seconds for which it is assumed that it does not: people wait for one that is being
built.
"""
TEXT_PATHS = (TEXT_FIELD, "report_title", "document_title")
"""The fields of the keyword search: it finds a passage by its report and heading
too.
"""
VECTOR_INDEX = "vector_index"
AUTO_EMBED_INDEX = "auto_embed_index"
TEXT_INDEX = "text_index"
"""Their names. One vector index holds both slots of vectors: a free cluster has room
for three indexes in all. It cannot become one that embeds by itself, which therefore
has another name.
"""
OWN_INDEXES = {VECTOR_INDEX, AUTO_EMBED_INDEX, TEXT_INDEX, f"{VECTOR_INDEX}_b"}
"""Names of our indexes, those of earlier releases included."""
STORED_SOURCE: Json = {"storedSource": {"include": [FOLLOWED_BY]}}
"""What a new index of words stores besides the ids of its rows, so that it can list
those of a document without a read of the rows. An index that is there is not built
anew for it, and an index of vectors of an older release of the engine may refuse it.
"""
Quantization = Literal["none", "scalar", "binary"]


@dataclass(frozen=True, slots=True)
class SearchTarget:
    """A search index with the ``definition`` it should have.

    ``dropped``: paths to remove from it; others that it has besides stay."""

    collection: str
    index: str
    kind: Literal["vectorSearch", "search"]
    definition: Json
    by_meaning: MeaningField | None = None
    """What a search by meaning looks at; None = the index is one of words."""
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
    by_meaning: Iterable[MeaningField],
    filter_fields: Iterable[str],
    quantization: Quantization = "none",
    options: Mapping[str, Any] = MappingProxyType({}),
) -> Json:
    """Return the `vectorSearch` index: the fields that are searched by meaning, by
    cosine, and every field that a scope may name.

    ``by_meaning``: two slots of vectors while the embedding model changes. Quantisation
    is advised above 100,000 vectors: scalar takes a quarter of the memory, binary a
    twenty-fourth. ``options``: see `Settings.index_options`.
    """
    definition: Json = {"fields": []}
    field_options: Json = {"similarity": "cosine", "quantization": quantization}
    for name, value in options.items():
        if name == "numPartitions":  # the only one of the index itself
            definition[name] = value
        else:
            field_options[name] = value
    definition["fields"] += [field.declared(field_options) for field in by_meaning]
    for name in dict.fromkeys((*filter_fields, FOLLOWED_BY)):
        definition["fields"].append({"type": "filter", "path": name})
    return definition


def text_index_definition(filter_fields: Iterable[str], language: str) -> Json:
    """Return the `search` index: texts stemmed for the language, filter fields as exact
    strings and numbers.
    """
    fields: Json = {
        path: {"type": "string", "analyzer": f"lucene.{language}"}
        for path in TEXT_PATHS
    }
    for name in filter_fields:
        fields[name] = [{"type": "token"}, {"type": "number"}]
    fields[FOLLOWED_BY] = {"type": "token"}
    return {"mappings": {"dynamic": False, "fields": fields}}


@runtime_checkable
class HasIndexes(Protocol):
    """A collection of another program, with search indexes of its own."""

    def index_plans(
        self, by_meaning: MeaningField, fields: Iterable[str]
    ) -> list[SearchTarget]: ...

    def auto_embedding_model(self) -> str:
        """Return the model by which MongoDB embeds its texts, "" if it does not."""


def index_plans(
    settings: Settings,
    dimensions: Mapping[str, int],
    *,
    model: str = "",
    dropped: Iterable[str] = (),
    database: Database | None = None,
) -> list[SearchTarget]:
    """Return a vector and a text index for each collection of passages, the most needed
    first.

    ``dimensions`` of the vectors by slot; ``model``: by which MongoDB embeds the texts
    instead, "" = it does not; ``dropped``: the slots to remove. The general
    collection is the first, that of the reports the second. Text indexes are optional,
    the general one's is last: the free tier has room for three. ``database``: where
    collections of another program have their own indexes.
    """
    names = list(dict.fromkeys(settings.chunk_collections))
    fields = settings.filter_fields
    by_meaning = meaning_fields(dimensions, model)
    first = by_meaning[0]
    if database is not None and database.mapped:
        plans: list[SearchTarget] = []
        for collection in database.mapped.values():
            if isinstance(collection, HasIndexes):
                plans += collection.index_plans(first, fields)
        return plans
    options = json.loads(settings.index_options or "{}")
    vector = vector_index_definition(by_meaning, fields, settings.quantization, options)
    text = text_index_definition(fields, settings.language)
    dropped_paths = tuple(embedding_field(slot) for slot in dropped)
    index = AUTO_EMBED_INDEX if model else VECTOR_INDEX
    targets = [
        SearchTarget(name, index, "vectorSearch", vector, first, dropped_paths)
        for name in names
    ]
    for name in (*names[1:], names[0]):  # the general one is the last
        targets.append(SearchTarget(name, TEXT_INDEX, "search", text))
    return targets


def auto_embedding_model(database: Database) -> str:
    """Return the model by which MongoDB embeds the rows of another program, "" if it
    does not. Raises SearchEngineError: the server has no search engine.
    """
    for collection in database.mapped.values():
        if isinstance(collection, HasIndexes):
            model = collection.auto_embedding_model()
            if model:
                return model
    return ""


def meaning_fields(dimensions: Mapping[str, int], model: str) -> list[MeaningField]:
    """Return the fields that are searched by meaning: the texts, where a ``model`` of
    MongoDB embeds them, else the slots of vectors.
    """
    if model:
        return [AutoEmbedField(TEXT_FIELD, model)]
    # A model that runs in MongoDB has no slot while another one takes its place.
    return [
        VectorField(embedding_field(slot), size)
        for slot, size in dimensions.items()
        if size
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
        stored_fields = _by_path(stored)["fields"]
        planned_fields = _by_path(planned)["fields"]
    else:
        stored_fields = stored.get("mappings", {}).get("fields", {})
        planned_fields = planned["mappings"]["fields"]
    paths = [
        str(path)
        for path, field in planned_fields.items()
        if field != stored_fields.get(path)
    ]
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
    if "fields" in target.definition:
        return _keep_extra_fields(target, stored)
    mappings = stored.get("mappings", {})
    fields = dict(mappings.get("fields", {}))
    for path, mapping in target.definition["mappings"]["fields"].items():
        if not _has_mapping(fields.get(path), mapping):
            fields[path] = mapping
    return {**stored, "mappings": {**mappings, "fields": fields}}


def _keep_extra_fields(target: SearchTarget, stored: Mapping[str, Any]) -> Json:
    """Do that for a vector index: its fields are a list, ours come first."""
    extras = {
        field.get("path"): field
        for field in stored.get("fields", ())
        if field.get("path") not in target.dropped
    }
    fields = []
    for planned in target.definition["fields"]:
        existing = extras.pop(planned["path"], {})
        if existing.get("type") == planned["type"]:
            fields.append({**existing, **planned})
        else:
            fields.append(planned)
    return {**stored, **target.definition, "fields": [*fields, *extras.values()]}


def _has_mapping(stored: Any, planned: Any) -> bool:
    """Return whether a field is mapped as planned, or as more than that."""
    mappings = stored if isinstance(stored, list) else [stored or {}]
    planned_mappings = planned if isinstance(planned, list) else [planned]
    for planned_mapping in planned_mappings:
        needed = planned_mapping.items()
        if not any(needed <= mapping.items() for mapping in mappings):
            return False
    return True


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
        indexes = list(database[target.collection].search_indexes(target.index))
    if not indexes:
        return IndexStatus(
            target.collection, target.index, target.kind, MISSING, queryable=False
        )
    described = indexes[0]
    queryable = bool(described.get("queryable"))
    assumed_state = "READY" if queryable else "PENDING"
    return IndexStatus(
        collection=target.collection,
        name=target.index,
        kind=index_kind(described),
        state=str(described.get("status") or assumed_state),
        queryable=queryable,
        definition=dict(described.get("latestDefinition") or {}),
        message="; ".join(_messages(described)),
    )


def _messages(described: Mapping[str, Any]) -> list[str]:
    """Return the different messages of an index. Atlas has one; Community one for each
    host's main index, and for the one that is being built.
    """
    messages = [described.get("message")]
    for host in described.get("statusDetail") or ():
        for index in ("mainIndex", "stagedIndex"):
            messages.append((host.get(index) or {}).get("message"))
    return list(dict.fromkeys(str(message) for message in messages if message))


def index_kind(described: Mapping[str, Any]) -> str:
    """Return vectorSearch or search. Community does not name the type: there it follows
    from the definition.
    """
    kind = described.get("type")
    if kind:
        return str(kind)
    if "mappings" in (described.get("latestDefinition") or {}):
        return "search"
    return "vectorSearch"


def ensure_indexes(
    database: Database, plans: Sequence[SearchTarget], polling: Polling = POLLING
) -> list[IndexStatus]:
    """Create what is missing, update what differs, and wait until everything is
    queryable.

    The collections must exist: `create_missing` of the ordinary indexes creates them.

    Raises: SearchEngineError: no search engine, no room, an index failed, or the time
        is up.
    """
    requested: list[tuple[SearchTarget, bool]] = []
    left_out: list[IndexStatus] = []
    # All are requested before any is waited for: the server builds them side by side.
    for target in plans:
        try:
            updated = _request(database, target, polling)
            requested.append((target, updated))
        except CommandError as error:
            if not (target.optional and has_no_room(error)):
                with translate_refusals(target):
                    raise
            status = IndexStatus(
                target.collection,
                target.index,
                target.kind,
                state=NO_ROOM,
                queryable=False,
                message=error.server_message,
            )
            left_out.append(status)
    ready = [
        _wait(database, target, polling, updated=updated)
        for target, updated in requested
    ]
    return ready + left_out


def is_own_index(described: Mapping[str, Any]) -> bool:
    """Return whether a vector index has vectors or texts of ours. One by our name that
    has none is another program's.
    """
    fields = (described.get("latestDefinition") or {}).get("fields", ())
    paths = {field.get("path") for field in fields if field.get("type") != "filter"}
    return not paths or not paths.isdisjoint({*WITHOUT_EMBEDDING, TEXT_FIELD})


def _request(database: Database, target: SearchTarget, polling: Polling) -> bool:
    """Ask the server for the index; True when an existing one is being changed."""
    collection = database[target.collection]
    status = index_status(database, target)
    if status.state == "DELETING":
        status = _poll(database, target, polling, lambda now: now.state == MISSING)
    if status.state == MISSING:
        definition = target.definition
        if target.kind == "search":
            definition = {**definition, **STORED_SOURCE}
        try:
            collection.create_search_index(
                target.index, kind=target.kind, definition=definition
            )
            return False
        except CommandError as error:
            if error.server_code != ServerCode.INDEX_EXISTS:
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

    def is_ready(now: IndexStatus) -> bool:
        if not now.queryable or not updated:
            return now.queryable
        return now.state == "READY" and fits_definition(now.definition, target)

    return _poll(database, target, polling, is_ready)


def _poll(
    database: Database,
    target: SearchTarget,
    polling: Polling,
    done: Callable[[IndexStatus], bool],
) -> IndexStatus:
    """Look at an index until it is ``done``. Raises SearchEngineError: it has failed,
    or the time is up.
    """
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

    stores_source = False
    """Whether the index itself stores fields of the rows, as of the last check."""

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
        if self._clock() >= until:
            return None
        return problem

    def failure(self) -> SearchEngineError | None:
        """Return why the index cannot answer. None where it can, and where its
        collection is empty.

        Raises:
            SearchEngineError: the engine itself does not answer.
        """
        until, previous_problem = self._latest
        if previous_problem is None and self._clock() < until:
            return None
        if self._database[self.target.collection].estimated_count() == 0:
            self._latest = (self._clock() + SILENT_SECONDS, None)
            return None
        problem = self._problem()
        if problem is None:
            self._latest = (self._clock() + ANSWERS_SECONDS, None)
            return None
        if previous_problem is None:
            log.warning("%s", problem.message)
        self._latest = (self._clock() + SILENT_SECONDS, problem)
        return problem

    def _problem(self) -> SearchEngineError | None:
        """Ask the server what is wrong with the index; None = nothing is."""
        status = index_status(self._database, self.target)
        self.stores_source = bool(status.definition.get("storedSource"))
        if status.state != MISSING:
            if status.queryable:
                return None
            return not_queryable(self.target, status.state, status.message)
        with translate_refusals(self.target):
            indexes = self._database[self.target.collection].search_indexes()
        names = sorted(str(index.get("name")) for index in indexes)
        return failure(
            "missing",
            collection=self.target.collection,
            name=self.target.index,
            others=", ".join(names) or "none",
        )
