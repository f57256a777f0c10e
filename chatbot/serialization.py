"""Schema objects as the JSON of the HTTP contract; `ask --json` prints the same."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from .errors import ChatbotError
from .ingestion.originals import shown_source
from .schema import (
    Aggregation,
    Citation,
    Condition,
    DocumentRecord,
    LedgerRow,
    Question,
    ScopeSummary,
    SearchHit,
    StepEvent,
    Trace,
    Values,
)
from .schema.figures import ReportedFigure
from .schema.jobs import ENDED, Batch, Ingestion

if TYPE_CHECKING:
    from .conversation.service import Saved
    from .retrieval.pipeline import Retrieval
    from .retrieval.scope import KnowledgeCollection

Json = dict[str, Any]

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""A cell that begins so is none of ours."""


def source_json(hit: SearchHit) -> Json:
    """What a hit and a citation have in common: where the passage stands."""
    chunk = hit.chunk
    return {
        "chunk_id": chunk.id,
        "document_id": chunk.document_id,
        "document_name": chunk.document_name,
        "title": chunk.title,
        "country_name": chunk.metadata.get("country_name"),
        "year": chunk.metadata.get("year"),
        "page": chunk.page,
        "section": chunk.section,
    }


def hit_json(hit: SearchHit) -> Json:
    """A passage that was found, with its scores; what a search did not score is null."""
    return {
        "rank": hit.rank,
        **source_json(hit),
        "text": hit.chunk.text,
        "score": hit.score,
        "keyword_score": hit.keyword_score,
        "fused_score": hit.fused_score,
        "found_by": list(hit.found_by),
    }


def citation_json(citation: Citation) -> Json:
    """A source that the answer cites by its number."""
    return {
        "number": citation.number,
        **source_json(citation.hit),
        "section": citation.section,
        "snippet": citation.snippet,
        "score": citation.hit.score,
        "supported": citation.supported,
    }


def figure_json(figure: ReportedFigure) -> Json:
    """A figure as data; whole values stay whole."""
    value = figure.value
    return {**asdict(figure), "value": int(value) if value == value.to_integral_value() else float(value)}


def scope_json(scope: ScopeSummary) -> Json:
    """``collections`` and ``page`` only where the question named them, ``from_question`` where something is from it.

    Sent back as filters they are chosen: what has none of their fields is out then.
    """
    shown: Json = {"filters": scope.scope.to_json(), "documents": scope.documents, "chunks": scope.chunks}
    if scope.scope.collections:
        shown["collections"] = list(scope.scope.collections)
    if scope.from_question:
        shown["from_question"] = scope.from_question.to_json()
    return shown if scope.page is None else {**shown, "page": scope.page}


def years_json(years: Iterable[Condition]) -> list[Any]:
    """A year as a number, several as ``{"gte", "lte"}``."""
    return [one for some in years for one in (some.values if isinstance(some, Values) else [some.to_json()])]


def collection_json(collection: KnowledgeCollection, holds: ScopeSummary) -> Json:
    """A knowledge collection and how much is in it."""
    return {**asdict(collection), "documents": holds.documents, "chunks": holds.chunks}


def step_json(step: StepEvent) -> Json:
    """The `step` event, and an entry of the path in the trace."""
    return {
        "name": step.name,
        "detail": step.detail,
        "items": list(step.items),
        "sources": [source_json(hit) for hit in step.hits],
        "failed": step.failed,
    }


def ledger_json(row: LedgerRow) -> Json:
    """The sums of one stage; ``cost`` is null without a price."""
    return {"stage": row.stage, "runs": row.runs, "ms": row.ms, **row.usage.to_json(), "cost": row.cost}


def trace_json(trace: Trace) -> Json:
    """How an answer came about; ``threshold`` is null where none was applied."""
    return {
        "mode": trace.mode,
        "retrieval_method": trace.retrieval_method,
        "query": trace.query,
        "understood": {
            "countries": list(trace.understood.countries),
            "figure_years": years_json(trace.understood.figure_years),
            "editions": years_json(trace.understood.editions),
        },
        "pipeline": None if trace.pipeline is None else [_aggregation_json(one) for one in trace.pipeline],
        "threshold": asdict(trace.threshold) if trace.threshold else None,
        "hits": [hit_json(hit) for hit in trace.hits],
        "steps": [{"name": step.name, "ms": step.ms} for step in trace.steps],
        "usage": trace.usage.to_json(),
        "cached": trace.cached,
        "caches": dict(trace.caches),
        "truncated": trace.truncated,
        "closest_only": trace.closest_only,
        "stopped_by": trace.stopped_by,
        "path": [step_json(step) for step in trace.path],
        "ledger": [ledger_json(row) for row in trace.ledger],
        "cost": trace.cost,
    }


def _aggregation_json(sent: Aggregation) -> Json:
    return {"collection": sent.collection, "pipeline": json.loads(sent.stages)}


