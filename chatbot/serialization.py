"""Tables for spreadsheets, and the JSON of batches."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .errors import ChatbotError
from .schema.jobs import ENDED, Batch

Json = dict[str, Any]
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""Prefixes that spreadsheets read as formulas."""


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
