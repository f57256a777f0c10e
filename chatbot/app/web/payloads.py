"""The bodies of requests, checked field by field: questions, reports and jobs, conversations, feedback, a sign-in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    StringConstraints,
    model_validator,
)
from pydantic_core import PydanticCustomError

from ...answering.agents import CHOOSES
from ...database.repositories.feedback import Rating, Reason
from ...domain import Message, QuerySettings, Question, Scope
from ...domain.chat import QUERY_CHARACTERS, question_problem
from ...domain.errors import InvalidRequestError
from ...domain.validation import ADDRESS, IDENTIFIER, NOT_BLANK
from ...language import evenly_spaced
from ...language.words import ENGLISH, Language
from ...library.sources import About, Cutting, Overrides, Year
from ...search import RETRIEVAL_METHODS
from .request import MOST_FILES, MOST_URLS

if TYPE_CHECKING:
    from ..services import Services

MOST_ATTACHMENTS = 5
File = Annotated[str, Field(json_schema_extra={"contentMediaType": "application/octet-stream"})]
Conflict = Literal["replace", "keep_both"]


def one_of(*names: str) -> dict[str, Any]:
    """Return what the schema says where exactly one of these fields is given."""
    given = [{"required": [name], "properties": {name: {"not": {"type": "null"}}}} for name in names]
    return {"oneOf": given}


def _question_text(text: str) -> str:
    if problem := question_problem(text):
        raise PydanticCustomError("question_text", "{problem}", {"problem": problem})
    return evenly_spaced(text)


Query = Annotated[
    StrictStr,
    StringConstraints(strip_whitespace=True),
    AfterValidator(_question_text),
    Field(json_schema_extra={"pattern": r"\S", "maxLength": QUERY_CHARACTERS}),
]
Address = Annotated[StrictStr, StringConstraints(pattern=ADDRESS, max_length=2_000)]
Identifier = Annotated[StrictStr, StringConstraints(pattern=IDENTIFIER)]
FilterValue = StrictStr | StrictInt
RangeEnd = Literal["gte", "lte"]
Filter = FilterValue | Annotated[Sequence[FilterValue], Field(max_length=300)] | Mapping[RangeEnd, FilterValue]


class Body(BaseModel):
    """A body in which an unknown field is an error: a misspelt filter must not widen the search."""

    model_config = ConfigDict(extra="forbid")


class ReportContext(Body):
    """A scope of one country or one yearly review (seed 003)."""

    type: StrictStr
    value: FilterValue


class PreviousMessage(BaseModel):
    """A message that the client stored. Further fields, such as ids and timestamps, are ignored."""

    model_config = ConfigDict(extra="ignore", json_schema_extra={"additionalProperties": True})

    role: Literal["system", "user", "assistant"]
    content: Annotated[StrictStr, StringConstraints(max_length=20_000)]


class Attachment(Body):
    """A web page, or a text, that this one question is about. Files come beside the body, as multipart."""

    model_config = ConfigDict(json_schema_extra=one_of("url", "text"))

    url: Address | None = None
    name: Annotated[StrictStr, StringConstraints(min_length=1, max_length=120)] = "text.md"
    text: Annotated[StrictStr, StringConstraints(min_length=1, max_length=500_000)] | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> Attachment:
        if (self.url is None) == (self.text is None):
            raise PydanticCustomError("one_of_both", "give either url or text.")
        return self


class BudgetLimits(Body):
    """What this question may cost: no more than the settings allow."""

    calls: StrictInt | None = None
    tokens: StrictInt | None = None
    seconds: StrictInt | StrictFloat | None = None


class SearchRequest(Body):
    """`POST /api/search`; every question has these fields."""

    query: Query
    report_context: ReportContext | None = None
    filters: Mapping[str, Filter] | None = None
    collections: list[StrictStr] | None = Field(None, max_length=300)
    limit: StrictInt | None = Field(None, ge=1, le=50)
    retrieval_method: StrictStr | None = None
    preset: StrictStr = ""
    page: StrictInt | None = Field(None, ge=1, le=100_000)

    def to_search(self, services: Services, limit: Scope, *, mode: str = "direct") -> Question:
        """Return the question in a scope inside of ``limit``. Raises InvalidRequestError, UnknownNameError."""
        context = (self.report_context.type, self.report_context.value) if self.report_context else None
        settings = services.answering.settings_with(self.preset)
        method = RETRIEVAL_METHODS.check(self.retrieval_method or settings.retrieval_method, field="retrieval_method")
        scope = services.storage.scopes.inside(limit).resolve(self.filters, context, self.collections)
        return Question(
            query=self.query, scope=scope, top_k=self.limit or settings.top_k, retrieval_method=method, mode=mode,
            preset=self.preset, settings=QuerySettings.of(settings), page=self.page,
        )  # fmt: skip


class ChatRequest(SearchRequest):
    """`POST /query` and `POST /api/chat`. ``chatbot_type`` and ``version`` are accepted from older clients.

    ``resume``: go on for a while when the connection is lost; ``replaces``: the answer whose place the new one takes.
    ``language``: that of the fixed words in the answer ("Quoted from the reports:").
    """

    mode: StrictStr | None = None
    budget: BudgetLimits | None = None
    cache: StrictBool = True
    auto_scope: StrictBool | None = None
    query_expansion: StrictBool | None = None
    language: Language = ENGLISH
    previous_messages: list[PreviousMessage] = Field(default_factory=list, max_length=200)
    conversation_id: Identifier | None = Field(None, validation_alias=AliasChoices("conversation_id", "chatId"))
    attachments: list[Attachment] = Field(default_factory=list, max_length=MOST_ATTACHMENTS)
    resume: StrictBool = False
    replaces: Identifier | None = None
    chatbot_type: StrictStr | None = None
    version: StrictInt | StrictStr | None = None

    def to_question(self, services: Services, limit: Scope) -> Question:
        """Return the question in a scope inside of ``limit``. Raises InvalidRequestError, UnknownNameError."""
        settings = services.answering.settings_with(self.preset)
        auto_scope = settings.auto_scope if self.auto_scope is None else self.auto_scope
        question = self.to_search(services, limit, mode=services.answering.check_mode(self.mode, self.preset))
        if self.query_expansion and question.mode not in {"deep", CHOOSES}:
            raise InvalidRequestError.for_field("query_expansion", f"is for mode deep, not {question.mode}.", ["deep"])
        if self.replaces is not None and self.conversation_id is None:
            raise InvalidRequestError.for_field("replaces", "send the conversation_id that this answer is in, too.")
        budget = services.answering.budget(self.budget.model_dump(exclude_none=True) if self.budget else {})
        return replace(
            question, cache=self.cache, auto_scope=auto_scope, expand=bool(self.query_expansion), budget=budget,
            language=self.language,
        )  # fmt: skip

    def messages(self) -> tuple[Message, ...]:
        """Return the conversation that the client sent, oldest first."""
        return tuple(Message(message.role, message.content) for message in self.previous_messages)


class ReadAgain(Cutting):
    """How to split a report again; null means as the settings say."""


class Edit(About):
    """New metadata of a report; null removes a value."""


class Pages(Overrides):
    """Web pages to add. ``url`` or ``urls``, not both; ``title`` for one page only."""

    model_config = ConfigDict(json_schema_extra=one_of("url", "urls"))

    url: Address | None = None
    urls: list[Address] | None = Field(None, min_length=1, max_length=MOST_URLS)


class UploadFields(Overrides):
    """The fields of an upload's form that are not blank."""

    on_conflict: Conflict | None = None


