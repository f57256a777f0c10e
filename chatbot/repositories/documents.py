"""The reports: the registered ones, and those of an older system, whose rows no registration speaks of."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any

from ..database.core import Database
from ..database.rows import KEY_FIELDS, UNREGISTERED, document_id_of, row_metadata
from ..schema import Chunking, DocumentRecord, Part, Scope, Value
from .corpus import CatalogClock, CorpusChanges

Records = dict[str, DocumentRecord]
_NONE: Records = {}


class DocumentRepository:
    """Collection `documents`. Small enough to be kept whole until it changes: filtering happens here, in one place.

    Thread-safe. ``older`` are the reports of older systems, which are in the chunk collections only.
    """

    def __init__(self, database: Database, filter_fields: Iterable[str], older: OlderReports | None = None) -> None:
        self._documents = database["documents"]
        self._clock = CatalogClock(database)
        self._read: tuple[int, Records] = (-1, {})
        self._fields = tuple(filter_fields)
        self._older = older
        self._known: tuple[Records, Records, dict[str, list[Value]]] = (_NONE, _NONE, {})
        """The values by field of these registered and older reports: asked for several times with each question."""

    def all(self, scope: Scope | None = None) -> list[DocumentRecord]:
        """Reports in the scope, by title."""
        records = {**self._older_records(), **self._registered()}
        kept = (record for record in records.values() if scope is None or self._inside(record, scope))
        return sorted(kept, key=lambda record: (record.title, record.id))

    def _registered(self) -> Records:
        position = self._clock.position()  # before the rows: what is written meanwhile is read the next time
        kept_position, records = self._read
        if position != kept_position:
            records = {found["_id"]: _from_json(found) for found in self._documents.find()}
            self._read = (position, records)
        return records

    def position(self) -> int:
        """Changes whenever a report does."""
        return self._clock.position()

    def get(self, document_id: str) -> DocumentRecord | None:
        """Also one of an older system; None for an unknown id."""
        found = self._documents.find_one({"_id": document_id})
        return _from_json(found) if found else self._older_records().get(document_id)

    def put(self, record: DocumentRecord) -> None:
        """Register, or replace what is registered; stamps the time."""
        stored = asdict(replace(record, updated_at=datetime.now(UTC).isoformat(timespec="seconds")))
        lists = {"labels": list(record.labels), "several": list(stored["several"])}
        self._documents.replace_many([{"_id": stored.pop("id"), **stored, **lists}])
        self._clock.tick()

    def delete(self, document_id: str) -> bool:
        """Whether it was registered; its passages are the store's."""
        deleted = self._documents.delete_many({"_id": document_id}) > 0
        self._clock.tick()
        return deleted

    def unsettled(self) -> dict[str, str]:
        """Reports that are being written or removed, with the version questions may see ("" = none)."""
        records = self._registered().values()
        return {r.id: r.visible_version for r in records if r.status != "ready" or r.replacing}

    def facets(self, scope: Scope) -> dict[str, Any]:
        """Values with report counts, each field counted under the rest of the scope; and the scope's totals."""
        records = self.all()
        facets: dict[str, Any] = {}
        for field in self._fields:
            rest = scope.without(field)
            counts = Counter(value for record in records for value in self._values(record, field, rest))
            facets[field] = [
                {"value": value, "documents": count}
                for value, count in sorted(counts.items(), key=lambda kv: str(kv[0]))
            ]
        inside = [record for record in records if self._inside(record, scope)]
        return {**facets, "documents": len(inside), "chunks": self.chunks_inside(inside, scope)}

    def chunks_inside(self, records: Iterable[DocumentRecord], scope: Scope) -> int:
        """Passages of these reports that the scope admits."""
        inside = (record for record in records if _held(record, scope))
        return sum(part.chunks for record in inside for part in record.parts if scope.matches(_seen(record, part)))

    def values(self, field: str) -> list[Value]:
        """Every value the data has for a filter field, sorted."""
        registered, older = self._registered(), self._older_records()
        of_registered, of_older, known = self._known
        if of_registered is not registered or of_older is not older:
            known = {}
            self._known = (registered, older, known)
        if field not in known:
            found = (self._values(record, field, Scope()) for record in (older | registered).values())
            known[field] = sorted(set().union(*found), key=str)
        return list(known[field])

    def _older_records(self) -> Records:
        return self._older.records() if self._older else _NONE

    def _inside(self, record: DocumentRecord, scope: Scope) -> bool:
        return _held(record, scope) and any(scope.matches(_seen(record, part)) for part in record.parts)

    def _values(self, record: DocumentRecord, field: str, scope: Scope) -> set[Value]:
        """The report's values of a field, of those parts that the scope admits."""
        if not _held(record, scope):
            return set()
        seen = (_seen(record, part) for part in record.parts)
        return {values[field] for values in seen if values.get(field) is not None and scope.matches(values)}


def _held(record: DocumentRecord, scope: Scope) -> bool:
    """Whether the scope's collections have the report. One in several is in any of them: nobody counted which."""
    return record.collection == SEVERAL or scope.holds(record.collection)


def _seen(record: DocumentRecord, part: Part) -> dict[str, Value]:
    """What a scope sees of a part: its metadata and the report's name."""
    return {**part.metadata, "document_name": record.name}


def _from_json(found: Mapping[str, Any]) -> DocumentRecord:
    fields = {name: found[name] for name in DocumentRecord.__slots__ if name in found}
    if chunking := fields.get("chunking"):
        fields["chunking"] = Chunking(**chunking)
    fields["labels"] = tuple(fields.get("labels") or ())
    fields["several"] = tuple(Part(**part) for part in fields.get("several") or ())
    return DocumentRecord(id=found["_id"], **fields)


NAMELESS = "Without a name"
SEVERAL = ""
"""The collection of a report whose rows are in more than one."""


class OlderReports:
    """Derived from the chunk collections, and kept until something in them changes. Thread-safe."""

    def __init__(self, database: Database, *, collections: Sequence[str], filter_fields: Sequence[str]) -> None:
        self._collections = [database[name] for name in dict.fromkeys(collections)]
        self._changes = CorpusChanges(database)
        self._fields = tuple(filter_fields)
        self._lock = threading.Lock()
        self._key: tuple[int, ...] | None = None
        self._records: Records = {}

    def records(self) -> Records:
        """By id; empty where every row belongs to a registered report."""
        key = (self._changes.position(), *(collection.write_marker() for collection in self._collections))
        with self._lock:
            if key != self._key:
                self._records = self._grouped()
                self._key = key
            return self._records

    def _grouped(self) -> Records:
        wanted = dict.fromkeys((*KEY_FIELDS, *self._fields), 1)
        examples: Records = {}
        counts = Counter[str]()
        for collection in self._collections:
            for row in collection.find(UNREGISTERED, wanted):
                document_id = document_id_of(row)
                counts[document_id] += 1
                known = examples.get(document_id)
                if known is not None and known.collection != collection.name:
                    examples[document_id] = replace(known, collection=SEVERAL)
                if known is None:
                    name = str(row.get("document_name") or NAMELESS)
                    examples[document_id] = DocumentRecord(
                        id=document_id,
                        name=name,
                        title=name,
                        source="",
                        collection=collection.name,
                        status="ready",
                        version="",
                        metadata=row_metadata(row, self._fields),
                    )
        return {id: replace(record, chunks=counts[id]) for id, record in examples.items()}
