"""Metrics for Prometheus, of all processes and of the database."""

from collections import Counter as Tally
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from flask import Response
from prometheus_client import REGISTRY, CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector
from prometheus_client.values import MutexValue, ValueClass

from ...app.services.storage import Storage
from ...app.web.access import require_everything
from ...app.web.routes import Views, services
from ...domain import Scope
from ...domain.costs import DayUsage, Sums
from ...domain.errors import DependencyError
from .observing import calls_by_result

metrics = Views("metrics", __name__)
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class DatabaseMetrics(Collector):
    """Metrics that are read from the database, the same in all processes."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def collect(self) -> Iterator[Metric]:
        """Yield all gauges; while the database does not answer, only that it is
        down.
        """
        try:
            gauges = list(self._gauges())
        except DependencyError:
            gauges = []
        yield _gauge(
            "database_up", "Whether the database answers.", {"": float(bool(gauges))}
        )
        yield from gauges

    def _gauges(self) -> Iterator[Metric]:
        held = self._storage.documents.holdings(Scope())
        unready = self._storage.documents.unready()
        by_status: dict[str, float] = {
            "ready": held.ready,
            **Tally(record.status for record in unready),
        }
        yield _gauge("documents", "Reports by status.", by_status, "status")
        yield _gauge("passages", "Passages of all reports.", {"": held.chunks})
        changed = [
            record.updated_at
            for record in unready
            if record.status in {"pending", "deleting"}
        ]
        ages = [
            (datetime.now(UTC) - datetime.fromisoformat(at)).total_seconds()
            for at in changed
            if at
        ]
        meaning = "How long the oldest report has waited to be searchable, or gone."
        yield _gauge("index_lag_seconds", meaning, {"": max([0.0, *ages])})
        yield _gauge(
            "ingestion_files",
            "Files to be read.",
            {"": len(self._storage.ingestions.unfinished())},
        )
        day = next(iter(self._storage.usage.days(1)), DayUsage("", 0, Sums(), ()))
        sums = day.sums
        yield _gauge(
            "tokens_today", "Tokens used since midnight UTC.", {"": day.metered_tokens}
        )
        yield _gauge(
            "questions_today", "Questions since midnight UTC.", {"": sums.questions}
        )
        yield _gauge(
            "model_calls_today",
            "Calls of the chat model for questions.",
            calls_by_result(sums.usage),
            "result",
        )
        yield _gauge(
            "cost_today", "Cost of questions, by MODEL_PRICES.", {"": sums.cost}
        )
        yield _gauge(
            "unpriced_tokens_today",
            "Tokens that no price is known of.",
            {"": sums.unpriced_tokens},
        )


def _gauge(name: str, text: str, values: Mapping[str, float], *labels: str) -> Metric:
    gauge = GaugeMetricFamily(f"report_chat_{name}", text, labels=labels)
    for label, value in values.items():
        gauge.add_metric([label] * len(labels), value)
    return gauge


@metrics.get("/metrics", need="admin", is_documented=False)
def get_metrics() -> Response:
    """Get the metrics of all processes and of the database in Prometheus' text
    format.
    """
    require_everything()
    database = CollectorRegistry()
    database.register(DatabaseMetrics(services().storage))
    counted: CollectorRegistry = REGISTRY
    if ValueClass is not MutexValue:
        counted = CollectorRegistry()
        MultiProcessCollector(counted)  # type: ignore[no-untyped-call]
    return Response(
        generate_latest(counted) + generate_latest(database), content_type=CONTENT_TYPE
    )
