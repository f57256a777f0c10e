"""What a question's request holds, field by field, and an error for each wrong one; it becomes a `Question`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    StringConstraints,
    ValidationError,
    model_validator,
)
from pydantic_core import PydanticCustomError

from ..agents import CHOOSES
from ..errors import InvalidRequestError
from ..repositories.feedback import Rating, Reason
from ..schema import Message, Question, Scope
from ..schema.chat import QUERY_CHARACTERS, question_problem
from ..text import evenly_spaced
from ..words import ENGLISH, Language
from .request import HALF, NO_OBJECT, require_whole

if TYPE_CHECKING:
    from ..services import Services

MOST_ATTACHMENTS = 5
MOST_QUESTIONS = 1_000
"""Of one batch."""
MOST_PROBLEMS = 100
"""That are told of one body: each names all valid fields, so that a megabyte of wrong ones became fifty."""
Body = TypeVar("Body", bound=BaseModel)


def one_of(*names: str) -> dict[str, Any]:
    """What a description says where exactly one of these fields is given."""
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
IDENTIFIER, ADDRESS = r"^[A-Za-z0-9_-]{1,64}$", r"^https?://"
Identifier = Annotated[StrictStr, StringConstraints(pattern=IDENTIFIER)]
FilterValue = StrictStr | StrictInt
RangeEnd = Literal["gte", "lte"]
Filter = FilterValue | Annotated[Sequence[FilterValue], Field(max_length=300)] | Mapping[RangeEnd, FilterValue]


class ReportContext(BaseModel):
    """Seed 003's scope: one country, or one yearly review."""

    model_config = ConfigDict(extra="forbid")

    type: StrictStr
    value: FilterValue


class PreviousMessage(BaseModel):
    """Clients send their own keys along (ids, timestamps): those are ignored."""

    model_config = ConfigDict(extra="ignore", json_schema_extra={"additionalProperties": True})

    role: Literal["system", "user", "assistant"]
    content: Annotated[StrictStr, StringConstraints(max_length=20_000)]


