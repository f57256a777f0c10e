"""The registered reports: the list, the facets, and which of them are still being indexed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from ..database import Database, Json
from ..schema import DocumentRecord, Scope, Value
from .older_reports import OlderReports


class DocumentRepository:
    """Collection `documents`. Small enough to be read whole: filtering happens here, in one place.

    ``older`` are the reports of older systems, which are in the chunk collections only.
    """

    def __init__(self, database: Database, filter_fields: Iterable[str], older: OlderReports | None = None) -> None:
        self._documents = database["documents"]
        self._fields = tuple(filter_fields)
        self._older = older

    def all(self, scope: Scope | None = None) -> list[DocumentRecord]:
        """Reports in the scope, by title."""
        records = self._older.records() if self._older else {}
        records = {**records, **{found["_id"]: _from_json(found) for found in self._documents.find()}}
        kept = (record for record in records.values() if scope is None or scope.matches(self.filter_values(record)))
        return sorted(kept, key=lambda record: (record.title, record.id))

    def get(self, document_id: str) -> DocumentRecord | None:
        if found := self._documents.find_one({"_id": document_id}):
            return _from_json(found)
        return self._older.records().get(document_id) if self._older else None

    def put(self, record: DocumentRecord) -> None:
        """Register, or replace what is registered; stamps the time."""
        stamped = replace(record, updated_at=datetime.now(UTC).isoformat(timespec="seconds"))
        self._documents.replace_many([_to_json(stamped)])

    def delete(self, document_id: str) -> bool:
        return self._documents.delete_many({"_id": document_id}) > 0

    def filter_values(self, record: DocumentRecord) -> dict[str, Value]:
        """What a scope sees of a report: its metadata and its name."""
        return {**record.metadata, "document_name": record.name}

    def facets(self, scope: Scope) -> dict[str, Any]:
        """Values with report counts, each field counted under the rest of the scope; and the scope's totals."""
        records = self.all()
        facets: dict[str, Any] = {}
        for field in self._fields:
            rest = scope.without(field)
            counts: dict[Value, int] = {}
            for record in records:
                values = self.filter_values(record)
                value = values.get(field)
                if value is not None and rest.matches(values):
                    counts[value] = counts.get(value, 0) + 1
            facets[field] = [
                {"value": value, "documents": count}
                for value, count in sorted(counts.items(), key=lambda kv: str(kv[0]))
            ]
        inside = [record for record in records if scope.matches(self.filter_values(record))]
        return {**facets, "documents": len(inside), "chunks": sum(record.chunks for record in inside)}

    def values(self, field: str) -> list[Value]:
        """Every value the data has for a filter field, sorted."""
        found = {self.filter_values(record).get(field) for record in self.all()}
        return sorted((value for value in found if value is not None), key=str)


def _to_json(record: DocumentRecord) -> Json:
    return {
        "_id": record.id,
        "name": record.name,
        "title": record.title,
        "source": record.source,
        "collection": record.collection,
        "status": record.status,
        "version": record.version,
        "metadata": dict(record.metadata),
        "chunks": record.chunks,
        "pages": record.pages,
        "updated_at": record.updated_at,
        "error": record.error,
        "sample": record.sample,
        "replacing": record.replacing,
    }


def _from_json(found: Mapping[str, Any]) -> DocumentRecord:
    fields = {name: found[name] for name in DocumentRecord.__slots__ if name in found}
    return DocumentRecord(id=found["_id"], **fields)
