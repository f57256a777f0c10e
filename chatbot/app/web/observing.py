"""Logs, counts and traces each request from its beginning to the last byte of its response, and logs its errors.

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
from typing import Any, NotRequired

from flask import Response, current_app, g, request
from typing_extensions import TypedDict

from ...answering.conversation import Saved
from ...config import begin_log
from ...config.settings import Settings
from ...domain import StepEvent
from ...domain.errors import ChatbotError, MissingPackageError
from . import monitoring

log = logging.getLogger(__name__)
request_log = logging.getLogger("chatbot.requests")
OWNER_DIGITS = 12
"""Digits of the owner's SHA-256 in the log, which tell owners apart and not who they are."""
NO_ROUTE, OTHER_METHOD = "(none)", "(other)"
"""Stand for an unknown path and an unknown method, so that a client cannot make up new time series."""


class ErrorBody(TypedDict):
    """``code`` is stable; ``details`` name the fields with their valid values, or a remedy.

    Below `/v1` it also has ``type`` and ``param``, which OpenAI's clients read.
    """

    code: str
    message: str
    details: list[dict[str, Any]]
    request_id: str
    type: NotRequired[str]
    param: NotRequired[str | None]


class Error(TypedDict):
    """The body of every answer with a status from 400 on."""

    error: ErrorBody


def error_body(error: ChatbotError) -> dict[str, Any]:
    """Return ``{"error": {"code", "message", "details", "request_id"}}``, also the data of an `error` event."""
    log_failure(error)
    return body_of(error.code, error.message, error.details)


def log_failure(error: ChatbotError) -> None:
    """Log a failed dependency under the request's id, also where the client gets it within a stream."""
    if error.status > 500:
        log.warning("Request %s: %s", _request_id(), error.message)


def unexpected(error: BaseException) -> ChatbotError:
    """Log a bug with its trace and the request id, and return what the client gets."""
    log.error("Unexpected error in request %s", _request_id(), exc_info=error)
    return ChatbotError("Something went wrong here. The request id helps to find it in the log.")


def body_of(code: str, message: str, details: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the body of an answer with an error (`Error`)."""
    return {"error": {"code": code, "message": message, "details": details, "request_id": _request_id()}}


def _request_id() -> str:
    return str(g.get("request_id", "")) if g else ""


class Tracing:
    """Begins spans under one provider; made once for each process."""

    def __init__(self, provider: Any) -> None:
        self._provider = provider
        self._tracer = provider.get_tracer("chatbot")

    def request(self, name: str, headers: Mapping[str, str], *, request_id: str) -> Any:
        """Begin the span of a request, part of its caller's trace where ``headers`` name one (traceparent)."""
        from opentelemetry.propagate import extract
        from opentelemetry.trace import SpanKind

        caller = extract({key.lower(): value for key, value in headers.items()})
        return self._tracer.start_span(name, caller, SpanKind.SERVER, {"request_id": request_id})

    def step(self, name: str, span: Any) -> Any:
        """Begin a span inside of ``span``."""
        from opentelemetry.trace import set_span_in_context

        return self._tracer.start_span(name, set_span_in_context(span))

    def close(self) -> None:
        """Send the spans that were not sent yet."""
        self._provider.shutdown()


def tracing_of(settings: Settings) -> Tracing | None:
    """Return what sends traces, None where the settings turn them off. Raises MissingPackageError."""
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


class ObservedRequest:
    """The current request, without its content: no query string, no body."""

    def __init__(self, request_id: str) -> None:
        self._id = request_id
        self._began = time.perf_counter()
        self._method, self._path = request.method, request.path
        self._known_method = request.method if request.method in HTTPMethod.__members__ else OTHER_METHOD
        self._route = request.url_rule.rule if request.url_rule is not None else NO_ROUTE
        self._span: Any = None
        self._tracing: Tracing | None = current_app.extensions["tracing"]
        if self._tracing is not None:
            name = f"{self._known_method} {self._route}"
            self._span = self._tracing.request(name, dict(request.headers), request_id=request_id)

    def end_with(self, response: Response, owner: str) -> None:
        """Log and count it when ``response`` is sent, or given up. ``owner``: whose request it is, "" = not known."""
        response.call_on_close(lambda: self._end(response.status_code, owner))

    def _end(self, status: int, owner: str) -> None:
        seconds = time.perf_counter() - self._began
        monitoring.REQUESTS.labels(self._known_method, self._route, status).inc()
        monitoring.SECONDS.labels(self._route).observe(seconds)
        if self._span is not None:
            self._span.set_attribute("http.response.status_code", status)
            self._span.end()
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

    @contextmanager
    def question(self) -> Iterator[Callable[[object], None]]:
        """Count a question with its answer or failure; the function it gives takes each event, and traces the steps."""
        step: Any = None

        def note(event: object) -> None:
            nonlocal step
            if isinstance(event, Saved):
                monitoring.count_answer(event.answer)
            elif self._tracing is not None and isinstance(event, StepEvent):
                if step is not None:
                    step.end()
                step = self._tracing.step(event.name, self._span)

        try:
            with monitoring.OPEN.track_inprogress():
                yield note
        except ChatbotError as error:
            monitoring.FAILURES.labels(error.code).inc()
            raise
        finally:
            if step is not None:
                step.end()


def configure_logging(level: str) -> None:
    """Log to the error stream, as a server does: each request is one line of JSON."""
    begin_log(level)
    if not request_log.handlers:
        lines = logging.StreamHandler(sys.stderr)
        lines.setFormatter(logging.Formatter("%(message)s"))
        request_log.addHandler(lines)
        request_log.propagate = False
