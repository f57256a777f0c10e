"""Questions: `/query`, `/api/chat` and `/api/search`; their attachments, and how answers are stored."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from flask import Blueprint, Response, g, request
from werkzeug.exceptions import ServiceUnavailable

from ...answering.conversation import Place, Saved, asked_json
from ...checking.citations import snippet_of
from ...database.core import Json
from ...database.repositories.conversations import Begun
from ...domain import Chunk, Document, Event, Question, ScopeSummary, SearchHit, StepEvent
from ...domain.cancellation import Cancellation
from ...domain.chat import SearchTrace
from ...domain.errors import DiskFullError, InvalidRequestError
from ...domain.json import to_json
from ...domain.validation import parse
from .access import caller, question_slot
from .observing import Error
from .payloads import MOST_ATTACHMENTS, Attachment, ChatRequest, SearchRequest
from .request import accept_files, form_json, is_form, json_body, require_samples, safe_name, services
from .resuming import ResumableAnswer, active_streams
from .routes import EVENTS, route
from .streaming import BEGUN, FULL, HAND_OVER, NAMES, STREAM_HEADERS, Events, EventStream, Item, client_of, write_event

if TYPE_CHECKING:
    from ..services import Services

asking = Blueprint("asking", __name__)
Answers = Callable[[Question, Cancellation], Iterator[Event | Saved]]

QUESTION = {"query": "What is the population growth rate?", "filters": {"country_name": ["Kenya"], "year": [2023]}}
STREAM: dict[str, Any] = {"begun": Begun, **{name: type_ for type_, name in NAMES.items()}, "error": Error}
"""The data of each event of a stream."""
QUESTION_ERRORS = (404, 409, 422, 507)


@asking.post("/query")
@route(need="read", body=ChatRequest, form=ChatRequest, returns=Saved, errors=QUESTION_ERRORS, example=QUESTION)
def answer_question() -> Saved:
    """Answer a question with citations, sources, scope and trace.

    A form holds the JSON in `request`, and `files` for this question only.
    """
    return _answer(may_resume=False).whole()


@asking.post("/api/chat")
@route(
    need="read", body=ChatRequest, form=ChatRequest, returns=STREAM, media=(EVENTS,), errors=QUESTION_ERRORS,
    example=QUESTION,
)  # fmt: skip
def stream_answer() -> Response:
    """Answer a question as server-sent events while the answer is written.

    `step` events, `sources` before the first `token`, and at the end `done` with the whole answer, or `error`. With
    `resume` the first event is `begun`, and all but `done` have an `id`. A comment line follows each second of silence.
    """
    return stream_response(_answer(may_resume=True))


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The passages found, without an answer."""

    hits: tuple[SearchHit, ...]
    scope: ScopeSummary
    trace: SearchTrace


@asking.post("/api/search")
@route(need="read", body=SearchRequest, returns=SearchResult, example=QUESTION)
def search_passages() -> SearchResult:
    """Find passages, without an answer."""
    require_samples()
    question = parse(SearchRequest, json_body()).to_search(services(), caller().limit)
    method, scope = question.retrieval_method, question.scope
    retrieval = services().runtime.retriever.retrieve(
        question.query, top_k=question.top_k, scope=scope, method=method, settings=question.settings, page=question.page
    )
    held, steps, pipeline = services().storage.documents.holdings(scope), retrieval.steps, retrieval.pipeline
    trace = SearchTrace("search", method, question.query, retrieval.threshold, steps, pipeline=pipeline)
    summary = ScopeSummary(scope, held.documents, held.chunks, question.page)
    return SearchResult(retrieval.hits, summary, trace)


def stream_response(stream: EventStream) -> Response:
    """Open a stream and hand it over to the server, if that sends streams itself. Raises what fails early."""
    opened, hand_over = stream.open(), request.environ.get(HAND_OVER)
    if hand_over is not None:
        hand_over(opened)
    # An iterator has no length: with one the server would take the empty response for complete.
    return Response(opened if hand_over is None else iter(()), mimetype=EVENTS, headers=STREAM_HEADERS)


def refuse_more() -> None:
    """Raises ServiceUnavailable: too many questions are being answered."""
    if FULL in request.environ:
        message = "Too many questions are being answered. Retry in a few seconds; QUESTIONS sets the limit."
        raise ServiceUnavailable(message, retry_after=5)


