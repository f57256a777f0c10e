"""`/metrics` in Prometheus' text format. Counters are this process's own; gauges are the database's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from flask import Blueprint, Response

from ..services import Services
from .uploads import services

metrics = Blueprint("metrics", __name__)
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@metrics.get("/metrics")
def show() -> Response:
    return Response("".join(f"{line}\n" for line in _lines(services())), content_type=CONTENT_TYPE)


def _lines(found: Services) -> Iterator[str]:
    yield from _metric("report_chat_cache_hits_total", "counter", "Values found in the cache.", _cache(found, "hits"))
    yield from _metric("report_chat_cache_misses_total", "counter", "Values not found.", _cache(found, "misses"))
    records = found.documents.all()
    by_status = {status: sum(r.status == status for r in records) for status in sorted({r.status for r in records})}
    labelled = {f'{{status="{status}"}}': count for status, count in by_status.items()}
    yield from _metric("report_chat_documents", "gauge", "Reports by status.", labelled)
    passages = {"": sum(record.chunks for record in records)}
    yield from _metric("report_chat_passages", "gauge", "Passages of all reports.", passages)
    yield from _metric("report_chat_ingestion_files", "gauge", "Files to be read.", {"": found.ingestions.active()})
    yield from _metric(
        "report_chat_tokens_today", "gauge", "Tokens used since midnight UTC.", {"": found.usage.today()}
    )


def _cache(found: Services, which: str) -> dict[str, int]:
    return {f'{{level="{level}"}}': counts[which] for level, counts in found.cache.statistics().items()}


def _metric(name: str, kind: str, text: str, values: Mapping[str, int]) -> Iterator[str]:
    yield f"# HELP {name} {text}"
    yield f"# TYPE {name} {kind}"
    for labels, value in values.items():
        yield f"{name}{labels} {value}"
