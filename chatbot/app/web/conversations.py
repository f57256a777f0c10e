"""The caller's conversations: list, read, rename, delete, export and share them;
resume, stop and rate answers.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any, ClassVar, Literal, NotRequired

from flask import Response, jsonify, request
from pydantic import AfterValidator, ConfigDict, Field, StringConstraints
from pydantic_core import PydanticCustomError
from typing_extensions import TypedDict

from ...answering.conversation import Saved
from ...checking.citations import snippet_of
from ...database.core import Json
from ...database.repositories.answers import Feedback, Rating, Reason
from ...database.repositories.briefs import ItemKind
from ...database.repositories.conversations import (
    BRIEF,
    Begun,
    Conversation,
    ConversationKind,
    ConversationRepository,
    State,
)
from ...domain import Chunk, Citation, DocumentRecord, Scope
from ...domain.callers import limit_key, limit_of_key
from ...domain.cancellation import Cancellation
from ...domain.chat import (
    AnswerCard,
    EarlierField,
    Mark,
    Role,
    ScopeSummary,
    Unsupported,
)
from ...domain.errors import InvalidRequestError, NotFoundError, read_table
from ...domain.figures import ReportedFigure
from ...domain.json import Inlines, to_json
from ...domain.validation import NOT_BLANK
from .access import library
from .asking import STREAM, stream_response
from .brief_sources import number_sources
from .callers import caller
from .exports import conversation_response
from .files import DOCX, XLSX
from .routes import (
    EVENTS,
    JSON,
    Body,
    Cursor,
    Number,
    Query,
    Views,
    answer_type,
    page_size,
    services,
)
from .streaming import (
    EventStream,
    Tell,
    active_streams,
    connection,
    encode,
    refuse_ended,
    refuse_more,
    replay,
)

conversations = Views("conversations", __name__)
LAST_EVENT = "Last-Event-ID"
MAX_CHECKED_ANSWERS: int = read_table(__package__, "limits")["checked_answers"]["value"]


class StoredMessage(TypedDict):
    role: Role
    content: str
    created_at: str
    state: State


class StoredQuestion(StoredMessage):
    """A question, with everything needed to ask it again but its attachments. In a
    brief the title of an ``item``, and the answer that was pinned, ``origin``.
    """

    mode: str | None
    preset: str | None
    page: int | None
    auto_scope: bool | None
    without_earlier: list[EarlierField] | None
    attached: list[str] | None
    replaces: str | None
    scope: Scope
    collections: list[str]
    item: ItemKind | None
    origin: str | None


class SharedAnswer(TypedDict):
    """An answer as a link shows it."""

    response: str
    sources: list[str]
    answered: bool
    citations: list[Citation]
    figures: list[ReportedFigure]
    card: NotRequired[AnswerCard]
    unsupported: list[Unsupported]
    marks: list[Mark]
    scope: ScopeSummary
    message_id: str


class SharedMessage(StoredMessage):
    """An answer of a shared conversation."""

    message_id: str
    answered: bool | None
    answer: SharedAnswer | None


class SharedConversation(TypedDict):
    """A conversation as a link shows it; ``next`` leads to the messages before
    these.
    """

    title: str
    kind: ConversationKind
    updated_at: str
    messages: list[StoredQuestion | SharedMessage]
    next: str | None


class Share(Body):
    """The part of a conversation that a link shows."""

    later: bool = Field(
        False,
        description="Later questions too. A link that exists keeps what it shows.",
    )


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


class ExportedConversation(TypedDict):
    """``share``: the token of its link; null without one."""

    conversation_id: str
    title: str
    kind: ConversationKind
    created_at: str
    updated_at: str
    share: str | None
    messages: list[StoredQuestion | StoredAnswer]


class OutdatedAnswer(TypedDict):
    """An answer that cites reports which were replaced or removed since, and
    what asks its question again. ``titles``: of those reports that are still there.
    """

    message_id: str
    question: str
    scope: Scope
    collections: list[str]
    titles: list[str]


class OpenedConversation(ExportedConversation):
    """A conversation with its last messages; ``next`` leads to those before them.
    ``outdated``: among its last 100 answers, with the last messages only.
    """

    next: str | None
    outdated: list[OutdatedAnswer]


@dataclass(frozen=True, slots=True)
class ListedConversation(Inlines):
    """A conversation in a list. ``outdated``: the number of its answers that cite
    reports which were replaced or removed since.
    """

    INLINED: ClassVar = ("conversation",)
    conversation: Conversation
    outdated: int


def _false(deleted: bool) -> bool:
    if deleted:
        raise PydanticCustomError(
            "deleted", "must be false: DELETE deletes a conversation."
        )
    return deleted


class Rename(Body):
    """A new title for a conversation, its restoration after deletion, or both."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    title: Annotated[
        str, StringConstraints(strip_whitespace=True, pattern=NOT_BLANK, max_length=200)
    ] = Field(default_factory=str)  # The description names no title that is refused.
    deleted: Annotated[
        bool, AfterValidator(_false), Field(json_schema_extra={"const": False})
    ] = False


