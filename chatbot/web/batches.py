"""Many questions as one job: taken at once, answered beside the requests, one after the other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain, islice
from tempfile import SpooledTemporaryFile

from flask import Blueprint, Response, current_app, jsonify, url_for

from ..database.core import Json
from ..errors import InvalidRequestError, NotFoundError, TooManyRequestsError
from ..repositories.caches import request_cache
from ..schema.jobs import Batch, BatchQuestion
from ..serialization import answer_row, batch_json
from ..settings import MEGABYTE
from ..validation import parse
from .access import caller, library
from .callbacks import callback_of
from .kept_answers import with_snippets
from .payloads import ChatRequest, ManyQuestions, QuestionOfBatch
from .request import Number, Query, csv_response, json_object, page_size, require_samples, services
from .routes import route

batches = Blueprint("batches", __name__)
PAGE, LISTED = 20, 100
MOST_UNFINISHED = 10
"""Batches of one account that have not ended; the next one is a 429."""
RETRY_SECONDS = 60
PORTION = 20
"""Answers of a result that are in hand at once."""


@batches.post("/api/batches")
@route(need="read", body=ManyQuestions, returns=Json, status=202)
@request_cache()
def create() -> tuple[Response, int, dict[str, str]]:
    """Check every question now; they are answered later."""
    require_samples()
    if services().storage.batches.unfinished(caller().account) >= MOST_UNFINISHED:
        message = f"{MOST_UNFINISHED} batches of yours have not ended: wait for one, or end it."
        raise TooManyRequestsError(message, retry_after=RETRY_SECONDS)
    sent = parse(ManyQuestions, json_object())
    callback = callback_of(sent)
    options = sent.model_dump(exclude_unset=True, exclude={"questions", "callback_url"})
    asked = [_request(one, options, place) for place, one in enumerate(sent.questions)]
    batch = services().storage.batches.create(asked, caller(), callback)
    current_app.extensions["run_batches"]()
    return jsonify(batch_json(batch)), 202, {"Location": url_for(".show", batch_id=batch.id)}


def _request(one: QuestionOfBatch, options: Json, place: int) -> Json:
    """A question of a batch as `POST /query` takes it.

    Raises InvalidRequestError, UnknownNameError: it would not be taken.
    """
    asked = {**options, **one.model_dump(exclude_unset=True)}
    try:
        parse(ChatRequest, asked).to_question(services(), caller().limit)
    except InvalidRequestError as error:
        place_of = f"questions.{place}"
        details = [{**one, "field": f"{place_of}.{one['field']}"} for one in error.details if "field" in one]
        raise InvalidRequestError(f"{place_of}: {error.message}", details=details) from error
    return asked


class BatchQuery(Query):
    limit: Number = page_size(PAGE, LISTED)


@batches.get("/api/batches")
@route(need="read", query=BatchQuery, returns=Json)
def index(query: BatchQuery) -> Response:
    """The caller's batches, the newest first."""
    found = services().storage.batches.latest(caller().owner, query.limit)
    return jsonify({"batches": list(map(batch_json, found))})


@batches.get("/api/batches/<batch_id>")
@route(need="read", returns=Json)
def show(batch_id: str) -> Response:
    """How many questions of a batch are answered."""
    return jsonify(batch_json(_batch(batch_id)))


@batches.delete("/api/batches/<batch_id>")
@route(need="read", returns=Json, status=202)
def cancel(batch_id: str) -> tuple[Response, int]:
    """End it, unless it has ended; what was answered stays."""
    batch = services().storage.batches.cancel(batch_id, caller().owner)
    return jsonify(batch_json(batch)), 202


@batches.get("/api/batches/<batch_id>/result.<format>")
@route(need="read", media=("text/csv", "application/jsonl"))
def result(batch_id: str, format: str) -> Response:
    """The answers that there are: a line for each question that has ended, in their order."""
    if format not in {"csv", "jsonl"}:
        raise NotFoundError("There is result.csv, and result.jsonl.")
    found = _ended(_batch(batch_id).id)
    name = f"answers.{format}"
    if format == "csv":
        fields = services().settings.filter_fields
        rows = (answer_row(one.number, one.request, one.answer, one.error, fields) for one in found)
        return csv_response(rows, columns(fields), name)
    pieces = _pieces(f"{json.dumps(_line(one), ensure_ascii=False)}\n".encode() for one in found)
    headers = {"Content-Disposition": f"attachment; filename={name}"}
    return Response(chain([next(pieces, b"")], pieces), mimetype="application/jsonl", headers=headers)


def _pieces(lines: Iterator[bytes]) -> Iterator[bytes]:
    """All of them are made for the first piece, and wait on disk: whoever takes them may do so slowly."""
    with SpooledTemporaryFile(max_size=MEGABYTE) as text:
        text.writelines(lines)
        text.seek(0)
        while piece := text.read(MEGABYTE):
            yield piece


def columns(fields: tuple[str, ...]) -> tuple[str, ...]:
    """The columns of `result.csv`, with these filter fields."""
    return ("number", "question", *fields, "response", "answered", "citations", "unsupported", "error")


def _ended(batch_id: str) -> Iterator[BatchQuestion]:
    """The questions that have ended; answers with the words of the passages that still exist and may be seen.

    In portions: all answers of a batch may take half a gigabyte.
    """
    ended = (one for one in services().storage.batches.questions(batch_id) if one.answer or one.error)
    while portion := list(islice(ended, PORTION)):
        with_snippets([one.answer for one in portion if one.answer], library().passages)
        yield from portion


def _line(one: BatchQuestion) -> Json:
    return {"number": one.number, "question": one.request["query"], "answer": one.answer, "error": one.error}


def _batch(batch_id: str) -> Batch:
    return services().storage.batches.get(batch_id, caller().owner)
