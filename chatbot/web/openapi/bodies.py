"""What requests hold besides a question (`chatbot.web.payloads`): bodies and forms, as types.

The views check them field by field with messages of their own; the contract test sends both what these admit and what
they do not, and sees whether the views agree.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from ...chunkers import CHUNKERS
from ...ingestion.sources import FIRST_YEAR, LAST_YEAR, LONGEST, MOST_LABELS
from ..conversations import LONGEST_TITLE
from ..payloads import MOST_QUESTIONS, AnswerOptions, Query, QuestionOfBatch, one_of
from ..request import LONGEST_URL, MOST_FILES, MOST_URLS
from ..sessions import LONGEST_KEY

NOT_BLANK = r"\S"
Text = Annotated[str, Field(pattern=NOT_BLANK, max_length=300)]
Kind = Annotated[str, Field(pattern=NOT_BLANK, max_length=LONGEST["type"])]
Description = Annotated[str, Field(pattern=NOT_BLANK, max_length=LONGEST["description"])]
Labels = Annotated[list[Annotated[str, Field(max_length=LONGEST["labels"])]], Field(max_length=MOST_LABELS)] | str
"""Or with commas between."""
Year = Annotated[int, Field(ge=FIRST_YEAR, le=LAST_YEAR)]
Address = Annotated[str, Field(pattern=r"^https?://", max_length=LONGEST_URL)]
File = Annotated[str, Field(json_schema_extra={"contentMediaType": "application/octet-stream"})]


class Body(BaseModel):
    """An unknown field is an error."""

    model_config = ConfigDict(extra="forbid")


class Job(Body):
    """``callback_url`` gets the job (Ingestion) by POST when it is done."""

    callback_url: Address | None = None


class Reading(Job):
    """How a report is cut; null: as the settings have it."""

    chunk_strategy: str | None = Field(None, json_schema_extra={"enum": [*CHUNKERS.names(), None]})
    chunk_size: int | None = Field(None, ge=100, le=999_999)
    chunk_overlap: int | None = Field(None, ge=0, le=999_999)


class Edit(Body):
    """What is said of a report; null: it has none."""

    title: Text | None = None
    country_name: Text | None = None
    year: Year | None = None
    type: Kind | None = None
    labels: Labels | None = None
    description: Description | None = None


class About(Edit, Reading):
    """Both."""

    collection: Text | None = None


class Pages(About):
    """Web pages to add. ``url`` or ``urls``, not both; ``title`` for one page only."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=one_of("url", "urls"))

    url: Address | None = None
    urls: list[Address] | None = Field(None, min_length=1, max_length=MOST_URLS)


class Upload(BaseModel):
    """Files to add; a form has text in its fields, ``labels`` with commas between."""

    model_config = ConfigDict(extra="forbid")

    files: list[File] = Field(min_length=1, max_length=MOST_FILES)
    on_conflict: Literal["replace", "keep_both"] | None = None
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


class ManyQuestions(AnswerOptions, Job):
    """Texts, or questions with options of their own; ``callback_url`` gets the batch when it has ended."""

    questions: list[Query | QuestionOfBatch] = Field(min_length=1, max_length=MOST_QUESTIONS)


class Rename(Body):
    """A title, or taken back from being deleted, or both."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"minProperties": 1})

    title: str = Field("", pattern=NOT_BLANK, max_length=LONGEST_TITLE)
    deleted: Literal[False] = False


class SignIn(Body):
    """A key of this server."""

    key: str = Field(pattern=NOT_BLANK, max_length=LONGEST_KEY)
