"""Request bodies, checked field by field; what they become is a `Question`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal, TypeVar

from flask import request
from pydantic import (
    AliasChoices,
    BaseModel,
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

from ..errors import InvalidRequestError
from ..originals import WEB
from ..schema import Message, Question
from ..services import Services

QUERY_CHARACTERS = 4000
MOST_ATTACHMENTS = 5
MOST_URLS = 50
LONGEST_URL = 2000
NO_OBJECT = "The body must be a JSON object, sent as application/json."
Query = Annotated[StrictStr, StringConstraints(strip_whitespace=True, min_length=1, max_length=QUERY_CHARACTERS)]
Identifier = Annotated[StrictStr, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
FilterValue = StrictStr | StrictInt
RangeEnd = Literal["gte", "lte"]
Filter = FilterValue | Annotated[Sequence[FilterValue], Field(max_length=300)] | Mapping[RangeEnd, FilterValue]
Body = TypeVar("Body", bound=BaseModel)


class ReportContext(BaseModel):
    """Seed 003's scope: one country, or one yearly review."""

    model_config = ConfigDict(extra="forbid")

    type: StrictStr
    value: FilterValue


class PreviousMessage(BaseModel):
    """Clients send their own keys along (ids, timestamps): those are ignored."""

    model_config = ConfigDict(extra="ignore")

    role: Literal["system", "user", "assistant"]
    content: Annotated[StrictStr, StringConstraints(max_length=20_000)]


class Attachment(BaseModel):
    """A web page, or a text, that this one question is about. Files come beside the body, as multipart."""

    model_config = ConfigDict(extra="forbid")

    url: Annotated[StrictStr, StringConstraints(pattern=r"^https?://", max_length=2000)] | None = None
    name: Annotated[StrictStr, StringConstraints(min_length=1, max_length=120)] = "text.md"
    text: Annotated[StrictStr, StringConstraints(min_length=1, max_length=500_000)] | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> Attachment:
        if (self.url is None) == (self.text is None):
            raise ValueError("give either url or text")
        return self


class BudgetLimits(BaseModel):
    """Less than the settings allow one question."""

    model_config = ConfigDict(extra="forbid")

    calls: StrictInt | None = None
    tokens: StrictInt | None = None
    seconds: StrictInt | StrictFloat | None = None


INNER: Mapping[str, type[BaseModel]] = {
    "report_context": ReportContext, "previous_messages": PreviousMessage, "attachments": Attachment,
    "budget": BudgetLimits,
}  # fmt: skip
"""Fields of a question that are objects, or lists of them."""


class SearchRequest(BaseModel):
    """What every question has. An unknown key is an error: a misspelt filter must not widen the search."""

    model_config = ConfigDict(extra="forbid")

    query: Query
    report_context: ReportContext | None = None
    filters: Mapping[str, Filter] | None = None
    collections: list[StrictStr] | None = Field(None, max_length=300)
    limit: StrictInt | None = Field(None, ge=1, le=50)
    retrieval_method: StrictStr | None = None
    preset: StrictStr = ""
    page: StrictInt | None = Field(None, ge=1, le=100_000)

    def question(self, services: Services, *, mode: str = "direct") -> Question:
        """Raises InvalidRequestError, UnknownNameError."""
        context = (self.report_context.type, self.report_context.value) if self.report_context else None
        settings = services.query_settings(self.preset)
        method = self.retrieval_method or settings.retrieval_method
        services.retrieval_method(method)
        return Question(
            query=self.query,
            scope=services.scopes.resolve(self.filters, context, self.collections),
            top_k=self.limit or settings.top_k,
            retrieval_method=method,
            mode=mode,
            preset=self.preset,
            page=self.page,
        )


class ChatRequest(SearchRequest):
    """`POST /query` and `POST /api/chat`. ``chatbot_type`` and ``version`` are accepted from older clients."""

    previous_messages: list[PreviousMessage] = Field(default_factory=list, max_length=200)
    conversation_id: Identifier | None = Field(None, validation_alias=AliasChoices("conversation_id", "chatId"))
    mode: StrictStr | None = None
    budget: BudgetLimits | None = None
    cache: StrictBool = True
    auto_scope: StrictBool | None = None
    attachments: list[Attachment] = Field(default_factory=list, max_length=MOST_ATTACHMENTS)
    chatbot_type: StrictStr | None = None
    version: StrictInt | StrictStr | None = None

    def asked(self, services: Services) -> Question:
        """Raises InvalidRequestError, UnknownNameError."""
        auto_scope = services.settings.auto_scope if self.auto_scope is None else self.auto_scope
        question = self.question(services, mode=services.check_mode(self.mode, self.preset))
        budget = services.budget(self.budget.model_dump(exclude_none=True) if self.budget else {})
        return replace(question, cache=self.cache, auto_scope=auto_scope, budget=budget)

    def messages(self) -> tuple[Message, ...]:
        return tuple(Message(message.role, message.content) for message in self.previous_messages)


def json_body() -> Any:
    """The current request's JSON; None where there is none, or it is nested too deeply to be read."""
    try:
        return request.get_json(silent=True)
    except RecursionError:
        return None


def json_object() -> dict[str, Any]:
    """The current request's JSON object, all of it text that can be stored. Raises InvalidRequestError."""
    body = json_body()
    if not isinstance(body, dict):
        raise InvalidRequestError(NO_OBJECT)
    try:
        json.dumps(body, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise InvalidRequestError("The body holds half a character (a lone surrogate); send whole ones.") from None
    return body


def web_pages(url: Any, urls: Any) -> dict[str, str]:
    """The addresses of a request by the page they lead to: what follows a # is a place on it.

    Raises:
        InvalidRequestError: none, too many, one that is no address, or the same page twice.
    """
    if url is not None:
        urls = [url] if urls is None else None
    wrong = not isinstance(urls, list) or not 1 <= len(urls) <= MOST_URLS
    if wrong or not all(isinstance(each, str) and each.startswith(WEB) and len(each) <= LONGEST_URL for each in urls):
        message = f"send one address in `url` or up to {MOST_URLS} in `urls`, http(s)."
        raise InvalidRequestError.for_field("url", message)
    pages = {each.partition("#")[0]: each for each in urls}
    if len(pages) < len(urls):
        raise InvalidRequestError.for_field("urls", "the same page twice.")
    return pages


def parse(model: type[Body], body: Any) -> Body:
    """The body as ``model``.

    Raises:
        InvalidRequestError: with one entry per wrong field.
    """
    if not isinstance(body, Mapping):
        raise InvalidRequestError(NO_OBJECT)
    try:
        return model.model_validate(dict(body))
    except ValidationError as error:
        details = [_detail(model, problem) for problem in error.errors(include_url=False, include_input=False)]
        unique = list({detail["field"]: detail for detail in details}.values())
        summary = "; ".join(f"{detail['field']}: {detail['message']}" for detail in unique)
        raise InvalidRequestError(summary, details=unique) from None


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
        return {"field": ".".join(path[:2]), "message": "must be a value, a list of values or a range {gte, lte}"}
    if problem["type"] == "model_type":
        return {"field": field, "message": "must be an object."}
    return {"field": field, "message": str(problem["msg"])}


def _inner(model: type[BaseModel], path: Sequence[str]) -> type[BaseModel]:
    """The model that the last name of ``path`` is, or would be, a field of."""
    for name in path[:-1]:
        if name in model.model_fields:
            model = INNER[name]
    return model
