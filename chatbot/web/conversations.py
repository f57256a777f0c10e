"""The conversations of whoever asks: found again, renamed, deleted, exported, shared; and their answers resumed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence

from flask import Blueprint, Response, jsonify, request

from ..cancellation import Cancellation
from ..database.core import Json
from ..errors import InvalidRequestError, NotFoundError
from ..repositories.history import ConversationRecord, HistoryRepository
from ..schema import Chunk
from ..validation import parse
from .access import caller
from .asking import refuse_more, stream_response
from .bodies import Rename
from .kept_answers import with_passages
from .library import library
from .request import disposition, json_object, query_choice, query_number
from .resuming import refuse_ended, replay, under_way
from .services import services
from .streaming import BEGUN, EventStream, client_of, encode

conversations = Blueprint("conversations", __name__)
PAGE, MOST = 30, 100
FORMATS = {"markdown": ("md", "text/markdown"), "json": ("json", "application/json")}
LONGEST_SEARCH = 200
LAST_EVENT = "Last-Event-ID"
UNSHARED = ("trace", "suggested_scope", "conversation_id", "conversation_usage")
"""Fields of an answer that a shared link does not show."""


@conversations.get("/api/conversations")
def index() -> Response:
    """The caller's conversations, the last written to first, a page at a time."""
    search = request.args.get("search", "").strip()
    if len(search) > LONGEST_SEARCH:
        raise InvalidRequestError.for_field("search", f"longer than {LONGEST_SEARCH} characters.")
    limit, after = query_number("limit", PAGE, least=1, most=MOST), request.args.get("after", "")
    found, following = _history().page(caller().owner, search=search, after=after, limit=limit)
    return jsonify({"conversations": [_about(record) for record in found], "next": following or None})


@conversations.get("/api/conversations/<conversation_id>")
def show(conversation_id: str) -> Response:
    """The last messages of one, or those before an answer."""
    return _opened(_history().get(conversation_id, caller().owner))


@conversations.patch("/api/conversations/<conversation_id>")
def change(conversation_id: str) -> Response:
    """Give a conversation another title, or take it back from being deleted."""
    sent, owner, history = parse(Rename, json_object()), caller().owner, _history()
    if not sent.model_fields_set:
        raise InvalidRequestError.for_field("deleted", "send a title, or deleted: false.", [False])
    if "deleted" in sent.model_fields_set:
        record = history.restore(conversation_id, owner)
    if sent.title:
        record = history.rename(conversation_id, owner, sent.title)
    return jsonify(_about(record))


@conversations.delete("/api/conversations/<conversation_id>")
def delete(conversation_id: str) -> tuple[str, int]:
    """Delete a conversation; `PATCH` takes it back within the hour."""
    _history().delete(conversation_id, caller().owner)
    return "", 204


@conversations.get("/api/conversations/<conversation_id>/export")
def export(conversation_id: str) -> Response:
    """A whole conversation as a file, to read or for programs."""
    format = query_choice("format", list(FORMATS), "markdown")
    record = _history().get(conversation_id, caller().owner)
    rows, _ = _history().messages(record.id)
    messages = _messages(rows, library().passages)
    if format == "json":
        text = json.dumps({**_about(record), "messages": messages}, ensure_ascii=False, indent=1)
    else:
        text = as_markdown(record.title, messages)
    suffix, mimetype = FORMATS[format]
    headers = {"Content-Disposition": disposition("attachment", f"{record.title.replace('/', ' ')}.{suffix}")}
    return Response(text, mimetype=mimetype, headers=headers)


@conversations.post("/api/conversations/<conversation_id>/share")
def share(conversation_id: str) -> Response:
    """A link with which anybody reads it; the same again until it is revoked."""
    return jsonify(_about(_history().share(conversation_id, caller().owner)))


@conversations.delete("/api/conversations/<conversation_id>/share")
def revoke(conversation_id: str) -> tuple[str, int]:
    """Revoke the link: it leads nowhere from now on."""
    _history().revoke(conversation_id, caller().owner)
    return "", 204


@conversations.get("/api/shared/<token>")
def shared(token: str) -> Response:
    """A shared conversation, for whoever has its link: questions, answers and the passages they cite."""
    return _opened(_history().shared(token), is_shared=True)


