"""The reports: the registered ones, and those of an older system, whose rows no registration speaks of."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from ..database.core import Database, Json
from ..database.rows import KEY_FIELDS, OLDER_PREFIX, UNREGISTERED, document_id_of, row_metadata
from ..schema import Chunking, DocumentRecord, Holdings, Part, Scope, Value
from .corpus import CATALOG, CorpusChanges
from .report_index import NAME, SEVERAL, ReportIndex
from .request_cache import cached, refresh

Records = Mapping[str, DocumentRecord]
RULES = ("country_name", "year", "type", NAME)
"""Fields that rules ask for, whichever ones a request may name."""
_NONE: Records = {}


@dataclass(frozen=True, slots=True)
class _Read:
    """What is known, the position of the log it was read at, and the reports of older systems in it."""

    index: ReportIndex
    position: int = -1
    older: Records = field(default_factory=dict)


class DocumentRepository:
    """Collection `documents`: the reports as scopes and rules see them. Thread-safe.

    An index of them is kept in memory; of a change by whatever process only the reports that changed are read again.
    ``older`` are the reports of older systems, which are in the chunk collections only.
    """

    def __init__(self, database: Database, filter_fields: Iterable[str], older: OlderReports | None = None) -> None:
        self._database = database
        self._documents = database["documents"]
        self._log = CorpusChanges(database, CATALOG)
        self._fields = tuple(filter_fields)
        self._older = older
        self._read = _Read(ReportIndex())

    def all(self, scope: Scope | None = None) -> list[DocumentRecord]:
        """Reports in the scope, by title."""
        return list(self._index().inside(scope or Scope()))

    def named(self, part: str, scope: Scope) -> Sequence[DocumentRecord]:
        """The reports with this in their title or source, in any case; "" = all. The list must not be changed."""
        return self._index().named(part, scope)

    def _index(self) -> ReportIndex:
        return cached(self._database, f"reports {id(self)}", self._current)

    def _current(self) -> ReportIndex:
        known, older = self._read, self._older.records() if self._older else _NONE
        if known.older is older and known.position == self._log.position():
            return known.index
        # The position before the rows: what is written meanwhile is read the next time.
        position, ids = self._log.since(known.position)
        index = known.index
        if ids is None or known.older is not older:
            index = ReportIndex((*self._fields, *RULES))
            found: dict[str, DocumentRecord | None] = {**older, **self._registered({})}
        else:
            found = {id: older.get(id) for id in ids} | self._registered({"_id": {"$in": sorted(ids)}})
        self._read = _Read(index.changed(found), position, older)
        return self._read.index

    def _registered(self, filter: Json) -> dict[str, DocumentRecord | None]:
        return {found["_id"]: _from_json(found) for found in self._documents.find(filter)}

    def position(self) -> int:
        """The number of the last change of a report: it differs whenever one has changed."""
        return self._log.position()

    def get(self, document_id: str) -> DocumentRecord | None:
        """A report, also one of an older system; None for an unknown id."""
        found = self._documents.find_one({"_id": document_id})
        return _from_json(found) if found else self._older.records().get(document_id) if self._older else None

    def put(self, record: DocumentRecord) -> None:
        """Register, or replace what is registered; stamps the time."""
        stored = asdict(replace(record, updated_at=datetime.now(UTC).isoformat(timespec="seconds")))
        lists = {"labels": list(record.labels), "several": list(stored["several"])}
        self._documents.replace_many([{"_id": stored.pop("id"), **stored, **lists}])
        self._log.record([record.id])

    def delete(self, document_id: str) -> bool:
        """Remove a report's record, not its passages; returns whether there was one."""
        deleted = self._documents.delete_many({"_id": document_id}) > 0
        self._log.record([document_id])
        return deleted

    def unsettled(self) -> dict[str, str]:
        """See `protocols.Catalog`; read anew, also inside of `request_cache`."""
        refresh(self._database)
        return dict(self._index().unsettled)

    def unready(self) -> list[DocumentRecord]:
        """The reports of any status but ready."""
        index = self._index()
        records = (index.records[id] for id in index.unsettled)
        return [record for record in records if record.status != "ready"]

    def facets(
        self, scope: Scope, *, fields: Iterable[str] = (), q: str = "", limit: int | None = None, offset: int = 0
    ) -> dict[str, Any]:
        """Values with report counts, each field counted under the rest of the scope; and the scope's totals.

        Of each of these ``fields``, of every filter field where none is named, ``limit`` values from ``offset`` on, of
        those that hold ``q``; ``total``: how many there are.
        """
        index, end = self._index(), None if limit is None else offset + limit
        facets: dict[str, Any] = {}
        total: dict[str, int] = {}
        for name in tuple(fields) or self._fields:
            counts = index.counts(name, scope.without(name))
            found = index.having(q, name, scope.without(name))
            total[name] = len(found)
            facets[name] = [{"value": value, "documents": counts[value]} for value in found[offset:end]]
        held = index.holdings(scope)
        return {**facets, "total": total, "documents": held.documents, "chunks": held.chunks}

    def pairs(self, one: str, other: str, scope: Scope) -> Mapping[tuple[Value | None, Value | None], int]:
        """How many reports of a scope have each pair of values of two fields; None where a field is not there."""
        return self._index().pairs(one, other, scope)

    def holdings(self, scope: Scope) -> Holdings:
        """How many reports and passages a scope has."""
        return self._index().holdings(scope)

    def values(self, field: str, scope: Scope | None = None) -> list[Value]:
        """Every value that the data, or what of it is in the scope, has for a field; sorted as text."""
        return list(self._index().counts(field, scope) if scope else self._index().values(field))


def _from_json(found: Mapping[str, Any]) -> DocumentRecord:
    fields = {name: found[name] for name in DocumentRecord.__slots__ if name in found}
    if chunking := fields.get("chunking"):
        fields["chunking"] = Chunking(**chunking)
    fields["labels"] = tuple(fields.get("labels") or ())
    fields["several"] = tuple(Part(**part) for part in fields.get("several") or ())
    return DocumentRecord(id=found["_id"], **fields)


NAMELESS = "Without a name"


class OlderReports:
    """Derived from the chunk collections, and kept until something in them changes. Thread-safe."""

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
        """The reports by id; empty where every row belongs to a registered report."""
        position, markers = self._changes.position(), cached(self._database, "markers", self._read_markers)
        with self._lock:
            if (position, markers) != (self._position, self._markers):
                position, changed = self._changes.since(self._position)
                # Of registered reports the log names the ids; rows of older ones have theirs, or nobody's.
                named = changed if changed or position == self._position else None
                if named is None or markers != self._markers or any(id.startswith(OLDER_PREFIX) for id in named):
                    found = self._grouped()
                    self._records = self._records if found == self._records else found
                self._position, self._markers = position, markers
            return self._records

    def _read_markers(self) -> tuple[int, ...]:
        return tuple(collection.write_marker() for collection in self._collections)

    def _grouped(self) -> Records:
        wanted = dict.fromkeys((*KEY_FIELDS, *self._fields), 1)
        examples: dict[str, DocumentRecord] = {}
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
