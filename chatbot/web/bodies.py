"""The bodies of requests that are no questions (`payloads`): reports and jobs, conversations, feedback, a sign-in."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictInt, StrictStr, StringConstraints

from ..ingestion.overrides import About, Cutting, Overrides, Year
from ..repositories.feedback import Rating, Reason
from ..validation import NOT_BLANK
from .payloads import MOST_QUESTIONS, Address, AnswerOptions, Query, QuestionOfBatch, one_of
from .request import MOST_FILES, MOST_URLS

LONGEST_TITLE = 200
"""Of a conversation."""
LONGEST_KEY = 200
File = Annotated[str, Field(json_schema_extra={"contentMediaType": "application/octet-stream"})]
Conflict = Literal["replace", "keep_both"]


class Job(BaseModel):
    """``callback_url`` gets the job (Ingestion) by POST when it is done."""

    callback_url: Address | None = None


class Reading(Cutting, Job):
    """How to cut a report anew; null: as the settings have it."""


class Edit(About):
    """What is said of a report; null: it has none."""


class Pages(Overrides, Job):
    """Web pages to add. ``url`` or ``urls``, not both; ``title`` for one page only."""

    model_config = ConfigDict(json_schema_extra=one_of("url", "urls"))

    url: Address | None = None
    urls: list[Address] | None = Field(None, min_length=1, max_length=MOST_URLS)


class UploadFields(Overrides, Job):
    """The fields of an upload's form that are not blank."""

    on_conflict: Conflict | None = None


class Upload(BaseModel):
    """Files to add; a form has text in its fields, ``labels`` with commas between."""

    model_config = ConfigDict(extra="forbid")

    files: list[File] = Field(min_length=1, max_length=MOST_FILES)
    on_conflict: Conflict | None = None
    title: str | None = None
    country_name: str | None = None
    year: Year | None = None
    type: str | None = None
    labels: str | None = None
    description: str | None = None
    collection: str | None = None
    callback_url: Address | None = None
    chunk_strategy: str | None = None
    chunk_size: int | None = None
    chunk_overlap: int | None = None


def _as_question(one: Any) -> Any:
    return {"query": one} if isinstance(one, str) else one


class ManyQuestions(AnswerOptions, Job):
    """Texts, or questions with options of their own; ``callback_url`` gets the batch when it has ended."""

    questions: list[
        Annotated[QuestionOfBatch, BeforeValidator(_as_question, json_schema_input_type=Query | QuestionOfBatch)]
    ] = Field(min_length=1, max_length=MOST_QUESTIONS)


class Rename(BaseModel):
    """Another title, taking the conversation back from being deleted, or both."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"minProperties": 1})

    title: Annotated[
        StrictStr, StringConstraints(strip_whitespace=True, pattern=NOT_BLANK, max_length=LONGEST_TITLE)
    ] = ""
    deleted: Literal[False] = False


class SignIn(BaseModel):
    """A key of this server."""

    model_config = ConfigDict(extra="forbid")

    key: Annotated[StrictStr, StringConstraints(strip_whitespace=True, pattern=NOT_BLANK, max_length=LONGEST_KEY)]


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
