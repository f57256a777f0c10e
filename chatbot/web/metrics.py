"""`/metrics` in Prometheus' text format. Counters are this process's own; gauges are the database's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from flask import Blueprint, Response

from ..schema.sums import DayUsage, Sums
from ..services import Services
from .uploads import services

metrics = Blueprint("metrics", __name__)
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
NOTHING = DayUsage("", 0, Sums(), ())


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
    yield from _today(next(iter(found.usage.days(1)), NOTHING))


def _today(day: DayUsage) -> Iterator[str]:
    """Since midnight UTC, of all processes."""
    sums, usage = day.sums, day.sums.usage
    calls = {"ok": usage.calls - usage.failed_calls, "failed": usage.failed_calls, "cached": usage.cached_calls}
    kinds = {"prompt": usage.prompt_tokens, "completion": usage.completion_tokens, "embedding": usage.embedding_tokens}
    yield from _metric("report_chat_tokens_today", "gauge", "Tokens used since midnight UTC.", {"": day.metered_tokens})
    yield from _metric("report_chat_questions_today", "gauge", "Questions since midnight UTC.", {"": sums.questions})
    labelled = {f'{{result="{result}"}}': count for result, count in calls.items()}
    yield from _metric("report_chat_model_calls_today", "gauge", "Calls of the chat model for questions.", labelled)
    labelled = {f'{{kind="{kind}"}}': count for kind, count in kinds.items()}
    yield from _metric("report_chat_question_tokens_today", "gauge", "Tokens used for questions.", labelled)
    yield from _metric("report_chat_cost_today", "gauge", "Cost of questions, by MODEL_PRICES.", {"": sums.cost})
    unpriced = {"": sums.unpriced_tokens}
    yield from _metric("report_chat_unpriced_tokens_today", "gauge", "Tokens that no price is known of.", unpriced)


def _cache(found: Services, which: str) -> dict[str, int]:
    return {f'{{level="{level}"}}': counts[which] for level, counts in found.cache.statistics().items()}


def _metric(name: str, kind: str, text: str, values: Mapping[str, float]) -> Iterator[str]:
    yield f"# HELP {name} {text}"
    yield f"# TYPE {name} {kind}"
    for labels, value in values.items():
        yield f"{name}{labels} {value}"
