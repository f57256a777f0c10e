"""The reports, registered ones and those of an older system, which exist as passages
only; and an index of them.

An index finds reports by the values of scopes, so that no question has to look at all
of them. It is never changed: the next one is made from it and the reports that changed.
"""

import hashlib
import re
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import product
from typing import Any, Protocol

from pydantic import TypeAdapter

from ...domain import Chunk, DocumentRecord, Scope
from ...domain.documents import (
    NO_PUBLICATION,
    Deletion,
    HeadingCounts,
    Holdings,
    Mentions,
    Part,
    Publication,
)
from ...domain.scope import Condition, CountryGroup, Value, Values, each_value
from ...domain.tables import Texts
from ..changes import CATALOG, PASSAGES
from ..core import Database, Json
from ..rows import (
    NAMING,
    OLDER_PREFIX,
    document_id_of,
    document_name_of,
    from_row,
    now,
    row_metadata,
    unregistered,
)
from .caches import MARKERS, BackgroundRead, cached, keep, refresh
from .groups import GroupRepository

OWN_ID = re.compile("[0-9a-f]{20}")
"""Ids that this program gives to reports; those of older systems have other forms."""
SEVERAL = ""
"""The collection of a report whose rows are in more than one."""
NAME = "document_name"
RULES = ("country_name", "year", "type", NAME)
"""Fields that rules ask for, whichever fields a request may name."""
Records = Mapping[str, DocumentRecord]
Ids = frozenset[str]
Metadata = tuple[tuple[str, Value], ...]
ByValue = Mapping[Value | None, Ids]
EVERYTHING = Scope()
_NONE: Records = {}
_RECORD = TypeAdapter(DocumentRecord)