def answer_json(saved: Saved) -> Json:
    """The `/query` response."""
    answer = saved.event.answer
    return {
        "response": answer.response,
        "sources": list(dict.fromkeys(citation.hit.chunk.document_name for citation in answer.citations)),
        "answered": answer.answered,
        "citations": [citation_json(citation) for citation in answer.citations],
        "figures": [figure_json(figure) for figure in answer.figures],
        "unsupported": [asdict(sentence) for sentence in answer.unsupported],
        "marks": [asdict(mark) for mark in answer.marks],
        "scope": scope_json(answer.scope),
        "suggested_scope": scope_json(answer.suggested_scope) if answer.suggested_scope else None,
        "trace": trace_json(answer.trace),
        "conversation_id": saved.conversation_id,
        "message_id": saved.message_id,
        "conversation_usage": saved.conversation_usage.to_json(),
    }


def search_json(question: Question, retrieval: Retrieval, scope: ScopeSummary) -> Json:
    """The `/api/search` response."""
    method = question.retrieval_method
    trace = Trace(
        "search",
        method,
        question.query,
        threshold=retrieval.threshold,
        steps=retrieval.steps,
        pipeline=retrieval.pipeline,
    )
    shown = {name: value for name, value in trace_json(trace).items() if name != "hits"}
    return {"hits": [hit_json(hit) for hit in retrieval.hits], "scope": scope_json(scope), "trace": shown}


def document_json(record: DocumentRecord, *, has_file: bool, can_reingest: bool, may_change: bool) -> Json:
    """A report as the knowledge base shows it."""
    return {
        **report_json(record),
        "source": shown_source(record.source),
        "collection": record.collection,
        "labels": list(record.labels),
        "description": record.description,
        "error": record.error,
        "sample": record.sample,
        "parts": sum(part.metadata != record.metadata for part in record.several) or 1,
        "has_file": has_file,
        "can_reingest": can_reingest,
        "may_change": may_change,
        "chunking": asdict(record.chunking) if record.chunking else None,
    }


def ingestion_json(job: Ingestion) -> Json:
    """A background job with the state of each of its files."""
    shown = ("name", "state", "outcome", "error", "detail", "chunks", "done_chunks", "document_id")
    return {
        "ingestion_id": job.id,
        "state": job.state,
        "created_at": job.created_at,
        "progress": job.progress,
        "files": [{name: getattr(file, name) for name in shown} for file in job.files],
    }


def report_json(record: DocumentRecord) -> Json:
    """A report as `/api/reports` lists it."""
    return {
        "document_id": record.id,
        "document_name": record.name,
        "title": record.title,
        "country_name": record.metadata.get("country_name"),
        "year": record.metadata.get("year"),
        "type": record.metadata.get("type"),
        "pages": record.pages,
        "chunks": record.chunks,
        "status": record.status,
        "updated_at": record.updated_at,
    }


def csv_text(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> str:
    """A table for spreadsheets, which would take a text that begins like a formula for one."""
    written = io.StringIO()
    writer = csv.writer(written)
    writer.writerow(columns)
    writer.writerows([_cell(row.get(column)) for column in columns] for row in rows)
    return written.getvalue()


def _cell(value: Any) -> Any:
    """A value for a cell: None is empty, and a text that a spreadsheet would take for a formula gets a quote in
    front.
    """
    if value is None:
        return ""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def batch_json(batch: Batch) -> Json:
    """A batch, and how far it is."""
    counts = {state: batch.counts.get(state, 0) for state in ("queued", "running", *ENDED)}
    return {
        "batch_id": batch.id,
        "state": batch.state,
        "created_at": batch.created_at,
        "detail": batch.detail,
        "total": batch.total,
        "progress": round(batch.ended / batch.total, 4) if batch.total else 1.0,
        "questions": counts,
    }


def error_json(error: ChatbotError) -> Json:
    """The error of a question that could not be answered."""
    return {"code": error.code, "message": error.message}


def answer_row(
    number: int, asked: Mapping[str, Any], answer: Json | None, error: Json | None, fields: Sequence[str]
) -> Json:
    """An answer as a line of a table: the question, its scope by field, the words, and where each passage stands."""
    filters = asked.get("filters") or {}
    row: Json = {"number": number, "question": asked["query"]}
    row |= {field: _listed(filters[field]) for field in fields if field in filters}
    row["error"] = error["message"] if error else None
    if answer:
        places = [_place(citation) for citation in answer["citations"]]
        row |= {"response": answer["response"], "answered": "yes" if answer["answered"] else "no"}
        row |= {"citations": "\n".join(places), "unsupported": len(answer["unsupported"])}
    return row


def _listed(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{value.get('gte', '')}-{value.get('lte', '')}"
    return "; ".join(map(str, value if isinstance(value, list | tuple) else [value]))


def _place(citation: Json) -> str:
    page = f", page {citation['page']}" if citation["page"] else ""
    return f"[{citation['number']}] {citation['title'] or citation['document_name']}{page}"
