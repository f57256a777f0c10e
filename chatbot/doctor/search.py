"""The doctor's checks of the search: the engine, MongoDB's search indexes, and the recall of approximate search."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..database.rows import embedding_field
from ..errors import SearchEngineError
from ..protocols import RerankingStore
from ..schema import Scope, Vector
from ..stores.atlas.definitions import LEFT_OVER, SearchTarget
from ..stores.atlas.errors import translate_refusals
from ..stores.atlas.indexes import IndexStatus, index_kind, index_status
from ..stores.atlas.pipelines import probe_search, vector_stage
from .checks import Finding, Severity

if TYPE_CHECKING:
    from ..services import Services

CREATE = "Run: python -m chatbot index create"
RECALL_QUESTIONS = 30
"""The latest questions of people, or headings of passages if there are none."""
CANDIDATES = (100, 200, 500, 1000, 2000, 5000, 10_000)
SUFFICIENT_RECALL = 0.98
"""The share of the exact result that the proposed number of candidates finds."""


def check_engine(services: Services) -> Iterator[Finding]:
    """Report which engine searches, and why. Raises SearchEngineError: MongoDB's own is not there."""
    engine = services.storage.engine
    if engine.traits.has_search_indexes:
        server = probe_search(services.storage.database, services.settings.report_collection)
        if not server.vector:
            raise SearchEngineError(
                f"VECTOR_SEARCH={engine.store}, but there is {server.detail}.",
                remedy="Set VECTOR_SEARCH=auto or faiss, or use Atlas or MongoDB Community 8.2+ with mongot.",
                reason="no_search_engine",
            )
        pipelines = "to see the aggregations of a question: python -m chatbot index pipeline QUESTION"
        yield Finding("ok", "vector_search", "engine", f"{server.detail}; {pipelines}")
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
            "This server has no change streams: passages that another program changes in place are not updated here.",
            "If others write, make it a replica set (rs.initiate()), or run after them: python -m chatbot migrate",
        )


def check_indexes(services: Services) -> Iterator[Finding]:
    """Check that the search indexes exist, can be queried and have the right definition.

    A search of an index that does not exist gives no rows and no error.
    """
    if not services.storage.engine.traits.has_search_indexes:
        return
    for plan in services.runtime.index_plans:
        findings = list(_check_index(services, plan))
        yield from findings or [Finding("ok", "indexes", "queryable", plan.described)]
    for name in dict.fromkeys(services.settings.chunk_collections):
        for left in LEFT_OVER & {str(index["name"]) for index in services.storage.database[name].search_indexes()}:
            yield Finding(
                "warning",
                "indexes",
                "index_left_over",
                f"The search index {left!r} of {name!r} is no longer used, and takes the place of another.",
                f'In mongosh: db.getCollection("{name}").dropSearchIndex("{left}")',
            )


def _check_index(services: Services, plan: SearchTarget) -> Iterator[Finding]:
    # Without a text index, questions are still answered by their vectors.
    severity: Severity = "warning" if plan.optional else "error"
    consequence = "keywords are not searched" if plan.optional else "nothing is found"
    status = index_status(services.storage.database, plan)
    if status.state == "DOES_NOT_EXIST":
        indexes = services.storage.database[plan.collection].search_indexes()
        of_kind = (str(index["name"]) for index in indexes if index_kind(index) == plan.kind)
        if other := next((name for name in of_kind if name != plan.index), None):
            yield _error(
                "index_under_another_name",
                f"{plan.collection!r} has no index {plan.index!r}, but one named {other!r}. A search by the wrong "
                "name finds nothing and gives no error.",
                f"{CREATE}, then drop {other!r} in Atlas",
            )
        else:
            yield Finding(severity, "indexes", "index_missing", f"The {plan.described} does not exist.", CREATE)
        return
    if status.state == "FAILED":
        message = f"The {plan.described} failed ({status.message}): {consequence}."
        yield Finding(severity, "indexes", "index_failed", message, CREATE)
        return
    if not status.queryable:
        yield Finding(
            severity,
            "indexes",
            "index_building",
            f"The {plan.described} is {status.state}: {consequence} until it is ready.",
            "Wait, and check again: python -m chatbot index status",
        )
    if plan.kind == "vectorSearch":
        yield from _differences(plan, status)