class ReportIndex:
    """Immutable: `changed` makes the next index. Results for a scope are kept.
    Thread-safe.
    """

    def __init__(self, fields: Iterable[str] = ()) -> None:
        """An empty index. ``fields`` are indexed; for any other field every report is
        compared.
        """
        self.records: dict[str, DocumentRecord] = {}
        """By id, sorted by title."""
        self.unsettled: dict[str, str] = {}
        """Reports that are being written or removed, with the version that questions
        may see ("" = none).
        """
        self.hidden: dict[str, DocumentRecord] = {}
        """Reports in the bin, and erased ones, by id. Nothing else here counts them."""
        self._ids: dict[str, ByValue] = {field: {} for field in fields}
        self._order: list[tuple[str, str]] = []
        self._all = Holdings()
        self._collections = Counter[str]()
        self._results: dict[tuple[str, Scope], Any] = {}

    def changed(self, changes: Mapping[str, DocumentRecord | None]) -> "ReportIndex":
        """Return a new index with these reports replaced; None = deleted."""
        old = [self.records[id] for id in changes if id in self.records]
        new: list[DocumentRecord] = []
        index = ReportIndex(self._ids)
        index.hidden = {
            id: record for id, record in self.hidden.items() if id not in changes
        }
        for record in changes.values():
            if record is None:
                continue
            if record.is_hidden:
                index.hidden[record.id] = record
            else:
                new.append(record)
        index.records = self.records | {record.id: record for record in new}
        index._order = self._order
        index._reorder(old, new)
        index.unsettled = dict(self.unsettled)
        index._settle(changes, new)
        index._ids = {
            name: _updated(ids, name, old, new) for name, ids in self._ids.items()
        }
        index._take_counts(self)
        index._all = self._all.plus(_holdings(new)).plus(_holdings(old), -1)
        index._collections = self._collections.copy()
        index._collections.update(record.collection for record in new)
        index._collections -= Counter(record.collection for record in old)
        return index

    def _settle(self, changed: Iterable[str], new: Iterable[DocumentRecord]) -> None:
        """Note which of the changed reports are being written or removed."""
        for id in changed:
            self.unsettled.pop(id, None)
        for record in new:
            if record.status != "ready" or record.replacing:
                self.unsettled[record.id] = record.visible_version

    def _take_counts(self, previous: "ReportIndex") -> None:
        """Take over the counts of fields whose values no change has touched."""
        for name, ids in self._ids.items():
            key = (f"counts {name}", EVERYTHING)
            if ids is previous._ids[name] and key in previous._results:
                self._results[key] = previous._results[key]

    def _reorder(
        self, old: Iterable[DocumentRecord], new: Iterable[DocumentRecord]
    ) -> None:
        """Sort the records by title again, after ``new`` ones replaced ``old`` ones.
        They are nearly sorted already, so this takes linear time.
        """
        removed = {_sort_key(record) for record in old}
        added = {_sort_key(record) for record in new}
        if removed == added:
            return
        unchanged = [key for key in self._order if key not in removed]
        self._order = sorted([*unchanged, *added])
        self.records = {id: self.records[id] for _, id in self._order}

    def row(self, document_id: str) -> DocumentRecord | None:
        """Return a report, also a hidden one."""
        return self.records.get(document_id) or self.hidden.get(document_id)

    def shows(self, chunk_id: str) -> bool:
        """Return whether questions may see a passage: it is of the visible version of a
        registered report, or of an older system, whose ids name no version.
        """
        document_id, version = Chunk.version_of(chunk_id)
        return not document_id or self.shows_version(document_id, version)

    def shows_version(self, document_id: str, version: str) -> bool:
        """Return whether questions may see this version of a report."""
        record = self.records.get(document_id)
        if record is None or record.status != "ready":
            return False
        return record.version == version

    def collections(self, scope: Scope) -> Mapping[str, int]:
        """Count the reports in a scope for each collection."""
        if not scope:
            return self._collections
        return Counter(record.collection for record in self.inside(scope))

    def inside(self, scope: Scope) -> Sequence[DocumentRecord]:
        """Return the reports in a scope, sorted by title. The list is shared: do not
        change it.
        """
        return keep(self._results, ("inside", scope), lambda: self._find(scope))

    def holdings(self, scope: Scope) -> Holdings:
        """Return the totals of a scope."""
        if not scope:
            return self._all
        return keep(
            self._results,
            ("holdings", scope),
            lambda: _holdings(self.inside(scope), scope),
        )

    def counts(self, field: str, scope: Scope) -> Mapping[Value, int]:
        """Count the reports for each value of a field, sorted by value. Of a report
        only the parts inside count.
        """

        def count() -> dict[Value, int]:
            numbers: Counter[Value] = Counter()
            if not scope and field in self._ids:
                for value, ids in self._ids[field].items():
                    if value is not None:
                        numbers[value] = len(ids)
                return dict(numbers)  # in the order of the index, which is by value
            for record in self.inside(scope):
                numbers.update(values_inside(record, field, scope))
            return {value: numbers[value] for value in sorted(numbers, key=str)}

        return keep(self._results, (f"counts {field}", scope), count)

    def pairs(
        self, first_field: str, second_field: str, scope: Scope
    ) -> Mapping[tuple[Value | None, Value | None], int]:
        """Count the reports for each pair of values of two fields. A table counts for
        each pair in its rows.
        """
        numbers: Counter[tuple[Value | None, Value | None]] = Counter()
        for record in self.inside(scope):
            pairs: set[tuple[Value | None, Value | None]] = set()
            for _, values in parts_inside(record, scope):
                first_values = each_value(values.get(first_field))
                second_values = each_value(values.get(second_field))
                pairs.update(product(first_values, second_values))
            numbers.update(pairs)
        return numbers

    def mentions(self, codes: Collection[str], scope: Scope) -> Mentions:
        """Count the passages in a scope that name these countries. Reports that
        questions cannot see yet count for nothing.
        """
        ready = [record for record in self.inside(scope) if record.status == "ready"]
        passages: Counter[str] = Counter()
        is_known = True
        for record in ready:
            for part, _ in parts_inside(record, scope):
                if part.mentions is None:
                    is_known = False
                    continue
                for code in codes:
                    passages[code] += part.mentions.get(code, 0)
        is_older = keep(self._results, ("is older", EVERYTHING), self._is_older)
        return Mentions(passages, is_known, is_older)

    def _is_older(self) -> bool:
        ready = [record for record in self.records.values() if record.status == "ready"]
        return bool(ready) and all(
            record.version and not record.has_mentions for record in ready
        )

    def named(self, text: str, scope: Scope) -> Sequence[DocumentRecord]:
        """Return the reports with this text in their title or source, in any case. The
        list is shared: do not change it.
        """
        records = self.inside(scope)
        text = text.casefold()
        if not text:
            return records
        names = keep(
            self._results,
            ("names", scope),
            lambda: [
                f"{record.title}\0{record.source}".casefold() for record in records
            ],
        )
        return [
            record for record, name in zip(records, names, strict=True) if text in name
        ]

    def _find(self, scope: Scope) -> list[DocumentRecord]:
        """Return the reports that have the values of a scope in the index; they are
        compared one by one where the index does not say all.
        """
        matches = [
            _matching(self._ids[name], condition)
            for name, condition in scope.conditions
            if name in self._ids
        ]
        matches.sort(key=len)
        ids: Collection[str] = self.records.keys()
        if matches:
            ids = matches[0].intersection(*matches[1:])
        # Sorting few is faster than walking through all, which are sorted.
        if 8 * len(ids) < len(self.records):
            records = sorted((self.records[id] for id in ids), key=_sort_key)
        else:
            records = [record for id, record in self.records.items() if id in ids]
        # One part of a report in several parts has to meet all conditions.
        exact = not scope.collections and len(matches) == len(scope.conditions)
        return [
            record
            for record in records
            if (exact and not record.several) or is_inside(record, scope)
        ]