@conversations.get("/api/messages/<message_id>/stream")
def stream(message_id: str) -> Response:
    """The events of an answer, from the start or after `Last-Event-ID`, and those still to come."""
    refuse_more()
    last = request.headers.get(LAST_EVENT, "0")
    if not last.isdecimal() or len(last) > 9:
        raise InvalidRequestError.for_field(LAST_EVENT, "send the id of an event of this answer.")
    owner, storage = caller().owner, services().storage
    begun, get = storage.unfinished.find(message_id, owner), services().vectors.store.get

    refuse_ended(begun)
    if not begun.state and "response" not in storage.history.message(message_id):
        raise NotFoundError("Of this answer only the text is kept: it is in its conversation.")

    def events(gone: Cancellation) -> Iterator[str]:
        yield encode("begun", {"conversation_id": begun.conversation_id, "message_id": message_id})
        yield from replay(storage.unfinished, message_id, owner, int(last), gone)
        if not gone.cancelled:
            (answer,) = with_passages([storage.history.message(message_id)], get)
            assert answer is not None, "what can be resumed is kept whole"
            yield encode("done", answer)

    return stream_response(
        EventStream(events, client_of(request.environ), tell_begun=request.environ.get(BEGUN, lambda: None))
    )


@conversations.post("/api/messages/<message_id>/stop")
def stop(message_id: str) -> tuple[str, int]:
    """End an answer that is being written, in whichever process; what it has said stays."""
    unfinished = services().storage.unfinished
    unfinished.find(message_id, caller().owner)
    unfinished.stop(message_id)
    under_way().stop(message_id)
    return "", 204


def as_markdown(title: str, messages: list[Json]) -> str:
    """A conversation as Markdown: questions as headings, each answer with its sources."""
    parts = [f"# {title}"]
    for message in messages:
        if message["role"] == "user":
            parts.append(f"## {' '.join(message['content'].split())}")
            continue
        parts.append(message["content"] or "(no answer)")
        sources = [_source_line(citation) for citation in (message["answer"] or {}).get("citations", [])]
        parts += ["\n".join(sources)] if sources else []
    return "\n\n".join(parts) + "\n"


def _source_line(citation: Json) -> str:
    place = [citation["section"], f"page {citation['page']}" if citation["page"] else ""]
    return ", ".join([f"[{citation['number']}] {citation['title']}", *filter(None, place)]) + "  "


def _history() -> HistoryRepository:
    return services().storage.history


def _about(record: ConversationRecord) -> Json:
    times = {"created_at": record.created_at, "updated_at": record.updated_at}
    return {"conversation_id": record.id, "title": record.title, **times, "share": record.share or None}


def _opened(record: ConversationRecord, *, is_shared: bool = False) -> Response:
    limit, before = query_number("limit", PAGE, least=1, most=MOST), request.args.get("before", "")
    rows, more = _history().messages(record.id, before=before, limit=2 * limit)
    # Who was given the link is shown what its owner may show.
    messages = _messages(rows, services().vectors.store.get if is_shared else library().passages, is_shared=is_shared)
    about = _about(record)
    if is_shared:
        messages, about = [_as_shared(message) for message in messages], {"title": record.title}
    return jsonify({**about, "messages": messages, "earlier": more})


def _messages(
    rows: Sequence[Json], get: Callable[[Sequence[str]], list[Chunk]], *, is_shared: bool = False
) -> list[Json]:
    told = [_message(row, answer) for row, answer in zip(rows, with_passages(rows, get), strict=True)]
    if is_shared:
        return told
    answers = [message for message in told if "message_id" in message]
    rated = services().storage.feedback.of([message["message_id"] for message in answers])
    for message in answers:
        found = rated.get(message["message_id"])
        message["feedback"] = found.to_json() if found else None
    return told


def _message(row: Json, answer: Json | None) -> Json:
    """``answer``: the `/query` response; null for questions, and where only the text was kept."""
    known = {name: row.get(name) for name in ("mode", "preset", "page", "auto_scope", "attached", "replaces")}
    about: Json = {"role": row["role"], "content": row["content"], "created_at": row["created_at"]}
    about["state"] = row.get("state", "")
    if row["role"] == "user":
        return {**about, **known, "scope": row.get("scope", {}), "collections": row.get("collections", [])}
    return {"message_id": row["_id"], **about, "answered": row.get("answered"), "answer": answer}


def _as_shared(message: Json) -> Json:
    if not message.get("answer"):
        return message
    return {**message, "answer": {name: value for name, value in message["answer"].items() if name not in UNSHARED}}
