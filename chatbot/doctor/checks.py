"""The doctor's checks: whether the database, its search engine and the models answer, and what is stored is in
order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ..database.core import Collection
from ..database.rows import EMBEDDING_FIELD, decode_vector
from ..errors import SearchEngineError
from ..protocols import Quoter, RerankingStore
from ..repositories.report_index import SEVERAL
from ..request import RequestContext
from ..schema import NO_VALUE, Chunk, Context, DocumentRecord, Message, Passage, Prompt, Scope, SearchHit
from ..settings import is_loopback, misspelt_settings
from ..stores.atlas.definitions import LEFT_OVER, SearchTarget
from ..stores.atlas.indexes import IndexStatus, index_kind, index_status
from ..stores.atlas.pipelines import probe_search

if TYPE_CHECKING:
    from ..services import Services

Severity = Literal["ok", "warning", "error"]
CREATE = "Run: python -m chatbot index create"
SAMPLED = 50
"""Passages of each collection that are looked at."""
_PASSAGE = Passage(1, SearchHit(Chunk("", "", "", "Doctor", "The model answers."), rank=1), "The model answers.")
_PROMPT = Prompt((Message("user", "Answer with the word: yes."),), "Does the model answer?", Context((_PASSAGE,)))


@dataclass(frozen=True, slots=True)
class Finding:
    """``name`` is stable and machine-readable; ``remedy`` is a command or an action, empty where nothing is wrong."""

    severity: Severity
    area: str
    name: str
    message: str
    remedy: str = ""


def check_embedder(services: Services) -> Iterator[Finding]:
    """One real embedding; a stored model that is not the configured one is an EmbedderMismatchError."""
    embedder = services.runtime.embedder.uncached  # a vector that is kept says nothing of the endpoint
    found = len(embedder.embed_query("Does the embedding model answer?"))
    if found != embedder.dimensions:
        yield Finding(
            "error",
            "embedder",
            "wrong_dimensions",
            f"{embedder.model_id} answers with {found} dimensions, {embedder.dimensions} are expected.",
            "Set EMBEDDING_MODEL to the model the database was written with.",
        )
        return
    yield Finding("ok", "embedder", "answers", f"{embedder.model_id}, {found} dimensions")


def check_chat_model(services: Services) -> Iterator[Finding]:
    """One real, short completion, broken off at its first word."""
    model = services.answering.chat_model
    request = RequestContext()
    for _ in model.stream(_PROMPT, request=request):
        break
    request.cancel.cancel()
    yield Finding("ok", "chat_model", "answers", model.model_id)
    if isinstance(model, Quoter):
        yield Finding(
            "warning",
            "chat_model",
            "no_language_model",
            "Answers are quotations: no language model is configured.",
            "Set OPENAI_API_KEY, or OPENAI_BASE_URL and CHAT_MODEL for a server of your own.",
        )


def check_database(services: Services) -> Iterator[Finding]:
    """Whether the database answers. Raises DatabaseError: it does not."""
    database = services.storage.database
    where = f" in {services.settings.data_dir.resolve()}" if database.embedded else ""
    yield Finding("ok", "database", "answers", f"{database.ping()}{where}")


def check_settings(services: Services) -> Iterator[Finding]:
    """What is set under a name that nothing reads."""
    for name, meant in misspelt_settings():
        yield Finding(
            "warning",
            "settings",
            "unknown_setting",
            f"{name} is no setting, and {meant} is not set.",
            f"If that is what is meant, call it {meant}.",
        )


def check_access(services: Services) -> Iterator[Finding]:
    """Whether strangers may change things, and how many keys there are."""
    settings = services.settings
    good = sum(not key.revoked_at for key in services.storage.keys.all())
    yield Finding("ok", "access", "rule", f"ACCESS is {settings.rule}; {good} keys")
    if settings.rule == "open" and not is_loopback(settings.host):
        yield Finding(
            "warning",
            "access",
            "open_to_all",
            f"Everybody who reaches {settings.host}:{settings.port} may change and delete everything.",
            "Set ACCESS=read or keys, unless only this machine can reach it; see docs/deploy.md, Who may ask.",
        )


def check_data(services: Services) -> Iterator[Finding]:
    """Counts, unfinished reports, and what older systems leave behind."""
    in_database = services.storage.engine.traits.in_database
    for name in _collection_names(services):
        collection = services.storage.database[name]
        count = collection.estimated_count()
        if count or in_database:
            yield Finding("ok", "data", "count", f"collection {name}: {count} passages")
        if count:
            yield from _check_values(services, collection)
            yield from _check_vectors(services, collection)
    yield from _check_reports(services, services.storage.documents.all())


def _check_reports(services: Services, records: Sequence[DocumentRecord]) -> Iterator[Finding]:
    yield Finding("ok", "data", "count", f"{len(records)} reports registered")
    searched = {SEVERAL, *_collection_names(services)}
    registered = sum(r.chunks for r in records if r.status == "ready" and r.collection in searched)
    elsewhere = not services.storage.engine.traits.in_database
    stored = services.runtime.store.count(Scope()) if registered or elsewhere else 0
    if elsewhere:
        yield Finding("ok", "data", "count", f"{services.storage.engine.store}: {stored} passages")
    if elsewhere and stored > registered and all(r.status == "ready" and not r.replacing for r in records):
        yield _data(
            "error",
            "passages_of_another_database",
            f"{services.storage.engine.store} holds {stored} passages, reports of this database have {registered}: the "
            "others are searched, but nobody can list, change or delete them.",
            "Set the MONGODB_URI or DATA_DIR that they were written with, or restore its backup; else drop the table "
            "'chunks' and ingest the reports again.",
        )
    if stored < registered:
        yield _data(
            "error",
            "passages_missing" if stored else "no_passages",
            f"{registered} passages of {len(records)} reports are registered, but {services.storage.engine.store} "
            f"holds {stored or 'none'} of them.",
            "Ingest them again; or, if they were written with another VECTOR_SEARCH or copied in part, set that one, "
            "or copy them again.",
        )
    for name in sorted({record.collection for record in records} - searched):
        yield _data(
            "warning",
            "collection_not_searched",
            f"reports are in the collection {name!r}, which no setting names, so searches may not find them.",
            "Name it in COLLECTIONS, or ingest them again.",
        )
    if pending := sum(record.status != "ready" for record in records):
        yield _data(
            "warning",
            "reports_pending",
            f"{pending} reports are registered but not searchable.",
            "Ingest them again: python -m chatbot ingest PATH",
        )


def _collection_names(services: Services) -> tuple[str, ...]:
    return tuple(dict.fromkeys(services.settings.chunk_collections))


def _check_values(services: Services, collection: Collection) -> Iterator[Finding]:
    """Whether a scope finds what the passages say of country, year and the like."""
    years = [year for year in collection.distinct("year") if isinstance(year, str) and year != NO_VALUE]
    if years:
        yield _data(
            "error",
            "years_as_strings",
            f"collection {collection.name}: years stored as text ({', '.join(sorted(years)[:5])}); a scope by year "
            "compares numbers and finds none of them.",
            "Make them numbers: python -m chatbot migrate",
        )
    in_process = not services.storage.engine.traits.has_search_indexes  # which finds them as they are
    lacking = [name for name in services.settings.filter_fields if not in_process and collection.count({name: None})]
    if lacking:
        yield _data(
            "warning",
            "filter_fields_left_out",
            f"collection {collection.name}: passages that leave out {', '.join(lacking)} instead of saying that they "
            "have none; where a question names a country, they are not searched.",
            "Let them say so: python -m chatbot migrate",
        )


def _check_vectors(services: Services, collection: Collection) -> Iterator[Finding]:
    """Whether a sample of the vectors fits the embedder."""
    rows = list(collection.find({}, {EMBEDDING_FIELD: 1}, limit=SAMPLED))
    stored = [row[EMBEDDING_FIELD] for row in rows if row.get(EMBEDDING_FIELD) is not None]
    if any(isinstance(value, list) for value in stored):
        yield _data(
            "warning",
            "vectors_as_arrays",
            f"collection {collection.name}: embeddings stored as arrays take three times the space.",
            "Make them float32 vectors: python -m chatbot migrate",
        )
    embedder, dimensions = services.runtime.embedder, {len(decode_vector(value)) for value in stored}
    if other := sorted(dimensions - {embedder.dimensions}):
        yield _data(
            "error",
            "wrong_dimensions",
            f"collection {collection.name}: embeddings of {other[0]} dimensions, {embedder.model_id} makes "
            f"{embedder.dimensions}.",
            "Set the embedding model the collection was written with, or: python -m chatbot reembed",
        )
    if services.storage.facts.embedder() is None:
        yield _data(
            "warning",
            "embedder_unknown",
            f"collection {collection.name} does not say which model wrote it; {embedder.model_id} is assumed.",
            "If that is right, nothing needs to be done.",
        )


def _data(severity: Severity, name: str, message: str, remedy: str) -> Finding:
    return Finding(severity, "data", name, message, remedy)


def check_engine(services: Services) -> Iterator[Finding]:
    """Which engine searches, and why; of a MongoDB server's own also whether it is there."""
    engine = services.storage.engine
    if engine.traits.has_search_indexes:
        found = probe_search(services.storage.database, services.settings.report_collection)
        if not found.vector:
            raise SearchEngineError(
                f"VECTOR_SEARCH={engine.store}, but there is {found.detail}.",
                remedy="Set VECTOR_SEARCH=auto or faiss, or use Atlas or MongoDB Community 8.2+ with mongot.",
                reason="no_search_engine",
            )
        asked = "what a question asks of it: python -m chatbot index pipeline QUESTION"
        yield Finding("ok", "vector_search", "engine", f"{found.detail}; {asked}")
        store = services.runtime.store
        if services.settings.reranker == "mongodb" and isinstance(store, RerankingStore):
            store.relevance("Does the server rerank?", ())
        return
    yield Finding("ok", "vector_search", "engine", f"{engine.store}: {engine.detail}; {services.runtime.store.ping()}")
    if (foreign := services.storage.foreign_changes) is not None and not foreign.supported():
        yield Finding(
            "warning",
            "vector_search",
            "changes_in_place_unseen",
            "This server has no change streams: what another program changes in a passage is not noticed.",
            "Where others write: make it a replica set (rs.initiate()), or run after them: python -m chatbot migrate",
        )