def _sort_key(record: DocumentRecord) -> tuple[str, str]:
    return record.title, record.id


def _holdings(records: Iterable[DocumentRecord], scope: Scope = EVERYTHING) -> Holdings:
    """Return the totals of these reports, of each its passages in the scope."""
    return Holdings.of((record, chunks_inside(record, scope)) for record in records)


def _updated(
    ids: ByValue,
    field: str,
    old: Sequence[DocumentRecord],
    new: Sequence[DocumentRecord],
) -> ByValue:
    """Return the ids of reports by their values of a field, sorted as text, after some
    reports have changed.
    """
    removed = _by_value(field, old)
    added = _by_value(field, new)
    if removed == added:
        return ids
    updated = dict(ids)
    for value in {*removed, *added}:
        updated[value] = ids.get(value, Ids()) - removed[value] | added[value]
        if not updated[value]:
            del updated[value]
    if updated.keys() <= ids.keys():  # still sorted
        return updated
    return dict(sorted(updated.items(), key=lambda item: str(item[0])))


def _by_value(
    field: str, records: Iterable[DocumentRecord]
) -> defaultdict[Value | None, set[str]]:
    ids: defaultdict[Value | None, set[str]] = defaultdict(set)
    for record in records:
        for _, values in parts_inside(record, EVERYTHING):
            for value in each_value(values.get(field)):
                ids[value].add(record.id)
    return ids


def _matching(ids: ByValue, condition: Condition) -> Ids:
    """Return the ids of the reports whose value meets a condition."""
    if isinstance(condition, Values):
        values: list[Value | None] = list(condition.values)
        if condition.or_none:
            values.append(None)
        return Ids().union(*(ids.get(value, Ids()) for value in values))
    return Ids().union(
        *(matches for value, matches in ids.items() if condition.matches(value))
    )


