"""The caller's conversations: list, read, rename, delete, export and share them; resume, stop and rate answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import Annotated, Literal

from flask import Blueprint, Response, jsonify, request
from pydantic import Field
from typing_extensions import TypedDict

from ...answering.conversation import Saved
from ...database.core import Json
from ...database.repositories.conversations import Begun, ConversationRecord, ConversationRepository, State
from ...database.repositories.feedback import Asked, Feedback, Rating, Reason
from ...domain import Chunk, Citation, Mark, Role, Scope, ScopeSummary, Unsupported
from ...domain.cancellation import Cancellation
from ...domain.errors import InvalidRequestError, NotFoundError
from ...domain.figures import ReportedFigure
from .access import caller, library, whose
from .asking import STREAM, refuse_more, stream_response, with_passages
from .payloads import FeedbackRequest, Rename
from .request import Number, Query, answer_type, disposition, page_size, services
from .resuming import active_streams, refuse_ended, replay
from .routes import EVENTS, JSON, route
from .streaming import BEGUN, EventStream, client_of, encode

conversations = Blueprint("conversations", __name__)
FORMATS = {"markdown": ("md", "text/markdown"), "json": ("json", "application/json")}
LAST_EVENT = "Last-Event-ID"


class Conversation(TypedDict):
    """``share``: the token of its link; null without one."""

    conversation_id: str
    title: str
    created_at: str
    updated_at: str
    share: str | None


class StoredMessage(TypedDict):
    role: Role
    content: str
    created_at: str
    state: State


class StoredQuestion(StoredMessage):
    """A question, with everything needed to ask it again but its attachments."""

    mode: str | None
    preset: str | None
    page: int | None
    auto_scope: bool | None
    attached: list[str] | None
    replaces: str | None
    scope: Scope
    collections: list[str]


class SharedAnswer(TypedDict):
    """An answer as a link shows it."""

    response: str
    sources: list[str]
    answered: bool
    citations: list[Citation]
    figures: list[ReportedFigure]
    unsupported: list[Unsupported]
    marks: list[Mark]
    scope: ScopeSummary
    message_id: str


class GivenFeedback(TypedDict):
    rating: Rating
    reason: Reason | None
    comment: str


class StoredAnswer(StoredMessage):
    """``answer`` is null where something was attached, or only the text was kept."""

    message_id: str
    answered: bool | None
    answer: Saved | None
    feedback: GivenFeedback | None


class SharedMessage(StoredMessage):
    """An answer of a shared conversation."""

    message_id: str
    answered: bool | None
    answer: SharedAnswer | None


class ExportedConversation(Conversation):
    messages: list[StoredQuestion | StoredAnswer]


class OpenedConversation(ExportedConversation):
    """A conversation with its last messages; ``next`` leads to those before them."""

    next: str | None


class ConversationQuery(Query):
    search: Annotated[str, Field(max_length=200, description="Words of the title or a question.")] = ""
    limit: Number = page_size(30, 100)
    cursor: Annotated[str, Field(description="The `next` of the previous page.")] = ""


@conversations.get("/api/conversations")
@route(
    need="read", query=ConversationQuery,
    returns=answer_type("Conversations", conversations=list[Conversation], next=str | None),
)  # fmt: skip
def list_conversations(query: ConversationQuery) -> Json:
    """List the caller's conversations, the last written to first."""
    records, following = _history().page(
        caller().owner, search=query.search.strip(), after=query.cursor, limit=query.limit
    )
    return {"conversations": [_about(record) for record in records], "next": following or None}


class MessageQuery(Query):
    limit: Annotated[Number, Field(ge=1, le=100, description="Maximum number of questions with their answers.")] = 30
    cursor: Annotated[str, Field(description="The `next` of the page after this one.")] = ""


@conversations.get("/api/conversations/<conversation_id>")
@route(need="read", query=MessageQuery, returns=OpenedConversation)
def get_conversation(conversation_id: str, query: MessageQuery) -> Response:
    """Get the last messages of a conversation; `next` leads to those before them."""
    record = _history().get(conversation_id, caller().owner)
    rows, following = _page(record, query)
    return jsonify({**_about(record), "messages": _own_messages(rows), "next": following})


@conversations.patch("/api/conversations/<conversation_id>")
@route(need="read", body=Rename, returns=Conversation, example={"title": "Growth in Kenya"})
def update_conversation(conversation_id: str, body: Rename) -> Json:
    """Rename a conversation, or restore it after its deletion."""
    owner, history = caller().owner, _history()
    if not body.model_fields_set:
        raise InvalidRequestError.for_field("deleted", "send a title, or deleted: false.", [False])
    if "deleted" in body.model_fields_set:
        record = history.restore(conversation_id, owner)
    if body.title:
        record = history.rename(conversation_id, owner, body.title)
    return _about(record)


