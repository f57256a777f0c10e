"""Traces: a span for each request, its steps below it, under the caller's; off by
default.
"""

import sys

import pytest
from flask import Flask
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from chatbot.app.services import build
from chatbot.config.settings import Settings
from chatbot.domain.errors import MissingPackageError
from chatbot.extras.operator.observing import CountsAndTraces, tracer_provider
from tests.app.web.conftest import QUESTION

CALLER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def exported(app: Flask) -> InMemorySpanExporter:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    app.extensions["observer"] = CountsAndTraces(provider)
    return exporter


@pytest.mark.parametrize("path", ["/query", "/api/chat"])
@pytest.mark.usefixtures("kenya")
def test_the_steps_stand_below_the_request_and_that_below_its_caller(
    app: Flask, exported, path: str
) -> None:
    with app.test_client().post(
        path, json={"query": QUESTION}, headers={"traceparent": CALLER}
    ) as response:
        assert response.status_code == 200
        response.get_data()
    spans = {span.name: span for span in exported.get_finished_spans()}
    whole = spans.pop(f"POST {path}")
    assert set(spans) == {"mode", "search", "generate"}
    assert f"{whole.context.trace_id:032x}" == CALLER.split("-")[1]
    assert whole.attributes["http.response.status_code"] == 200
    assert whole.attributes["request_id"] == response.headers["X-Request-ID"]
    for step in spans.values():
        assert step.parent.span_id == whole.context.span_id
        assert whole.start_time <= step.start_time <= step.end_time <= whole.end_time
        assert QUESTION not in str(dict(step.attributes))


def test_they_are_off_by_default_and_named_where_they_are_not(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tracer_provider(settings) is None
    monkeypatch.setenv("OTEL_SERVICE_NAME", "reports-of-acme")
    found = tracer_provider(settings.override(traces="otlp"))
    assert found is not None
    assert found.resource.attributes["service.name"] == "reports-of-acme"
    found.shutdown()


def test_a_package_that_is_missing_is_found_by_the_doctor(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with build(settings.override(traces="otlp")) as services:
        (problem,) = services.problems()
    assert isinstance(problem, MissingPackageError)
    assert "tracing" in problem.remedy
