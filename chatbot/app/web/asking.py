"""Questions: `/query`, `/api/chat` and `/api/search`; their attachments, and how
answers are stored.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal, Self

from flask import Response, g, request
from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    model_validator,
)
from pydantic_core import PydanticCustomError

from ...answering.conversation import Place, Saved, asked_json
from ...answering.emitter import Send
from ...answering.modes import CHOOSES
from ...database.core import Json, bookkeeping
from ...database.repositories.conversations import Begun
from ...domain import (
    Cancellation,
    Document,
    Event,
    Message,
    Scope,
    SearchHit,
    StepEvent,
)
from ...domain.chat import (
    QUERY_CHARACTERS,
    EarlierField,
    QuerySettings,
    Question,
    ScopeSummary,
    SearchTrace,
    question_problem,
)
from ...domain.documents import with_publications
from ...domain.errors import DatabaseError, InvalidRequestError
from ...domain.json import to_json
from ...domain.validation import ADDRESS, CLIENT_ID, IDENTIFIER, parse
from ...language.characters import evenly_spaced
from ...language.words import ENGLISH, Language
from ...search import RETRIEVAL_METHODS
from ..services import Services
from .access import library
from .callers import caller
from .files import accept_files, form_json, is_form, last_part
from .monitoring import Error
from .rates import question_slot
from .routes import EVENTS, Body, OpenBody, Views, json_body, require_samples, services
from .streaming import (
    NAMES,
    EventStream,
    Item,
    ResumableStream,
    Tell,
    active_streams,
    connection,
    refuse_more,
    write_event,
)
from .turns import held, keep_turn
from .uploads import FileId, sent_files

asking = Views("asking", __name__)
Answers = Callable[..., Saved | None]
"""Answers a question, sends its events, and stops when ``cancel`` is set."""
MAX_ATTACHMENTS = 5
"""Attachments of one question; a person waits until they are read."""
STREAM_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
"""A stream is neither cached nor buffered."""


def one_of(*names: str) -> dict[str, Any]:
    """Return what the schema says where exactly one of these fields is given."""
    return {
        "oneOf": [
            {"required": [name], "properties": {name: {"not": {"type": "null"}}}}
            for name in names
        ]
    }


def _question_text(text: str) -> str:
    if problem := question_problem(text):
        raise PydanticCustomError("question_text", "{problem}", {"problem": problem})
    return evenly_spaced(text)


QuestionText = Annotated[
    str,
    StringConstraints(strip_whitespace=True),
    AfterValidator(_question_text),
    Field(json_schema_extra={"pattern": r"\S", "maxLength": QUERY_CHARACTERS}),
]
Address = Annotated[str, StringConstraints(pattern=ADDRESS, max_length=2_000)]
Identifier = Annotated[str, StringConstraints(pattern=IDENTIFIER)]


def _none_if_empty(value: object) -> object:
    if value == "":
        return None
    return value


ConversationId = Annotated[Identifier | None, BeforeValidator(_none_if_empty)]
ChatId = Annotated[
    Annotated[str, StringConstraints(pattern=CLIENT_ID)] | None,
    BeforeValidator(_none_if_empty),
]
"""An id that the client makes. "" and null are none, as in seed 003's front end."""
FilterValue = str | int
RangeEnd = Literal["gte", "lte"]
Filter = (
    FilterValue
    | Annotated[Sequence[FilterValue], Field(max_length=300)]
    | Mapping[RangeEnd, FilterValue]
)


class ReportContext(Body):
    """A scope of one country or one yearly review (seed 003)."""

    type: str
    value: FilterValue


class PreviousMessage(OpenBody):
    """A message that the client stored. Further fields, such as ids and timestamps, are
    ignored.
    """

    role: Literal["system", "user", "assistant"]
    content: Annotated[str, StringConstraints(max_length=20_000)]


class Attachment(Body):
    """A web page, a text, or a file (`POST /api/files`) that this one question is
    about.
    """

    model_config = ConfigDict(json_schema_extra=one_of("url", "text", "file"))

    url: Address | None = None
    file: FileId | None = None
    name: Annotated[str, StringConstraints(min_length=1, max_length=120)] = "text.md"
    text: Annotated[str, StringConstraints(min_length=1, max_length=500_000)] | None = (
        None
    )

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        given = [self.url, self.text, self.file]
        if given.count(None) != 2:
            raise PydanticCustomError("one_of", "give one of url, text and file.")
        return self


