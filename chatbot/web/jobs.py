"""What goes into the knowledge base: files and pages as background jobs, of whoever sent them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from flask import Blueprint, Response, jsonify, request, url_for

from ..errors import InvalidRequestError, NotFoundError
from ..presets import CHUNKING
from ..schema.ingestions import Ingestion, IngestionFile
from ..serialization import ingestion_json
from .access import caller, whose
from .callbacks import callback_of
from .library import inside_limit, may_change, own_record, require_known
from .naming import Naming, conflict_choice
from .request import (
    MOST_FILES,
    accept_files,
    digest_of,
    form_fields,
    is_form,
    json_object,
    on_disk,
    query_number,
    safe_name,
    size_of,
    web_pages,
)
from .services import services, wake_worker

jobs = Blueprint("jobs", __name__)
INGESTION_ID = re.compile(r"^[0-9a-f]{20,32}$")


@jobs.post("/api/documents")
def add_documents() -> tuple[Response, int, dict[str, str]]:
    """Files (multipart) or web addresses (JSON) as one background job; nothing is stored where one is refused."""
    naming = Naming(services().storage.documents, caller().owner, may_change)
    if is_form(most=MOST_FILES):
        files, fields = accept_files(), form_fields()
        choice, callback = conflict_choice(fields.pop("on_conflict", None)), callback_of(fields)
        about = inside_limit(_overrides(fields, single=len(files) == 1), new=True)
        named = [(safe_name(file.filename), digest_of(file)) for file in files]
        services().storage.room.require(sum(map(size_of, files)), caller().owner)
        queued = []
        for file, (name, _), identity in zip(files, named, naming.identities(named, choice), strict=True):
            with on_disk(file) as path:
                file_id = services().storage.files.put(path, caller().owner)
            queued.append(IngestionFile("", "", PurePosixPath(name).name, identity, file_id=file_id, overrides=about))
        return _started(queued, callback)
    body = json_object()
    callback = callback_of(body)
    pages = web_pages(body.pop("url", None), body.pop("urls", None))
    services().storage.room.require(0)
    about = inside_limit(_overrides(body, single=len(pages) == 1), new=True)
    return _started(
        [IngestionFile("", "", url, naming.page(page), url=url, overrides=about) for page, url in pages.items()],
        callback,
    )


@jobs.post("/api/documents/<document_id>/reingest")
def reingest(document_id: str) -> tuple[Response, int, dict[str, str]]:
    """Read the original again, perhaps cut in another way."""
    record = own_record(document_id)
    body = json_object() if request.get_data() else {}
    callback, about = callback_of(body), _overrides(body, single=False, fields=CHUNKING)
    file = services().ingesting.originals.job_file(record)
    if file is None:
        raise NotFoundError(f"The original of {record.title!r} is not at hand; add the file again instead.")
    return _started([replace(file, overrides=about)], callback)


@jobs.get("/api/ingestions")
def list_ingestions() -> Response:
    """The caller's latest ones."""
    found = services().storage.ingestions.latest(query_number("limit", 10, least=1, most=100), whose())
    return jsonify({"ingestions": [ingestion_json(job) for job in found]})


@jobs.get("/api/ingestions/<ingestion_id>")
def get_ingestion(ingestion_id: str) -> Response:
    """How a job is doing. Raises NotFoundError."""
    return jsonify(ingestion_json(services().storage.ingestions.get(_job_id(ingestion_id), whose())))


@jobs.delete("/api/ingestions/<ingestion_id>")
def cancel_ingestion(ingestion_id: str) -> tuple[Response, int]:
    """End what is not finished; files that are stay."""
    job = services().storage.ingestions.cancel(_job_id(ingestion_id), whose())
    wake_worker()
    return jsonify(ingestion_json(job)), 202


@jobs.post("/api/ingestions/<ingestion_id>/retry")
def retry_ingestion(ingestion_id: str) -> tuple[Response, int]:
    """Failed and cancelled files again."""
    job = services().storage.ingestions.retry(_job_id(ingestion_id), whose())
    wake_worker()
    return jsonify(ingestion_json(job)), 202


def _started(files: list[IngestionFile], callback: str) -> tuple[Response, int, dict[str, str]]:
    job: Ingestion = services().storage.ingestions.create(files, caller().owner, callback)
    wake_worker()
    return jsonify(ingestion_json(job)), 202, {"Location": url_for(".get_ingestion", ingestion_id=job.id)}


def _overrides(values: Mapping[str, Any], *, single: bool, fields: tuple[str, ...] = ()) -> dict[str, Any]:
    """The checked fields; what cannot be is refused now, not in the job."""
    if fields:
        require_known(values, fields)
    if "title" in values and not single:
        raise InvalidRequestError.for_field("title", "is possible for one file only.")
    return services().ingesting.check_overrides(values)


def _job_id(ingestion_id: str) -> str:
    if not INGESTION_ID.match(ingestion_id):
        raise NotFoundError(f"There is no ingestion {ingestion_id[:40]!r}.")
    return ingestion_id
