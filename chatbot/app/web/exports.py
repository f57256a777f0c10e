"""Conversations and tables as files. The formats are a registry: extras add theirs."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flask import Response, url_for

from ...database.core import Json
from ...database.repositories.conversations import Conversation
from ...domain.json import to_json
from ...domain.registry import Registry
from ...domain.scope import Range, Scope, Values
from ...extras import with_extras
from ...language.markdown import escape_markdown
from ...search.scope import describe
from .files import csv_text, disposition
from .routes import JSON, services

Rows = Iterable[Mapping[str, Any]]
NO_ANSWER = "(no answer)"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFormat:
    """What an adapter of `FILE_FORMATS` builds. ``conversation`` writes a conversation
    with its messages, ``table`` the rows of a table with a name; None: it cannot.
    """

    suffix: str
    media_type: str
    conversation: Callable[[Conversation, list[Json]], bytes] | None = None
    table: Callable[[str, Sequence[str], Rows], bytes] | None = None


FILE_FORMATS: Registry[FileFormat] = Registry(
    "format",
    {
        "csv": "chatbot.app.web.exports:csv",
        "json": "chatbot.app.web.exports:json_",
        "markdown": "chatbot.app.web.exports:markdown",
    },
    group="file_formats",
)


def conversation_response(
    record: Conversation, messages: list[Json], format: str
) -> Response:
    """Return a conversation as a file. Raises UnknownNameError: no extra that is
    enabled has this format.
    """
    written = _format_named(format)
    assert written.conversation is not None  # the query names those that have it
    name = record.title.replace("/", " ")
    return _file(written, name, written.conversation(record, messages))


def table_response(
    rows: Rows, columns: Sequence[str], name: str, format: str
) -> Response:
    """Return a table as a file. Raises as `conversation_response` does."""
    written = _format_named(format)
    assert written.table is not None
    return _file(written, name, written.table(name, columns, rows))


def _format_named(name: str) -> FileFormat:
    formats = with_extras(FILE_FORMATS, services().settings)
    return formats.builder(formats.check(name, field="format"))()


def _file(written: FileFormat, name: str, data: bytes) -> Response:
    file = f"{name}.{written.suffix}"
    headers = {"Content-Disposition": disposition("attachment", file)}
    return Response(data, mimetype=written.media_type, headers=headers)


def csv() -> FileFormat:
    def table(name: str, columns: Sequence[str], rows: Rows) -> bytes:
        return csv_text(rows, columns).encode()

    return FileFormat(suffix="csv", media_type="text/csv", table=table)


def json_() -> FileFormat:
    def conversation(record: Conversation, messages: list[Json]) -> bytes:
        whole = {**to_json(record), "messages": messages}
        return json.dumps(whole, ensure_ascii=False, indent=1).encode()

    return FileFormat(suffix="json", media_type=JSON, conversation=conversation)


def markdown() -> FileFormat:
    return FileFormat(
        suffix="md", media_type="text/markdown", conversation=_as_markdown
    )


def _as_markdown(record: Conversation, messages: list[Json]) -> bytes:
    """Return a conversation as Markdown: questions as headings, each answer with its
    sources.
    """
    parts = [f"# {escape_markdown(record.title)}"]
    for message in messages:
        if message["role"] == "user":
            parts += [
                f"## {escape_markdown(message['content'])}",
                f"_{about_question(message)}_",
            ]
            continue
        parts.append(message["content"] or NO_ANSWER)
        sources = []
        for citation in (message["answer"] or {}).get("citations", []):
            address = original_address(citation)
            title = escape_markdown(citation["title"])
            names = [f"[{citation['number']}] [{title}]({address})"]
            names += map(escape_markdown, publication_words(citation))
            if citation["section"]:
                names.append(escape_markdown(citation["section"]))
            if citation["page"]:
                names.append(f"page {citation['page']}")
            sources.append(f"{', '.join(names)}  ")
        if sources:
            parts.append("\n".join(sources))
    return ("\n\n".join(parts) + "\n").encode()


def about_question(message: Json) -> str:
    """Return the day and the scope of a question, in words."""
    filters: dict[str, Range | Values] = {}
    for name, value in message["scope"].items():
        is_range = isinstance(value, dict)
        filters[name] = Range(**value) if is_range else Values(tuple(value))
    return f"{message['created_at'][:10]}, {describe(Scope.of(filters))}"


def publication_words(citation: Json) -> list[str]:
    """Return who published the cited report, when and where, as far as it is known.
    Answers that were kept by an older release have none of it.
    """
    authors = "; ".join(citation.get("authors", ()))
    others = [
        citation.get(name, "")
        for name in ("publisher", "publication_date", "source_url")
    ]
    return [text for text in (authors, *others) if text]


def original_address(citation: Json) -> str:
    """Return the address of the cited page."""
    address = url_for(
        "documents.get_file", document_id=citation["document_id"], _external=True
    )
    return f"{address}#page={citation['page']}" if citation["page"] else address