class BudgetLimits(Body):
    """Return the budget of this question, within the limits of the settings."""

    calls: int | None = None
    tokens: int | None = None
    seconds: int | float | None = None


class SearchRequest(Body):
    """`POST /api/search`; every question has these fields."""

    query: QuestionText
    report_context: ReportContext | None = None
    filters: Mapping[str, Filter] | None = None
    collections: list[str] | None = Field(None, max_length=300)
    limit: int | None = Field(None, ge=1, le=50)
    retrieval_method: str | None = None
    preset: str = ""
    page: int | None = Field(None, ge=1, le=100_000)

    def to_search(
        self, services: Services, limit: Scope, *, mode: str = "direct"
    ) -> Question:
        """Return the question in a scope inside of ``limit``. Raises
        InvalidRequestError, UnknownNameError.
        """
        context = (
            (self.report_context.type, self.report_context.value)
            if self.report_context
            else None
        )
        settings = services.modes.settings_with(self.preset)
        method = RETRIEVAL_METHODS.check(
            self.retrieval_method or settings.retrieval_method, field="retrieval_method"
        )
        scopes = services.storage.scopes.inside(limit)
        scope = scopes.resolve(self.filters, context, self.collections)
        return Question(
            query=self.query,
            scope=scope,
            groups=scopes.groups(self.filters),
            top_k=self.limit or settings.top_k,
            retrieval_method=method,
            mode=mode,
            preset=self.preset,
            settings=QuerySettings.of(settings) if self.preset else None,
            page=self.page,
        )


class ChatRequest(SearchRequest):
    """`POST /query` and `POST /api/chat`. ``chatbot_type`` and ``version`` are accepted
    from older clients.

    Not ``keep``: the question and its answer are stored nowhere. ``resume``: go on for
    a while when the connection is lost; ``replaces``: the answer whose place the new
    one takes. ``without_earlier``: what the question does not take over from its
    conversation. ``language``: that of the fixed words in the answer ("Quoted from the
    reports:").
    """

    mode: str | None = None
    budget: BudgetLimits | None = None
    cache: bool = True
    auto_scope: bool | None = None
    without_earlier: list[EarlierField] = Field(default_factory=list, max_length=4)
    query_expansion: bool | None = None
    language: Language = ENGLISH
    previous_messages: list[PreviousMessage] = Field(
        default_factory=list, max_length=200
    )
    conversation_id: ConversationId = None
    chat_id: ChatId = Field(None, alias="chatId")
    attachments: list[Attachment] = Field(
        default_factory=list, max_length=MAX_ATTACHMENTS
    )
    keep: bool = True
    resume: bool = False
    replaces: Identifier | None = None
    chatbot_type: str | None = None
    version: int | str | None = None

    def to_question(self, services: Services, limit: Scope) -> Question:
        """Return the question in a scope inside of ``limit``. Raises
        InvalidRequestError, UnknownNameError.
        """
        settings = services.modes.settings_with(self.preset)
        auto_scope = settings.auto_scope if self.auto_scope is None else self.auto_scope
        question = self.to_search(
            services, limit, mode=services.modes.check(self.mode, self.preset)
        )
        if self.query_expansion and question.mode not in {"deep", CHOOSES}:
            raise InvalidRequestError.for_field(
                "query_expansion", f"is for mode deep, not {question.mode}.", ["deep"]
            )
        if self.replaces is not None and not (self.conversation_id or self.chat_id):
            raise InvalidRequestError.for_field(
                "replaces", "send the conversation_id that this answer is in, too."
            )
        budget = services.modes.budget(
            self.budget.model_dump(exclude_none=True) if self.budget else {}
        )
        return replace(
            question,
            cache=self.cache,
            auto_scope=auto_scope,
            without_earlier=tuple(self.without_earlier),
            expand=bool(self.query_expansion),
            budget=budget,
            language=self.language,
        )


QUESTION = {
    "query": "What is the population growth rate?",
    "filters": {"country_name": ["Kenya"], "year": [2023]},
}
STREAM: dict[str, Any] = {
    "begun": Begun,
    **{name: type_ for type_, name in NAMES.items()},
    "error": Error,
}
QUESTION_ERRORS = (404, 409, 422, 507)