def check_indexes(services: Services) -> Iterator[Finding]:
    """Are they there, queryable and as they should be? Nothing to say where MongoDB's engine does not search.

    A search of an index that does not exist gives no rows and no error: only looking finds it.
    """
    if not services.storage.engine.traits.has_search_indexes:
        return
    for plan in services.runtime.index_plans:
        findings = list(_check_index(services, plan))
        yield from findings or [Finding("ok", "indexes", "queryable", plan.described)]
    for name in _collection_names(services):
        for left in LEFT_OVER & {str(found["name"]) for found in services.storage.database[name].search_indexes()}:
            yield Finding(
                "warning",
                "indexes",
                "index_left_over",
                f"The search index {left!r} of {name!r} is used no more, and takes the room of another.",
                f'In mongosh: db.getCollection("{name}").dropSearchIndex("{left}")',
            )


def _check_index(services: Services, plan: SearchTarget) -> Iterator[Finding]:
    status = index_status(services.storage.database, plan)
    if status.state == "DOES_NOT_EXIST":
        yield _missing(services, plan)
        return
    lacking = "keywords are not searched" if plan.optional else "nothing is found"
    if status.state == "FAILED":
        failed = f"The {plan.described} failed ({status.message}): {lacking}."
        yield Finding(_severity(plan), "indexes", "index_failed", failed, CREATE)
        return
    if not status.queryable:
        yield Finding(
            _severity(plan),
            "indexes",
            "index_building",
            f"The {plan.described} is {status.state}: {lacking} until it is ready.",
            "Wait, and look again: python -m chatbot index status",
        )
    if plan.kind == "vectorSearch":
        yield from _differences(plan, status)