def _differences(plan: SearchTarget, status: IndexStatus) -> Iterator[Finding]:
    """Compare the vector field and the filter fields of an index with what they should be."""
    expected = _vector_field(plan.definition)
    actual = _vector_field(status.definition, str(expected["path"]))
    if actual.get("path") != expected["path"]:
        yield _error("wrong_path", f"The {plan.described} is over {actual.get('path')!r}, not {expected['path']!r}.")
    elif actual.get("numDimensions") != expected["numDimensions"]:
        yield _error(
            "index_wrong_dimensions",
            f"The {plan.described} has {actual.get('numDimensions')} dimensions, the model "
            f"{expected['numDimensions']}.",
            f"Set the model that the index was made for, or: {CREATE.removeprefix('Run: ')}",
        )
    elif actual.get("similarity") != expected["similarity"]:
        yield _error(
            "wrong_similarity",
            f"The {plan.described} compares by {actual.get('similarity')}, scores need {expected['similarity']}.",
        )
    declared = {field["path"] for field in status.definition.get("fields", []) if field.get("type") == "filter"}
    needed = [field["path"] for field in plan.definition["fields"] if field["type"] == "filter"]
    if undeclared := [path for path in needed if path not in declared]:
        yield _error(
            "filter_field_undeclared",
            f"The {plan.described} does not declare {', '.join(undeclared)} as filter: a scope by it is refused.",
        )


def _vector_field(definition: Mapping[str, Any], path: str = "") -> Mapping[str, Any]:
    """Return the vector field at ``path``, else the first."""
    vectors = [field for field in definition.get("fields", []) if field.get("type") == "vector"]
    return next((field for field in vectors if field.get("path") == path), vectors[0] if vectors else {})


def _error(name: str, message: str, remedy: str = CREATE) -> Finding:
    return Finding("error", "indexes", name, message, remedy)


def check_recall(services: Services) -> Iterator[Finding]:
    """Find the smallest sufficient NUM_CANDIDATES of each collection, on this installation's own questions."""
    if not services.storage.engine.traits.has_search_indexes:
        yield Finding("ok", "recall", "exact", f"{services.storage.engine.store} is measured by its own benchmarks")
        return
    database, names = services.storage.database, services.settings.chunk_collections
    asked = database["messages"].find(
        {"role": "user"}, {"content": 1}, sort=[("created_at", -1)], limit=RECALL_QUESTIONS
    )
    texts = [str(row["content"]) for row in asked]
    if not texts:
        rows = (row for name in names for row in database[name].find({}, {"document_title": 1}, limit=RECALL_QUESTIONS))
        texts = [str(row.get("document_title") or "") for row in rows]
    questions = [text for text in dict.fromkeys(texts) if text.strip()][:RECALL_QUESTIONS]
    if not questions:
        yield Finding("warning", "recall", "no_questions", "There is no question and no heading to measure with.")
        return
    vectors = [services.runtime.embedder.embed_query(text) for text in questions]
    for target in services.runtime.index_plans:
        if not target.optional and database[target.collection].estimated_count():
            yield _measure_recall(services, target, vectors)


def _measure_recall(services: Services, target: SearchTarget, vectors: Sequence[Vector]) -> Finding:
    top_k, stored = services.settings.top_k, services.storage.facts.embedder()
    path, collection = embedding_field(stored.slot if stored else ""), services.storage.database[target.collection]

    def search(vector: Vector, candidates: int | None) -> set[str]:
        query = {"index": target.index, "path": path, "vector": vector.tolist(), "scope": Scope(), "limit": top_k}
        stage = vector_stage(**query, num_candidates=candidates)
        with translate_refusals(target):
            return {str(row["_id"]) for row in collection.search([stage, {"$project": {"_id": 1}}])}

    exact = [search(vector, None) for vector in vectors]
    for candidates in (size for size in CANDIDATES if size >= top_k):
        near = [search(vector, candidates) for vector in vectors]
        share = sum(len(a & b) for a, b in zip(near, exact, strict=True)) / max(1, sum(map(len, exact)))
        if share >= SUFFICIENT_RECALL:
            break
    message = f"collection {target.collection}: {share:.1%} of the exact result with {candidates} candidates"
    sufficient = share >= SUFFICIENT_RECALL
    return Finding(
        "ok" if sufficient else "warning", "recall", "enough" if sufficient else "too_little", message,
        f"NUM_CANDIDATES={candidates}",
    )  # fmt: skip
