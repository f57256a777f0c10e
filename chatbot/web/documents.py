"""The knowledge base: what is in it, what goes in, what is said of it, and what goes out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any, get_args

from flask import Blueprint, Response, jsonify, request, url_for

from ..chunkers import CHUNKERS
from ..errors import InvalidRequestError, NotFoundError
from ..ingestion.pipeline import passages
from ..loaders import suffixes
from ..originals import UPLOADS
from ..presets import CHUNKING
from ..schema import DocumentRecord, SearchHit, Status
from ..schema.ingestions import Ingestion, IngestionFile
from ..serialization import document_json, hit_json, ingestion_json
from .bodies import json_object, web_pages
from .filters import query_collections, query_filters, query_number
from .uploads import (
    MEGABYTE,
    MOST_FILES,
    accept_files,
    as_attachment,
    form_fields,
    is_form,
    on_disk,
    safe_name,
    services,
    wake_worker,
)

documents = Blueprint("documents", __name__)
DOCUMENT_ID = re.compile(r"^[A-Za-z0-9_-]{1,64}$")
STATUSES = get_args(Status)
EDITABLE = ("title", "country_name", "year", "type", "labels", "description")


@documents.get("/api/documents")
def list_documents() -> Response:
    """Reports in the scope whose title or name holds ``q``, by title."""
    limit, offset = query_number("limit", 50, least=1, most=200), query_number("offset", 0)
    status, wanted = request.args.get("status"), request.args.get("q", "").casefold()
    if status is not None and status not in STATUSES:
        raise InvalidRequestError.for_field("status", f"unknown. Valid: {', '.join(STATUSES)}.", STATUSES)
    filters = query_filters(leave_out=("limit", "offset", "status", "q"))
    scope = services().scopes.resolve(filters, collections=query_collections())
    found = [
        record
        for record in services().documents.all(scope)
        if (status is None or record.status == status)
        and (wanted in record.title.casefold() or wanted in record.source.casefold())
    ]
    return jsonify({"documents": [_json(r) for r in found[offset : offset + limit]], "total": len(found)})


@documents.get("/api/documents/<document_id>")
def get_document(document_id: str) -> Response:
    return jsonify(_json(_record(document_id)))


@documents.get("/api/documents/<document_id>/chunks")
def preview(document_id: str) -> Response:
    """The passages as they are searched, in reading order."""
    record = _record(document_id)
    limit, offset = query_number("limit", 20, least=1, most=100), query_number("offset", 0)
    chunks = passages(services().store, record, offset=offset, limit=limit)
    return jsonify({"chunks": [hit_json(SearchHit(chunk)) for chunk in chunks], "total": record.chunks})


@documents.get("/api/documents/<document_id>/file")
def original(document_id: str) -> Response:
    name, pieces = services().originals.open(_record(document_id))
    response = Response(pieces, mimetype="application/octet-stream")
    response.headers["Content-Disposition"] = as_attachment(name)
    return response


@documents.post("/api/documents")
def add_documents() -> tuple[Response, int, dict[str, str]]:
    """Files (multipart) or web addresses (JSON) as one background job; nothing is stored where one is refused."""
    if is_form(most=MOST_FILES):
        files = accept_files()
        said = _said(form_fields(), single=len(files) == 1)
        queued = []
        for file in files:
            name = safe_name(file.filename)
            with on_disk(file) as path:
                file_id = services().files.put(path)
            identity, name = f"{UPLOADS}{name}", PurePosixPath(name).name
            queued.append(IngestionFile("", "", name, identity, file_id=file_id, overrides=said))
        return _started(queued)
    body = json_object()
    pages = web_pages(body.pop("url", None), body.pop("urls", None))
    said = _said(body, single=len(pages) == 1)
    return _started([IngestionFile("", "", url, page, url=url, overrides=said) for page, url in pages.items()])


@documents.patch("/api/documents/<document_id>")
def edit(document_id: str) -> Response:
    """Change what is said of a report; passages are embedded again only where that changes their text."""
    body = json_object()
    _require_known(body, EDITABLE)
    return jsonify(_json(services().editor.edit(_record(document_id).id, services().check_overrides(body))))


@documents.delete("/api/documents/<document_id>")
def delete(document_id: str) -> tuple[str, int]:
    services().delete_document(_record(document_id))
    return "", 204


@documents.post("/api/documents/<document_id>/reingest")
def reingest(document_id: str) -> tuple[Response, int, dict[str, str]]:
    """Read the original again, perhaps cut in another way."""
    record = _record(document_id)
    said = _said(json_object() if request.get_data() else {}, single=False, fields=CHUNKING)
    file = services().originals.job_file(record)
    if file is None:
        raise NotFoundError(f"The original of {record.title!r} is not at hand; add the file again instead.")
    return _started([replace(file, overrides=said)])


@documents.get("/api/formats")
def formats() -> Response:
    """What can be added, and how it can be cut."""
    settings = services().settings
    return jsonify(
        {
            "suffixes": list(suffixes()),
            "max_bytes": settings.max_upload_mb * MEGABYTE,
            "chunk_strategies": CHUNKERS.names(),
            "chunk_strategy": settings.chunk_strategy,
            "chunk_size": settings.chunk_size,
            "chunk_overlap": settings.chunk_overlap,
            "types": services().documents.values("type"),
        }
    )


def _started(files: list[IngestionFile]) -> tuple[Response, int, dict[str, str]]:
    job: Ingestion = services().ingestions.create(files)
    wake_worker()
    return jsonify(ingestion_json(job)), 202, {"Location": url_for("ingestions.get_ingestion", ingestion_id=job.id)}


def _json(record: DocumentRecord) -> dict[str, Any]:
    originals = services().originals
    return document_json(record, has_file=originals.has(record), can_reingest=originals.job_file(record) is not None)


def _record(document_id: str) -> DocumentRecord:
    found = services().documents.get(document_id) if DOCUMENT_ID.match(document_id) else None
    if found is None:
        raise NotFoundError(f"There is no report {document_id[:64]!r}.")
    return found


def _require_known(values: Mapping[str, Any], fields: tuple[str, ...]) -> None:
    for name in values:
        if name not in fields:
            raise InvalidRequestError.for_field(name, f"unknown field. Valid: {', '.join(fields)}.", fields)


def _said(values: Mapping[str, Any], *, single: bool, fields: tuple[str, ...] = ()) -> dict[str, Any]:
    """The checked fields; what cannot be is refused now, not in the job."""
    if fields:
        _require_known(values, fields)
    if "title" in values and not single:
        raise InvalidRequestError.for_field("title", "is possible for one file only.")
    return services().check_overrides(values)
