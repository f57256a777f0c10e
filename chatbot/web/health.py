"""Whether the process lives, and whether it can answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flask import Blueprint, Response, current_app, jsonify, make_response

from ..errors import ChatbotError
from ..services import Services

health = Blueprint("health", __name__)


@health.get("/health")
def alive() -> Response:
    """200 while the process lives; asks nothing of anybody."""
    return jsonify({"status": "ok"})


@health.get("/ready")
def ready() -> Response:
    """200 when every dependency works, else 503; says how far the sample reports are."""
    services: Services = current_app.extensions["services"]
    dependencies = [
        _ping("database", services.database.ping),
        _ping("embedder", lambda: f"{services.embedder.model_id}, {services.embedder.dimensions} dimensions"),
        _ping("vector_search", lambda: _search(services)),
        _ping("chat_model", lambda: services.chat_model.model_id),
    ]
    progress = _progress(services) if dependencies[0]["ok"] else {"ready": 0, "total": 0}
    samples = current_app.extensions.get("samples")
    if samples is not None and samples.error:
        dependencies.append({"name": "sample_data", "ok": False, "detail": samples.error})
    ok = all(dependency["ok"] for dependency in dependencies)
    ingesting = samples is not None and samples.running
    body = {
        "ready": ok,
        "dependencies": dependencies,
        "sample_data": {
            "ready": progress["ready"],
            "total": max(progress["total"], samples.total if samples is not None else 0),
        },
        "ingesting": ingesting,
    }
    return make_response(jsonify(body), 200 if ok else 503)


def _search(services: Services) -> str:
    """The engine and why it was chosen. Built here: a store that cannot be built is a finding, not a crash."""
    return f"{services.store.ping()} ({services.engine.detail})"


def _progress(services: Services) -> dict[str, int]:
    samples = [record for record in services.documents.all() if record.sample]
    ready = sum(record.status == "ready" for record in samples)
    return {"ready": ready, "total": len(samples)}


def _ping(name: str, ask: Callable[[], str]) -> dict[str, Any]:
    try:
        return {"name": name, "ok": True, "detail": ask()}
    except ChatbotError as error:
        return {"name": name, "ok": False, "detail": error.message}