class FeedbackRequest(Body):
    """Feedback on an answer; a ``rating`` of null removes it."""

    rating: Rating | None
    reason: Reason | None = None
    comment: Annotated[
        str, StringConstraints(strip_whitespace=True, max_length=2_000)
    ] = ""


class ConversationQuery(Query):
    search: Annotated[
        str, Field(max_length=200, description="Words of the title or a question.")
    ] = ""
    shared: Annotated[bool, Field(description="Only conversations with a link.")] = (
        False
    )
    limit: Number = page_size(30, 100)
    cursor: Cursor = ""


@conversations.get(
    "/api/conversations",
    need="read",
    returns=answer_type(
        "Conversations", conversations=list[ListedConversation], next=str | None
    ),
)
def list_conversations(query: ConversationQuery) -> Json:
    """List the caller's conversations, the last written to first."""
    records, following = _history().page(
        caller().owner,
        search=query.search.strip(),
        shared=query.shared,
        after=query.cursor,
        limit=query.limit,
    )
    return {"conversations": _listed(records), "next": following or None}


class MessageQuery(Query):
    limit: Number = Field(
        30, ge=1, le=100, description="Maximum number of questions with their answers."
    )
    cursor: Annotated[
        str, Field(description="The `next` of the page after this one.")
    ] = ""


@conversations.get(
    "/api/conversations/<conversation_id>", need="read", returns=OpenedConversation
)
def get_conversation(conversation_id: str, query: MessageQuery) -> Response:
    """Get the last messages of a conversation; `next` leads to those before them."""
    record = _history().get(conversation_id, caller().owner)
    rows, following = _page(record, query)
    shown = {**to_json(record), "messages": _own_messages(record, rows)}
    outdated = [] if query.cursor else _outdated(record)
    return jsonify({**shown, "next": following, "outdated": outdated})


@conversations.patch(
    "/api/conversations/<conversation_id>",
    need="read",
    example={"title": "Growth in Kenya"},
)
def update_conversation(conversation_id: str, body: Rename) -> Conversation:
    """Rename a conversation, or restore it after its deletion."""
    owner = caller().owner
    history = _history()
    if not body.model_fields_set:
        raise InvalidRequestError.for_field(
            "deleted", "send a title, or deleted: false.", [False]
        )
    if "deleted" in body.model_fields_set:
        record = history.restore(conversation_id, owner)
    if body.title:
        record = history.rename(conversation_id, owner, body.title)
    return record


@conversations.delete("/api/conversations/<conversation_id>", need="read", status=204)
def delete_conversation(conversation_id: str) -> None:
    """Delete a conversation; `PATCH` restores it within the hour."""
    _history().delete(conversation_id, caller().owner)


class ExportQuery(Query):
    format: Literal["markdown", "json", "docx", "xlsx"] = "markdown"
    message_id: Annotated[
        str, Field(max_length=64, description="Only this answer, with its question.")
    ] = ""


@conversations.get(
    "/api/conversations/<conversation_id>/export",
    need="read",
    returns=ExportedConversation,
    media=(JSON, "text/markdown", DOCX, XLSX),
)
def export_conversation(conversation_id: str, query: ExportQuery) -> Response:
    """Download a conversation, or one answer of it, as a file; `xlsx` has the tables
    and figures.
    """
    record = _history().get(conversation_id, caller().owner)
    messages = _own_messages(record, _all_rows(record))
    if query.message_id:
        place = next(
            (
                n
                for n, one in enumerate(messages)
                if one.get("message_id") == query.message_id
            ),
            0,
        )
        if not place:
            raise NotFoundError(f"This conversation has no answer {query.message_id}.")
        messages = messages[place - 1 : place + 1]
    return conversation_response(record, messages, query.format)


@conversations.post(
    "/api/conversations/<conversation_id>/share",
    need="read",
    body_needed=False,
    example={"later": True},
)
def share_conversation(conversation_id: str, body: Share) -> Conversation:
    """Create a link with which anybody can read a conversation as it is now; it stays
    the same until it is revoked.
    """
    later = body.later if "later" in body.model_fields_set else None
    who = caller()
    return _history().share(
        conversation_id, who.owner, later=later, limit=limit_key(who.limit)
    )