@asking.post(
    "/query",
    need="read",
    waits_for_model=True,
    body=ChatRequest,
    files=MAX_ATTACHMENTS,
    errors=QUESTION_ERRORS,
    example=QUESTION,
)
def answer_question() -> Saved:
    """Answer a question with citations, sources, scope and trace."""
    return _answer(may_resume=False, is_streamed=False).whole()


@asking.post(
    "/api/chat",
    need="read",
    waits_for_model=True,
    body=ChatRequest,
    files=MAX_ATTACHMENTS,
    returns=STREAM,
    media=(EVENTS,),
    errors=QUESTION_ERRORS,
    example=QUESTION,
)
def stream_answer() -> Response:
    """Answer a question as server-sent events while the answer is written.

    `step` events, `sources` before the first `token`, and at the end `done` with the
    whole answer, or `error`. With `resume` the first event is `begun`, and all but
    `done` have an `id`. A comment line follows each second of silence.
    """
    return stream_response(_answer(may_resume=True))


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The passages found, without an answer."""

    hits: tuple[SearchHit, ...]
    scope: ScopeSummary
    trace: SearchTrace


@asking.post("/api/search", need="read", example=QUESTION)
def search_passages(body: SearchRequest) -> SearchResult:
    """Find passages, without an answer."""
    require_samples()
    question = body.to_search(services(), caller().limit)
    method = question.retrieval_method
    scope = question.scope
    retrieval = library().search.retriever.retrieve(
        question.query,
        top_k=question.top_k,
        scope=scope,
        method=method,
        settings=question.settings,
        page=question.page,
    )
    held = library().reader.documents.holdings(scope)
    steps = retrieval.steps
    pipeline = retrieval.pipeline
    trace = SearchTrace(
        "search", method, question.query, retrieval.threshold, steps, pipeline=pipeline
    )
    return SearchResult(
        with_publications(retrieval.hits, library().reader.documents.publication),
        ScopeSummary(scope, held.documents, held.chunks, question.page),
        trace,
    )


def stream_response(stream: EventStream) -> Response:
    """Open a stream and hand it over to the server, if that sends streams itself.
    Raises what fails early.
    """
    opened = stream.open()
    streams = connection().streams
    if streams is not None:
        streams.append(opened)
    # An iterator has no length: with one the server would take the empty response for
    # complete.
    return Response(
        opened if streams is None else iter(()), mimetype=EVENTS, headers=STREAM_HEADERS
    )


def _answer(*, may_resume: bool, is_streamed: bool = True) -> EventStream:
    refuse_more()
    is_with_files = not request.is_json and is_form(most=MAX_ATTACHMENTS)
    body = parse(ChatRequest, form_json("request") if is_with_files else json_body())
    return question_stream(
        body, _place(body), may_resume=may_resume, is_streamed=is_streamed
    )


def _place(body: ChatRequest) -> Place:
    """Return the conversation that the answer belongs to."""
    place = Place(
        body.conversation_id, replaces=body.replaces, describe=without_passages
    )
    if not body.keep:
        return replace(place, kept=False)
    if body.conversation_id is not None or body.chat_id is None:
        return place
    conversation_id, is_new = services().storage.conversations.of_client(
        body.chat_id, caller().owner
    )
    return replace(place, conversation_id=conversation_id, may_start=is_new)


def question_stream(
    body: ChatRequest,
    place: Place,
    *,
    write: Callable[[Item], Iterable[str]] = write_event,
    may_resume: bool = False,
    may_degrade: bool = True,
    is_streamed: bool = True,
) -> EventStream:
    """Return the answer to the question of the current request, which needs no request
    context any more. Unless it ``may_degrade``, a model that fails is an error. Unless
    it ``is_streamed``, what is written may be mended before it is sent.
    """
    require_samples()
    product = services()
    who = caller()
    observed = g.observed
    question = body.to_question(product, who.limit)
    question = replace(question, is_streamed=is_streamed)
    if not may_degrade:
        settings = question.settings or QuerySettings.of(product.settings)
        strict = replace(settings, on_model_error="error")
        question = replace(question, settings=strict)
    has_attachments = bool(body.attachments or request.files)
    if body.resume and not may_resume:
        raise InvalidRequestError.for_field(
            "resume", "is only supported by POST /api/chat."
        )
    if body.resume and (has_attachments or not body.keep):
        raise InvalidRequestError.for_field(
            "resume", "is not supported with attachments, which are not kept."
        )
    attachments = Attachments(product, body.attachments) if has_attachments else None
    resumable: Begun | None = None
    if body.resume:  # the id of an answer of nobody is what it is resumed with
        # If the database does not take it, it is not kept; the answer itself says so.
        conversations = product.storage.conversations
        message = asked_json(question)
        with suppress(DatabaseError), bookkeeping():
            resumable = conversations.begin(
                place.conversation_id,
                message,
                who.owner,
                body.replaces,
                may_start=place.may_start,
            )
            place = replace(
                place,
                conversation_id=resumable.conversation_id,
                may_start=False,
                message_id=resumable.message_id,
            )

    previous = [Message(one.role, one.content) for one in body.previous_messages]
    by_chat: Answers = partial(
        product.chat.answer,
        place=place,
        previous_messages=previous,
        caller=who,
    )
    answer = by_chat
    if attachments is not None:
        answer = partial(attachments.answer, answer=by_chat)

    turn = keep_turn()

    def work(cancel: Cancellation, tell: Tell) -> None:
        with (
            held(turn),
            question_slot(product, who),
            observed.question() as note,
        ):

            def send(event: Event | Saved) -> None:
                note(event)
                tell(event)

            saved = answer(question, cancel=cancel, send=send)
            if saved is not None:
                send(saved)

    if resumable is not None:
        return ResumableStream(resumable, active_streams(), work, connection())
    return EventStream(work, connection(), write=write)


def without_passages(saved: Saved) -> Json:
    """Return the `/query` response for storage, without the text of its passages. That
    is looked up when the answer is read again. So deleted reports do not live on in
    conversations.
    """
    answer: Json = to_json(saved)
    for part in (*answer["citations"], *answer["trace"]["hits"]):
        for name in ("snippet", "text"):
            part.pop(name, None)
    return answer


class Attachments:
    """Files and pages that come with one question, in a temporary folder until it is
    answered (R-A2).
    """

    def __init__(self, services: Services, links: Sequence[Attachment]) -> None:
        """Save the files of the current request, and texts. Raises InvalidRequestError,
        RequestEntityTooLarge.
        """
        self._services = services
        self._caller = caller().account
        self._connection = connection()
        files = accept_files(most=MAX_ATTACHMENTS) if request.files else []
        ids = [link.file for link in links if link.file is not None]
        if ids:
            files += sent_files(ids, most=MAX_ATTACHMENTS)
        self._folder = TemporaryDirectory(prefix="report-chat-")
        self._sources: list[tuple[str, Path]] = []
        """The name of each and its file; of a page its address, and a file that is not
        downloaded yet.
        """
        for file in files:
            file.save(self._add(last_part(file.filename)))
            file.close()
        for link in links:
            if link.url is not None:
                self._add(link.url, "page")
            elif link.text is not None:
                self._add(last_part(link.name)).write_text(link.text, encoding="utf-8")

    def _add(self, name: str, file_name: str = "") -> Path:
        folder = Path(self._folder.name) / str(len(self._sources))
        folder.mkdir()
        path = folder / (file_name or name)
        self._sources.append((name, path))
        return path

    def answer(
        self,
        question: Question,
        *,
        answer: Answers,
        cancel: Cancellation,
        send: Send,
    ) -> Saved | None:
        """Read each attachment, and answer. Raises LoadError, CancelledError."""
        with self._folder:
            documents: list[Document] = []
            self._connection.set_aside(True)
            try:
                for number, (name, file) in enumerate(self._sources, start=1):
                    send(StepEvent("attachments", f"Reading {name}"))
                    document = self._read(name, file, cancel)
                    # Two may have the same name; the id tells their passages apart.
                    documents.append(replace(document, id=f"{document.id}-{number}"))
            finally:
                self._connection.set_aside(False)
            attached = replace(question, attachments=tuple(documents))
            return answer(attached, cancel=cancel, send=send)

    def _read(self, name: str, file: Path, cancel: Cancellation) -> Document:
        path = file
        if not file.exists():
            originals = self._services.ingesting.originals
            path = originals.download(name, file.parent, cancel)
        return self._services.attachments.read(path, name, cancel, self._caller)