@conversations.delete("/api/conversations/<conversation_id>")
@route(need="read", status=204)
def delete_conversation(conversation_id: str) -> None:
    """Delete a conversation; `PATCH` restores it within the hour."""
    _history().delete(conversation_id, caller().owner)


class ExportQuery(Query):
    format: Literal["markdown", "json"] = "markdown"


@conversations.get("/api/conversations/<conversation_id>/export")
@route(need="read", query=ExportQuery, returns=ExportedConversation, media=(JSON, "text/markdown"))
def export_conversation(conversation_id: str, query: ExportQuery) -> Response:
    """Download a whole conversation as a file, to read or for programs."""
    record = _history().get(conversation_id, caller().owner)
    messages = _own_messages(_history().rows(record.id)[0])
    if query.format == "json":
        text = json.dumps({**_about(record), "messages": messages}, ensure_ascii=False, indent=1)
    else:
        text = as_markdown(record.title, messages)
    suffix, mimetype = FORMATS[query.format]
    headers = {"Content-Disposition": disposition("attachment", f"{record.title.replace('/', ' ')}.{suffix}")}
    return Response(text, mimetype=mimetype, headers=headers)


@conversations.post("/api/conversations/<conversation_id>/share")
@route(need="read", returns=Conversation)
def share_conversation(conversation_id: str) -> Json:
    """Create a link with which anybody can read a conversation; it stays the same until it is revoked."""
    return _about(_history().share(conversation_id, caller().owner))


@conversations.delete("/api/conversations/<conversation_id>/share")
@route(need="read", status=204)
def unshare_conversation(conversation_id: str) -> None:
    """Revoke the link of a conversation."""
    _history().revoke(conversation_id, caller().owner)


@conversations.get("/api/shared/<token>")
@route(
    need="nothing", query=MessageQuery,
    returns=answer_type(
        "SharedConversation", title=str, messages=list[StoredQuestion | SharedMessage], next=str | None
    ),
)  # fmt: skip
def get_shared_conversation(token: str, query: MessageQuery) -> Response:
    """Get a shared conversation: its questions, its answers and the passages they cite."""
    record = _history().shared(token)
    rows, following = _page(record, query)
    messages = _messages(rows, services().runtime.store.get)  # who has the link sees what the owner may see
    for message in messages:
        if answer := message.get("answer"):
            message["answer"] = {name: value for name, value in answer.items() if name in SharedAnswer.__annotations__}
    return jsonify({"title": record.title, "messages": messages, "next": following})


@conversations.get("/api/messages/<message_id>/stream")
@route(
    need="read", returns=STREAM, media=(EVENTS,), errors=(400, 409),
    headers=({"name": LAST_EVENT, "in": "header", "description": "Only the events after this one.",
              "schema": {"type": "integer", "minimum": 0, "maximum": 999_999_999}},),
)  # fmt: skip
def resume_answer(message_id: str) -> Response:
    """Stream the events of an answer again, and those still to come."""
    refuse_more()
    last = request.headers.get(LAST_EVENT, "0")
    if not last.isdecimal() or len(last) > 9:
        raise InvalidRequestError.for_field(LAST_EVENT, "send the id of an event of this answer.")
    owner, storage = caller().owner, services().storage
    begun, get = storage.unfinished.find(message_id, owner), services().runtime.store.get
    refuse_ended(begun)
    if not begun.state and "response" not in storage.conversations.message(message_id):
        raise NotFoundError("The events of this answer have expired. Its text is in the conversation.")

    def events(gone: Cancellation) -> Iterator[str]:
        yield encode("begun", asdict(Begun(begun.conversation_id, message_id)))
        yield from replay(storage.unfinished, message_id, owner, int(last), gone)
        if not gone.cancelled:
            (answer,) = with_passages([storage.conversations.message(message_id)], get)
            assert answer is not None, "what can be resumed is kept whole"
            yield encode("done", answer)

    environ = request.environ
    return stream_response(EventStream(events, client_of(environ), tell_begun=environ.get(BEGUN, lambda: None)))


@conversations.post("/api/messages/<message_id>/stop")
@route(need="read", status=204)
def stop_answer(message_id: str) -> None:
    """Stop an answer that is being written; the text so far stays."""
    unfinished = services().storage.unfinished
    unfinished.find(message_id, caller().owner)
    unfinished.stop(message_id)
    active_streams().stop(message_id)


