"""Health, readiness, usage and metrics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flask import Blueprint, Response, jsonify, make_response

from ..errors import ChatbotError
from ..schema.costs import days_json
from .metrics import CONTENT_TYPE, exposition
from .request import query_number
from .services import samples, services

monitoring = Blueprint("monitoring", __name__)
DEFAULT_DAYS, MOST_DAYS = 30, 366


@monitoring.get("/health")
def alive() -> Response:
    """200 while the process lives; asks nothing of anybody."""
    return jsonify({"status": "ok"})


@monitoring.get("/ready")
def ready() -> Response:
    """200 when every dependency works, else 503; says how far the sample reports are."""
    found, loading = services(), samples()
    dependencies = [
        _ping("database", found.storage.database.ping),
        _ping(
            "embedder",
            lambda: f"{found.vectors.embedder.model_id}, {found.vectors.embedder.dimensions} dimensions",
        ),
        # Built here, with why it was chosen: a store that cannot be built is a finding, not a crash.
        _ping("vector_search", lambda: f"{found.vectors.store.ping()} ({found.storage.engine.detail})"),
        _ping("chat_model", lambda: found.models.chat_model.model_id),
    ]
    records = [record for record in found.storage.documents.all() if record.sample] if dependencies[0]["ok"] else []
    if loading is not None and loading.error:
        dependencies.append({"name": "sample_data", "ok": False, "detail": loading.error})
    ok = all(dependency["ok"] for dependency in dependencies)
    if dependencies[0]["ok"]:  # a full disk stops uploads, not answers
        dependencies.append(_ping("disk", found.storage.room.describe))
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


@monitoring.get("/api/usage")
def usage() -> Response:
    """Usage by day (UTC), the newest first, and in all; days on which nothing was used are left out."""
    days = query_number("days", DEFAULT_DAYS, least=1, most=MOST_DAYS)
    return jsonify(days_json(services().storage.usage.days(days)))


@monitoring.get("/metrics")
def metrics() -> Response:
    """What the processes and the database count, in Prometheus' text format."""
    return Response(exposition(services()), content_type=CONTENT_TYPE)


def _ping(name: str, ask: Callable[[], str]) -> dict[str, Any]:
    try:
        return {"name": name, "ok": True, "detail": ask()}
    except ChatbotError as error:
        return {"name": name, "ok": False, "detail": error.message}
