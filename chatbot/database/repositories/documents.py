"""The reports: registered ones, and those of an older system, which exist as passages only."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from pydantic import TypeAdapter

from ...domain import DocumentRecord, Holdings, Scope, Value
from ..core import Database, Json
from ..rows import KEY_FIELDS, OLDER_PREFIX, UNREGISTERED, document_id_of, row_metadata
from .caches import cached, refresh
from .corpus import CATALOG, CorpusChanges
from .report_index import NAME, SEVERAL, ReportIndex

Records = Mapping[str, DocumentRecord]
RULES = ("country_name", "year", "type", NAME)
"""Fields that rules ask for, whichever fields a request may name."""
NAMELESS = "Without a name"
_NONE: Records = {}
_RECORD = TypeAdapter(DocumentRecord)


@dataclass(frozen=True, slots=True)
class _State:
    """The index, the position of the log at which it was read, and the reports of older systems in it."""

    index: ReportIndex
    position: int = -1
    older: Records = field(default_factory=dict)


class DocumentRepository:
    """Collection `documents`, with an index in memory for scopes and rules. Thread-safe.

    After a change by any process only the changed reports are read again. ``older`` are the reports of older systems,
    which are in the chunk collections only.
    """

    def __init__(self, database: Database, filter_fields: Iterable[str], older: OlderReports | None = None) -> None:
        self._database = database
        self._documents = database["documents"]
        self._log = CorpusChanges(database, CATALOG)
        self._fields = tuple(filter_fields)
        self._older = older
        self._state = _State(ReportIndex())

    def all(self, scope: Scope | None = None) -> list[DocumentRecord]:
        return list(self._index().inside(scope or Scope()))

    def named(self, part: str, scope: Scope) -> Sequence[DocumentRecord]:
        """Return the reports with this in their title or source, in any case. The list is shared: do not change it."""
        return self._index().named(part, scope)

    def _index(self) -> ReportIndex:
        return cached(self._database, f"reports {id(self)}", self._current)

    def _current(self) -> ReportIndex:
        state, older = self._state, self._older.records() if self._older else _NONE
        if state.older is older and state.position == self._log.position():
            return state.index
        # The position before the rows: what is written meanwhile is read the next time.
        position, ids = self._log.since(state.position)
        index, condition = state.index, {"_id": {"$in": sorted(ids or ())}}
        if ids is None or state.older is not older:
            index, ids, condition = ReportIndex((*self._fields, *RULES)), set(older), {}
        changes = {id: older.get(id) for id in ids}
        changes |= {row["_id"]: _read(row) for row in self._documents.find(condition)}
        self._state = _State(index.changed(changes), position, older)
        return self._state.index

    def position(self) -> int:
        return self._log.position()

    def get(self, document_id: str) -> DocumentRecord | None:
        """Return a report, also one of an older system."""
        row = self._documents.find_one({"_id": document_id})
        return _read(row) if row else self._older.records().get(document_id) if self._older else None

    def put(self, record: DocumentRecord) -> None:
        """Register a report or replace it, with the time as ``updated_at``."""
        self._documents.replace_many([{"_id": record.id, **_row(record)}])
        self._log.record([record.id])

    def replace(self, record: DocumentRecord, registered: DocumentRecord) -> bool:
        """Register ``record`` in place of ``registered``; return False if that is not registered any more."""
        changed = self._documents.update_one(_unchanged(registered), {"$set": _row(record)})
        if changed:
            self._log.record([record.id])
        return changed > 0

    def note_upload(self, registered: DocumentRecord, upload_number: int) -> bool:
        """Note that this upload has the registered content; return False if that is not registered any more."""
        if upload_number <= registered.upload_number:
            return True
        return self._documents.update_one(_unchanged(registered), {"$set": {"upload_number": upload_number}}) > 0

    def delete(self, document_id: str) -> bool:
        """Remove a report's record, not its passages; return whether it existed."""
        deleted = self._documents.delete_many({"_id": document_id}) > 0
        self._log.record([document_id])
        return deleted

    def unsettled(self) -> dict[str, str]:
        """See `protocols.Catalog`. Reads again, also inside of `request_cache`."""
        refresh(self._database)
        return dict(self._index().unsettled)

    def unready(self) -> list[DocumentRecord]:
        """Return the reports whose status is not ready."""
        index = self._index()
        records = (index.records[id] for id in index.unsettled)
        return [record for record in records if record.status != "ready"]

    def facets(
        self, scope: Scope, *, fields: Iterable[str] = (), q: str = "", limit: int | None = None, offset: int = 0
    ) -> dict[str, Any]:
        """Return values with report counts, each field counted under the rest of the scope, and the scope's totals.

        For each of the ``fields`` (default: all filter fields) ``limit`` values from ``offset`` on that contain ``q``;
        ``total`` counts them without the limit.
        """
        index, end = self._index(), None if limit is None else offset + limit
        facets: dict[str, Any] = {}
        total: dict[str, int] = {}
        for name in tuple(fields) or self._fields:
            counts = index.counts(name, scope.without(name))
            values = index.having(q, name, scope.without(name))
            total[name] = len(values)
            facets[name] = [{"value": value, "documents": counts[value]} for value in values[offset:end]]
        holdings = index.holdings(scope)
        return {**facets, "total": total, "documents": holdings.documents, "chunks": holdings.chunks}

    def pairs(self, one: str, other: str, scope: Scope) -> Mapping[tuple[Value | None, Value | None], int]:
        """Count the reports of a scope by their values of two fields; None where a report lacks the field."""
        return self._index().pairs(one, other, scope)

    def holdings(self, scope: Scope) -> Holdings:
        return self._index().holdings(scope)

    def values(self, field: str, scope: Scope | None = None) -> list[Value]:
        """Return the values of a field in the scope (default: everywhere), sorted as text."""
        return list(self._index().counts(field, scope) if scope else self._index().values(field))


