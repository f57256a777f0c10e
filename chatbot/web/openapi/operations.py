"""What is said of each route, by its endpoint: what it does, takes and answers. A route without it stops the start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .. import batches, bodies, conversations, documents, feedback, monitoring, originals, questions
from ..openai_protocol import CompletionRequest, EmbeddingRequest
from ..payloads import ChatRequest, SearchRequest
from . import answers, holdings

Json = dict[str, Any]
JSON, EVENTS, HTML, FILE = "application/json", "text/event-stream", "text/html", "application/octet-stream"
FILTERS = "filters"
"""A parameter that stands for those of the filter fields, which a setting names."""


def text(name: str, description: str, **schema: Any) -> Json:
    """A parameter of the query string."""
    return {"name": name, "in": "query", "description": description, "schema": {"type": "string", **schema}}


def number(name: str, description: str, default: int | None = None, least: int = 0, most: int = 10**6) -> Json:
    """A parameter that is a whole number."""
    schema: Json = {"type": "integer", "minimum": least, "maximum": most}
    if default is not None:
        schema["default"] = default
    return {"name": name, "in": "query", "description": description, "schema": schema}


def page(default: int, most: int) -> tuple[Json, Json]:
    """Of a list."""
    return number("limit", "At most so many.", default, 1, most), number("offset", "Without the first ones.", 0)


SCOPE: Json = {"name": FILTERS, "in": "query"}


@dataclass(frozen=True, slots=True)
class Operation:
    """``answer`` is a type of `answers`, None where nothing but the ``media`` is said of it, or nothing comes (204).

    ``errors``: the statuses that follow from nothing else (`document.errors_of`). ``notes`` are Markdown.
    """

    summary: str
    answer: Any = None
    status: int = 200
    media: str = JSON
    body: type | None = None
    form: type | None = None
    parameters: tuple[Json, ...] = ()
    errors: tuple[int, ...] = ()
    example: Json | None = None
    notes: str = ""
    body_needed: bool = True
    also: Mapping[int, Any] | None = None
    """Other statuses that are answered with a type of their own, None = with nothing."""
    or_as: str = ""
    """Another media type of the same."""


QUESTION = {"query": "What is the population growth rate?", "filters": {"country_name": ["Kenya"], "year": [2023]}}
STREAM = (
    "Server-sent events: `step`, `sources` before the first `token`, at the end `done` with the whole answer, or "
    "`error`; with `resume` first `begun`, and an `id` for all but `done`. A comment line in each second of silence."
)
SENT: Mapping[str, type] = {
    "begun": answers.Begun, "step": answers.Step, "sources": answers.Found, "token": answers.Token,
    "done": answers.Answer, "error": answers.Error,
}  # fmt: skip
"""The data of each event."""
BEFORE = text("before", "Those before this answer: its message_id.")
OPENED = (number("limit", "So many questions with their answers.", conversations.PAGE, 1, conversations.MOST), BEFORE)
OPERATIONS: Mapping[str, Operation] = {
    "asking.query": Operation(
        "The whole answer", answers.Answer, body=ChatRequest, form=ChatRequest, errors=(404, 409, 422, 507),
        example=QUESTION, notes="Markdown with citations, its sources, scope and trace. A form holds the JSON in "
        "`request`, and `files` for this question only.",
    ),
    "asking.chat": Operation(
        "The answer as it is written", media=EVENTS, body=ChatRequest, form=ChatRequest,
        errors=(404, 409, 422, 507), example=QUESTION, notes=STREAM,
    ),
    "asking.search": Operation(
        "The passages without an answer", answers.SearchResult, body=SearchRequest, example=QUESTION,
    ),
    "openai.completions": Operation(
        "The same by OpenAI's protocol", answers.Json, body=CompletionRequest, errors=(404, 409, 422, 507),
        example={"model": "report-chat:Kenya", "messages": [{"role": "user", "content": "How fast does it grow?"}]},
        notes="A `chat.completion`, or with `stream` its pieces as server-sent events; citations as annotations, and "
        "in `report_chat`. See docs/openai.md.", or_as=EVENTS,
    ),
    "openai.models": Operation("The ways of answering, as OpenAI's models", answers.Json),
    "openai.model": Operation("One of them", answers.Json),
    "openai.embeddings": Operation(
        "Vectors of the model that the passages are embedded with", answers.Json, body=EmbeddingRequest, errors=(404,),
    ),
    "mcp.message": Operation(
        "The Model Context Protocol: a JSON-RPC message", answers.Json, body=bodies.JsonRpc, or_as=EVENTS,
        also={202: None}, example={"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, notes="See docs/mcp.md.",
    ),
    "conversations.stream": Operation(
        "The events of an answer once more, and those to come", media=EVENTS, errors=(400, 409), notes=STREAM,
        parameters=({"name": conversations.LAST_EVENT, "in": "header", "description": "Only those after this one.",
                "schema": {"type": "integer", "minimum": 0, "maximum": 999_999_999}},),
    ),
    "conversations.stop": Operation("End an answer that is being written", status=204),
    "conversations.index": Operation(
        "One's own conversations, the last written to first", answers.Conversations,
        parameters=(text("search", "Words of the title or a question.", maxLength=conversations.LONGEST_SEARCH),
               number("limit", "At most so many.", conversations.PAGE, 1, conversations.MOST),
               text("after", "`next` of the page before.")),
    ),
    "conversations.show": Operation("A conversation with its answers", answers.OpenedConversation, parameters=OPENED),
    "conversations.change": Operation(
        "Rename a conversation, or take it back", answers.Conversation, body=bodies.Rename,
        example={"title": "Growth in Kenya"},
    ),
    "conversations.delete": Operation("Delete a conversation", status=204),
    "conversations.export": Operation(
        "A conversation as a file", answers.ExportedConversation,
        parameters=(text("format", "As what.", enum=list(conversations.FORMATS), default="markdown"),),
        or_as="text/markdown",
    ),
    "conversations.share": Operation("A link to read a conversation", answers.Conversation),
    "conversations.revoke": Operation("Revoke the link", status=204),
    "batches.create": Operation(
        "Ask many questions", answers.Batch, body=bodies.ManyQuestions, status=202,
        example={"questions": ["What is the population growth rate of Kenya?"], "filters": {"year": [2023]}},
    ),
    "batches.index": Operation(
        "One's own batches, the newest first", answers.Batches,
        parameters=(number("limit", "At most so many.", batches.PAGE, 1, batches.LISTED),),
    ),
    "batches.show": Operation("How far a batch is", answers.Batch),
    "batches.cancel": Operation("End a batch; what was answered stays", answers.Batch, status=202),
    "batches.result": Operation(
        "The answers that are there, as a table or as JSON Lines", media="text/csv", or_as="application/jsonl",
    ),
    "feedback.rate": Operation(
        "Say what an answer is like", answers.RatedMessage, body=bodies.FeedbackRequest,
        example={"rating": "down", "reason": "incomplete", "comment": "Of 2023 only."},
    ),
    "feedback.latest": Operation(
        "What people think of answers, the newest first", answers.AllFeedback,
        parameters=(text("rating", "Only these.", enum=list(feedback.RATINGS)),
               number("limit", "At most so many.", feedback.PAGE, 1, feedback.MOST)),
    ),
    "feedback.unanswered": Operation(
        "The latest questions that the reports did not answer", answers.Unanswered,
        parameters=(number("limit", "At most so many.", feedback.PAGE, 1, feedback.MOST),),
    ),
    "conversations.shared": Operation("What a link shows", answers.SharedConversation, parameters=OPENED),
    "documents.reports": Operation(
        "The reports in a scope, by title", holdings.Reports,
        parameters=(*page(documents.MOST_LISTED, documents.MOST_LISTED), SCOPE),
    ),
    "documents.facets": Operation(
        "The values of each filter field, with counts", answers.Json,
        parameters=(*page(documents.MOST_VALUES, documents.MOST_LISTED), text("field", "This one alone."),
               text("q", "Values that hold this."), SCOPE),
        notes="Each field is counted under the rest of the scope: `{field: [{value, documents}], collections, total, "
        "documents, chunks}`.",
    ),
    "documents.coverage": Operation(
        "How many reports there are of each country and edition", holdings.Coverage, parameters=(SCOPE,),
    ),
    "questions.scope": Operation(
        "How much is in a scope, and what a question would add to it", answers.Scope,
        parameters=(text("q", "The question.", maxLength=questions.LONGEST), SCOPE),
    ),
    "questions.further": Operation(
        "Questions to go on with after an answer that rests on this passage", holdings.FurtherQuestions,
        parameters=(text("q", "What was asked.", maxLength=questions.LONGEST), SCOPE),
    ),
    "documents.figures": Operation(
        "The figures of the reports as data, of all editions", holdings.Figures,
        parameters=(*page(100, 1000), text("indicator", "A heading, or what is said below it."),
               number("year", "That the figures are of.", None, 0, 3000),
               text("format", "As what.", enum=list(documents.FORMATS), default=documents.FORMATS[0]), SCOPE),
        or_as="text/csv",
    ),
    "documents.collections": Operation("The knowledge collections", holdings.Collections),
    "documents.chunk": Operation("A passage with the text around it", answers.Passage),
    "documents.formats": Operation("What can be added, and how it can be cut", holdings.Formats),
    "documents.list_documents": Operation(
        "The knowledge base", holdings.Documents,
        parameters=(*page(50, 200), text("q", "In the title or the name."),
               text("status", "Of this status only.", enum=list(documents.STATUSES)), SCOPE),
    ),
    "documents.get_document": Operation("A report", holdings.Document),
    "documents.preview": Operation("The passages of a report, in order", holdings.Chunks, parameters=page(20, 100)),
    "originals.file": Operation(
        "The file that came in", media=FILE, or_as="application/pdf",
        parameters=(
            text("disposition", "`inline` shows a PDF.", enum=list(originals.WAYS), default=originals.WAYS[0]),
        ),
    ),
    "originals.text": Operation(
        "The text that was read of a report", holdings.ReadText,
        parameters=(*page(originals.PARTS, 100), text("around", "A passage to be among it, instead of an offset.")),
    ),
    "documents.edit": Operation(
        "Change what is said of a report", holdings.Document, body=bodies.Edit, errors=(409,),
        example={"title": "Kenya 2023"},
    ),
    "documents.delete": Operation("Remove a report", status=204, errors=(409,)),
    "jobs.add_documents": Operation(
        "Add files or web pages", holdings.Ingestion, 202, body=bodies.Pages, form=bodies.Upload, errors=(409,),
        example={"url": "https://example.org/review.html"}, notes="A job begins; `Location` says where it is.",
    ),
    "jobs.reingest": Operation(
        "Read a report again, perhaps cut in another way", holdings.Ingestion, 202, body=bodies.Reading,
        errors=(409,), body_needed=False,
    ),
    "jobs.list_ingestions": Operation(
        "The latest jobs", holdings.Ingestions, parameters=(number("limit", "At most so many.", 10, 1, 100),)
    ),
    "jobs.get_ingestion": Operation("How a job is doing", holdings.Ingestion),
    "jobs.cancel_ingestion": Operation("Cancel a job", holdings.Ingestion, 202, errors=(409,)),
    "jobs.retry_ingestion": Operation("Try the failed files again", holdings.Ingestion, 202, errors=(409,)),
    "monitoring.alive": Operation("The process lives", holdings.Alive),
    "monitoring.ready": Operation(
        "Everything it depends on works", holdings.Readiness, also={503: holdings.Readiness}
    ),
    "monitoring.usage": Operation(
        "Questions, calls, tokens and costs by day", holdings.UsageReport,
        parameters=(number("days", "The last ones.", monitoring.DEFAULT_DAYS, 1, monitoring.MOST_DAYS),),
    ),
    "monitoring.metrics": Operation("Counters in Prometheus' format", media="text/plain"),
    "sessions.show": Operation("Who one is here, and what one may do", holdings.Session),
    "sessions.sign_in": Operation(
        "Sign in to the page with a key", holdings.Session, body=bodies.SignIn, errors=(401,),
    ),
    "sessions.sign_out": Operation("Forget the key in this browser", holdings.Session),
    "pages.chat": Operation("The page to ask", media=HTML),
    "pages.conversation": Operation("The page with a conversation", media=HTML),
    "pages.shared": Operation("The page of a link", media=HTML),
    "pages.operator": Operation("The page of who runs it", media=HTML),
    "pages.documents": Operation("The page of the knowledge base", media=HTML),
    "described.document": Operation("This description", answers.Json),
    "described.viewer": Operation("The page to read this description", media=HTML),
}  # fmt: skip
"""Every route but the page's files, in the order of the document."""
