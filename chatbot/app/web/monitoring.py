"""Logs, counts and traces of requests and errors; health and readiness.

A request is counted when the last byte of its response is sent. With
PROMETHEUS_MULTIPROC_DIR (set by gunicorn.conf.py) the counters are those of all
processes. Traces are OpenTelemetry's (TRACES=otlp, extra `tracing`), configured by its
own OTEL_* variables; no span has the text of a question or an answer.
"""

import hashlib
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import fields
from http import HTTPMethod
from typing import Any, Literal, NotRequired, TypeVar

from flask import Response, current_app, g, jsonify, make_response, request
from prometheus_client import (
    Counter,
    Gauge,
    Histogram,
)
from typing_extensions import TypedDict

from ...answering.conversation import Saved
from ...config.settings import Settings
from ...database.core import Json
from ...database.failures import FULL
from ...domain import Answer, DocumentRecord, StepEvent
from ...domain.chat import Unsupported
from ...domain.costs import Usage
from ...domain.errors import (
    ChatbotError,
    DatabaseError,
    DependencyError,
    MissingPackageError,
)
from .routes import PAGE, Views, answer_type, samples, services

monitoring = Views("monitoring", __name__)
log = logging.getLogger(__name__)
T = TypeVar("T")
request_log = logging.getLogger("chatbot.requests")
OWNER_DIGITS = 12
"""Digits of the owner's SHA-256 in the log, which tell owners apart and not who they
are.
"""
NO_ROUTE, OTHER_METHOD = "(none)", "(other)"
"""Stand for an unknown path and an unknown method, so that a client cannot make up new
time series.
"""
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


class ErrorBody(TypedDict):
    """``code`` is stable; ``details`` name the fields with their valid values, or a
    remedy. Below `/v1` it also has ``type`` and ``param``, which OpenAI's clients read.
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


def error_body(error: Exception) -> dict[str, Any]:
    """Return the body of an answer or `error` event; only administrators get a
    dependency's own words.
    """
    failure = failure_of(error)
    body = body_of(failure.code, failure.message, failure.details)
    if (
        isinstance(failure, DependencyError)
        and failure.said
        and "caller" in g
        and g.caller.may("admin")
        and not g.caller.limit
    ):
        body["error"]["details"][0]["said"] = failure.said
    return body


def failure_of(error: Exception) -> ChatbotError:
    """Return what the client gets; log a bug with its trace, and a failed dependency,
    under the request's id.
    """
    if not isinstance(error, ChatbotError):
        log.error("Unexpected error in request %s", _request_id(), exc_info=error)
        return ChatbotError(
            "Something went wrong here. The request id helps to find it in the log."
        )
    if error.status > 500:
        log.warning(
            "Request %s: %s",
            _request_id(),
            error.in_full if isinstance(error, DependencyError) else error.message,
        )
    return error


def guarded(work: Callable[[], T], failed: Callable[[str], Exception]) -> T:
    """Return what ``work`` returns. Raises an error of ours as it is, and for any other
    what ``failed`` makes of a message that clients may read.
    """
    try:
        return work()
    except Exception as error:
        failure = failure_of(error)
        if failure is error:
            raise
        raise failed(failure.message) from error


def body_of(code: str, message: str, details: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the body of an answer with an error (`Error`)."""
    return {
        "error": {
            "code": code,
            "message": message,
            "details": details,
            "request_id": _request_id(),
        }
    }


def _request_id() -> str:
    return str(g.get("request_id", "")) if g else ""


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
            remedy="Install them: pip install -r requirements-tracing.txt",
        ) from error
    stated = (
        OTELResourceDetector().detect().attributes
    )  # OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES
    provider = TracerProvider(
        resource=Resource.create({"service.name": "report-chat", **stated})
    )
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