@conversations.delete(
    "/api/conversations/<conversation_id>/share", need="read", status=204
)
def unshare_conversation(conversation_id: str) -> None:
    """Revoke the link of a conversation."""
    _history().revoke(conversation_id, caller().owner)


@conversations.get("/api/shared/<token>", need="nothing", returns=SharedConversation)
def get_shared_conversation(token: str, query: MessageQuery) -> Response:
    """Get a shared conversation: its questions, its answers and the passages they
    cite.
    """
    record = _history().shared(token)
    rows, following = _page(record, query, until=record.share_until)
    # Who has the link sees what the owner may see.
    reader = services().reader(limit_of_key(record.share_within))
    messages = _messages(rows, SharedMessage, reader.passages.get)
    if record.kind == BRIEF:
        number_sources(messages)
    names: list[str] = []
    for message in messages:
        if "attached" in message:  # their names may tell what nobody was to know
            names, message["attached"] = message["attached"] or [], None
        for name in names:
            message["content"] = re.sub(
                rf"(?<!\w){re.escape(name)}(?!\w)", "an attachment", message["content"]
            )
        if answer := message.get("answer"):
            message["answer"] = {
                name: answer[name]
                for name in SharedAnswer.__annotations__
                if name in answer
            }
    shown_at = max(
        (message["created_at"] for message in messages), default=record.updated_at
    )
    return jsonify(
        {
            "title": record.title,
            "kind": record.kind,
            "updated_at": shown_at,
            "messages": messages,
            "next": following,
        }
    )


@conversations.get(
    "/api/messages/<message_id>/stream",
    need="read",
    returns=STREAM,
    media=(EVENTS,),
    errors=(400, 409),
    headers=(
        {
            "name": LAST_EVENT,
            "in": "header",
            "description": "Only the events after this one.",
            "schema": {"type": "integer", "minimum": 0, "maximum": 999_999_999},
        },
    ),
)
def resume_answer(message_id: str) -> Response:
    """Stream the events of an answer again, and those still to come."""
    refuse_more()
    last = request.headers.get(LAST_EVENT, "0")
    if not last.isdecimal() or len(last) > 9:
        raise InvalidRequestError.for_field(
            LAST_EVENT, "send the id of an event of this answer."
        )
    owner = caller().owner
    storage = services().storage
    begun = storage.unfinished.find(message_id, owner)
    get = library().passages
    refuse_ended(begun)
    if not begun.state and "response" not in storage.conversations.message(message_id):
        raise NotFoundError(
            "The events of this answer have expired. Its text is in the conversation."
        )

    def work(gone: Cancellation, tell: Tell) -> None:
        tell(encode("begun", asdict(Begun(begun.conversation_id, message_id))))
        for text in replay(storage.unfinished, message_id, owner, int(last), gone):
            tell(text)
        if not gone.cancelled:
            (answer,) = with_passages([storage.conversations.message(message_id)], get)
            assert answer is not None, "what can be resumed is kept whole"
            tell(encode("done", answer))

    return stream_response(EventStream(work, connection()))


@conversations.post("/api/messages/<message_id>/stop", need="read", status=204)
def stop_answer(message_id: str) -> None:
    """Stop an answer that is being written; the text so far stays."""
    unfinished = services().storage.unfinished
    unfinished.find(message_id, caller().owner)
    unfinished.stop(message_id)
    active_streams().stop(message_id)


@conversations.post(
    "/api/messages/<message_id>/feedback",
    need="read",
    returns=answer_type(
        "RatedMessage",
        message_id=str,
        rating=Rating | None,
        reason=Reason | None,
        comment=str,
    ),
    example={"rating": "down", "reason": "incomplete", "comment": "Only 2023."},
)
def rate_answer(message_id: str, body: FeedbackRequest) -> Json:
    """Rate one's own answer; a `rating` of null removes the feedback."""
    feedback = services().storage.feedback
    owner = caller().owner
    if body.rating is None:
        feedback.remove(message_id, owner)
        return {"message_id": message_id, "rating": None, "reason": None, "comment": ""}
    stored = feedback.put(
        message_id, owner, body.rating, body.reason or "", body.comment
    )
    return {"message_id": message_id, **_given(stored)}


def _history() -> ConversationRepository:
    return services().storage.conversations


def _page(
    record: Conversation, query: MessageQuery, until: int | None = None
) -> tuple[list[Json], str | None]:
    """Return the rows of a page of messages, and the cursor of the page before them.
    A brief is one page: its sources are numbered together.
    """
    if record.kind == BRIEF:
        return _all_rows(record, until), None
    rows, more = _history().rows(
        record.id, before=query.cursor, limit=2 * query.limit, until=until
    )
    return rows, next(
        row["_id"] for row in rows if row["role"] == "assistant"
    ) if more else None


