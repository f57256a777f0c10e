"""Health, readiness, usage and metrics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from flask import Blueprint, Response, jsonify, make_response
from pydantic import Field

from ..database.core import Json
from ..errors import ChatbotError
from ..schema.costs import days_json
from .metrics import CONTENT_TYPE, exposition
from .openapi import holdings
from .request import Number, Query
from .routes import route
from .services import samples, services

monitoring = Blueprint("monitoring", __name__)


@monitoring.get("/health")
@route(need="nothing", returns=holdings.Alive, is_counted=False)
def check_health() -> Json:
    """Check that the process lives; nothing else is checked."""
    return {"status": "ok"}


@monitoring.get("/ready")
@route(need="nothing", returns=holdings.Readiness, also={503: holdings.Readiness}, is_counted=False)
def check_readiness() -> Response:
    """Check that every dependency works, and how many sample reports are loaded."""
    found, loading = services(), samples()
    dependencies = [
        _ping("database", found.storage.database.ping),
        _ping(
            "embedder",
            lambda: f"{found.runtime.embedder.model_id}, {found.runtime.embedder.dimensions} dimensions",
        ),
        # Built here, with why it was chosen: a store that cannot be built is a finding, not a crash.
        _ping("vector_search", lambda: f"{found.runtime.store.ping()} ({found.storage.engine.detail})"),
        _ping("chat_model", lambda: found.answering.chat_model.model_id),
    ]
    records = [record for record in found.storage.documents.all() if record.sample] if dependencies[0]["ok"] else []
    if loading is not None and loading.error:
        dependencies.append({"name": "sample_data", "ok": False, "detail": loading.error})
    ok = all(dependency["ok"] for dependency in dependencies)
    if dependencies[0]["ok"]:  # a full disk stops uploads, not answers
        dependencies.append(_ping("disk", found.storage.quota.describe))
    body = {
        "ready": ok,
        "dependencies": dependencies,
        "sample_data": {
            "ready": sum(record.status == "ready" for record in records),
            "total": max(len(records), loading.total if loading is not None else 0),
        },
        "ingesting": loading is not None and loading.running,
    }
    return make_response(jsonify(body), 200 if ok else 503)


class UsageQuery(Query):
    days: Annotated[Number, Field(ge=1, le=366, description="Maximum number of days.")] = 30


@monitoring.get("/api/usage")
@route(need="admin", query=UsageQuery, returns=holdings.UsageReport)
def get_usage(query: UsageQuery) -> Json:
    """Get questions, calls, tokens and costs by day (UTC), the newest first, and in all.

    Days without use are left out.
    """
    return days_json(services().storage.usage.days(query.days))


@monitoring.get("/metrics")
@route(need="admin", is_documented=False)
def metrics() -> Response:
    """Get the metrics of all processes and of the database in Prometheus' text format."""
    return Response(exposition(services()), content_type=CONTENT_TYPE)


def _ping(name: str, ask: Callable[[], str]) -> dict[str, Any]:
    try:
        return {"name": name, "ok": True, "detail": ask()}
    except ChatbotError as error:
        return {"name": name, "ok": False, "detail": error.message}
