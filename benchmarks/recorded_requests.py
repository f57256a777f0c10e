"""The requests that `benchmarks.recorded` sends: every endpoint, every mode, and what
has to be refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from benchmarks.agent_questions import TASKS
from benchmarks.scripted_answers import Script
from tests.fakes.openai_replies import Reply

BOUNDARY = "recorded-request"
KENYA = {"country_name": ["Kenya"], "year": [2023]}
GROWTH = "What is the population growth rate?"
NOTES = """---
title: Field notes from Lamu
country: Kenya
year: 2024
---
# Field notes from Lamu

## Fishing

The harbour of Lamu counted 412 dhows in March 2024, 31 more than a year before.

## Water

Two of seven boreholes were dry; the third desalination plant opens in 2025.
"""
TABLE = (
    "Country,Year,Indicator,Value\nKenya,2024,Wells repaired,118\nSomalia,2024,Wells "
    "repaired,64\n"
)


@dataclass(frozen=True, slots=True)
class Request:
    """One request. Its strings may have variables, ``{name.path}``: a value of an
    earlier answer.
    """

    name: str
    method: str
    path: str
    json: Any = None
    """The body; with ``files``, the form's field ``request``."""
    files: Mapping[str, str] = field(default_factory=dict)
    """The text of each uploaded file by its name."""
    fields: Mapping[str, str] = field(default_factory=dict)
    """Other fields of the form."""
    script: Script = field(default_factory=Script)
    """What the chat model says meanwhile."""
    embeddings: Reply | None = None
    """What the embedding model says meanwhile, if it is not to answer."""
    until_done: bool = False
    """Ask again while the job that is asked for is running."""
    leave_at: str = ""
    """The event of a stream at which the client leaves."""
    leave_by: Literal["close", "stop"] = "close"
    """Whether it closes the connection or asks the server to stop the answer."""

    def filled(self, fill: Callable[[str], str]) -> Request:
        """Return a copy with the variables of its path and body replaced."""
        return replace(self, path=fill(self.path), json=_filled(self.json, fill))

    def body(self) -> tuple[bytes | None, str]:
        """Return the bytes and their content type."""
        if self.files:
            return self._form(), f"multipart/form-data; boundary={BOUNDARY}"
        if self.json is None:
            return None, ""
        if isinstance(self.json, str):
            return self.json.encode(), "application/json"
        return json.dumps(self.json).encode(), "application/json"

    def _form(self) -> bytes:
        fields = dict(self.fields)
        if self.json is not None:
            fields["request"] = json.dumps(self.json)
        parts = [
            f'Content-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
            for name, value in fields.items()
        ]
        parts += [
            f'Content-Disposition: form-data; name="files"; filename="{name}"\r\n'
            f"Content-Type: application/octet-stream\r\n\r\n{text}\r\n"
            for name, text in self.files.items()
        ]
        lines = "".join(f"--{BOUNDARY}\r\n{part}" for part in parts)
        return f"{lines}--{BOUNDARY}--\r\n".encode()


def _filled(value: Any, fill: Callable[[str], str]) -> Any:
    if isinstance(value, dict):
        return {name: _filled(inner, fill) for name, inner in value.items()}
    if isinstance(value, list):
        return [_filled(inner, fill) for inner in value]
    if isinstance(value, str) and value.startswith("{") and value.endswith("}"):
        return fill(value)
    return value


def query(name: str, text: str, task: int = 0, **fields: Any) -> Request:
    script = Script(TASKS[task])
    return Request(name, "POST", "/query", {"query": text, **fields}, script=script)


def search(name: str, text: str, **fields: Any) -> Request:
    return Request(name, "POST", "/api/search", {"query": text, **fields})


def get(name: str, path: str) -> Request:
    return Request(name, "GET", path)