def _read(row: Mapping[str, Any]) -> DocumentRecord:
    return _RECORD.validate_python({**row, "id": row["_id"]})


def _row(record: DocumentRecord) -> Json:
    """The fields of a report's row without its id, with the time as ``updated_at``."""
    row: Json = _RECORD.dump_python(record, mode="json", exclude={"id"})
    return row | {"updated_at": datetime.now(UTC).isoformat(timespec="seconds")}


def _unchanged(registered: DocumentRecord) -> Json:
    """The filter that finds a report's row as long as nothing was registered in place of ``registered``."""
    fields: Json = {"_id": registered.id, "status": registered.status, "version": registered.version}
    # Rows that an older version of this program wrote may lack these two.
    fields["replacing"] = registered.replacing or {"$in": ["", None]}
    return {**fields, "upload_number": registered.upload_number or {"$in": [0, None]}}


class OlderReports:
    """Reports derived from the chunk collections, until these change. Thread-safe."""

    def __init__(self, database: Database, *, collections: Sequence[str], filter_fields: Sequence[str]) -> None:
        self._database = database
        self._collections = [database[name] for name in dict.fromkeys(collections)]
        self._changes = CorpusChanges(database)
        self._fields = tuple(filter_fields)
        self._lock = threading.Lock()
        self._position = -1
        self._markers: tuple[int, ...] = ()
        self._records: Records = {}

    def records(self) -> Records:
        """Return the reports by id; empty where every row belongs to a registered report."""
        position, markers = self._changes.position(), cached(self._database, "markers", self._read_markers)
        with self._lock:
            if (position, markers) != (self._position, self._markers):
                position, changed = self._changes.since(self._position)
                # The log names registered reports by their ids; rows of older ones have ids of their own, or none.
                ids = changed if changed or position == self._position else None
                if ids is None or markers != self._markers or any(id.startswith(OLDER_PREFIX) for id in ids):
                    records = self._group()
                    self._records = self._records if records == self._records else records
                self._position, self._markers = position, markers
            return self._records

    def _read_markers(self) -> tuple[int, ...]:
        return tuple(collection.write_marker() for collection in self._collections)

    def _group(self) -> Records:
        projection = dict.fromkeys((*KEY_FIELDS, *self._fields), 1)
        first: dict[str, Json] = {}
        counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for collection in self._collections:
            for row in collection.find(UNREGISTERED, projection):
                document_id = document_id_of(row)
                first.setdefault(document_id, row)
                counts[document_id][collection.name] += 1
        records = {}
        for document_id, row in first.items():
            name, rows = str(row.get("document_name") or NAMELESS), counts[document_id]
            records[document_id] = DocumentRecord(
                id=document_id,
                name=name,
                title=name,
                source="",
                collection=next(iter(rows)) if len(rows) == 1 else SEVERAL,
                status="ready",
                version="",
                metadata=row_metadata(row, self._fields),
                chunks=rows.total(),
            )
        return records
