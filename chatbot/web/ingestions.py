"""Background ingestions: how they are doing, their end, another try."""

from __future__ import annotations

import re

from flask import Blueprint, Response, jsonify

from ..errors import NotFoundError
from ..schema.ingestions import Ingestion
from ..serialization import ingestion_json
from .filters import query_number
from .uploads import services, wake_worker

ingestions = Blueprint("ingestions", __name__)
INGESTION_ID = re.compile(r"^[0-9a-f]{20}$")


@ingestions.get("/api/ingestions")
def list_ingestions() -> Response:
    """The latest ones."""
    found = services().ingestions.latest(query_number("limit", 10, least=1, most=100))
    return jsonify({"ingestions": [ingestion_json(job) for job in found]})


@ingestions.get("/api/ingestions/<ingestion_id>")
def get_ingestion(ingestion_id: str) -> Response:
    return jsonify(ingestion_json(_job(ingestion_id)))


@ingestions.delete("/api/ingestions/<ingestion_id>")
def cancel(ingestion_id: str) -> tuple[Response, int]:
    """End what is not finished; files that are stay."""
    job = services().ingestions.cancel(_job(ingestion_id).id)
    wake_worker()
    return jsonify(ingestion_json(job)), 202


@ingestions.post("/api/ingestions/<ingestion_id>/retry")
def retry(ingestion_id: str) -> tuple[Response, int]:
    """Failed and cancelled files again."""
    job = services().ingestions.retry(_job(ingestion_id).id)
    wake_worker()
    return jsonify(ingestion_json(job)), 202


def _job(ingestion_id: str) -> Ingestion:
    if not INGESTION_ID.match(ingestion_id):
        raise NotFoundError(f"There is no ingestion {ingestion_id[:40]!r}.")
    return services().ingestions.get(ingestion_id)
