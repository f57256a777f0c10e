"""Which engine searches, and are its indexes there, queryable and as they should be?

A search of an index that does not exist gives no rows and no error: only looking finds it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..services import Services
from ..stores.search_indexes import IndexPlan, IndexStatus, index_status, probe_search
from .finding import Finding, Severity

CREATE = "Run: python -m chatbot index create"


def check_engine(services: Services) -> Iterator[Finding]:
    engine = services.engine
    if engine.store == "atlas":
        found = probe_search(services.database, services.settings.report_collection)
        if not found.vector:
            yield Finding(
                "error",
                "vector_search",
                "no_search_engine",
                f"VECTOR_SEARCH=atlas, but there is {found.detail}.",
                "Set VECTOR_SEARCH=auto or faiss, or use Atlas or MongoDB Community 8.2+ with mongot.",
            )
            return
        yield Finding("ok", "vector_search", "engine", found.detail)
        return
    yield Finding("ok", "vector_search", "engine", f"{engine.store}: {engine.detail}; {services.store.ping()}")


def check_indexes(services: Services) -> Iterator[Finding]:
    """Nothing to say where the search runs elsewhere than in MongoDB's engine."""
    if services.engine.store != "atlas" or not _has_engine(services):
        return
    for plan in services.index_plans:
        findings = list(_check(services, plan))
        yield from findings or [Finding("ok", "indexes", "queryable", plan.target.described)]


def _has_engine(services: Services) -> bool:
    return probe_search(services.database, services.settings.report_collection).vector


def _check(services: Services, plan: IndexPlan) -> Iterator[Finding]:
    status = index_status(services.database, plan.target)
    if status.state == "DOES_NOT_EXIST":
        yield _missing(services, plan)
        return
    if status.state == "FAILED":
        yield Finding(
            "error", "indexes", "index_failed", f"The {plan.target.described} failed: {status.message}", CREATE
        )
        return
    if not status.queryable:
        yield Finding(
            "error",
            "indexes",
            "index_building",
            f"The {plan.target.described} is {status.state}: searches find nothing until it is ready.",
            "Wait, and look again: python -m chatbot index status",
        )
    if plan.target.kind == "vectorSearch":
        yield from _differences(plan, status)


def _missing(services: Services, plan: IndexPlan) -> Finding:
    target = plan.target
    others = [
        str(found["name"])
        for found in services.database[target.collection].search_indexes()
        if (found.get("type") or "search") == target.kind and found.get("name") != target.index
    ]
    if others:
        return Finding(
            "error",
            "indexes",
            "index_under_another_name",
            f"{target.collection!r} has no index {target.index!r}, but one named {others[0]!r}. A search by the wrong "
            "name finds nothing and says nothing.",
            f"{CREATE}, then drop {others[0]!r} in Atlas",
        )
    severity: Severity = "warning" if plan.optional else "error"
    return Finding(severity, "indexes", "index_missing", f"The {target.described} does not exist.", CREATE)


def _differences(plan: IndexPlan, status: IndexStatus) -> Iterator[Finding]:
    wanted, found = _vector(plan.target.definition), _vector(status.definition)
    described = plan.target.described
    if found.get("path") != wanted["path"]:
        yield Finding(
            "error",
            "indexes",
            "wrong_path",
            f"The {described} is over {found.get('path')!r}, not {wanted['path']!r}.",
            CREATE,
        )
    elif found.get("numDimensions") != wanted["numDimensions"]:
        yield Finding(
            "error",
            "indexes",
            "index_wrong_dimensions",
            f"The {described} has {found.get('numDimensions')} dimensions, the model {wanted['numDimensions']}.",
            f"Set the model the index was made for, or: {CREATE.removeprefix('Run: ')}",
        )
    elif found.get("similarity") != wanted["similarity"]:
        yield Finding(
            "error",
            "indexes",
            "wrong_similarity",
            f"The {described} compares by {found.get('similarity')}, scores are meant for {wanted['similarity']}.",
            CREATE,
        )
    declared = {field["path"] for field in status.definition.get("fields", []) if field.get("type") == "filter"}
    needed = [field["path"] for field in plan.target.definition["fields"] if field["type"] == "filter"]
    if undeclared := [path for path in needed if path not in declared]:
        yield Finding(
            "error",
            "indexes",
            "filter_field_undeclared",
            f"The {described} does not declare {', '.join(undeclared)} as filter: a scope by it is refused.",
            CREATE,
        )


def _vector(definition: Mapping[str, Any]) -> Mapping[str, Any]:
    return next((field for field in definition.get("fields", []) if field.get("type") == "vector"), {})
