"""Batches, many questions as one job: taken at once, answered beside the requests, one at a time in each process.

Who waits for an answer comes first.
"""

from __future__ import annotations

import json
import uuid
from dataclasses import replace
from typing import Any

from flask import Blueprint, Response, current_app, jsonify, url_for

from ..cancellation import Cancellation
from ..conversation.service import Saved
from ..database.core import Json
from ..errors import BudgetExhaustedError, ChatbotError, InvalidRequestError, NotFoundError, TooManyRequestsError
from ..ingestion.watch import WorkLoop, heartbeat
from ..repositories.request_cache import request_cache
from ..schema.access import Caller
from ..schema.jobs import Batch, BatchQuestion
from ..serialization import answer_row, batch_json, error_json
from ..services import Services
from ..validation import parse
from .access import caller
from .bodies import ManyQuestions
from .callbacks import callback_of
from .kept_answers import with_snippets, without_passages
from .library import library
from .payloads import ChatRequest, QuestionOfBatch
from .request import csv_response, json_object, query_number
from .services import require_samples, services

batches = Blueprint("batches", __name__)
PAGE, LISTED = 20, 100
MOST_UNFINISHED = 10
"""Batches of one account that have not ended; the next one is a 429."""
RETRY_SECONDS = 60
IDLE_SECONDS = 2.0
BEAT_SECONDS = 2.0
MOST_TRIES = 3
"""How often a question may take its process with it before it is given up."""
LONGEST_WAIT = 3_600.0
"""Seconds until a used up budget is looked at again."""


@batches.post("/api/batches")
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


@batches.get("/api/batches")
def index() -> Response:
    """The caller's batches, the newest first."""
    found = services().storage.batches.latest(caller().owner, query_number("limit", PAGE, least=1, most=LISTED))
    return jsonify({"batches": list(map(batch_json, found))})


@batches.get("/api/batches/<batch_id>")
def show(batch_id: str) -> Response:
    """How many questions of a batch are answered."""
    return jsonify(batch_json(_batch(batch_id)))


@batches.delete("/api/batches/<batch_id>")
def cancel(batch_id: str) -> tuple[Response, int]:
    """End it, unless it has ended; what was answered stays."""
    batch = services().storage.batches.cancel(batch_id, caller().owner)
    return jsonify(batch_json(batch)), 202


@batches.get("/api/batches/<batch_id>/result.<format>")
def result(batch_id: str, format: str) -> Response:
    """The answers that there are: a line for each question that has ended, in their order."""
    if format not in {"csv", "jsonl"}:
        raise NotFoundError("There is result.csv, and result.jsonl.")
    found = _ended(_batch(batch_id).id)
    name = f"answers.{format}"
    if format == "csv":
        fields = services().settings.filter_fields
        rows = [answer_row(one.number, one.request, one.answer, one.error, fields) for one in found]
        return csv_response(rows, columns(fields), name)
    lines = [json.dumps(_line(one), ensure_ascii=False) + "\n" for one in found]
    headers = {"Content-Disposition": f"attachment; filename={name}"}
    return Response("".join(lines), mimetype="application/jsonl", headers=headers)


def columns(fields: tuple[str, ...]) -> tuple[str, ...]:
    """The columns of `result.csv`, with these filter fields."""
    return ("number", "question", *fields, "response", "answered", "citations", "unsupported", "error")


def _ended(batch_id: str) -> list[BatchQuestion]:
    """The questions that have ended; answers with the words of the passages that still exist and may be seen."""
    found = [one for one in services().storage.batches.questions(batch_id) if one.answer or one.error]
    with_snippets([one.answer for one in found if one.answer], library().passages)
    return found


def _line(one: BatchQuestion) -> Json:
    return {"number": one.number, "question": one.request["query"], "answer": one.answer, "error": one.error}


def _batch(batch_id: str) -> Batch:
    return services().storage.batches.get(batch_id, caller().owner)


class BatchWorker:
    """Answers the questions of batches, one after the other, in a thread that `loop` keeps going."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self.loop = WorkLoop(self.work_once, idle_seconds=IDLE_SECONDS, waits="The batches wait")
        self._current: Cancellation | None = None

    def close(self) -> None:
        """Stop soon; the question in hand is the next worker's."""
        self.loop.close()
        if (current := self._current) is not None:
            current.cancel()

    def work_once(self) -> bool:
        """Answer one question; False where there is none. Raises DependencyError: the database does not answer."""
        batches = self._services.storage.batches
        if (taken := batches.claim(uuid.uuid4().hex)) is None:
            return False
        question, asked_by = taken
        who = self._caller(asked_by)
        if who is None or question.tries > MOST_TRIES:
            given_up = f"It was given up: the process that answered it ended {MOST_TRIES} times."
            message = given_up if who else "The key that asked was revoked."
            batches.finish(question, "failed", error={"code": "given_up", "message": message})
            return True
        cancel = self._current = Cancellation()

        def beat() -> bool:
            if not (wanted := batches.renew(question)):
                cancel.cancel()
            return wanted

        try:
            with heartbeat("batch-beat", BEAT_SECONDS, beat):
                self._answer(question, who, cancel)
        finally:
            self._current = None
        return True

    def _caller(self, asked_by: dict[str, Any]) -> Caller | None:
        """The caller of a batch with their key as it is now; None where it was revoked."""
        if not asked_by["key"]:
            return Caller(**{**asked_by, "key": None})
        key = self._services.storage.keys.get(asked_by["key"])
        if key is None:
            return None
        return replace(Caller(**{**asked_by, "key": key}), daily_tokens=key.daily_tokens, limit=key.limit)

    def _answer(self, question: BatchQuestion, who: Caller, cancel: Cancellation) -> None:
        batches = self._services.storage.batches
        try:
            saved = self._ask(question, who, cancel)
        except BudgetExhaustedError as error:
            batches.put_back(question, detail=error.message, seconds=min(error.retry_after or 0, LONGEST_WAIT))
            return
        except ChatbotError as error:
            if not cancel.cancelled:
                batches.finish(question, "failed", error=error_json(error))
                return
            saved = None
        if saved is not None:
            batches.finish(question, "done", answer=without_passages(saved))
        elif self.loop.stopping:
            batches.put_back(question)
        else:
            batches.finish(question, "cancelled")

    def _ask(self, question: BatchQuestion, who: Caller, cancel: Cancellation) -> Saved | None:
        """Answer a question as `POST /query` does, without a conversation; None where it was cancelled."""
        asked = parse(ChatRequest, question.request).to_question(self._services, who.limit)
        return self._services.answering.chat.answer(asked, cancel=cancel, caller=who)
