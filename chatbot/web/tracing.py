"""OpenTelemetry traces of requests and the steps of answers; off unless TRACES=otlp, needs the extra `tracing`.

Where they go, and how many, is said by OpenTelemetry's own variables (OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_SERVICE_NAME,
OTEL_TRACES_SAMPLER). No span has text of a question or an answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import MissingPackageError
from ..settings import Settings


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