class Attachment(BaseModel):
    """A web page, or a text, that this one question is about. Files come beside the body, as multipart."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=one_of("url", "text"))

    url: Annotated[StrictStr, StringConstraints(pattern=ADDRESS, max_length=2000)] | None = None
    name: Annotated[StrictStr, StringConstraints(min_length=1, max_length=120)] = "text.md"
    text: Annotated[StrictStr, StringConstraints(min_length=1, max_length=500_000)] | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> Attachment:
        if (self.url is None) == (self.text is None):
            raise PydanticCustomError("one_of_both", "give either url or text.")
        return self


class BudgetLimits(BaseModel):
    """Less than the settings allow one question."""

    model_config = ConfigDict(extra="forbid")

    calls: StrictInt | None = None
    tokens: StrictInt | None = None
    seconds: StrictInt | StrictFloat | None = None


class SearchOptions(BaseModel):
    """Where and how is searched. An unknown key is an error: a misspelt filter must not widen the search."""

    model_config = ConfigDict(extra="forbid")

    report_context: ReportContext | None = None
    filters: Mapping[str, Filter] | None = None
    collections: list[StrictStr] | None = Field(None, max_length=300)
    limit: StrictInt | None = Field(None, ge=1, le=50)
    retrieval_method: StrictStr | None = None
    preset: StrictStr = ""
    page: StrictInt | None = Field(None, ge=1, le=100_000)


class AnswerOptions(SearchOptions):
    """How is answered. ``language``: of what is fixed words in the answer ("Quoted from the reports:")."""

    mode: StrictStr | None = None
    budget: BudgetLimits | None = None
    cache: StrictBool = True
    auto_scope: StrictBool | None = None
    query_expansion: StrictBool | None = None
    language: Language = ENGLISH


class SearchRequest(SearchOptions):
    """What every question has."""

    query: Query

    def to_search(self, services: Services, limit: Scope, *, mode: str = "direct") -> Question:
        """Inside ``limit``. Raises InvalidRequestError, UnknownNameError."""
        context = (self.report_context.type, self.report_context.value) if self.report_context else None
        settings = services.models.query_settings(self.preset)
        method = self.retrieval_method or settings.retrieval_method
        services.models.retrieval_method(method)
        return Question(
            query=self.query,
            scope=services.storage.scopes.inside(limit).resolve(self.filters, context, self.collections),
            top_k=self.limit or settings.top_k,
            retrieval_method=method,
            mode=mode,
            preset=self.preset,
            page=self.page,
        )


class ChatRequest(AnswerOptions, SearchRequest):
    """`POST /query` and `POST /api/chat`. ``chatbot_type`` and ``version`` are accepted from older clients.

    ``resume``: go on for a while when the connection is lost; ``replaces``: the answer whose place the new one takes.
    """

    previous_messages: list[PreviousMessage] = Field(default_factory=list, max_length=200)
    conversation_id: Identifier | None = Field(None, validation_alias=AliasChoices("conversation_id", "chatId"))
    attachments: list[Attachment] = Field(default_factory=list, max_length=MOST_ATTACHMENTS)
    resume: StrictBool = False
    replaces: Identifier | None = None
    chatbot_type: StrictStr | None = None
    version: StrictInt | StrictStr | None = None

    def to_question(self, services: Services, limit: Scope) -> Question:
        """Inside ``limit``. Raises InvalidRequestError, UnknownNameError."""
        settings = services.models.query_settings(self.preset)
        auto_scope = settings.auto_scope if self.auto_scope is None else self.auto_scope
        expand = settings.query_expansion if self.query_expansion is None else self.query_expansion
        question = self.to_search(services, limit, mode=services.answering.check_mode(self.mode, self.preset))
        if self.query_expansion and question.mode not in {"deep", CHOOSES}:
            raise InvalidRequestError.for_field("query_expansion", f"is for mode deep, not {question.mode}.", ["deep"])
        if self.replaces is not None and self.conversation_id is None:
            raise InvalidRequestError.for_field("replaces", "send the conversation_id that this answer is in, too.")
        budget = services.answering.budget(self.budget.model_dump(exclude_none=True) if self.budget else {})
        return replace(
            question, cache=self.cache, auto_scope=auto_scope, expand=expand, budget=budget, language=self.language
        )

    def messages(self) -> tuple[Message, ...]:
        """The conversation that the client itself sent along, oldest first."""
        return tuple(Message(message.role, message.content) for message in self.previous_messages)


class QuestionOfBatch(AnswerOptions):
    """What it does not say is as for all of them."""

    query: Query


def _as_question(one: Any) -> Any:
    return {"query": one} if isinstance(one, str) else one


class BatchRequest(AnswerOptions):
    """`POST /api/batches`. A text is a question without options of its own."""

    questions: list[Annotated[QuestionOfBatch, BeforeValidator(_as_question)]] = Field(
        min_length=1, max_length=MOST_QUESTIONS
    )


class JsonRpc(BaseModel):
    """`POST /mcp`: a message; without an ``id`` it is a notification."""

    model_config = ConfigDict(extra="allow")

    method: StrictStr
    params: dict[str, Any] | None = None
    id: StrictStr | StrictInt | None = None
    jsonrpc: Literal["2.0"] = "2.0"


class FeedbackRequest(BaseModel):
    """`POST /api/messages/<id>/feedback`; ``rating`` null takes back what was given."""

    model_config = ConfigDict(extra="forbid")

    rating: Rating | None
    reason: Reason | None = None
    comment: Annotated[StrictStr, StringConstraints(strip_whitespace=True, max_length=2_000)] = ""


INNER: Mapping[str, type[BaseModel]] = {
    "report_context": ReportContext, "previous_messages": PreviousMessage, "attachments": Attachment,
    "budget": BudgetLimits, "questions": QuestionOfBatch,
}  # fmt: skip
"""Fields of a question that are objects, or lists of them."""


KINDS: Mapping[str, str] = {
    "string_type": "text", "int_type": "a whole number", "int_from_float": "a whole number", "float_type": "a number",
    "bool_type": "true or false", "list_type": "a list", "dict_type": "an object", "mapping_type": "an object",
    "model_type": "an object",
}  # fmt: skip
"""What a value has to be, by pydantic's name for that it is not."""
PROBLEMS: Mapping[str, str] = {
    "missing": "is required.", "string_too_long": "must have at most {max_length} characters.",
    "string_too_short": "must not be empty.", "too_long": "must have at most {max_length} entries.",
    "too_short": "must not be empty.", "greater_than_equal": "must be {ge} or more.",
    "less_than_equal": "must be {le} or less.", "string_unicode": f"holds {HALF}",
}  # fmt: skip
"""What else is wrong with it; of what is too short the least is one, everywhere."""
PATTERNS = {IDENTIFIER: "must be 1 to 64 letters, digits, _ or -.", ADDRESS: "must be an address, http(s)."}
_QUOTED = re.compile(r"'([^']*)'")