@conversations.post("/api/messages/<message_id>/feedback")
@route(
    need="read", body=FeedbackRequest,
    returns=answer_type("RatedMessage", message_id=str, rating=Rating | None, reason=Reason | None, comment=str),
    example={"rating": "down", "reason": "incomplete", "comment": "Only 2023."},
)  # fmt: skip
def rate_answer(message_id: str, body: FeedbackRequest) -> Json:
    """Rate one's own answer; a `rating` of null removes the feedback."""
    feedback, owner = services().storage.feedback, caller().owner
    if body.rating is None:
        feedback.remove(message_id, owner)
        return {"message_id": message_id, "rating": None, "reason": None, "comment": ""}
    stored = feedback.put(message_id, owner, body.rating, body.reason or "", body.comment)
    return {"message_id": message_id, **_given(stored)}


class UnansweredQuery(Query):
    limit: Number = page_size(50, 500)


class FeedbackQuery(UnansweredQuery):
    rating: Annotated[Rating | None, Field(description="Only feedback with this rating.")] = None


@conversations.get("/api/feedback")
@route(need="admin", query=FeedbackQuery, returns=answer_type("AllFeedback", feedback=list[Feedback]))
def list_feedback(query: FeedbackQuery) -> Json:
    """List the newest feedback: everybody's for an administrator's key, else the caller's own."""
    return {"feedback": list(services().storage.feedback.latest(query.rating, query.limit, whose()))}


@conversations.get("/api/unanswered")
@route(need="admin", query=UnansweredQuery, returns=answer_type("Unanswered", questions=list[Asked]))
def list_unanswered(query: UnansweredQuery) -> Json:
    """List the latest questions that the reports did not answer: everybody's, or the caller's own."""
    return {"questions": services().storage.feedback.unanswered(query.limit, whose())}


def as_markdown(title: str, messages: list[Json]) -> str:
    """Return a conversation as Markdown: questions as headings, each answer with its sources."""
    parts = [f"# {title}"]
    for message in messages:
        if message["role"] == "user":
            parts.append(f"## {' '.join(message['content'].split())}")
            continue
        parts.append(message["content"] or "(no answer)")
        sources = []
        for citation in (message["answer"] or {}).get("citations", []):
            page = f"page {citation['page']}" if citation["page"] else ""
            names = [f"[{citation['number']}] {citation['title']}", citation["section"], page]
            sources.append(", ".join(filter(None, names)) + "  ")
        if sources:
            parts.append("\n".join(sources))
    return "\n\n".join(parts) + "\n"


def _history() -> ConversationRepository:
    return services().storage.conversations


def _about(record: ConversationRecord) -> Json:
    times = {"created_at": record.created_at, "updated_at": record.updated_at}
    return {"conversation_id": record.id, "title": record.title, **times, "share": record.share or None}


def _page(record: ConversationRecord, query: MessageQuery) -> tuple[list[Json], str | None]:
    """Return the rows of a page of messages, and the cursor of the page before them."""
    rows, more = _history().rows(record.id, before=query.cursor, limit=2 * query.limit)
    return rows, next(row["_id"] for row in rows if row["role"] == "assistant") if more else None


def _given(feedback: Feedback) -> GivenFeedback:
    return {"rating": feedback.rating, "reason": feedback.reason or None, "comment": feedback.comment}


def _messages(rows: Sequence[Json], get: Callable[[Sequence[str]], list[Chunk]]) -> list[Json]:
    """Messages as the API shows them, with the passages that ``get`` gives."""
    messages = []
    for row, answer in zip(rows, with_passages(rows, get), strict=True):
        message: Json = {name: row[name] for name in ("role", "content", "created_at")}
        message["state"] = row.get("state", "")
        if row["role"] == "user":
            message |= {
                name: row.get(name) for name in ("mode", "preset", "page", "auto_scope", "attached", "replaces")
            }
            message |= {"scope": row.get("scope", {}), "collections": row.get("collections", [])}
        else:
            message |= {"message_id": row["_id"], "answered": row.get("answered"), "answer": answer}
        messages.append(message)
    return messages


def _own_messages(rows: Sequence[Json]) -> list[Json]:
    """Messages of the caller, with the feedback on each answer."""
    messages = _messages(rows, library().passages)
    answers = [message for message in messages if "message_id" in message]
    feedback = services().storage.feedback.of([message["message_id"] for message in answers])
    for message in answers:
        given = feedback.get(message["message_id"])
        message["feedback"] = _given(given) if given else None
    return messages
