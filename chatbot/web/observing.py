"""Logs, counts and traces each request from its beginning to the last byte of its response.

Traces are those of OpenTelemetry: off unless TRACES=otlp, which needs the extra `tracing`. Its own variables set the
destination and the share of requests (OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_SERVICE_NAME, OTEL_TRACES_SAMPLER). No span has
the text of a question or an answer.
"""

from __future__ import annotations

import hashlib
import json
import logging
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from http import HTTPMethod
from typing import Any

from flask import Response, current_app, request

from ..conversation.service import Saved
from ..errors import ChatbotError, MissingPackageError
from ..logs import begin_log
from ..schema import Event, StepEvent
from ..settings import Settings
from . import metrics

request_log = logging.getLogger("chatbot.requests")
OWNER_DIGITS = 12
"""Digits of the owner's SHA-256 in the log, which tell owners apart and not who they are."""
NOWHERE = "(none)"
"""The route of a request that has none: its path is a stranger's text, and each would be a series of its own."""
OTHER = "(other)"
"""A method that HTTP does not know, which is a stranger's text, too."""


class Span:
    """A request, or a step of its answer."""

    def __init__(self, tracer: Any, span: Any) -> None:
        self._tracer = tracer
        self._span = span

    def step(self, name: str) -> Span:
        """Begin a span inside of this one."""
        from opentelemetry.trace import set_span_in_context

        return Span(self._tracer, self._tracer.start_span(name, set_span_in_context(self._span)))

    def end(self, *, status: int | None = None) -> None:
        """End the span; with the HTTP status, where it is a request's."""
        if status is not None:
            self._span.set_attribute("http.response.status_code", status)
        self._span.end()


class Tracing:
    """Begins spans under one provider; made once for each process."""

    def __init__(self, provider: Any) -> None:
        self._provider = provider
        self._tracer = provider.get_tracer("chatbot")

    def begin(self, name: str, headers: Mapping[str, str], *, request_id: str) -> Span:
        """A request; part of its caller's trace, where ``headers`` name one (traceparent)."""
        from opentelemetry.propagate import extract
        from opentelemetry.trace import SpanKind

        caller = extract({key.lower(): value for key, value in headers.items()})
        attributes = {"request_id": request_id}
        return Span(self._tracer, self._tracer.start_span(name, caller, SpanKind.SERVER, attributes))

    def close(self) -> None:
        """Send the spans that were not sent yet."""
        self._provider.shutdown()


def tracing_of(settings: Settings) -> Tracing | None:
    """What sends traces; None where the settings turn them off. Raises MissingPackageError."""
    if settings.traces == "off":
        return None
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise MissingPackageError(
            "TRACES=otlp needs the Python packages of OpenTelemetry.",
            remedy="Install them: pip install -r requirements-tracing.txt",
        ) from error
    provider = TracerProvider(resource=Resource.create({"service.name": "report-chat"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return Tracing(provider)


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


@contextmanager
def watch_question(watched: Watched) -> Iterator[Callable[[Event | Saved], None]]:
    """Count a question with its answer or failure; the function it gives takes each event, and traces the steps."""
    step: Span | None = None

    def note(event: Event | Saved) -> None:
        nonlocal step
        if isinstance(event, Saved):
            metrics.count_answer(event.answer)
        elif watched.span is not None and isinstance(event, StepEvent):
            if step is not None:
                step.end()
            step = watched.span.step(event.name)

    try:
        with metrics.OPEN.track_inprogress():
            yield note
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
