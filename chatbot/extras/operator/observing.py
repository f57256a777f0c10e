"""Counts for Prometheus and traces (OpenTelemetry) of requests and questions.

With PROMETHEUS_MULTIPROC_DIR (set by gunicorn.conf.py) the counters are those of all
processes. Traces are sent with TRACES=otlp and the packages of `tracing`, configured by
OpenTelemetry's own OTEL_* variables; no span has the text of a question or an answer.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import fields
from typing import Any

from flask import request
from prometheus_client import Counter, Gauge, Histogram

from ...answering.conversation import Saved
from ...app.services import Services
from ...config.settings import Settings
from ...domain import Answer, StepEvent
from ...domain.chat import Unsupported
from ...domain.costs import Usage
from ...domain.errors import ChatbotError, MissingPackageError
from ...domain.packages import install_command

QUICK = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 180)
REQUESTS = Counter(
    "report_chat_requests", "Requests that have ended.", ("method", "route", "status")
)
SECONDS = Histogram(
    "report_chat_request_seconds",
    "From a request to its response's end.",
    ("route",),
    buckets=QUICK,
)
OPEN = Gauge(
    "report_chat_questions_open",
    "Questions under way or streaming.",
    multiprocess_mode="livesum",
)
WAITING = Gauge(
    "report_chat_questions_waiting",
    "Questions that wait for their turn.",
    multiprocess_mode="livesum",
)
ANSWERS = Counter("report_chat_answers", "Finished answers.", ("mode", "outcome"))
FAILURES = Counter(
    "report_chat_question_failures", "Questions that ended in an error.", ("code",)
)
STAGES = Histogram(
    "report_chat_stage_seconds", "Steps of answers.", ("stage",), buckets=QUICK
)
TOKENS = Counter("report_chat_tokens", "Tokens used for answers.", ("kind",))
CALLS = Counter(
    "report_chat_model_calls", "Calls of the chat model for answers.", ("result",)
)
CACHE = {
    "hit": Counter("report_chat_cache_hits", "Values found in the cache.", ("level",)),
    "miss": Counter("report_chat_cache_misses", "Values not found.", ("level",)),
}
RELAXED = Counter(
    "report_chat_threshold_relaxations", "Answers whose threshold had to be lowered."
)
DEGRADED = Counter(
    "report_chat_degraded_answers",
    "Answers that quotations gave because the language model failed.",
    ("reason",),
)
MARKS = Counter(
    "report_chat_unsupported_marks",
    "Marks in answers at what the passages do not have.",
    ("kind",),
)
MARK_KINDS = [
    each.name
    for each in fields(Unsupported)
    if each.name not in {"sentence", "numbers"}
]


class CountsAndTraces:
    """The `Observer` (app/web/monitoring.py) of one application."""

    def __init__(self, provider: Any) -> None:
        """``provider``: OpenTelemetry's provider of traces, None = there are none."""
        self._provider = provider

    def waiting(self) -> AbstractContextManager[object]:
        return WAITING.track_inprogress()

    def begin(self, request_id: str, method: str, route: str) -> "CountedRequest":
        return CountedRequest(self._provider, request_id, method, route)

    def close(self) -> None:
        if self._provider is not None:
            self._provider.shutdown()


def observer_of(settings: Settings) -> CountsAndTraces:
    """Raises MissingPackageError: TRACES needs a package that is not installed."""
    return CountsAndTraces(tracer_provider(settings))


def verify(services: Services) -> None:
    """Raises MissingPackageError: TRACES needs a package that is not installed."""
    observer_of(services.settings).close()


class CountedRequest:
    """The `Observation` of one request."""

    def __init__(self, provider: Any, request_id: str, method: str, route: str) -> None:
        self._method = method
        self._route = route
        self._span: Any = None
        if provider is None:
            return
        from opentelemetry.propagate import extract
        from opentelemetry.trace import SpanKind

        self._tracer = provider.get_tracer("chatbot")
        # `traceparent` names the caller's span.
        headers = {key.lower(): value for key, value in request.headers.items()}
        self._span = self._tracer.start_span(
            f"{method} {route}",
            extract(headers),
            SpanKind.SERVER,
            {"request_id": request_id},
        )

    def end(self, status: int, seconds: float) -> None:
        REQUESTS.labels(self._method, self._route, status).inc()
        SECONDS.labels(self._route).observe(seconds)
        if self._span is not None:
            self._span.set_attribute("http.response.status_code", status)
            self._span.end()

    @contextmanager
    def question(self) -> Iterator[Callable[[object], None]]:
        """Count a question with its answer or failure, and trace its steps."""
        step: Any = None

        def note(event: object) -> None:
            nonlocal step
            if isinstance(event, Saved):
                count_answer(event.answer)
            elif self._span is not None and isinstance(event, StepEvent):
                from opentelemetry.trace import set_span_in_context

                if step is not None:
                    step.end()
                step = self._tracer.start_span(
                    event.name, set_span_in_context(self._span)
                )

        try:
            with OPEN.track_inprogress():
                yield note
        except ChatbotError as error:
            FAILURES.labels(error.code).inc()
            raise
        finally:
            if step is not None:
                step.end()


def tracer_provider(settings: Settings) -> Any:
    """Return OpenTelemetry's provider of traces, None where the settings turn them off.
    Raises MissingPackageError.
    """
    if settings.traces == "off":
        return None
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import (
            OTLPSpanExporter,
        )
        from opentelemetry.sdk.resources import OTELResourceDetector, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise MissingPackageError(
            "TRACES=otlp needs the Python packages of OpenTelemetry.",
            remedy=f"Install them: {install_command('tracing')}",
        ) from error
    stated = (
        OTELResourceDetector().detect().attributes
    )  # OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES
    provider = TracerProvider(
        resource=Resource.create({"service.name": "report-chat", **stated})
    )
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


def count_answer(answer: Answer) -> None:
    trace = answer.trace
    usage = answer.trace.usage
    ANSWERS.labels(trace.mode, "answered" if answer.answered else "abstained").inc()
    if answer.degraded is not None:
        DEGRADED.labels(answer.degraded.reason).inc()
    for step in trace.steps:
        STAGES.labels(step.name).observe(step.ms / 1000)
    for kind in ("prompt", "completion", "embedding"):
        TOKENS.labels(kind).inc(getattr(usage, f"{kind}_tokens"))
    for result, count in calls_by_result(usage).items():
        CALLS.labels(result).inc(count)
    for lookup, count in trace.caches.items():
        level, result = lookup.split()
        CACHE[result].labels(level).inc(count)
    RELAXED.inc(trace.threshold is not None and trace.threshold.relaxed)
    for mark in answer.unsupported:
        for kind in MARK_KINDS:
            MARKS.labels(kind).inc(bool(getattr(mark, kind)))


def calls_by_result(usage: Usage) -> dict[str, float]:
    return {
        "ok": usage.calls - usage.failed_calls,
        "failed": usage.failed_calls,
        "cached": usage.cached_calls,
    }