class ObservedRequest:
    """The current request, without its content: no query string, no body."""

    def __init__(self, request_id: str) -> None:
        self._id = request_id
        self._began = time.perf_counter()
        self._method, self._path = request.method, request.path
        self._known_method = (
            request.method if request.method in HTTPMethod.__members__ else OTHER_METHOD
        )
        self._route = (
            request.url_rule.rule if request.url_rule is not None else NO_ROUTE
        )
        self._span: Any = None
        if (provider := current_app.extensions["tracing"]) is not None:
            from opentelemetry.propagate import extract
            from opentelemetry.trace import SpanKind

            self._tracer = provider.get_tracer("chatbot")
            caller = extract(
                {key.lower(): value for key, value in request.headers.items()}
            )  # by `traceparent`
            name, about = (
                f"{self._known_method} {self._route}",
                {"request_id": request_id},
            )
            self._span = self._tracer.start_span(name, caller, SpanKind.SERVER, about)

    def end(self, status: int, owner: str) -> None:
        """Log and count it when its response is sent, or given up. ``owner``: whose
        request it is, "" = not known.
        """
        seconds = time.perf_counter() - self._began
        REQUESTS.labels(self._known_method, self._route, status).inc()
        SECONDS.labels(self._route).observe(seconds)
        if self._span is not None:
            self._span.set_attribute("http.response.status_code", status)
            self._span.end()
        line = {
            "request_id": self._id,
            "method": self._method,
            "path": self._path,
            "status": status,
            "ms": round(seconds * 1000, 1),
            "owner": hashlib.sha256(owner.encode()).hexdigest()[:OWNER_DIGITS]
            if owner
            else "",
        }
        request_log.info(
            (
                "%(method)s %(path)r %(status)d in %(ms)s ms, request %(request_id)s "
                "of [%(owner)s]"
            ),
            line,
        )

    @contextmanager
    def question(self) -> Iterator[Callable[[object], None]]:
        """Count a question with its answer or failure; the function it gives takes each
        event, and traces the steps.
        """
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


def count_answer(answer: Answer) -> None:
    trace, usage = answer.trace, answer.trace.usage
    ANSWERS.labels(trace.mode, "answered" if answer.answered else "abstained").inc()
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


@monitoring.get(
    "/health",
    need="nothing",
    returns=answer_type("Health", status=Literal["ok"]),
    is_counted=False,
)
def check_health() -> Json:
    """Check that the process lives; nothing else is checked."""
    return {"status": "ok"}


class Dependency(TypedDict):
    name: str
    ok: bool
    detail: str


READINESS = answer_type(
    "Readiness",
    ready=bool,
    full=bool,
    dependencies=NotRequired[list[Dependency]],
    sample_data=answer_type("SampleState", ready=int, total=int),
    ingesting=bool,
)


@monitoring.get(
    "/ready", need="nothing", returns=READINESS, also={503: READINESS}, is_counted=False
)
def check_readiness() -> Response:
    """Check that every dependency works and a question can be answered, whether the
    database has no space left, and how many sample reports are loaded. Administrators
    see each dependency.
    """
    product, storage, loading = services(), services().storage, samples()

    dependencies = [
        _ping("database", storage.database.ping),
        _ping(
            "embedder",
            lambda: (
                f"{(one := product.runtime.embedder).model_id}, {one.dimensions} "
                "dimensions"
            ),
        ),
        # Built here, with why it was chosen: a store that cannot be built is a finding,
        # not a crash.
        _ping(
            "vector_search",
            lambda: f"{product.runtime.store.ping()} ({storage.engine.detail})",
        ),
        _ping("chat_model", lambda: product.models.chat.model_id),
    ]
    records: list[DocumentRecord] = []
    if dependencies[0]["ok"]:
        every = product.readers.everything().documents.all()
        records = [record for record in every if record.sample]
    if loading is not None and loading.error:
        dependencies.append(
            {"name": "sample_data", "ok": False, "detail": loading.error}
        )
    # Before all samples can be searched, questions get a 503.
    ingesting = loading is not None and loading.running
    waiting = ingesting and (
        not records or any(record.status == "pending" for record in records)
    )
    ok = not waiting and all(dependency["ok"] for dependency in dependencies)
    full = False
    if dependencies[0]["ok"]:  # a full disk stops uploads, not answers
        try:
            detail = storage.files.describe_space()
            dependencies.append({"name": "disk", "ok": True, "detail": detail})
        except DatabaseError as error:
            full = error.reason == FULL
            dependencies.append({"name": "disk", "ok": False, "detail": error.message})
    from .callers import caller

    shown: dict[str, list[Dependency]] = {}
    with suppress(ChatbotError):  # the key is unknown, or the database does not answer
        if caller().may("admin") and not caller().limit:
            shown = {"dependencies": dependencies}
    total = max(len(records), loading.total if loading is not None else 0)
    loaded = {
        "ready": sum(record.status == "ready" for record in records),
        "total": total,
    }
    body = {
        "ready": ok,
        "full": full,
        **shown,
        "sample_data": loaded,
        "ingesting": ingesting,
    }
    return make_response(jsonify(body), 200 if ok else 503)


# The names that Kubernetes' own components use.
for _path, _view in (("/livez", check_health), ("/readyz", check_readiness)):
    monitoring.add_url_rule(_path, _path[1:], PAGE(_view))


def _ping(name: str, ask: Callable[[], str]) -> Dependency:
    try:
        return {"name": name, "ok": True, "detail": ask()}
    except ChatbotError as error:
        return {"name": name, "ok": False, "detail": error.message}
