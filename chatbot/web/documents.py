"""The reports of the knowledge base: list, edit and delete them; their passages, text and original file."""

from __future__ import annotations

from itertools import chain
from typing import Annotated, Any, Literal

from flask import Blueprint, Response
from pydantic import Field

from ..database.core import Json
from ..errors import NotFoundError
from ..grounding.context import texts_of
from ..ingestion.pipeline import passages
from ..ingestion.watch import Watch
from ..repositories.request_cache import request_cache
from ..schema import DocumentRecord, SearchHit, Status
from ..serialization import document_json, hit_json, source_json
from .bodies import Edit
from .library import inside_limit, library, may_change, own_record, query_scope
from .openapi import holdings
from .request import Number, Page, Query, ScopeQuery, disposition, page_size
from .routes import FILE, route
from .services import services, wake_worker

documents = Blueprint("documents", __name__)
DELETE_PATIENCE = 2.0
"""Seconds that a request waits for the search engine; then the worker finishes it."""
PDF = b"%PDF-"
PDF_WITHIN = 1024
"""Bytes before which a PDF says that it is one."""
SANDBOX = "sandbox; default-src 'none'; frame-ancestors 'none'"
"""A file that is shown under this server's name can do nothing but be seen."""
PARTS_BEFORE = 8
"""Parts before the passage that the text is opened at."""


class DocumentQuery(Page, ScopeQuery):
    q: Annotated[str, Field(description="Text of the title or the name.")] = ""
    status: Annotated[Status | None, Field(description="Only reports of this status.")] = None


@documents.get("/api/documents")
@route(need="read", query=DocumentQuery, returns=holdings.Documents)
@request_cache()
def list_documents(query: DocumentQuery) -> Json:
    """List the reports of the knowledge base by title, whether searchable or not."""
    records = services().storage.documents.named(query.q, query_scope(query))
    records = [record for record in records if query.status in {None, record.status}]
    page = records[query.start : query.start + query.limit]
    return {"documents": [_json(record) for record in page], "total": len(records), "next": query.next(len(records))}


@documents.get("/api/documents/<document_id>")
@route(need="read", returns=holdings.Document)
def get_document(document_id: str) -> Json:
    """Get a report."""
    return _json(library().record(document_id))


@documents.patch("/api/documents/<document_id>")
@route(need="write", body=Edit, returns=holdings.Document, errors=(409, 422, 507), example={"title": "Kenya 2023"})
def update_document(document_id: str, body: Edit) -> Json:
    """Change the metadata of a report; passages are embedded again only where that changes their text."""
    record, ingesting = own_record(document_id), services().ingesting
    return _json(ingesting.editor.edit(record.id, inside_limit(ingesting.check_overrides(body))))


@documents.delete("/api/documents/<document_id>")
@route(need="write", status=204, errors=(409, 422, 507))
def delete_document(document_id: str) -> None:
    """Delete a report with its passages and its original; no question sees it from now on."""
    services().ingesting.delete_document(own_record(document_id), Watch(patience=DELETE_PATIENCE))
    if services().storage.documents.get(document_id) is not None:  # the search engine has not let go of it yet
        wake_worker()


class PassagePage(Page):
    limit: Number = page_size(20, 100)


@documents.get("/api/documents/<document_id>/chunks")
@route(need="read", query=PassagePage, returns=holdings.Chunks)
def list_passages(document_id: str, query: PassagePage) -> Json:
    """List the passages of a report as they are searched, in reading order."""
    record = library().record(document_id)
    chunks = passages(services().runtime.store, record, offset=query.start, limit=query.limit)
    hits = [hit_json(SearchHit(chunk)) for chunk in chunks]
    return {"chunks": hits, "total": record.chunks, "next": query.next(record.chunks)}


class FileQuery(Query):
    disposition: Annotated[Literal["attachment", "inline"], Field(description="`inline` shows a PDF.")] = "attachment"


@documents.get("/api/documents/<document_id>/file")
@route(need="read", query=FileQuery, media=(FILE, "application/pdf"))
def get_file(document_id: str, query: FileQuery) -> Response:
    """Download the original file of a report; only a PDF can be shown inline."""
    name, pieces = services().ingesting.originals.open(library().record(document_id))
    first = next(pieces, b"")
    shown = query.disposition == "inline" and PDF in first[:PDF_WITHIN]
    response = Response(chain([first], pieces), mimetype="application/pdf" if shown else FILE)
    response.headers["Content-Disposition"] = disposition("inline" if shown else "attachment", name)
    response.headers["Content-Security-Policy"] = SANDBOX
    return response


class TextQuery(Page):
    limit: Number = page_size(40, 100)
    around: Annotated[str, Field(description="A passage to open the text at, instead of `cursor`.")] = ""


@documents.get("/api/documents/<document_id>/text")
@route(need="read", query=TextQuery, returns=holdings.ReadText)
def get_text(document_id: str, query: TextQuery) -> Json:
    """Read the text of a report in parts, each without the overlap with the part before it."""
    record, start = library().record(document_id), query.start
    if query.around:
        passage = library().passage(query.around)
        if passage.document_id != record.id:
            raise NotFoundError(f"There is no passage {query.around[:200]!r} in {record.title!r}.")
        start = 0 if passage.is_summary else max(0, passage.ordinal - PARTS_BEFORE)
    before = min(start, 1)  # one part more, to find the overlap
    chunks = passages(services().runtime.store, record, offset=start - before, limit=query.limit + before)
    read = [chunk for chunk in chunks if not chunk.is_summary]
    texts = zip(read, texts_of(read), strict=True)
    parts = [{**source_json(SearchHit(chunk)), "text": text} for chunk, text in texts][before:]
    end = start + len(parts)
    following = str(end) if parts and end < record.chunks else None
    return {"parts": parts, "offset": start, "total": record.chunks, "next": following}


def _json(record: DocumentRecord) -> dict[str, Any]:
    originals = services().ingesting.originals
    return document_json(
        record,
        has_file=originals.has(record),
        can_reingest=originals.job_file(record) is not None,
        may_change=may_change(record),
    )
