"""The reports as of one moment, by the values that a scope can ask for: no question looks at all of them.

What is kept grows with the reports; the next index is made of this one and of what changed.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import TypeVar

from ..schema import Condition, DocumentRecord, Holdings, Part, Scope, Value, Values

SEVERAL = ""
"""The collection of a report whose rows are in more than one."""
NAME = "document_name"
MOST_SCOPES = 64
"""Whose reports are kept as they were found."""
K = TypeVar("K")
T = TypeVar("T")
Ids = frozenset[str]
ByValue = Mapping[Value | None, Ids]


class Texts:
    """Short texts that are searched at the speed of one long one."""

    def __init__(self, texts: Iterable[str]) -> None:
        folded = [text.casefold().replace("\n", " ") for text in texts]
        self._all = "\n".join(folded)
        self._starts = [0, *accumulate(len(text) + 1 for text in folded)]

    def holding(self, part: str) -> list[int]:
        """The places of those that have ``part`` in them, in any case."""
        part, places = part.casefold().replace("\n", " "), list[int]()
        at = self._all.find(part)
        while at >= 0:
            places.append(bisect_right(self._starts, at) - 1)
            at = self._all.find(part, self._starts[places[-1] + 1])
        return places


class ReportIndex:
    """Never changes: `changed` makes the next one. What was found for a scope is kept. Thread-safe."""

    def __init__(self, fields: Iterable[str] = ()) -> None:
        """An empty index. Values of ``fields`` are looked up; for any other field each report is compared."""
        self.records: dict[str, DocumentRecord] = {}
        self.unsettled: dict[str, str] = {}
        """Reports that are being written or removed, with the version questions may see ("" = none)."""
        self._order: list[tuple[str, str]] = []
        self._ids: dict[str, ByValue] = {field: {} for field in fields}
        self._values: dict[str, list[Value]] = {field: [] for field in fields}
        self._all = Holdings()
        self._inside: dict[Scope, list[DocumentRecord]] = {}
        self._holdings: dict[Scope, Holdings] = {}
        self._counts: dict[tuple[str, Scope], Mapping[Value, int]] = {}
        self._listed: dict[tuple[str, Scope], Sequence[Value]] = {}
        self._named: dict[Scope, Texts] = {}
        self._texts: dict[tuple[str, Scope], Texts] = {}

    def changed(self, changes: Mapping[str, DocumentRecord | None]) -> ReportIndex:
        """A new index with these reports as they are now; None = gone."""
        old = [self.records[id] for id in changes if id in self.records]
        new = [record for record in changes.values() if record is not None]
        after = ReportIndex(self._ids)
        gone = changes.keys() - {record.id for record in new}
        after.records = {**self.records, **{record.id: record for record in new}}
        settled = {id: version for id, version in self.unsettled.items() if id not in changes}
        after.unsettled = settled | {r.id: r.visible_version for r in new if r.status != "ready" or r.replacing}
        for id in gone:
            after.records.pop(id, None)
        after._order = _reordered(self._order, old, new)
        for field, known in self._ids.items():
            ids = after._ids[field] = _moved(known, field, old, new)
            same = ids.keys() == known.keys()
            after._values[field] = self._values[field] if same else _sorted(ids)
        after._all = self._all.plus(_held(new, Scope())).plus(_held(old, Scope()), -1)
        return after

    def inside(self, scope: Scope) -> Sequence[DocumentRecord]:
        """The reports in a scope, by title. The list is shared: it must not be changed."""
        return _kept(self._inside, scope, self._find)

    def holdings(self, scope: Scope) -> Holdings:
        """Their number, and that of their passages inside the scope."""
        return _kept(self._holdings, scope, self._count) if scope else self._all

    def values(self, field: str) -> Sequence[Value]:
        """The values of a field that reports have, sorted. The list must not be changed."""
        if field in self._values:
            return self._values[field]
        return _sorted(value for record in self.records.values() for value in values_inside(record, field, Scope()))

    def counts(self, field: str, scope: Scope) -> Mapping[Value, int]:
        """How many reports have each value of a field, sorted by value. One in several parts counts those inside."""
        return _kept(self._counts, (field, scope), self._count_values)

    def _count_values(self, key: tuple[str, Scope]) -> Mapping[Value, int]:
        field, scope = key
        if not scope and field in self._ids:
            return {value: len(self._ids[field][value]) for value in self._values[field]}
        counts = Counter(value for record in self.inside(scope) for value in values_inside(record, field, scope))
        return {value: counts[value] for value in _sorted(counts)}

    def pairs(self, one: str, other: str, scope: Scope) -> Mapping[tuple[Value | None, Value | None], int]:
        """How many reports have each pair of values of two fields; a table counts for each pair that it has rows of."""
        return Counter(
            pair
            for record in self.inside(scope)
            for pair in {(values.get(one), values.get(other)) for values in values_of_parts(record, scope)}
        )

    def named(self, part: str, scope: Scope) -> Sequence[DocumentRecord]:
        """The reports in scope with this in their title or source, in any case; by title. The list must not be
        changed.
        """
        inside = self.inside(scope)
        return [inside[place] for place in _kept(self._named, scope, self._names).holding(part)] if part else inside

    def having(self, part: str, field: str, scope: Scope) -> Sequence[Value]:
        """The values of `counts` that have this in them, in any case."""
        values = _kept(self._listed, (field, scope), self._list)
        return (
            [values[place] for place in _kept(self._texts, (field, scope), self._shown).holding(part)]
            if part
            else values
        )

    def _names(self, scope: Scope) -> Texts:
        return Texts(f"{record.title}\0{record.source}" for record in self.inside(scope))

    def _list(self, key: tuple[str, Scope]) -> Sequence[Value]:
        return list(self.counts(*key))

    def _shown(self, key: tuple[str, Scope]) -> Texts:
        return Texts(map(str, self.counts(*key)))

    def _find(self, scope: Scope) -> list[DocumentRecord]:
        looked_up = [(self._ids[name], condition) for name, condition in scope.conditions if name in self._ids]
        found = sorted((_matching(ids, condition) for ids, condition in looked_up), key=len)
        ids = found[0].intersection(*found[1:]) if found else self.records.keys()
        if 8 * len(ids) < len(self.records):
            ordered = sorted((self.records[id] for id in ids), key=_place)
        else:
            ordered = [self.records[id] for _, id in self._order if id in ids]
        # Of a report in several parts one of them has to have all that is asked for.
        exact = not scope.collections and len(looked_up) == len(scope.conditions)
        return [record for record in ordered if (exact and not record.several) or is_inside(record, scope)]

    def _count(self, scope: Scope) -> Holdings:
        return _held(self.inside(scope), scope)


def _kept(known: dict[K, T], key: K, make: Callable[[K], T]) -> T:
    found = known.get(key)
    if found is None:
        if len(known) >= MOST_SCOPES:
            known.clear()
        found = known[key] = make(key)
    return found


def _place(record: DocumentRecord) -> tuple[str, str]:
    return record.title, record.id


def _reordered(
    order: list[tuple[str, str]], old: Sequence[DocumentRecord], new: Sequence[DocumentRecord]
) -> list[tuple[str, str]]:
    gone, come = set(map(_place, old)), set(map(_place, new))
    if gone == come:
        return order
    return sorted([*(place for place in order if place not in gone), *come])  # nearly sorted already: linear


def _moved(known: ByValue, field: str, old: Sequence[DocumentRecord], new: Sequence[DocumentRecord]) -> ByValue:
    """The reports by their values of a field, after a change of some."""
    gone, come = _grouped(field, old), _grouped(field, new)
    if gone == come:
        return known
    after = dict(known)
    for value in {*gone, *come}:
        after[value] = known.get(value, Ids()) - gone[value] | come[value]
        if not after[value]:
            del after[value]
    return after


def _grouped(field: str, records: Iterable[DocumentRecord]) -> defaultdict[Value | None, set[str]]:
    found: defaultdict[Value | None, set[str]] = defaultdict(set)
    for record in records:
        for part in record.parts:
            found[seen(record, part).get(field)].add(record.id)
    return found


def _matching(ids: ByValue, condition: Condition) -> Ids:
    if isinstance(condition, Values):
        wanted = [*condition.values, *([None] if condition.or_none else [])]
        return Ids().union(*(ids.get(value, Ids()) for value in wanted))
    return Ids().union(*(found for value, found in ids.items() if condition.matches(value)))


def _sorted(values: Iterable[Value | None]) -> list[Value]:
    return sorted({value for value in values if value is not None}, key=str)


def _held(records: Iterable[DocumentRecord], scope: Scope) -> Holdings:
    return Holdings.of((record, chunks_inside(record, scope)) for record in records)


def seen(record: DocumentRecord, part: Part) -> dict[str, Value]:
    """What a scope sees of a part: its metadata and the report's name."""
    return {**part.metadata, NAME: record.name}


def is_inside(record: DocumentRecord, scope: Scope) -> bool:
    """Whether any passage of a report is in the scope."""
    return _holds(record, scope) and any(scope.matches(seen(record, part)) for part in record.parts)


def chunks_inside(record: DocumentRecord, scope: Scope) -> int:
    """How many passages of a report are in the scope."""
    if not scope:
        return sum(part.chunks for part in record.several) if record.several else record.chunks
    parts = record.parts if _holds(record, scope) else ()
    return sum(part.chunks for part in parts if scope.matches(seen(record, part)))


def values_inside(record: DocumentRecord, field: str, scope: Scope) -> set[Value]:
    """A report's values of a field, of those parts that the scope admits."""
    return {found[field] for found in values_of_parts(record, scope) if found.get(field) is not None}


def values_of_parts(record: DocumentRecord, scope: Scope) -> list[dict[str, Value]]:
    """What a scope sees of those parts that it admits."""
    found = (seen(record, part) for part in record.parts if _holds(record, scope))
    return [values for values in found if scope.matches(values)]


def _holds(record: DocumentRecord, scope: Scope) -> bool:
    """Whether the scope's collections have the report. One in several is in any of them: nobody counted which."""
    return record.collection == SEVERAL or scope.holds(record.collection)
