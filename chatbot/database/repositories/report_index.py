"""An index of the reports by the values of scopes, so that no question has to look at all of them.

An index is never changed: the next one is made from it and the reports that changed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from ...domain import Condition, DocumentRecord, Holdings, Part, Scope, Value, Values

SEVERAL = ""
"""The collection of a report whose rows are in more than one."""
NAME = "document_name"
KEPT_SCOPES = 64
"""Number of scopes whose results are kept."""
K = TypeVar("K")
T = TypeVar("T")
Ids = frozenset[str]
ByValue = Mapping[Value | None, Ids]


class ReportIndex:
    """Immutable: `changed` makes the next index. Results for a scope are kept. Thread-safe."""

    def __init__(self, fields: Iterable[str] = ()) -> None:
        """An empty index. ``fields`` are indexed; for any other field every report is compared."""
        self.records: dict[str, DocumentRecord] = {}
        self.unsettled: dict[str, str] = {}
        """Reports that are being written or removed, with the version that questions may see ("" = none)."""
        self._order: list[tuple[str, str]] = []
        self._ids: dict[str, ByValue] = {field: {} for field in fields}
        self._values: dict[str, list[Value]] = {field: [] for field in fields}
        self._all = Holdings()
        self._inside: dict[Scope, list[DocumentRecord]] = {}
        self._holdings: dict[Scope, Holdings] = {}
        self._counts: dict[tuple[str, Scope], dict[Value, int]] = {}
        self._names: dict[Scope, list[str]] = {}

    def changed(self, changes: Mapping[str, DocumentRecord | None]) -> ReportIndex:
        """Return a new index with these reports replaced; None = deleted."""
        old = [self.records[id] for id in changes if id in self.records]
        new = [record for record in changes.values() if record is not None]
        after = ReportIndex(self._ids)
        after.records = {**self.records, **{record.id: record for record in new}}
        for id in changes.keys() - {record.id for record in new}:
            after.records.pop(id, None)
        unchanged = {id: version for id, version in self.unsettled.items() if id not in changes}
        after.unsettled = unchanged | {r.id: r.visible_version for r in new if r.status != "ready" or r.replacing}
        removed, added = set(map(_sort_key, old)), set(map(_sort_key, new))
        after._order, after._all = self._order, self._all
        if removed != added:  # nearly sorted already, so sorting is linear
            after._order = sorted([*(key for key in self._order if key not in removed), *added])
        for field, before in self._ids.items():
            ids = after._ids[field] = _updated(before, field, old, new)
            after._values[field] = self._values[field] if ids.keys() == before.keys() else _sorted(ids)
        for records, sign in ((new, 1), (old, -1)):
            counted = Holdings.of((record, chunks_inside(record, Scope())) for record in records)
            after._all = after._all.plus(counted, sign)
        return after

    def inside(self, scope: Scope) -> Sequence[DocumentRecord]:
        """Return the reports in a scope, sorted by title. The list is shared: do not change it."""
        return self._inside.get(scope) or _keep(self._inside, scope, self._find(scope))

    def holdings(self, scope: Scope) -> Holdings:
        if not scope:
            return self._all
        return self._holdings.get(scope) or _keep(
            self._holdings, scope, Holdings.of((record, chunks_inside(record, scope)) for record in self.inside(scope))
        )

    def values(self, field: str) -> Sequence[Value]:
        """Return the values of a field, sorted. The list is shared: do not change it."""
        if field in self._values:
            return self._values[field]
        return _sorted(value for record in self.records.values() for value in values_inside(record, field, Scope()))

    def counts(self, field: str, scope: Scope) -> Mapping[Value, int]:
        """Count the reports for each value of a field, sorted by value. Of a report only the parts inside count."""
        if not scope and field in self._ids:
            return {value: len(self._ids[field][value]) for value in self._values[field]}
        if counts := self._counts.get((field, scope)):
            return counts
        numbers = Counter(value for record in self.inside(scope) for value in values_inside(record, field, scope))
        return _keep(self._counts, (field, scope), {value: numbers[value] for value in _sorted(numbers)})

    def pairs(self, one: str, other: str, scope: Scope) -> Mapping[tuple[Value | None, Value | None], int]:
        """Count the reports for each pair of values of two fields. A table counts for each pair in its rows."""
        return Counter(
            pair
            for record in self.inside(scope)
            for pair in {(values.get(one), values.get(other)) for values in values_of_parts(record, scope)}
        )

    def named(self, part: str, scope: Scope) -> Sequence[DocumentRecord]:
        """Return the reports with this in their title or source, in any case. The list is shared: do not change it."""
        inside, part = self.inside(scope), part.casefold()
        if not part:
            return inside
        names = self._names.get(scope)
        if names is None:
            names = [f"{record.title}\0{record.source}".casefold() for record in inside]
            _keep(self._names, scope, names)
        return [record for record, name in zip(inside, names, strict=True) if part in name]

    def having(self, part: str, field: str, scope: Scope) -> Sequence[Value]:
        """Return the values of `counts` that contain ``part``, in any case."""
        part = part.casefold()
        return [value for value in self.counts(field, scope) if part in str(value).casefold()]

    def _find(self, scope: Scope) -> list[DocumentRecord]:
        indexed = [(self._ids[name], condition) for name, condition in scope.conditions if name in self._ids]
        matches = sorted((_matching(ids, condition) for ids, condition in indexed), key=len)
        ids = matches[0].intersection(*matches[1:]) if matches else self.records.keys()
        if 8 * len(ids) < len(self.records):
            ordered = sorted((self.records[id] for id in ids), key=_sort_key)
        else:
            ordered = [self.records[id] for _, id in self._order if id in ids]
        # One part of a report in several parts has to meet all conditions.
        exact = not scope.collections and len(indexed) == len(scope.conditions)
        return [record for record in ordered if (exact and not record.several) or is_inside(record, scope)]


def _keep(results: dict[K, T], key: K, result: T) -> T:
    if len(results) >= KEPT_SCOPES:
        results.clear()
    results[key] = result
    return result


def _sort_key(record: DocumentRecord) -> tuple[str, str]:
    return record.title, record.id


def _updated(before: ByValue, field: str, old: Sequence[DocumentRecord], new: Sequence[DocumentRecord]) -> ByValue:
    """Return the ids of reports by their values of a field, after some reports have changed."""
    removed, added = _by_value(field, old), _by_value(field, new)
    if removed == added:
        return before
    after = dict(before)
    for value in {*removed, *added}:
        after[value] = before.get(value, Ids()) - removed[value] | added[value]
        if not after[value]:
            del after[value]
    return after


def _by_value(field: str, records: Iterable[DocumentRecord]) -> defaultdict[Value | None, set[str]]:
    ids: defaultdict[Value | None, set[str]] = defaultdict(set)
    for record in records:
        for part in record.parts:
            ids[_values(record, part).get(field)].add(record.id)
    return ids


def _matching(ids: ByValue, condition: Condition) -> Ids:
    if isinstance(condition, Values):
        values = [*condition.values, *([None] if condition.or_none else [])]
        return Ids().union(*(ids.get(value, Ids()) for value in values))
    return Ids().union(*(matches for value, matches in ids.items() if condition.matches(value)))


def _sorted(values: Iterable[Value | None]) -> list[Value]:
    return sorted({value for value in values if value is not None}, key=str)


def _values(record: DocumentRecord, part: Part) -> dict[str, Value]:
    """Return the values of a part that a scope compares: its metadata and the report's name."""
    return {**part.metadata, NAME: record.name}


def is_inside(record: DocumentRecord, scope: Scope) -> bool:
    """Return whether any passage of a report is in the scope."""
    return _in_collections(record, scope) and any(scope.matches(_values(record, part)) for part in record.parts)


def chunks_inside(record: DocumentRecord, scope: Scope) -> int:
    if not scope:
        return sum(part.chunks for part in record.several) if record.several else record.chunks
    parts = record.parts if _in_collections(record, scope) else ()
    return sum(part.chunks for part in parts if scope.matches(_values(record, part)))


def values_inside(record: DocumentRecord, field: str, scope: Scope) -> set[Value]:
    return {values[field] for values in values_of_parts(record, scope) if values.get(field) is not None}


def values_of_parts(record: DocumentRecord, scope: Scope) -> list[dict[str, Value]]:
    parts = record.parts if _in_collections(record, scope) else ()
    return [values for values in (_values(record, part) for part in parts) if scope.matches(values)]


def _in_collections(record: DocumentRecord, scope: Scope) -> bool:
    """Whether the scope's collections hold the report. One in SEVERAL may be in any: which ones is not counted."""
    return record.collection == SEVERAL or scope.holds(record.collection)
