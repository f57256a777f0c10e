"""Questions: `/query`, `/api/chat` and `/api/search`, and what is attached to one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from flask import Blueprint, Response, g, request
from werkzeug.exceptions import ServiceUnavailable

from ..cancellation import Cancellation
from ..conversation.service import Place, Saved, asked_json
from ..errors import DiskFullError, InvalidRequestError
from ..repositories.conversations import Begun
from ..repositories.request_cache import request_cache
from ..schema import Document, Event, Question, ScopeSummary, SearchHit, StepEvent
from ..schema.access import Caller
from ..schema.chat import SearchTrace
from ..validation import parse
from .access import caller, question_slot
from .kept_answers import without_passages
from .middleware import Error
from .observing import watch_question
from .payloads import MOST_ATTACHMENTS, Attachment, ChatRequest, SearchRequest
from .request import accept_files, form_json, is_form, json_body, safe_name
from .resuming import Resumable, under_way
from .routes import EVENTS, route
from .services import require_samples, services
from .streaming import BEGUN, FULL, HAND_OVER, NAMES, STREAM_HEADERS, EventStream, client_of

if TYPE_CHECKING:
    from ..services import Services

asking = Blueprint("asking", __name__)
RETRY_SECONDS = 5
Answers = Callable[[Question, Cancellation], Iterator[Event | Saved]]


QUESTION = {"query": "What is the population growth rate?", "filters": {"country_name": ["Kenya"], "year": [2023]}}
STREAM: dict[str, Any] = {"begun": Begun, **{name: type_ for type_, name in NAMES.items()}, "error": Error}
"""The data of each event of a stream."""
QUESTION_ERRORS = (404, 409, 422, 507)


@asking.post("/query")
@route(need="read", body=ChatRequest, form=ChatRequest, returns=Saved, errors=QUESTION_ERRORS, example=QUESTION)
@request_cache()
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
@request_cache()
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
@request_cache()
def search_passages() -> SearchResult:
    """Find passages, without an answer."""
    require_samples()
    question = parse(SearchRequest, json_body()).to_search(services(), caller().limit)
    retrieval = services().runtime.retriever.retrieve(
        question.query,
        top_k=question.top_k,
        scope=question.scope,
        method=question.retrieval_method,
        settings=question.settings,
        page=question.page,
    )
    inside = services().storage.documents.holdings(question.scope)
    summary = ScopeSummary(question.scope, inside.documents, inside.chunks, question.page)
    trace = SearchTrace(
        "search",
        question.retrieval_method,
        question.query,
        retrieval.threshold,
        retrieval.steps,
        pipeline=retrieval.pipeline,
    )
    return SearchResult(retrieval.hits, summary, trace)


def stream_response(stream: EventStream) -> Response:
    """Opened here; its events are sent by the server, where it does that itself. Raises what fails early."""
    opened, hand_over = stream.open(), request.environ.get(HAND_OVER)
    if hand_over is not None:
        hand_over(opened)
    return Response(opened if hand_over is None else iter(()), mimetype="text/event-stream", headers=STREAM_HEADERS)


def refuse_more() -> None:
    """Raises ServiceUnavailable: too many questions are under way."""
    if FULL in request.environ:
        raise ServiceUnavailable(
            "Too many questions are being answered. Retry in a few seconds; QUESTIONS sets the limit.",
            retry_after=RETRY_SECONDS,
        )


def _answer(*, may_resume: bool) -> EventStream:
    """The checked request, ready to be answered: what runs needs no request context any more.

    Raises:
        ServiceUnavailable: too many questions are under way.
    """
    refuse_more()
    body = parse(ChatRequest, form_json("request") if is_form(most=MOST_ATTACHMENTS) else json_body())
    require_samples()
    who = caller()
    question, chat_service = body.to_question(services(), who.limit), services().answering.chat
    check_resume(body, may_resume=may_resume)
    attachments = Attachments(services(), body.attachments)
    kept = _kept(body, question, who) if body.resume else None
    place = Place(body.conversation_id, replaces=body.replaces, describe=without_passages)
    if kept is not None:
        place = replace(place, conversation_id=kept.begun.conversation_id, message_id=kept.begun.message_id)

    def events(answered: Question, cancel: Cancellation) -> Iterator[Event | Saved]:
        return chat_service.stream(
            answered,
            place=place,
            previous_messages=body.messages(),
            cancel=cancel,
            caller=who,
        )

    return event_stream(lambda cancel: attachments.answer(question, events, cancel), keeping=kept)


def event_stream(
    events: Callable[[Cancellation], Iterator[Event | Saved]],
    *,
    encoded: Callable[[Iterator[Event | Saved]], Iterator[Event | Saved | str]] = iter,
    keeping: Resumable | None = None,
) -> EventStream:
    """Return the stream of the current request's question, counted as one of its caller's.

    ``encoded`` makes the text of another protocol of its events.
    """
    product, who, watched = services(), caller(), g.watched

    def limited(cancel: Cancellation) -> Iterator[Event | Saved]:
        with question_slot(product, who), watch_question(watched) as note:
            for event in events(cancel):
                note(event)
                yield event

    return EventStream(
        lambda cancel: encoded(limited(cancel)),
        client_of(request.environ),
        tell_begun=request.environ.get(BEGUN, lambda: None),
        keeping=keeping,
    )


def check_resume(body: ChatRequest, *, may_resume: bool) -> None:
    """Raises InvalidRequestError: resuming is asked for, but this answer ends with its connection."""
    if body.resume and not may_resume:
        raise InvalidRequestError.for_field("resume", "is only supported by POST /api/chat.")
    if body.resume and (body.attachments or request.files):
        raise InvalidRequestError.for_field("resume", "is not supported with attachments, which are not kept.")


def _kept(body: ChatRequest, question: Question, who: Caller) -> Resumable | None:
    """Begin the answer in the database, so that it can be resumed; None where it is nobody's, or there is no room."""
    if not who.owner:
        return None
    try:
        begun = services().storage.conversations.begin(
            body.conversation_id, asked_json(question), who.owner, body.replaces
        )
    except DiskFullError:
        return None  # the answer itself will say that it is not kept
    return under_way().take(begun)


