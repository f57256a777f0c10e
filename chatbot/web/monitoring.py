"""Health, readiness, usage and metrics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

from flask import Blueprint, Response, jsonify, make_response
from pydantic import Field
from typing_extensions import TypedDict

from ..errors import ChatbotError
from ..schema.costs import UsageReport
from .metrics import CONTENT_TYPE, exposition
from .request import Number, Query
from .routes import route
from .services import samples, services

monitoring = Blueprint("monitoring", __name__)


class Health(TypedDict):
    """The process lives; nothing else is checked."""

    status: Literal["ok"]


@monitoring.get("/health")
@route(need="nothing", returns=Health, is_counted=False)
def check_health() -> Health:
    """Check that the process lives; nothing else is checked."""
    return {"status": "ok"}


class Dependency(TypedDict):
    name: str
    ok: bool
    detail: str


class SampleReports(TypedDict):
    """The searchable sample reports, and all of them."""

    ready: int
    total: int


class Readiness(TypedDict):
    """Whether every dependency works."""

    ready: bool
    dependencies: list[Dependency]
    sample_data: SampleReports
    ingesting: bool


@monitoring.get("/ready")
@route(need="nothing", returns=Readiness, also={503: Readiness}, is_counted=False)
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
    body: Readiness = {
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
@route(need="admin", query=UsageQuery, returns=UsageReport)
def get_usage(query: UsageQuery) -> UsageReport:
    """Get questions, calls, tokens and costs by day (UTC), the newest first, and in all.

    Days without use are left out.
    """
    return UsageReport.of(services().storage.usage.days(query.days))


@monitoring.get("/metrics")
@route(need="admin", is_documented=False)
def metrics() -> Response:
    """Get the metrics of all processes and of the database in Prometheus' text format."""
    return Response(exposition(services()), content_type=CONTENT_TYPE)


def _ping(name: str, ask: Callable[[], str]) -> Dependency:
    try:
        return {"name": name, "ok": True, "detail": ask()}
    except ChatbotError as error:
        return {"name": name, "ok": False, "detail": error.message}
