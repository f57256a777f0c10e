"""The real pages over answers that a test writes: each event is sent when the test lets
it go.
"""

import json
import queue
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from flask import Flask, Response, jsonify, request

from chatbot.app.web.middleware import SECURITY_HEADERS
from chatbot.app.web.monitoring import NoObserver
from chatbot.app.web.pages import assets, pages
from chatbot.config.settings import Settings
from chatbot.domain.documents import MEGABYTE, Holdings
from chatbot.domain.scope import Scope, Value
from tests.app.web.live import served
from tests.fakes.nx_server import wait_until

Json = dict[str, Any]
SCOPE: Json = {"filters": {}, "documents": 77, "chunks": 12345}
STEP: Json = {"detail": "", "items": [], "sources": [], "failed": False}
COUNTS = (
    "calls",
    "cached_calls",
    "failed_calls",
    "prompt_tokens",
    "completion_tokens",
    "embedding_tokens",
)
ROW: Json = {"runs": 1, **dict.fromkeys(COUNTS, 0), "ms": 1.0, "cost": None}
WORLD = [
    {"value": name, "code": code}
    for name, code in (("Kenya", "404"), ("Somalia", "706"), ("Sudan", "729"))
]
LOOKUPS: dict[str, Json] = {
    "/api/facets": {
        "documents": 77,
        "chunks": 12345,
        "country_name": [{**country, "documents": 3} for country in WORLD],
        "year": [],
        "type": [],
    },
    "/api/conversations": {"conversations": [], "next": None},
    "/api/conversations/<id>": {
        "conversation_id": "conversation-1",
        "title": "",
        "messages": [],
        "next": None,
    },
    "/api/session": {
        "access": "open",
        "may": ["read", "write", "admin"],
        "owner": "",
        "key": None,
    },
    "/ready": {"ready": True, "ingesting": False},
    "/api/scope": SCOPE,
    "/api/topics": {"topics": ["Economy"]},
    "/api/collections": {"collections": []},
    "/api/indicators": {"indicators": [], "total": 0, "next": None},
    "/api/glossary": {
        "entries": [{"term": "FCS", "heading": "", "meaning": "Fragile states."}]
    },
}
END = object()


class NoDocuments:
    """The reports of pages that ask for nothing early."""

    def index(self) -> "NoDocuments":
        return self

    def values(self, field: str) -> list[Value]:
        return []

    def holdings(self, scope: Scope) -> Holdings:
        return Holdings()


def source(number: int, country: str = "Kenya", year: int = 2023) -> Json:
    return {
        "chunk_id": f"chunk-{number}",
        "document_id": f"{country}-{year}",
        "document_name": f"{country.lower()}-{year}.pdf",
        "title": f"{country}: Country Report {year}",
        "country_name": country,
        "year": year,
        "page": number,
        "section": "Economy > Agriculture",
    }


def hit(rank: int, **of_source: Any) -> Json:
    found = {
        "text": f"Text of passage {rank}.",
        "score": 0.8,
        "keyword_score": None,
        "found_by": ["vector"],
    }
    return {"rank": rank, **source(rank, **of_source), **found}


def step(name: str, **fields: Any) -> tuple[str, Json]:
    return "step", {"name": name, **STEP, **fields}


def token(text: str) -> tuple[str, Json]:
    return "token", {"text": text}


def done(
    response: str, *cited: Json, mode: str = "deep", **trace: Any
) -> tuple[str, Json]:
    """The end of an answer that cites these sources as [1], [2], ..."""
    answer = {
        "response": response,
        "answered": True,
        "citations": [
            {
                **one,
                "number": number,
                "snippet": f"Text of passage {number}.",
                "supported": True,
                "score": 0.8,
            }
            for number, one in enumerate(cited, start=1)
        ],
        "unsupported": [],
        "scope": SCOPE,
        "suggested_scope": None,
        "trace": {
            "mode": mode,
            "threshold": None,
            "truncated": False,
            "cached": False,
            "stopped_by": "",
            **trace,
        },
        "conversation_id": "conversation-1",
        "message_id": "message-1",
    }
    for name in ("conversation_usage", "answered", "scope"):
        if name in trace:
            answer[name] = answer["trace"].pop(name)
    return "done", answer


@dataclass
class ScriptedChat:
    """``say`` sends events of the answer in hand, for which it waits, ``hang_up`` ends
    it. ``asked`` are the requests so far.
    """

    address: str = ""
    modes: dict[str, bool] = field(default_factory=dict)
    mode: str = "direct"
    asked: list[Json] = field(default_factory=list)
    further: list[str] = field(default_factory=list)
    _events: queue.SimpleQueue[Any] = field(default_factory=queue.SimpleQueue)
    _ended: int = 0

    def say(self, *events: tuple[str, Json]) -> None:
        # Else a page that loads something first shows the turn of before, finished.
        wait_until(lambda: len(self.asked) > self._ended, "nothing was asked", 10)
        for event in events:
            self._events.put(event)

    def hang_up(self) -> None:
        self._events.put(END)

    def answer(self) -> Iterator[str]:
        while (event := self._events.get(timeout=30)) is not END:
            name, data = event
            yield f"event: {name}\ndata: {json.dumps(data)}\n\n"
            if name == "done":
                break
        self._ended += 1

    def _add_lookups(self, app: Flask) -> None:
        for path, found in LOOKUPS.items():
            name = "catalog.list_facets" if path == "/api/facets" else path
            app.get(path, endpoint=name)(lambda found=found, **values: jsonify(found))

        @app.get("/api/chunks/<chunk_id>/further")
        def further(chunk_id: str) -> Response:
            return jsonify(
                {
                    "questions": [
                        {"question": text, "filters": {}} for text in self.further
                    ],
                    "near": [],
                }
            )

        @app.get("/api/chunks/<chunk_id>")
        def chunk(chunk_id: str) -> Response:
            found = hit(int(chunk_id.split("-")[1]))
            return jsonify(
                {**found, "wider_text": f"Before it. {found['text']} After it."}
            )

    def app(self) -> Flask:
        app = Flask(
            "chatbot", template_folder="../templates", static_folder="../static"
        )
        services = SimpleNamespace(
            settings=Settings(),
            extras=(),
            people=None,
            modes=SimpleNamespace(
                usable=lambda: self.modes, default=lambda preset="": self.mode
            ),
            storage=SimpleNamespace(cookie_secret=b"of this test"),
            runtime=SimpleNamespace(embedder=SimpleNamespace(multilingual=True)),
            reader=lambda limit: SimpleNamespace(documents=NoDocuments()),
        )
        app.extensions["observer"] = NoObserver()
        app.extensions["services"] = services
        app.config["MAX_CONTENT_LENGTH"] = MEGABYTE
        app.register_blueprint(pages)
        app.register_blueprint(assets)
        self._add_lookups(app)

        @app.post("/api/chat")
        def chat() -> Response:
            self.asked.append(request.get_json())
            return Response(self.answer(), mimetype="text/event-stream")

        @app.after_request
        def secure(response: Response) -> Response:
            response.headers.update(SECURITY_HEADERS)
            return response

        return app


@contextmanager
def scripted_chat() -> Iterator[ScriptedChat]:
    chat = ScriptedChat(
        modes=dict.fromkeys(
            ("direct", "auto", "deep", "chain", "compare", "report"), True
        )
    )
    with served(chat.app()) as port:
        chat.address = f"http://127.0.0.1:{port}"
        yield chat