def _answer(*, may_resume: bool) -> EventStream:
    """Check the current request and return its answer, which needs no request context any more.

    Raises:
        ServiceUnavailable: too many questions are being answered.
    """
    refuse_more()
    body = parse(ChatRequest, form_json("request") if is_form(most=MOST_ATTACHMENTS) else json_body())
    require_samples()
    who = caller()
    question, chat_service = body.to_question(services(), who.limit), services().answering.chat
    if body.resume and not may_resume:
        raise InvalidRequestError.for_field("resume", "is only supported by POST /api/chat.")
    if body.resume and (body.attachments or request.files):
        raise InvalidRequestError.for_field("resume", "is not supported with attachments, which are not kept.")
    attachments = Attachments(services(), body.attachments) if body.attachments or request.files else None
    place = Place(body.conversation_id, replaces=body.replaces, describe=without_passages)
    kept: ResumableAnswer | None = None
    if body.resume and who.owner:
        # Without space on the disk it is not kept; the answer itself says so.
        with suppress(DiskFullError):
            begun = services().storage.conversations.begin(
                body.conversation_id, asked_json(question), who.owner, body.replaces
            )
            place = replace(place, conversation_id=begun.conversation_id, message_id=begun.message_id)
            kept = active_streams().add(begun)

    def stream(question: Question, cancel: Cancellation) -> Iterator[Event | Saved]:
        return chat_service.stream(question, place=place, previous_messages=body.messages(), cancel=cancel, caller=who)

    if attachments is None:
        return event_stream(lambda cancel: stream(question, cancel), keeping=kept)
    return event_stream(lambda cancel: attachments.answer(question, stream, cancel))


def event_stream(
    events: Events, *, write: Callable[[Item], Iterable[str]] = write_event, keeping: ResumableAnswer | None = None
) -> EventStream:
    """Return the stream of the current request's question, counted as one of its caller's."""
    product, who, observed = services(), caller(), g.observed

    @contextmanager
    def watch() -> Iterator[Callable[[Item], None]]:
        with question_slot(product, who), observed.question() as note:
            yield note

    environ = request.environ
    begun = environ.get(BEGUN, lambda: None)
    return EventStream(events, client_of(environ), watch=watch, write=write, tell_begun=begun, keeping=keeping)


def without_passages(saved: Saved) -> Json:
    """Return the `/query` response for storage, without the text of its passages.

    That is looked up when the answer is read again. So deleted reports do not live on in conversations.
    """
    answer: Json = to_json(saved)
    for part in (*answer["citations"], *answer["trace"]["hits"]):
        for name in ("snippet", "text"):
            part.pop(name, None)
    return answer


def with_passages(rows: Sequence[Json], get: Callable[[Sequence[str]], Iterable[Chunk]]) -> list[Json | None]:
    """Return the `/query` response of each row of a message, None where none was kept.

    ``get`` gives the passages that still exist and are visible; others get the text "".
    """
    answers = [json.loads(row["response"]) if "response" in row else None for row in rows]
    kept = [(row, answer) for row, answer in zip(rows, answers, strict=True) if answer is not None]
    ids = {part["chunk_id"] for _, answer in kept for part in (*answer["citations"], *answer["trace"]["hits"])}
    texts = {chunk.id: chunk.text for chunk in get(sorted(ids))} if ids else {}
    for row, answer in kept:
        for citation in answer["citations"]:
            citation["snippet"] = snippet_of(texts.get(citation["chunk_id"], ""))
        for hit in answer["trace"]["hits"]:
            hit["text"] = texts.get(hit["chunk_id"], "")
        place = {"conversation_id": row["conversation_id"], "message_id": row["_id"]}
        answer.update(place, conversation_usage=row.get("conversation_usage"))
    return answers


class Attachments:
    """Files and pages that come with one question, in a temporary folder until it is answered (R-A2)."""

    def __init__(self, services: Services, links: Sequence[Attachment]) -> None:
        """Take the files of the current request.

        Raises:
            InvalidRequestError: a file that cannot be read.
            RequestEntityTooLarge: a file is too large.
        """
        self._services = services
        files = accept_files(most=MOST_ATTACHMENTS) if request.files else []
        self._folder = TemporaryDirectory(prefix="report-chat-")
        self._sources: list[tuple[str, Path | Attachment]] = []
        for number, file in enumerate(files):
            name = _last_part(file.filename)
            path = self._path(number, name)
            file.save(path)
            self._sources.append((name, path))
        self._sources += [(link.url or _last_part(link.name), link) for link in links]

    def answer(self, question: Question, answer: Answers, cancel: Cancellation) -> Iterator[Event | Saved]:
        """Yield an event for each attachment that is read, then those of the answer."""
        with self._folder:
            documents: list[Document] = []
            for number, (name, source) in enumerate(self._sources):
                yield StepEvent("attachments", f"Reading {name}")
                path = source if isinstance(source, Path) else self._fetch(number, source, cancel)
                document = self._services.answering.attached(path, name, cancel)
                # Two may have the same name, and their passages are told apart by the id.
                documents.append(replace(document, id=f"{document.id}-{number + 1}"))
            yield from answer(replace(question, attachments=tuple(documents)), cancel)

    def _fetch(self, number: int, link: Attachment, cancel: Cancellation) -> Path:
        if link.url is not None:
            return self._services.ingesting.originals.download(link.url, self._path(number, "page").parent, cancel)
        path = self._path(number, _last_part(link.name))
        path.write_text(link.text or "", encoding="utf-8")
        return path

    def _path(self, number: int, name: str) -> Path:
        folder = Path(self._folder.name) / str(number)
        folder.mkdir(exist_ok=True)
        return folder / name


def _last_part(name: str | None) -> str:
    return PurePosixPath(safe_name(name)).name
