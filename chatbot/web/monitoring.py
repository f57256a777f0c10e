"""Whether the server lives and can answer, and what its answers took: for people, orchestrators and Prometheus."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from flask import Blueprint, Response, jsonify, make_response

from ..errors import ChatbotError
from ..schema.costs import DayUsage, Sums, days_json
from .request import query_number
from .services import samples, services

if TYPE_CHECKING:
    from ..services import Services

monitoring = Blueprint("monitoring", __name__)
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
"""Prometheus' text format. Counters are this process's own; gauges are the database's."""
NOTHING = DayUsage("", 0, Sums(), ())
DEFAULT_DAYS, MOST_DAYS = 30, 366


@monitoring.get("/health")
def alive() -> Response:
    """200 while the process lives; asks nothing of anybody."""
    return jsonify({"status": "ok"})


@monitoring.get("/ready")
def ready() -> Response:
    """200 when every dependency works, else 503; says how far the sample reports are."""
    found, loading = services(), samples()
    dependencies = [
        _ping("database", found.storage.database.ping),
        _ping(
            "embedder",
            lambda: f"{found.vectors.embedder.model_id}, {found.vectors.embedder.dimensions} dimensions",
        ),
        # Built here, with why it was chosen: a store that cannot be built is a finding, not a crash.
        _ping("vector_search", lambda: f"{found.vectors.store.ping()} ({found.storage.engine.detail})"),
        _ping("chat_model", lambda: found.models.chat_model.model_id),
    ]
    records = [record for record in found.storage.documents.all() if record.sample] if dependencies[0]["ok"] else []
    if loading is not None and loading.error:
        dependencies.append({"name": "sample_data", "ok": False, "detail": loading.error})
    ok = all(dependency["ok"] for dependency in dependencies)
    body = {
        "ready": ok,
        "dependencies": dependencies,
        "sample_data": {
            "ready": sum(record.status == "ready" for record in records),
            "total": max(len(records), loading.total if loading is not None else 0),
        },
        "ingesting": loading is not None and loading.running,
    }
    return make_response(jsonify(body), 200 if ok else 503)


@monitoring.get("/api/usage")
def usage() -> Response:
    """By day (UTC), newest first, and in all; days on which nothing was used are left out."""
    days = query_number("days", DEFAULT_DAYS, least=1, most=MOST_DAYS)
    return jsonify(days_json(services().storage.usage.days(days)))


@monitoring.get("/metrics")
def metrics() -> Response:
    """What the process and the database count, each with its HELP and TYPE."""
    return Response("".join(f"{line}\n" for line in _lines(services())), content_type=CONTENT_TYPE)


def _ping(name: str, ask: Callable[[], str]) -> dict[str, Any]:
    try:
        return {"name": name, "ok": True, "detail": ask()}
    except ChatbotError as error:
        return {"name": name, "ok": False, "detail": error.message}


def _lines(found: Services) -> Iterator[str]:
    yield from _metric("report_chat_cache_hits_total", "counter", "Values found in the cache.", _cache(found, "hits"))
    yield from _metric("report_chat_cache_misses_total", "counter", "Values not found.", _cache(found, "misses"))
    records = found.storage.documents.all()
    by_status = {status: sum(r.status == status for r in records) for status in sorted({r.status for r in records})}
    labelled = {f'{{status="{status}"}}': count for status, count in by_status.items()}
    yield from _metric("report_chat_documents", "gauge", "Reports by status.", labelled)
    passages = {"": sum(record.chunks for record in records)}
    yield from _metric("report_chat_passages", "gauge", "Passages of all reports.", passages)
    yield from _metric(
        "report_chat_ingestion_files", "gauge", "Files to be read.", {"": found.storage.ingestions.active()}
    )
    yield from _today(next(iter(found.storage.usage.days(1)), NOTHING))


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
    return {f'{{level="{level}"}}': counts[which] for level, counts in found.storage.cache.statistics().items()}


def _metric(name: str, kind: str, text: str, values: Mapping[str, float]) -> Iterator[str]:
    yield f"# HELP {name} {text}"
    yield f"# TYPE {name} {kind}"
    for labels, value in values.items():
        yield f"{name}{labels} {value}"