class Attachments:
    """Files and pages that come with one question: kept in a folder of their own until it is answered (R-A2)."""

    def __init__(self, services: Services, links: Sequence[Attachment]) -> None:
        """Takes the files of the current request. Raises InvalidRequestError, RequestEntityTooLarge."""
        self._services = services
        self._links = links
        files = accept_files(most=MOST_ATTACHMENTS) if request.files else []
        self._folder = TemporaryDirectory(prefix="report-chat-") if files or links else None
        self._paths: list[tuple[str, Path]] = []
        for number, file in enumerate(files):
            name = _last_part(file.filename)
            path = self._place(number, name)
            file.save(path)
            self._paths.append((name, path))

    def answer(self, question: Question, answers: Answers, cancel: Cancellation) -> Iterator[Event | Saved]:
        """The answer's events, after one for each attachment that is read."""
        if self._folder is None:
            return answers(question, cancel)
        return self._read_first(self._folder, question, answers, cancel)

    def _read_first(
        self, folder: TemporaryDirectory[str], question: Question, answers: Answers, cancel: Cancellation
    ) -> Iterator[Event | Saved]:
        named: list[tuple[str, Path | Attachment]] = list(self._paths)
        named += [(link.url or _last_part(link.name), link) for link in self._links]
        with folder:
            documents: list[Document] = []
            for number, (name, source) in enumerate(named):
                yield StepEvent("attachments", f"Reading {name}")
                path = source if isinstance(source, Path) else self._fetch(number, source, cancel)
                document = self._services.answering.attached(path, name, cancel)
                # Two may have the same name, and their passages are told apart by the id.
                documents.append(replace(document, id=f"{document.id}-{number + 1}"))
            yield from answers(replace(question, attachments=tuple(documents)), cancel)

    def _fetch(self, number: int, link: Attachment, cancel: Cancellation) -> Path:
        if link.url is not None:
            return self._services.ingesting.originals.download(link.url, self._place(number, "page").parent, cancel)
        path = self._place(number, _last_part(link.name))
        path.write_text(link.text or "", encoding="utf-8")
        return path

    def _place(self, number: int, name: str) -> Path:
        assert self._folder is not None
        folder = Path(self._folder.name) / str(number)
        folder.mkdir(exist_ok=True)
        return folder / name


def _last_part(name: str | None) -> str:
    return PurePosixPath(safe_name(name)).name