def parts_inside(
    record: DocumentRecord, scope: Scope
) -> Iterator[tuple[Part, dict[str, Value]]]:
    """Yield the parts of a report that are in the scope, each with what scopes compare:
    metadata and the report's name. The parts of a report in SEVERAL collections name
    theirs.
    """
    for part in record.parts:
        collection = part.collection or record.collection
        if collection == SEVERAL or scope.holds(collection):
            values = {**part.metadata, NAME: record.name}
            if scope.matches(values):
                yield part, values


def is_inside(record: DocumentRecord, scope: Scope) -> bool:
    """Return whether any passage of a report is in the scope."""
    return any(True for _ in parts_inside(record, scope))


def chunks_inside(record: DocumentRecord, scope: Scope) -> int:
    return sum(part.chunks for part, _ in parts_inside(record, scope))


def values_inside(record: DocumentRecord, field: str, scope: Scope) -> set[Value]:
    values_of_field: set[Value] = set()
    for _, values in parts_inside(record, scope):
        for value in each_value(values.get(field)):
            if value is not None:
                values_of_field.add(value)
    return values_of_field


@dataclass(frozen=True, slots=True)
class ReadIndex:
    """An index as it was read: at a position, and at a number of changes of the
    catalogue; with the reports of older systems in it. ``count``: of the rows, as the
    server estimated it.
    """

    index: ReportIndex = ReportIndex()  # noqa: RUF009  # it never changes
    position: int = -1
    number: int = -1
    older: Records = field(default_factory=dict)
    count: int = -1


class ReportCatalog(Protocol):
    """The reports that somebody may see, and what is counted of them. Implements
    `protocols.Catalog`.
    """

    _fields: Texts
    """The filter fields."""

    def index(self) -> ReportIndex:
        """Return the index as of now, the same for a whole request."""

    def groups(self) -> Sequence[CountryGroup]:
        """Return the groups of countries, which everybody may see."""

    def get(self, document_id: str) -> DocumentRecord | None:
        """Return a report, also one of an older system."""

    def all(self, scope: Scope | None = None) -> list[DocumentRecord]:
        return list(self.index().inside(scope or Scope()))

    def unready(self) -> list[DocumentRecord]:
        """Return the reports whose status is not ready."""
        index = self.index()
        records = (index.records[id] for id in index.unsettled)
        return [record for record in records if record.status != "ready"]

    def facets(
        self,
        scope: Scope,
        *,
        fields: Iterable[str] = (),
        q: str = "",
        limit: int | None = None,
        offset: int = 0,
    ) -> dict[str, Any]:
        """Return values with report counts, each field counted under the rest of the
        scope, and the scope's totals.

        For each of the ``fields`` (default: all filter fields) ``limit`` values from
        ``offset`` on that contain ``q``; ``total`` counts them without the limit.
        """
        index = self.index()
        end = None if limit is None else offset + limit
        text = q.casefold()
        facets: dict[str, Any] = {}
        total: dict[str, int] = {}
        for name in tuple(fields) or self._fields:
            counts = index.counts(name, scope.without(name))
            values = list(counts)
            if text:
                values = [value for value in values if text in str(value).casefold()]
            total[name] = len(values)
            facets[name] = [
                {"value": value, "documents": counts[value]}
                for value in values[offset:end]
            ]
        holdings = index.holdings(scope)
        return {
            **facets,
            "total": total,
            "documents": holdings.documents,
            "chunks": holdings.chunks,
        }

    def holdings(self, scope: Scope) -> Holdings:
        return self.index().holdings(scope)

    def mentions(self, codes: Collection[str], scope: Scope) -> Mentions:
        return self.index().mentions(codes, scope)

    def heading_counts(self, document_id: str) -> HeadingCounts | None:
        record = self.index().records.get(document_id)
        if record is not None:
            return record.heading_counts
        return None

    def country_most_named(self, document_id: str) -> str:
        record = self.index().records.get(document_id)
        if record is not None:
            return record.country_most_named
        return ""

    def publication(self, document_id: str) -> Publication:
        record = self.index().records.get(document_id)
        if record is None:
            return NO_PUBLICATION
        return record.publication

    def values(self, field: str, scope: Scope | None = None) -> list[Value]:
        """Return the values of a field in the scope (default: everywhere), sorted as
        text.
        """
        return list(self.index().counts(field, scope or Scope()))