def _missing(services: Services, plan: SearchTarget) -> Finding:
    others = [
        str(found["name"])
        for found in services.storage.database[plan.collection].search_indexes()
        if index_kind(found) == plan.kind and found.get("name") != plan.index
    ]
    if others:
        return _error(
            "index_under_another_name",
            f"{plan.collection!r} has no index {plan.index!r}, but one named {others[0]!r}. A search by the wrong "
            "name finds nothing and says nothing.",
            f"{CREATE}, then drop {others[0]!r} in Atlas",
        )
    return Finding(_severity(plan), "indexes", "index_missing", f"The {plan.described} does not exist.", CREATE)


def _severity(plan: SearchTarget) -> Severity:
    """How bad it is that an index is missing: without a text index, questions are still answered by their vectors."""
    return "warning" if plan.optional else "error"


def _differences(plan: SearchTarget, status: IndexStatus) -> Iterator[Finding]:
    wanted = _vector(plan.definition)
    found = _vector(status.definition, str(wanted["path"]))
    described = plan.described
    if found.get("path") != wanted["path"]:
        yield _error("wrong_path", f"The {described} is over {found.get('path')!r}, not {wanted['path']!r}.")
    elif "numDimensions" in wanted and found.get("numDimensions") != wanted["numDimensions"]:
        yield _error(
            "index_wrong_dimensions",
            f"The {described} has {found.get('numDimensions')} dimensions, the model {wanted['numDimensions']}.",
            f"Set the model the index was made for, or: {CREATE.removeprefix('Run: ')}",
        )
    elif "similarity" in wanted and found.get("similarity") != wanted["similarity"]:
        yield _error(
            "wrong_similarity",
            f"The {described} compares by {found.get('similarity')}, scores are meant for {wanted['similarity']}.",
        )
    declared = {field["path"] for field in status.definition.get("fields", []) if field.get("type") == "filter"}
    needed = [field["path"] for field in plan.definition["fields"] if field["type"] == "filter"]
    if undeclared := [path for path in needed if path not in declared]:
        yield _error(
            "filter_field_undeclared",
            f"The {described} does not declare {', '.join(undeclared)} as filter: a scope by it is refused.",
        )


def _vector(definition: Mapping[str, Any], path: str = "") -> Mapping[str, Any]:
    """The vector field at ``path``, else the first."""
    vectors = [field for field in definition.get("fields", []) if field.get("type") == "vector"]
    return next((field for field in vectors if field.get("path") == path), vectors[0] if vectors else {})


def _error(name: str, message: str, remedy: str = CREATE) -> Finding:
    return Finding("error", "indexes", name, message, remedy)