def parse(model: type[Body], body: Any) -> Body:
    """The body as ``model``.

    Raises:
        InvalidRequestError: with one entry per wrong field.
    """
    if not isinstance(body, Mapping):
        raise InvalidRequestError(NO_OBJECT)
    try:
        found = model.model_validate(dict(body))
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False)[:MOST_PROBLEMS]
        details = [_detail(model, problem) for problem in problems]
        unique = list(map(_merged, _by_field(details).values()))
        summary = "; ".join(f"{detail['field']}: {detail['message']}" for detail in unique)
        raise InvalidRequestError(summary, details=unique) from None
    require_whole(body)  # pydantic sees it in some fields only
    return found


def _by_field(details: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for detail in details:
        found.setdefault(detail["field"], []).append(detail)
    return found


def _merged(details: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One for a field: of what may be of several kinds, all of them; else the last."""
    kinds = list(dict.fromkeys(detail.pop("kind", "") for detail in details))
    if not all(kinds):
        return details[-1]
    if "a number" in kinds:
        kinds = [kind for kind in kinds if kind != "a whole number"]
    return {**details[-1], "message": f"must be {' or '.join(kinds)}."}


def _detail(model: type[BaseModel], problem: Any) -> dict[str, Any]:
    # Positions inside a union name its branches ("list[...]"): not the client's business.
    path = [str(part) for part in problem["loc"] if not any(mark in str(part) for mark in "[(")]
    path = [part for part in path if part not in {"str", "int", "float", "dict"}]
    field = ".".join(path)
    if problem["type"] == "extra_forbidden":
        valid = sorted(_inner(model, path).model_fields)
        listed = f" Valid: {', '.join(valid)}." if valid else ""
        return {"field": field, "message": f"unknown field.{listed}", "valid_values": valid}
    if path[:1] == ["filters"] and len(path) > 1:
        return {"field": ".".join(path[:2]), "message": "must be a value, a list of values or a range {gte, lte}."}
    if kind := KINDS.get(problem["type"]):
        return {"field": field, "message": f"must be {kind}.", "kind": kind}
    return {"field": field, **_said(problem)}


def _said(problem: Any) -> dict[str, Any]:
    """What pydantic found, as this API says it."""
    type, about = problem["type"], problem.get("ctx", {})
    if type == "literal_error":
        valid = _QUOTED.findall(about["expected"]) or [about["expected"]]  # a number is not quoted
        return {"message": f"unknown. Valid: {', '.join(valid)}.", "valid_values": valid}
    if type == "string_pattern_mismatch":
        return {"message": PATTERNS[about["pattern"]]}
    return {"message": PROBLEMS[type].format(**about) if type in PROBLEMS else str(problem["msg"])}


def _inner(model: type[BaseModel], path: Sequence[str]) -> type[BaseModel]:
    """The model that the last name of ``path`` is, or would be, a field of."""
    for name in path[:-1]:
        if name in model.model_fields:
            model = INNER[name]
    return model