class DocumentRepository(ReportCatalog):
    """Collection `documents`, with an index in memory, of which only changed reports
    are read again. Thread-safe. ``older``: the reports of older systems, which are in
    the chunk collections only.
    """

    def __init__(
        self,
        database: Database,
        filter_fields: Iterable[str],
        older: "OlderReports | None" = None,
    ) -> None:
        self._database = database
        self._documents = database["documents"]
        self.changes = database.changes
        self._fields = tuple(filter_fields)
        self._older = older
        self._read = ReadIndex()
        self._groups = GroupRepository(database)

    def groups(self) -> Sequence[CountryGroup]:
        return self._groups.groups()

    def index(self) -> ReportIndex:
        """Return the index as of now, the same for a whole request
        (`request_cache`).
        """
        return cached(self._database, f"reports {id(self)}", self._current)

    def visible(self, *, again: bool = True) -> ReportIndex:
        """Return the index, which says what questions may see. ``again``: as of now,
        also where it was read in this request before.
        """
        if again:
            refresh(self._database)
        return self.index()

    def _current(self) -> ReportIndex:
        """Return the index as of now, with only the changed reports read again."""
        last = self._read
        state = self.changes.state()
        older = self._older.records() if self._older else _NONE
        count = self._count()
        is_same = last.older is older and last.number == state.of(CATALOG)
        if is_same and last.count == count and not state.is_open(CATALOG):
            return last.index
        # The state before the rows: what is written meanwhile is read the next time.
        changed = self.changes.since(last.position, CATALOG)
        if changed.ids is None:
            index = self._read_all(older)
        else:
            ids = changed.ids | _different(last.older, older)
            index = self._changed(last.index, ids, older)
            registered = index.records.keys() - older.keys()
            if count not in {last.count, len(registered) + len(index.hidden)}:
                # A row went without an entry: there was no space for one.
                index = self._read_all(older)
        self._read = ReadIndex(
            index=index,
            position=changed.state.position,
            number=changed.state.of(CATALOG),
            older=older,
            count=count,
        )
        return index

    def _count(self) -> int:
        """Return the number of registered reports as the server estimates it; 0 for the
        file, where no row goes without an entry.
        """
        read = self._database.reads.get(MARKERS)
        if self._database.embedded or read is None:
            return 0
        return int(cached(self._database, MARKERS, read)[-1])

    def _read_all(self, older: Records) -> ReportIndex:
        index = ReportIndex((*self._fields, *RULES))
        records: dict[str, DocumentRecord | None] = dict(older)
        for row in self._documents.find():
            records[row["_id"]] = from_row(DocumentRecord, row)
        return index.changed(records)

    def _changed(
        self, index: ReportIndex, ids: Iterable[str], older: Records
    ) -> ReportIndex:
        """Return the index with these reports read again; itself where none differs."""
        if not ids:
            return index
        records: dict[str, DocumentRecord | None] = {id: older.get(id) for id in ids}
        for row in self._documents.find({"_id": {"$in": sorted(ids)}}):
            records[row["_id"]] = from_row(DocumentRecord, row)
        different = {
            id: record for id, record in records.items() if index.row(id) != record
        }
        if not different:
            return index
        return index.changed(different)

    def file_ids(self, among: Collection[str]) -> set[str]:
        """Return those of these stored files that are the original of a report, as the
        database has them now.
        """
        rows = self._documents.find({"file_id": {"$in": sorted(among)}}, {"file_id": 1})
        return {row["file_id"] for row in rows}

    @property
    def fields(self) -> Texts:
        """The filter fields."""
        return self._fields

    def get(self, document_id: str) -> DocumentRecord | None:
        """Return a report, also one of an older system, but no hidden one."""
        record = self.registered(document_id)
        if record is None or record.is_hidden:
            return None
        return record

    def registered(self, document_id: str) -> DocumentRecord | None:
        """Return a report as the database has it now, also a hidden one."""
        is_own = OWN_ID.fullmatch(document_id) and not self._database.mapped
        older: Records = _NONE
        if self._older is None or is_own:
            row = self._documents.find_one({"_id": document_id})
        else:
            calls: list[Callable[[], Any]] = [
                lambda: self._documents.find_one({"_id": document_id}),
                self._older.records,
            ]
            row, older = self._database.at_once(calls)
        if row is not None:
            return from_row(DocumentRecord, row)
        return older.get(document_id)

    def older_key(self) -> str:
        """Return a key that changes with the reports of older systems."""
        if self._older is None:
            return ""
        return self._older.key()

    def put(self, record: DocumentRecord) -> None:
        """Register a report or replace it, whatever is registered, with the time as
        ``updated_at``.
        """
        with self.changes.of([record.id], CATALOG) as change:
            change["documents"].replace_many([{"_id": record.id, **_row(record)}])

    def insert(self, record: DocumentRecord) -> bool:
        """Register a new report; return False if one with its id is registered."""
        with self.changes.of([record.id], CATALOG) as change:
            row = change["documents"].find_one_and_update(
                {"_id": record.id}, {"$setOnInsert": _row(record)}, upsert=True
            )
        # Told by its token, also where the driver has repeated the call.
        return row is not None and row.get("writer") == record.writer

    def replace(
        self,
        record: DocumentRecord,
        registered: DocumentRecord,
        *,
        is_update: bool = True,
    ) -> bool:
        """Register ``record`` in place of ``registered``; return False if that is not
        registered any more, or if another process has ended the lease of its writer.
        ``is_update``: readers see another report than before, so ``updated_at`` is now.
        """
        row = _row(record)
        if not is_update:
            del row["updated_at"]
        with self.changes.of([record.id], CATALOG) as change:
            changed = change["documents"].update_one(
                _unchanged(registered), {"$set": row}
            )
        return changed > 0

    def note_upload(self, registered: DocumentRecord, upload_number: int) -> bool:
        """Note that this upload has the registered content; return False if that is not
        registered any more.
        """
        if upload_number <= registered.upload_number:
            return True
        number = {"$set": {"upload_number": upload_number}}
        with self.changes.of([registered.id], CATALOG) as change:
            return change["documents"].update_one(_unchanged(registered), number) > 0

    def withdraw(
        self, document_id: str, writer: str, deletion: Deletion | None = None
    ) -> bool:
        """Mark a report as being deleted, so that questions see nothing of it and its
        writers stop; return False if it is not registered.
        """
        marks: Json = {"status": "deleting", "writer": writer}
        if deletion is not None:
            marks["deletion"] = asdict(deletion)
        with self.changes.of([document_id], CATALOG) as change:
            changed = change["documents"].update_one(
                {"_id": document_id}, {"$set": marks}
            )
        return changed > 0

    def erase(self, record: DocumentRecord) -> None:
        """Leave nothing of a report's row but what keeps the report from being added
        again: where it came from, the digest of its content, who deleted it and when.
        """
        tombstone = DocumentRecord(
            id=record.id,
            name="",
            title="",
            source=record.source,
            collection=record.collection,
            status="erased",
            version="",
            metadata={},
            sample=record.sample,
            content=record.content or record.file_id,
            owner=record.owner,
            deletion=record.deletion,
        )
        self.put(tombstone)

    def delete(self, document_id: str) -> bool:
        """Remove a report's record, not its passages; return whether it existed."""
        with self.changes.of([document_id], CATALOG, frees_space=True) as change:
            return change["documents"].delete_many({"_id": document_id}) > 0

    def hidden(self) -> list[DocumentRecord]:
        """Return the reports in the bin and the erased ones, the newest first."""

        def deleted_at(record: DocumentRecord) -> str:
            if record.deletion:
                return record.deletion.at
            return ""

        hidden = self.index().hidden.values()
        return sorted(hidden, key=deleted_at, reverse=True)

    def tombstone_of(self, document_id: str, content: str) -> DocumentRecord | None:
        """Return the tombstone that keeps a source from adding this report, None if
        there is none: that of the report, or for a report that nobody knows yet, one of
        the same ``content`` (SHA-256), unless another report has that content.
        """
        index = self.visible()
        own = index.row(document_id)
        if own is not None:
            if own.is_tombstone:
                return own
            return None
        tombstone = None
        if not content:
            return None
        for record in index.hidden.values():
            if content not in {record.content, record.file_id}:
                continue
            if not record.is_tombstone:
                return None
            tombstone = record
        if tombstone is None:
            return None
        for record in index.records.values():
            if content in {record.content, record.file_id}:
                return None
        return tombstone

    def unsettled(self) -> dict[str, str]:
        """Return the reports that are being written or removed, with the version that
        questions may see ("" = none), as of now.
        """
        return dict(self.visible().unsettled)

    def passages(self, scope: Scope) -> int:
        """Count the passages in a scope as of the last look at the database, which is
        not asked.
        """
        return self._read.index.holdings(scope).chunks


