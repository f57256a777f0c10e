"""The library: its reports, facets, figures and passages; editing and deleting reports."""

from __future__ import annotations

from typing import Any, get_args

from flask import Blueprint, Response, jsonify, request

from ..chunkers import CHUNKERS
from ..database.core import Json
from ..ingestion.pipeline import passages
from ..ingestion.watch import Watch
from ..loaders import suffixes
from ..questions.mentions import COUNTRY, YEAR
from ..repositories.request_cache import request_cache
from ..retrieval.scope import summarise
from ..schema import DocumentRecord, Scope, SearchHit, Status
from ..serialization import collection_json, document_json, figure_json, hit_json, report_json
from ..settings import MEGABYTE
from ..validation import parse
from .access import caller
from .bodies import Edit
from .library import inside_limit, library, may_change, own_record, query_scope
from .request import COLLECTIONS, csv_response, json_object, query_choice, query_number
from .services import require_samples, services, wake_worker

documents = Blueprint("documents", __name__)
DELETE_PATIENCE = 2.0
"""Seconds that a request waits for the search engine; then the worker finishes it."""
MOST_LISTED = 1_000
MOST_VALUES = 300
"""Values of each field of the facets: as many as there are countries."""
STATUSES = get_args(Status)
FORMATS = ("json", "csv")
FIGURE_COLUMNS = (
    "subject", "indicator", "year", "value", "unit", "text", "estimate", "edition", "newest", "document_id", "chunk_id"
)  # fmt: skip


@documents.get("/api/reports")
@request_cache()
def reports() -> Response:
    """The reports in scope, by title."""
    limit, offset = query_number("limit", MOST_LISTED, least=1, most=MOST_LISTED), query_number("offset", 0)
    found = services().storage.documents.named("", query_scope(leave_out=("limit", "offset")))
    return jsonify({"reports": list(map(report_json, found[offset : offset + limit])), "total": len(found)})


@documents.get("/api/facets")
@request_cache()
def facets() -> Response:
    """Values with counts, each field counted under the rest of the scope; of one ``field``, those that hold ``q``.

    So are the collections, where all fields are asked for.
    """
    limit, offset = query_number("limit", MOST_VALUES, least=1, most=MOST_LISTED), query_number("offset", 0)
    field = query_choice("field", services().settings.filter_fields, None)
    scope = query_scope(leave_out=("limit", "offset", "field", "q"))
    fields, wanted = [field] if field else (), request.args.get("q", "")
    found = services().storage.documents.facets(scope, fields=fields, q=wanted, limit=limit, offset=offset)
    return jsonify(found if field else {**found, COLLECTIONS: _collections_in(scope)})


def _collections_in(scope: Scope) -> list[Json]:
    """The collections with reports of this scope, whichever of them it names, with the number of these."""
    storage, limit = services().storage, caller().limit
    names = [one.name for one in storage.collections if limit.holds(one.name)]
    counts = [(name, storage.documents.holdings(scope.within([name])).documents) for name in names]
    return [{"value": name, "documents": count} for name, count in counts if count]


@documents.get("/api/coverage")
@request_cache()
def coverage() -> Response:
    """How many reports there are of each country and edition; null where a report has none."""
    found = services().storage.documents.pairs(COUNTRY, YEAR, query_scope())
    ordered = sorted(found.items(), key=lambda item: tuple(map(str, item[0])))
    return jsonify({"cells": [{COUNTRY: c, YEAR: y, "documents": count} for (c, y), count in ordered]})


@documents.get("/api/figures")
def figures() -> Response:
    """The figures of the reports in scope, of all editions, by indicator and year. ``year`` is that of the figures.

    Raises InvalidRequestError: an unknown ``format``.
    """
    require_samples()
    limit, offset = query_number("limit", 100, least=1, most=1000), query_number("offset", 0)
    indicator, wanted = request.args.get("indicator", ""), query_number("year", 0, most=3000)
    scope = query_scope(leave_out=("limit", "offset", "indicator", "year", "format"))
    format = query_choice("format", FORMATS, FORMATS[0])
    found = library().figures(scope, indicator, wanted or None)
    page = list(map(figure_json, found[offset : offset + limit]))
    if format == "csv":
        return csv_response(page, FIGURE_COLUMNS, "figures.csv")
    return jsonify({"figures": page, "total": len(found), "more": offset + limit < len(found)})


@documents.get("/api/collections")
@request_cache()
def collections() -> Response:
    """The knowledge collections, with what can be searched in each."""
    storage, limit = services().storage, caller().limit
    seen = [one for one in storage.collections if limit.holds(one.name)]
    holds = [(one, summarise(storage.documents, limit.within([one.name]))) for one in seen]
    return jsonify({"collections": [collection_json(one, summary) for one, summary in holds]})


@documents.get("/api/chunks/<path:chunk_id>")
def chunk(chunk_id: str) -> Response:
    """One passage with the text around it, and the name of the file it is from, where that is kept."""
    found = library().passage(chunk_id)
    wider = library().wider_text(found)
    record = services().storage.documents.get(found.document_id)
    file = services().ingesting.originals.file_name(record) if record else ""
    return jsonify({**hit_json(SearchHit(found)), "wider_text": wider, "file": file or None})


@documents.get("/api/documents")
@request_cache()
def list_documents() -> Response:
    """Reports in the scope whose title or name holds ``q``, by title."""
    limit, offset = query_number("limit", 50, least=1, most=200), query_number("offset", 0)
    status, wanted = query_choice("status", STATUSES, None), request.args.get("q", "")
    found = services().storage.documents.named(wanted, query_scope(leave_out=("limit", "offset", "status", "q")))
    found = found if status is None else [record for record in found if record.status == status]
    return jsonify({"documents": [_json(r) for r in found[offset : offset + limit]], "total": len(found)})


@documents.get("/api/documents/<document_id>")
def get_document(document_id: str) -> Response:
    """One report, as it is in the list. Raises NotFoundError."""
    return jsonify(_json(library().record(document_id)))


@documents.get("/api/documents/<document_id>/chunks")
def preview(document_id: str) -> Response:
    """The passages as they are searched, in reading order."""
    record = library().record(document_id)
    limit, offset = query_number("limit", 20, least=1, most=100), query_number("offset", 0)
    chunks = passages(services().vectors.store, record, offset=offset, limit=limit)
    return jsonify({"chunks": [hit_json(SearchHit(chunk)) for chunk in chunks], "total": record.chunks})


@documents.patch("/api/documents/<document_id>")
def edit(document_id: str) -> Response:
    """Change what is said of a report; passages are embedded again only where that changes their text."""
    said, record, ingesting = parse(Edit, json_object()), own_record(document_id), services().ingesting
    return jsonify(_json(ingesting.editor.edit(record.id, inside_limit(ingesting.check_overrides(said)))))


@documents.delete("/api/documents/<document_id>")
def delete(document_id: str) -> tuple[str, int]:
    """A report with its passages and its original: no question sees it from now on."""
    ingesting = services().ingesting
    ingesting.delete_document(own_record(document_id), Watch(patience=DELETE_PATIENCE))
    if services().storage.documents.get(document_id) is not None:  # the search engine has not let go of it yet
        wake_worker()
    return "", 204


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
            "types": services().storage.documents.values("type", caller().limit or None),
        }
    )


def _json(record: DocumentRecord) -> dict[str, Any]:
    originals = services().ingesting.originals
    return document_json(
        record,
        has_file=originals.has(record),
        can_reingest=originals.job_file(record) is not None,
        may_change=may_change(record),
    )
