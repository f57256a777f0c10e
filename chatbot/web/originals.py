"""The file that a report was read from, and the text that was read of it."""

from __future__ import annotations

from itertools import chain

from flask import Blueprint, Response, jsonify, request

from ..errors import NotFoundError
from ..grounding.context import texts_of
from ..ingestion.pipeline import passages
from ..schema import DocumentRecord, SearchHit
from ..serialization import source_json
from .library import library
from .request import disposition, query_choice, query_number
from .services import services

originals = Blueprint("originals", __name__)
WAYS = ("attachment", "inline")
PDF = b"%PDF-"
PDF_WITHIN = 1024
"""Bytes before which a PDF says that it is one."""
SANDBOX = "sandbox; default-src 'none'; frame-ancestors 'none'"
"""What a file may do that is shown under this server's name: nothing but be seen."""
PARTS = 40
BEFORE = 8
"""Parts that stand before the one that was asked for."""


@originals.get("/api/documents/<document_id>/file")
def file(document_id: str) -> Response:
    """The bytes that came in; ``disposition=inline`` shows a PDF, anything else is to keep and never to show.

    Raises:
        InvalidRequestError: an unknown disposition.
        NotFoundError: also where the file was not kept.
    """
    way = query_choice("disposition", WAYS, WAYS[0])
    name, pieces = services().ingesting.originals.open(library().record(document_id))
    first = next(pieces, b"")
    shown = way == "inline" and PDF in first[:PDF_WITHIN]
    response = Response(chain([first], pieces), mimetype="application/pdf" if shown else "application/octet-stream")
    response.headers["Content-Disposition"] = disposition("inline" if shown else "attachment", name)
    response.headers["Content-Security-Policy"] = SANDBOX
    return response


@originals.get("/api/documents/<document_id>/text")
def text(document_id: str) -> Response:
    """What was read, in order, each part without what it shares with the one before.

    ``around`` names a passage that is to be among them, instead of an ``offset``. Raises NotFoundError.
    """
    record, around = library().record(document_id), request.args.get("around", "")
    limit = query_number("limit", PARTS, least=1, most=100)
    offset = max(0, _place(record, around) - BEFORE) if around else query_number("offset", 0)
    one = min(offset, 1)  # before the first, to see what is said twice
    found = passages(services().vectors.store, record, offset=offset - one, limit=limit + one)
    read = [chunk for chunk in found if not chunk.is_summary]
    texts = zip(read, texts_of(read), strict=True)
    parts = [{**source_json(SearchHit(chunk)), "text": own} for chunk, own in texts][one:]
    return jsonify({"parts": parts, "offset": offset, "total": record.chunks})


def _place(record: DocumentRecord, chunk_id: str) -> int:
    found = library().passage(chunk_id)
    if found.document_id != record.id:
        raise NotFoundError(f"There is no passage {chunk_id[:200]!r} in {record.title!r}.")
    return 0 if found.is_summary else found.ordinal
