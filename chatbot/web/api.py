"""The JSON API. Views only parse, call and encode."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from flask import Blueprint, Response, current_app, jsonify, request, stream_with_context

from ..cancellation import Cancellation
from ..conversation.service import Saved
from ..errors import IngestingError, NotFoundError
from ..generation.context import wider_text
from ..ingestion.samples import SampleReports
from ..retrieval.scope import summarise
from ..schema import Event, Question, Scope, ScopeSummary, SearchHit
from ..serialization import answer_json, collection_json, hit_json, report_json, search_json
from .attachments import Attachments
from .bodies import json_body, parse
from .connection import client_gone
from .filters import query_collections, query_filters
from .payloads import MOST_ATTACHMENTS, ChatRequest, SearchRequest
from .streaming import EventStream
from .uploads import form_json, is_form, services

api = Blueprint("api", __name__)
CHUNK_ID = re.compile(r"^[A-Za-z0-9._|:#<>-]{1,200}$")


@api.post("/query")
def query() -> Response:
    """Seed 003's endpoint: the whole answer at once."""
    return jsonify(answer_json(EventStream(_answers(), client_gone(request.environ)).whole()))


@api.post("/api/chat")
def chat() -> Response:
    """The same, as server-sent events."""
    encoded = stream_with_context(EventStream(_answers(), client_gone(request.environ)).open())
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return Response(encoded, mimetype="text/event-stream", headers=headers)


def _answers() -> Callable[[Cancellation], Iterator[Event | Saved]]:
    """The checked request, ready to be answered: what is called needs no request context any more."""
    body = parse(ChatRequest, form_json("request") if is_form(most=MOST_ATTACHMENTS) else json_body())
    _require_samples()
    question = body.asked(services())
    attachments = Attachments(services(), body.attachments)
    chat_service = services().chat

    def answers(asked: Question, cancel: Cancellation) -> Iterator[Event | Saved]:
        return chat_service.stream(
            asked, conversation_id=body.conversation_id, previous_messages=body.messages(), cancel=cancel
        )

    return lambda cancel: attachments.answer(question, answers, cancel)


def _require_samples() -> None:
    """In the first moments of a first start nothing is known yet; "not found" would be wrong. Raises IngestingError."""
    samples: SampleReports | None = current_app.extensions.get("samples")
    if samples is not None and samples.unknown and not services().documents.all():
        raise IngestingError("The sample reports are being read.")


@api.post("/api/search")
def search() -> Response:
    """Hits without an answer."""
    _require_samples()
    question = parse(SearchRequest, json_body()).question(services())
    retrieval = (
        services()
        .model_bound.retriever_for(question.preset)
        .retrieve(
            question.query,
            top_k=question.top_k,
            scope=question.scope,
            method=question.retrieval_method,
            page=question.page,
        )
    )
    facets = services().documents.facets(question.scope)
    summary = ScopeSummary(question.scope, facets["documents"], facets["chunks"], question.page)
    return jsonify(search_json(question, retrieval, summary))


@api.get("/api/reports")
def reports() -> Response:
    """The reports in scope, by title."""
    found = [report_json(record) for record in services().documents.all(_scope())]
    return jsonify({"reports": found, "total": len(found)})


@api.get("/api/facets")
def facets() -> Response:
    """Values with counts, each field counted under the rest of the scope."""
    return jsonify(services().documents.facets(_scope()))


def _scope() -> Scope:
    """The query string's. Raises InvalidRequestError."""
    return services().scopes.resolve(query_filters(), collections=query_collections())


@api.get("/api/collections")
def collections() -> Response:
    """The knowledge collections, with what can be searched in each."""
    catalog = services().documents
    found = [collection_json(one, summarise(catalog, Scope().within([one.name]))) for one in services().collections]
    return jsonify({"collections": found})


@api.get("/api/chunks/<path:chunk_id>")
def chunk(chunk_id: str) -> Response:
    """One passage with the text around it."""
    found = services().store.get([chunk_id]) if CHUNK_ID.match(chunk_id) else []
    if not found:
        raise NotFoundError(f"There is no passage {chunk_id[:200]!r}.")
    around = services().store.surroundings(found[0], margin=services().settings.context_margin)
    wider = wider_text(found[0], around, margin=services().settings.context_margin)
    return jsonify({**hit_json(SearchHit(found[0])), "wider_text": wider})
