"""Conversations and tables as files. The formats are a registry: extras add theirs."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from flask import Response, url_for

from ...database.core import Json
from ...database.repositories.conversations import BRIEF, Conversation
from ...domain.figure_query import FigureAnswer, FigureCell, FigureColumn
from ...domain.json import to_json
from ...domain.registry import Registry
from ...domain.scope import Range, Scope, Values
from ...extras import with_extras
from ...language.markdown import escape_markdown
from ...language.table_words import plain_rows
from ...search.scope import describe
from .files import csv_text, disposition
from .routes import JSON, services

Rows = Iterable[Mapping[str, Any]]
FigureView = Literal["lines", "bars", "map", "table"]
FIGURE_FIELDS = (
    "indicator",
    "subject",
    "year",
    "value",
    "unit",
    "text",
    "estimate",
    "how",
    "report",
    "edition",
    "page",
    "link",
)
"""Of a figure that the explorer shows, in a long table."""
NO_ANSWER = "(no answer)"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFormat:
    """What an adapter of `FILE_FORMATS` builds. ``conversation`` writes a conversation
    with its messages, ``table`` the rows of a table with a name, ``figures`` what the
    explorer shows; None: it cannot.
    """

    suffix: str
    media_type: str
    conversation: Callable[[Conversation, list[Json]], bytes] | None = None
    table: Callable[[str, Sequence[str], Rows], bytes] | None = None
    figures: Callable[["ShownFigures"], bytes] | None = None


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


@dataclass(frozen=True)
class ShownFigures:
    """What the explorer shows: a table of subjects and columns, and how it is drawn."""

    answer: FigureAnswer
    view: FigureView

    @property
    def name(self) -> str:
        """The indicators."""
        columns = self.answer.table.columns
        return ", ".join(dict.fromkeys(column.indicator for column in columns))

    @cached_property
    def citations(self) -> Mapping[int, Json]:
        """The cited passages by their numbers, as answers have them."""
        citations = {}
        for source in self.answer.citations:
            shown = to_json(source.chunk)
            citations[source.number] = {**shown, "number": source.number}
        return citations

    def rows(self) -> Iterator[Json]:
        """Yield each figure with the fields `FIGURE_FIELDS`, and the numbers of its
        passages as `citations`.
        """
        table = self.answer.table
        for row in table.rows:
            for column, cell in zip(table.columns, row.cells, strict=True):
                if cell is not None:
                    yield self._row(row.subject, column, cell)

    def _row(self, subject: str, column: FigureColumn, cell: FigureCell) -> Json:
        cited = [
            self.citations[number]
            for number in cell.citations
            if number in self.citations
        ]
        year = cell.year
        if year is None:
            year = column.year
        figure = to_json(cell)
        return {
            "indicator": column.indicator,
            "subject": subject,
            "year": year,
            "value": figure["value"],
            "unit": column.unit,
            "text": cell.text,
            "estimate": cell.estimate,
            "how": cell.how,
            "report": "; ".join(one["title"] for one in cited),
            "edition": cited[0]["year"] if cited else None,
            "page": cited[0]["page"] if cited else None,
            "link": original_address(cited[0]) if cited else "",
            "citations": [one["number"] for one in cited],
        }


def figures_response(answer: FigureAnswer, view: FigureView, format: str) -> Response:
    """Return what the explorer shows as a file. Raises as `conversation_response`
    does.
    """
    written = _format_named(format)
    shown = ShownFigures(answer, view)
    name = shown.name.replace("/", " ")
    if written.figures is not None:
        return _file(written, name, written.figures(shown))
    return table_response(shown.rows(), FIGURE_FIELDS, name, format)


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
    sources; those of a brief stand at its end.
    """
    parts = [f"# {escape_markdown(record.title)}"]
    all_sources: dict[int, str] = {}
    for message in messages:
        if message["role"] == "user":
            parts += _heading_lines(record, message)
            continue
        content = plain_rows(message["content"] or "")
        parts.append(content or ("" if record.kind == BRIEF else NO_ANSWER))
        citations = (message["answer"] or {}).get("citations", [])
        sources = {one["number"]: _source_line(one) for one in citations}
        if record.kind == BRIEF:
            all_sources |= sources
        elif sources:
            parts.append("\n".join(sources.values()))
    if all_sources:
        parts += ["## Sources", "\n".join(all_sources.values())]
    return ("\n\n".join(filter(None, parts)) + "\n").encode()


def _heading_lines(record: Conversation, question: Json) -> list[str]:
    title = escape_markdown(question["content"])
    if record.kind != BRIEF:
        return [f"## {title}", f"_{about_question(question)}_"]
    return [f"## {title}"] if title else []


def _source_line(citation: Json) -> str:
    address = original_address(citation)
    title = escape_markdown(citation["title"])
    names = [f"[{citation['number']}] [{title}]({address})"]
    names += map(escape_markdown, publication_words(citation))
    if citation["section"]:
        names.append(escape_markdown(citation["section"]))
    if citation["page"]:
        names.append(f"page {citation['page']}")
    return f"{', '.join(names)}  "


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