ASKING = (
    query("scoped", GROWTH, filters=KENYA),
    query("cached", GROWTH, filters=KENYA),
    query("not cached", GROWTH, filters=KENYA, cache=False),
    query("names in the question", "What is the life expectancy in Egypt in 2023?"),
    query(
        "auto scope", "What is the life expectancy in Egypt in 2023?", auto_scope=True
    ),
    query(
        "follow-up", "And the death rate?", conversation_id="{scoped.conversation_id}"
    ),
    query(
        "follow-up country",
        "What about Somalia?",
        conversation_id="{scoped.conversation_id}",
    ),
    query(
        "previous messages",
        "And in Somalia?",
        previous_messages=[
            {
                "role": "user",
                "content": "What is the literacy rate of Kenya in 2023?",
                "id": 7,
            },
            {"role": "assistant", "content": "It is 82.6%."},
        ],
    ),
    query("small talk", "Thank you!"),
    query("about the collection", "Which countries do you have reports about?"),
    query("how many", "How many reports are there?"),
    query("nothing found", "How do I tune a carburettor?"),
    query(
        "absent country", "What is the population of Atlantis or of Luxembourg in 2023?"
    ),
    query("absent year", "What was the population of Kenya in 1987?"),
    query(
        "years as range",
        "What is the unemployment rate?",
        filters={"year": {"gte": 2023}},
        limit=9,
    ),
    query(
        "country by code",
        "What is the capital?",
        filters={"country_name": ["KE"]},
        limit=3,
    ),
    query(
        "country context",
        "What are the main exports?",
        report_context={"type": "country", "value": "Nigeria"},
    ),
    query(
        "one document",
        "What are the hazards?",
        filters={"document_name": ["{reports.reports.0.document_name}"]},
    ),
    query(
        "two countries",
        "What is the birth rate?",
        filters={"country_name": ["Kenya", "Ethiopia"], "year": 2023},
    ),
    query(
        "yearly review",
        "Which are the ten most populous countries?",
        filters={"type": "year_in_review"},
    ),
    query("vector", GROWTH, filters=KENYA, retrieval_method="vector"),
    query("bm25", GROWTH, filters=KENYA, retrieval_method="bm25"),
    *(
        query(f"preset {name}", "What is the literacy rate of Mali?", preset=name)
        for name in ("adaptive", "compression", "hybrid", "deterministic")
    ),
    query("deep", TASKS[4].text, mode="deep"),
    query(
        "deep scoped",
        TASKS[7].text,
        mode="deep",
        filters={"country_name": "Yemen", "year": 2023},
    ),
    query("compare countries", TASKS[1].text, mode="compare"),
    query("compare years", TASKS[2].text, mode="compare"),
    query(
        "compare by filter",
        "Compare the population",
        mode="compare",
        filters={"country_name": ["Kenya", "Mali"]},
    ),
    query("auto", TASKS[3].text, mode="auto"),
    query("auto plain", GROWTH, mode="auto", filters=KENYA),
    query(
        "small budget", TASKS[4].text, mode="deep", budget={"calls": 1, "tokens": 600}
    ),
    query("older client", GROWTH, chatbot_type="report", version=2, filters=KENYA),
    query(
        "attached text",
        "How many dhows are there?",
        attachments=[{"name": "lamu.md", "text": NOTES}],
    ),
    Request(
        "attached file",
        "POST",
        "/query",
        {"query": "How many wells were repaired?"},
        {"wells.csv": TABLE},
    ),
    Request(
        "stream",
        "POST",
        "/api/chat",
        {"query": "What is the population?", "filters": KENYA},
    ),
    Request(
        "stream deep", "POST", "/api/chat", {"query": TASKS[8].text, "mode": "deep"}
    ),
)
SEARCHING = (
    search(
        "search", "drinking water sources", filters={"country_name": "Haiti"}, limit=8
    ),
    search("search bm25", "typhoons earthquakes volcanoes", retrieval_method="bm25"),
    search("search vector", "hunger", retrieval_method="vector", limit=3),
    search("search deep preset", "exports", preset="deep"),
    get("facets", "/api/facets"),
    get("facets in scope", "/api/facets?country_name=Kenya&year=2023"),
    get("reports in scope", "/api/reports?country_name=Kenya&year.gte=2023"),
    get("collections", "/api/collections"),
    get("chunk", "/api/chunks/{scoped.citations.0.chunk_id}"),
    get("documents", "/api/documents?limit=5&cursor=3&q=2023"),
    get("document", "/api/documents/{scoped.citations.0.document_id}"),
    get(
        "passages",
        "/api/documents/{scoped.citations.0.document_id}/chunks?limit=3&cursor=2",
    ),
    get("formats", "/api/formats"),
)
REFUSED = (
    query("no question", "   "),
    query("too long", "x" * 4001),
    query("unknown field", GROWTH, filter={"year": 2023}),
    query("unknown country", GROWTH, filters={"country_name": "Atlantis"}),
    query("empty filter", GROWTH, filters={"year": []}),
    query(
        "contradiction",
        GROWTH,
        filters={"country_name": "Kenya"},
        report_context={"type": "country", "value": "Mali"},
    ),
    query("wrong context", GROWTH, report_context={"type": "planet", "value": "Mars"}),
    query(
        "unknown context value",
        GROWTH,
        report_context={"type": "country", "value": "Mars"},
    ),
    query("unknown mode", GROWTH, mode="telepathy"),
    query("unknown method", GROWTH, retrieval_method="guess"),
    query("unknown preset", GROWTH, preset="fast"),
    query("unknown conversation", GROWTH, conversation_id="nobody"),
    query("limit too high", GROWTH, limit=51),
    query("chain without a model", GROWTH, mode="chain"),
    query("report without a model", GROWTH, mode="report"),
    query(
        "attachment of a private address",
        GROWTH,
        attachments=[{"url": "http://127.0.0.1:9/page"}],
    ),
    Request("no JSON", "POST", "/query", "{"),
    get("unknown passage", "/api/chunks/nothing"),
    get("unknown document", "/api/documents/nothing"),
    get("unknown job", "/api/ingestions/0123456789abcdef0123"),
    get("unknown path", "/nowhere"),
    get("wrong method", "/query"),
    get("unknown facet", "/api/facets?colour=blue"),
    Request(
        "private address", "POST", "/api/documents", {"url": "http://127.0.0.1:9/page"}
    ),
    Request(
        "wrong edit",
        "PATCH",
        "/api/documents/{scoped.citations.0.document_id}",
        {"colour": "blue"},
    ),
)
ADDING = (
    Request(
        "upload",
        "POST",
        "/api/documents",
        None,
        {"lamu.md": NOTES, "wells.csv": TABLE},
        {"type": "field_notes"},
    ),
    Request(
        "upload done", "GET", "/api/ingestions/{upload.ingestion_id}", until_done=True
    ),
    get("uploaded", "/api/documents?q=lamu"),
    get(
        "uploaded passages", "/api/documents/{uploaded.documents.0.document_id}/chunks"
    ),
    get("uploaded file", "/api/documents/{uploaded.documents.0.document_id}/file"),
    query("asked of the upload", "How many dhows did the harbour of Lamu count?"),
    Request(
        "edit",
        "PATCH",
        "/api/documents/{uploaded.documents.0.document_id}",
        {"title": "Notes from Lamu", "year": 2025},
    ),
    query(
        "asked after the edit",
        "How many dhows are there?",
        filters={"country_name": "Kenya", "year": 2025},
    ),
    Request(
        "read again",
        "POST",
        "/api/documents/{uploaded.documents.0.document_id}/reingest",
        {"chunk_size": 300},
    ),
    Request(
        "read again done",
        "GET",
        "/api/ingestions/{read again.ingestion_id}",
        until_done=True,
    ),
    Request(
        "broken upload",
        "POST",
        "/api/documents",
        None,
        {"broken.pdf": "%PDF-1.4 no more"},
    ),
    Request(
        "broken upload done",
        "GET",
        "/api/ingestions/{broken upload.ingestion_id}",
        until_done=True,
    ),
    Request("try again", "POST", "/api/ingestions/{broken upload.ingestion_id}/retry"),
    Request(
        "try again done",
        "GET",
        "/api/ingestions/{broken upload.ingestion_id}",
        until_done=True,
    ),
    Request("refused upload", "POST", "/api/documents", None, {"program.exe": "MZ"}),
    Request("delete", "DELETE", "/api/documents/{uploaded.documents.0.document_id}"),
    get("deleted", "/api/documents/{uploaded.documents.0.document_id}"),
    get("jobs", "/api/ingestions?limit=5"),
)
STATE = (
    get("page", "/"),
    get("documents page", "/documents"),
    get("health", "/health"),
    get("ready", "/ready"),
    get("metrics", "/metrics"),
    get("usage", "/api/usage?days=2"),
)
KEYLESS: Sequence[Request] = (
    get("reports", "/api/reports"),
    *ASKING,
    *SEARCHING,
    *REFUSED,
    *ADDING,
    *STATE,
)
WITH_MODEL: Sequence[Request] = (
    *(
        query(f"model {mode}", TASKS[task].text, task, mode=mode)
        for mode, task in (
            ("direct", 0),
            ("deep", 4),
            ("chain", 5),
            ("compare", 1),
            ("report", 9),
            ("auto", 6),
        )
    ),
    query("model scoped", GROWTH, filters=KENYA),
    query(
        "model follow-up",
        "And the death rate?",
        conversation_id="{model scoped.conversation_id}",
    ),
    query("model small budget", TASKS[4].text, 4, mode="deep", budget={"calls": 2}),
    query(
        "model attachment",
        "How many dhows are there?",
        attachments=[{"name": "lamu.md", "text": NOTES}],
    ),
    Request(
        "model stream",
        "POST",
        "/api/chat",
        {"query": TASKS[7].text, "mode": "chain"},
        script=Script(TASKS[7]),
    ),
    Request(
        "model stream report",
        "POST",
        "/api/chat",
        {"query": TASKS[3].text, "mode": "report"},
        script=Script(TASKS[3]),
    ),
    get("model ready", "/ready"),
    get("model usage", "/api/usage"),
)
