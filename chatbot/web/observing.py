"""A request as it is logged, counted and traced: from its beginning to the last byte of its response."""

from __future__ import annotations

import hashlib
import json
import logging
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from http import HTTPMethod

from flask import Response, current_app, request

from ..conversation.service import Saved
from ..errors import ChatbotError
from ..logs import begin_log
from ..schema import Event, StepEvent
from . import metrics
from .tracing import Span, Tracing

request_log = logging.getLogger("chatbot.requests")
OWNER_DIGITS = 12
"""Digits of the owner's SHA-256 in the log, which tell owners apart and not who they are."""
NOWHERE = "(none)"
"""The route of a request that has none: its path is a stranger's text, and each would be a series of its own."""
OTHER = "(other)"
"""A method that HTTP does not know, which is a stranger's text, too."""


class Watched:
    """One request. Nothing of its content is told: no query string, no body."""

    def __init__(self, request_id: str, span: Span | None) -> None:
        self.span = span
        self._id = request_id
        self._began = time.perf_counter()
        self._method, self._path = request.method, request.path
        self._route = _route()

    def ends_with(self, response: Response, owner: str) -> None:
        """Log and count it when ``response`` is sent, or given up. ``owner``: whose request it is, "" = not known."""
        response.call_on_close(lambda: self._end(response.status_code, owner))

    def _end(self, status: int, owner: str) -> None:
        seconds = time.perf_counter() - self._began
        metrics.REQUESTS.labels(_known(self._method), self._route, status).inc()
        metrics.SECONDS.labels(self._route).observe(seconds)
        if self.span is not None:
            self.span.end(status=status)
        line = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "request_id": self._id,
            "method": self._method,
            "path": self._path,
            "status": status,
            "ms": round(seconds * 1000, 1),
            "owner": hashlib.sha256(owner.encode()).hexdigest()[:OWNER_DIGITS] if owner else "",
        }
        request_log.info(json.dumps(line, ensure_ascii=False))


def watch_request(request_id: str) -> Watched:
    """Begin to watch the current request."""
    tracing: Tracing | None = current_app.extensions["tracing"]
    name = f"{_known(request.method)} {_route()}"
    return Watched(request_id, tracing.begin(name, dict(request.headers), request_id=request_id) if tracing else None)


def _known(method: str) -> str:
    return method if method in HTTPMethod.__members__ else OTHER


def _route() -> str:
    return request.url_rule.rule if request.url_rule is not None else NOWHERE


def observed(events: Iterator[Event | Saved], watched: Watched) -> Iterator[Event | Saved]:
    """The same events; a step of the trace for each step, and the finished answer or its failure counted."""
    span, step = watched.span, None
    try:
        with metrics.OPEN.track_inprogress():
            for event in events:
                if isinstance(event, Saved):
                    metrics.count_answer(event.event.answer)
                elif span is not None and isinstance(event, StepEvent):
                    if step is not None:
                        step.end()
                    step = span.step(event.name)
                yield event
    except ChatbotError as error:
        metrics.FAILURES.labels(error.code).inc()
        raise
    finally:
        if step is not None:
            step.end()


def configure_logging(level: str) -> None:
    """For a server: all goes to the error stream, of which the lines of requests are JSON, one each."""
    begin_log(level)
    if not request_log.handlers:
        lines = logging.StreamHandler(sys.stderr)
        lines.setFormatter(logging.Formatter("%(message)s"))
        request_log.addHandler(lines)
        request_log.propagate = False