class Upload(Body):
    """Files to add; a form has text in its fields, ``labels`` with commas between."""

    files: list[File] = Field(min_length=1, max_length=MOST_FILES)
    on_conflict: Conflict | None = None
    title: str | None = None
    country_name: str | None = None
    year: Year | None = None
    type: str | None = None
    labels: str | None = None
    description: str | None = None
    collection: str | None = None
    chunk_strategy: str | None = None
    chunk_size: int | None = None
    chunk_overlap: int | None = None


def _false(deleted: bool) -> bool:
    if deleted:
        raise PydanticCustomError("deleted", "must be false: DELETE deletes a conversation.")
    return deleted


class Rename(Body):
    """A new title for a conversation, its restoration after deletion, or both."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    title: Annotated[StrictStr, StringConstraints(strip_whitespace=True, pattern=NOT_BLANK, max_length=200)] = ""
    deleted: Annotated[StrictBool, AfterValidator(_false), Field(json_schema_extra={"const": False})] = False


class SignIn(Body):
    """A key of this server."""

    key: Annotated[StrictStr, StringConstraints(strip_whitespace=True, pattern=NOT_BLANK, max_length=200)]


class JsonRpc(BaseModel):
    """A message of the Model Context Protocol; without an ``id`` it is a notification."""

    model_config = ConfigDict(extra="allow")

    method: StrictStr
    params: dict[str, Any] | None = None
    id: StrictStr | StrictInt | None = None
    jsonrpc: Literal["2.0"] = "2.0"


class FeedbackRequest(Body):
    """Feedback on an answer; a ``rating`` of null removes it."""

    rating: Rating | None
    reason: Reason | None = None
    comment: Annotated[StrictStr, StringConstraints(strip_whitespace=True, max_length=2_000)] = ""