def _all_rows(record: Conversation, until: int | None = None) -> list[Json]:
    storage = services().storage
    if record.kind == BRIEF:
        return storage.briefs.rows(record, until)
    return storage.conversations.rows(record.id, until=until)[0]


def _outdated(record: Conversation) -> list[Json]:
    """Return those of the last answers of a conversation that cite passages which
    questions do not see any more.
    """
    records = library().reader.documents.index().records
    outdated = []
    question: Json = {}
    for row in _history().cited(record.id, limit=2 * MAX_CHECKED_ANSWERS):
        if row["role"] == "user":
            question = row
            continue
        changed = _changed_reports(row, records)
        if changed:
            titles = {report.title: None for report in changed if report}
            outdated.append(
                {
                    "message_id": row["_id"],
                    "question": question.get("content", ""),
                    "scope": question.get("scope", {}),
                    "collections": question.get("collections", []),
                    "titles": list(titles),
                }
            )
    return outdated


def _listed(records: Sequence[Conversation]) -> list[ListedConversation]:
    """Return conversations with the numbers of their outdated answers, for which all
    are read together.
    """
    reports = library().reader.documents.index().records
    outdated = Counter(
        row["conversation_id"]
        for row in _history().citations_of([record.id for record in records])
        if _changed_reports(row, reports)
    )
    return [ListedConversation(record, outdated[record.id]) for record in records]


def _changed_reports(
    row: Json, records: Mapping[str, DocumentRecord]
) -> list[DocumentRecord | None]:
    """Return the reports of which an answer cites a version that questions do not see
    any more; None stands for a report that is gone.
    """
    changed: list[DocumentRecord | None] = []
    for citation in row.get("citations") or ():
        document_id, version = Chunk.version_of(citation["chunk_id"])
        report = records.get(document_id)
        # A report keeps the versions whose texts it still has.
        if report and version in (report.version, *report.former_versions):
            continue
        if document_id:
            changed.append(report)
    return changed


def _given(feedback: Feedback) -> GivenFeedback:
    return {
        "rating": feedback.rating,
        "reason": feedback.reason or None,
        "comment": feedback.comment,
    }


def with_passages(
    rows: Sequence[Json], get: Callable[[Sequence[str]], list[Chunk]]
) -> list[Json | None]:
    """Return the `/query` response of each row of a message, None where none was kept.
    ``get`` gives the passages that still exist and are visible; others get the text "".
    """
    answers = [
        json.loads(row["response"]) if "response" in row else None for row in rows
    ]
    kept = [
        (row, answer)
        for row, answer in zip(rows, answers, strict=True)
        if answer is not None
    ]
    ids = {
        part["chunk_id"]
        for _, answer in kept
        for part in (*answer["citations"], *answer["trace"]["hits"])
    }
    texts = {chunk.id: chunk.text for chunk in get(sorted(ids))} if ids else {}
    for row, answer in kept:
        for citation in answer["citations"]:
            citation["snippet"] = snippet_of(texts.get(citation["chunk_id"], ""))
        for hit in answer["trace"]["hits"]:
            hit["text"] = texts.get(hit["chunk_id"], "")
        place = {"conversation_id": row["conversation_id"], "message_id": row["_id"]}
        answer.update(place, conversation_usage=row.get("conversation_usage"))
    return answers


def _messages(
    rows: Sequence[Json], answer_type: Any, get: Callable[[Sequence[str]], list[Chunk]]
) -> list[Json]:
    """Messages as the API shows them, answers as ``answer_type`` does, with the
    passages that ``get`` gives.
    """
    messages = []
    for row, answer in zip(rows, with_passages(rows, get), strict=True):
        stored = {
            "state": "",
            "scope": {},
            "collections": [],
            **row,
            "message_id": row["_id"],
            "answer": answer,
        }
        shown = StoredQuestion if row["role"] == "user" else answer_type
        messages.append({name: stored.get(name) for name in shown.__annotations__})
    return messages


def _own_messages(record: Conversation, rows: Sequence[Json]) -> list[Json]:
    """Messages of the caller, with the feedback on each answer."""
    messages = _messages(rows, StoredAnswer, library().passages)
    if record.kind == BRIEF:
        number_sources(messages)
    answers = [message for message in messages if "message_id" in message]
    feedback = services().storage.feedback.of(
        [message["message_id"] for message in answers]
    )
    for message in answers:
        given = feedback.get(message["message_id"])
        message["feedback"] = _given(given) if given else None
    return messages