def _row(record: DocumentRecord) -> Json:
    """The fields of a report's row without its id, with the time as ``updated_at``."""
    row: Json = _RECORD.dump_python(record, mode="json", exclude={"id", "part_of"})
    return row | {"updated_at": now("seconds")}


def _unchanged(registered: DocumentRecord) -> Json:
    """The filter that finds a report's row as long as nothing was registered in place
    of ``registered``.
    """
    return {
        "_id": registered.id,
        "status": registered.status,
        "version": registered.version,
        # Rows that an older version of this program wrote may lack these three.
        "writer": registered.writer or {"$in": ["", None]},
        "replacing": registered.replacing or {"$in": ["", None]},
        "upload_number": registered.upload_number or {"$in": [0, None]},
    }


def _different(old: Records, new: Records) -> Ids:
    """Return the ids of the reports that differ."""
    if old is new:
        return Ids()
    ids = old.keys() | new.keys()
    return Ids(id for id in ids if old.get(id) != new.get(id))


class OlderReports:
    """Reports derived from the chunk collections. When these change, the database
    groups their rows by report, in the background; meanwhile the reports of the last
    look are served. Thread-safe.
    """

    def __init__(
        self,
        database: Database,
        *,
        collections: Sequence[str],
        filter_fields: Sequence[str],
    ) -> None:
        self._database = database
        self._collections = [database[name] for name in dict.fromkeys(collections)]
        self._changes = database.changes
        self._fields = tuple(filter_fields)
        self._lock = threading.Lock()
        self._position = -1
        self._number = -1
        self._markers: list[int] = []
        self._look = BackgroundRead(self.read, _NONE)
        self._deleted: dict[str, int] = {}
        """Deleted reports, which a look may still return, by the number of the last
        look that had begun by then.
        """
        self._shown: tuple[int, frozenset[str], Records] = (0, frozenset(), _NONE)
        """The reports of a look without deleted ones, with its number and these."""
        self._keyed: tuple[Records, str] = (_NONE, "")
        """Reports with their key."""
        counts = [collection.estimated_count for collection in self._collections]
        counts.append(database["documents"].estimated_count)
        database.reads[MARKERS] = lambda: database.at_once(counts)

    def records(self) -> Records:
        """Return the reports by id as of the last look; empty where every row belongs
        to a registered report. Raises DatabaseError: the first look has failed.
        """
        state = self._changes.state()
        # Other programs, which bypass the change log, write to a server, but never to
        # the embedded file.
        markers: list[int] = []
        if not self._database.embedded:
            counts = cached(self._database, MARKERS, self._database.reads[MARKERS])
            markers = counts[:-1]  # the last one is of the registered reports
        with self._lock:
            same = state.of(PASSAGES) == self._number and markers == self._markers
            outdated = not same or state.is_open(PASSAGES)
            if outdated:
                outdated = self._note_changes(markers)
        number, records = self._look.latest(outdated=outdated)
        with self._lock:
            # A look that began after a deletion does not return the report any more.
            self._deleted = {
                id: last_look
                for id, last_look in self._deleted.items()
                if last_look >= number
            }
            deleted = frozenset(self._deleted)
            if self._shown[:2] != (number, deleted):
                if not deleted.isdisjoint(records):
                    records = {
                        id: record
                        for id, record in records.items()
                        if id not in deleted
                    }
                self._shown = (number, deleted, records)
            return self._shown[2]

    def key(self) -> str:
        """Return a key that changes with the reports of `records`; "" = there are
        none.
        """
        records = self.records()
        if not records:
            return ""
        with self._lock:
            if self._keyed[0] is not records:
                lines = []
                for id, record in sorted(records.items()):
                    metadata = sorted(record.metadata.items())
                    lines.append(f"{id} {record.name} {record.chunks} {metadata}")
                digest = hashlib.blake2b("\n".join(lines).encode(), digest_size=8)
                self._keyed = (records, digest.hexdigest())
            return self._keyed[1]

    def _note_changes(self, markers: list[int]) -> bool:
        """Return whether reports may have changed since the last call, and note those
        that were deleted.
        """
        changed = self._changes.since(self._position, PASSAGES)
        # Entries name registered reports by their ids; rows of older ones have ids of
        # their own, or none.
        older = {id for id in changed.ids or () if id.startswith(OLDER_PREFIX)}
        deleted = older - changed.in_place
        self._deleted |= dict.fromkeys(deleted, self._look.begun)
        outdated = changed.ids is None or markers != self._markers or bool(older)
        self._position = changed.state.position
        self._number = changed.state.of(PASSAGES)
        self._markers = markers
        return outdated

    def read(self) -> Records:
        """Look now: return the reports by id. Takes the longer the more rows of older
        systems there are.
        """
        first_rows: dict[str, Json] = {}
        counts: defaultdict[str, Counter[tuple[str, Metadata]]] = defaultdict(Counter)
        condition = unregistered(embedded=self._database.embedded)
        fields = tuple(dict.fromkeys((*NAMING, *self._fields)))
        for collection in self._collections:
            for row, rows in collection.group(condition, fields):
                document_id = document_id_of(row)
                first_rows.setdefault(document_id, row)
                metadata = tuple(sorted(row_metadata(row, self._fields).items()))
                counts[document_id][collection.name, metadata] += rows
        return {
            document_id: self._record(document_id, row, counts[document_id])
            for document_id, row in first_rows.items()
        }

    def _record(
        self, document_id: str, row: Json, counts: Counter[tuple[str, Metadata]]
    ) -> DocumentRecord:
        """Return the report of these rows; their numbers by collection and metadata."""
        name = document_name_of(row)
        collections = {collection for collection, _ in counts}
        in_one_collection = len(collections) == 1
        parts: list[Part] = []
        for (collection, metadata), rows in counts.items():
            if in_one_collection:
                parts.append(Part(dict(metadata), rows))
            else:
                parts.append(Part(dict(metadata), rows, collection))
        if len(parts) == 1:  # the report's own fields say the same
            parts = []
        collection_of_all = collections.pop() if in_one_collection else SEVERAL
        return DocumentRecord(
            document_id,
            name,
            name,
            "",
            collection=collection_of_all,
            status="ready",
            version="",
            metadata=row_metadata(row, self._fields),
            chunks=counts.total(),
            several=tuple(parts),
        )
