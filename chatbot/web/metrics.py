"""What Prometheus is told: counted at the two borders where everything passes, each request and each finished answer.

Counters and histograms are those of all worker processes where PROMETHEUS_MULTIPROC_DIR is set (gunicorn.conf.py does
that), and gauges of the database are read when they are asked for, so any worker can be asked.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterator, Mapping
from dataclasses import fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector
from prometheus_client.values import MutexValue, ValueClass

from ..errors import DependencyError
from ..schema import Answer, Scope, Unsupported
from ..schema.costs import DayUsage, Sums, Usage

if TYPE_CHECKING:
    from ..services import Services

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
QUICK = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 180)
REQUESTS = Counter("report_chat_requests", "Requests that have ended.", ("method", "route", "status"))
SECONDS = Histogram("report_chat_request_seconds", "From a request to its response's end.", ("route",), buckets=QUICK)
OPEN = Gauge("report_chat_questions_open", "Questions under way or streaming.", multiprocess_mode="livesum")
WAITING = Gauge("report_chat_questions_waiting", "Questions that wait for their turn.", multiprocess_mode="livesum")
ANSWERS = Counter("report_chat_answers", "Finished answers.", ("mode", "outcome"))
FAILURES = Counter("report_chat_question_failures", "Questions that ended in an error.", ("code",))
STAGES = Histogram("report_chat_stage_seconds", "Steps of answers.", ("stage",), buckets=QUICK)
TOKENS = Counter("report_chat_tokens", "Tokens used for answers.", ("kind",))
CALLS = Counter("report_chat_model_calls", "Calls of the chat model for answers.", ("result",))
CACHE = {
    "hit": Counter("report_chat_cache_hits", "Values found in the cache.", ("level",)),
    "miss": Counter("report_chat_cache_misses", "Values not found.", ("level",)),
}
RELAXED = Counter("report_chat_threshold_relaxations", "Answers whose threshold had to be lowered.")
MARKS = Counter("report_chat_unsupported_marks", "Marks in answers at what the passages do not have.", ("kind",))
NOTHING = DayUsage("", 0, Sums(), ())


def count_answer(answer: Answer) -> None:
    """All that a finished answer tells of itself."""
    trace, usage = answer.trace, answer.trace.usage
    ANSWERS.labels(trace.mode, "answered" if answer.answered else "abstained").inc()
    for step in trace.steps:
        STAGES.labels(step.name).observe(step.ms / 1000)
    for kind in ("prompt", "completion", "embedding"):
        TOKENS.labels(kind).inc(getattr(usage, f"{kind}_tokens"))
    for result, count in _calls(usage).items():
        CALLS.labels(result).inc(count)
    for lookup, count in trace.caches.items():
        level, result = lookup.split()
        CACHE[result].labels(level).inc(count)
    RELAXED.inc(trace.threshold is not None and trace.threshold.relaxed)
    for kind, count in _marks(answer.unsupported).items():
        MARKS.labels(kind).inc(count)


def exposition(services: Services) -> bytes:
    """The whole of `/metrics`."""
    database = CollectorRegistry()
    database.register(_Database(services))
    counted: CollectorRegistry = REGISTRY
    if ValueClass is not MutexValue:
        counted = CollectorRegistry()
        MultiProcessCollector(counted)  # type: ignore[no-untyped-call]
    return generate_latest(counted) + generate_latest(database)


def _calls(usage: Usage) -> dict[str, int]:
    """The chat model's, by result."""
    return {"ok": usage.calls - usage.failed_calls, "failed": usage.failed_calls, "cached": usage.cached_calls}


def _marks(found: tuple[Unsupported, ...]) -> Tally[str]:
    kinds = [each.name for each in fields(Unsupported) if each.name not in {"sentence", "numbers"}]
    return Tally(kind for mark in found for kind in kinds if getattr(mark, kind))


class _Database(Collector):
    """Of all processes, as the database has it."""

    def __init__(self, services: Services) -> None:
        self._storage = services.storage

    def collect(self) -> Iterator[Metric]:
        """While it does not answer, that alone: what the processes count is looked at most just then."""
        try:
            found = list(self._gauges())
        except DependencyError:
            found = []
        yield _gauge("database_up", "Whether the database answers.", {"": float(bool(found))})
        yield from found

    def _gauges(self) -> Iterator[Metric]:
        held, unready = self._storage.documents.holdings(Scope()), self._storage.documents.unready()
        by_status: dict[str, float] = {"ready": held.ready, **Tally(record.status for record in unready)}
        yield _gauge("documents", "Reports by status.", by_status, "status")
        yield _gauge("passages", "Passages of all reports.", {"": held.chunks})
        coming = [_age(record.updated_at) for record in unready if record.status in {"pending", "deleting"}]
        text = "How long the oldest report has waited to be searchable, or gone."
        yield _gauge("index_lag_seconds", text, {"": max(coming, default=0.0)})
        yield _gauge("ingestion_files", "Files to be read.", {"": self._storage.ingestions.active()})
        day = next(iter(self._storage.usage.days(1)), NOTHING)
        sums = day.sums
        yield _gauge("tokens_today", "Tokens used since midnight UTC.", {"": day.metered_tokens})
        yield _gauge("questions_today", "Questions since midnight UTC.", {"": sums.questions})
        yield _gauge("model_calls_today", "Calls of the chat model for questions.", _calls(sums.usage), "result")
        yield _gauge("cost_today", "Cost of questions, by MODEL_PRICES.", {"": sums.cost})
        yield _gauge("unpriced_tokens_today", "Tokens that no price is known of.", {"": sums.unpriced_tokens})


def _gauge(name: str, text: str, values: Mapping[str, float], *labels: str) -> Metric:
    found = GaugeMetricFamily(f"report_chat_{name}", text, labels=labels)
    for label, value in values.items():
        found.add_metric([label] * len(labels), value)
    return found


def _age(at: str) -> float:
    """Seconds since a record's time."""
    return max(0.0, (datetime.now(UTC) - datetime.fromisoformat(at)).total_seconds()) if at else 0.0
