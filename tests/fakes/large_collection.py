"""A collection of passages without vectors, as large as wished: its rows are made when
they are read. What is written goes into the double, and is found beside them.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.fakes.mongomock_search import SearchClient, SearchCollection, SearchDatabase
from tests.fakes.search_engine import Row

Document = dict[str, Any]


class Passages:
    """So many passages of each report; ``reports`` are rows with `_id`, `version` and
    the fields that filters name.
    """

    def __init__(self, reports: Sequence[Document], each: int) -> None:
        self.reports = {report["document_id"]: report for report in reports}
        self.each = each

    def __len__(self) -> int:
        return self.each * len(self.reports)

    def find(self, filter: Mapping[str, Any]) -> Iterator[Document]:
        conditions = dict(filter)
        if "_id" in conditions:
            wanted = conditions.pop("_id")
            ids = wanted["$in"] if isinstance(wanted, Mapping) else [wanted]
            for id in ids:
                row = self._row_of(id) if isinstance(id, str) else None
                if row is not None and _matches(row, conditions):
                    yield row
            return
        for report in self.reports.values():
            if _matches(report, conditions):
                for ordinal in range(self.each):
                    yield self._row(report, ordinal)

    def count(self, filter: Mapping[str, Any]) -> int:
        if "_id" in filter:
            return sum(1 for _ in self.find(filter))
        reports = self.reports.values()
        return self.each * sum(_matches(report, filter) for report in reports)

    def _row_of(self, id: str) -> Document | None:
        document_id, _, rest = id.partition("-")
        ordinal = rest.rpartition("-")[2]
        report = self.reports.get(document_id)
        if report is None or not ordinal.isdecimal() or int(ordinal) >= self.each:
            return None
        row = self._row(report, int(ordinal))
        return row if row["_id"] == id else None

    def _row(self, report: Document, ordinal: int) -> Document:
        text = (
            f"The inflation of {report['country_name']} was {ordinal}.5 percent in "
            f"{report['year']}."
        )
        return {
            **{name: value for name, value in report.items() if name != "version"},
            "_id": f"{report['document_id']}-{report['version']}-{ordinal:05d}",
            "data": text,
            "ordinal": ordinal,
            "start": 100 * ordinal,
            "end": 100 * ordinal + len(text),
        }


def _matches(row: Mapping[str, Any], filter: Mapping[str, Any]) -> bool:
    for name, condition in filter.items():
        if name == "$or":
            is_met = any(_matches(row, branch) for branch in condition)
        elif name == "$and":
            is_met = all(_matches(row, branch) for branch in condition)
        else:
            is_met = _meets(row, name, condition)
        if not is_met:
            return False
    return True


def _meets(row: Mapping[str, Any], name: str, condition: Any) -> bool:
    value = row.get(name)
    operators = condition if isinstance(condition, Mapping) else {"$eq": condition}
    for operator, operand in operators.items():
        if operator == "$eq" and value != operand:
            return False
        if operator == "$in" and value not in operand:
            return False
        if operator == "$gte" and not (value is not None and value >= operand):
            return False
        if operator == "$lte" and not (value is not None and value <= operand):
            return False
        if operator == "$exists" and (name in row) != operand:
            return False
        if operator == "$type":  # other programs' types
            return False
    return True


class LargeClient(SearchClient):
    """A server whose collection ``name`` has ``passages``."""

    def __init__(self, name: str, passages: Passages) -> None:
        super().__init__()
        self.large = name, passages

    def get_database(self, name: str | None = None, **options: Any) -> SearchDatabase:
        assert name is not None
        with self.lock:
            if name not in self._searchable:
                self._searchable[name] = LargeDatabase(
                    self, name, _store=self._store[name]
                )
            return self._searchable[name]


class LargeDatabase(SearchDatabase):
    def get_collection(self, name: str, **options: Any) -> SearchCollection:
        large, passages = self._client.large
        if name != large:
            return super().get_collection(name, **options)
        with self._client.lock:
            if name not in self._collection_accesses:
                made = LargeCollection(self, name, _db_store=self._store)
                made.passages = passages
                self._collection_accesses[name] = made
            found: SearchCollection = self._collection_accesses[name]
            return found


class LargeCollection(SearchCollection):
    passages: Passages

    def find(
        self,
        filter: Any = None,
        projection: Any = None,
        limit: int = 0,
        sort: Any = None,
        **options: Any,
    ) -> Any:
        stored = list(super().find(filter, projection, **options))
        made = self.passages.find(filter or {})
        rows = [*stored, *_first(made, limit - len(stored) if limit else None)]
        return iter(rows[:limit] if limit else rows)

    def find_one(self, filter: Any = None, *rest: Any, **options: Any) -> Any:
        return next(iter(self.find(filter, limit=1)), None)

    def count_documents(self, filter: Any, **options: Any) -> int:
        stored = super().count_documents(filter, **options)
        return stored + self.passages.count(filter)

    def estimated_document_count(self, **options: Any) -> int:
        return super().estimated_document_count() + len(self.passages)

    def _searched(self, stage: str, spec: Mapping[str, Any]) -> list[Row]:
        """The first rows inside of the filter, whatever is asked; by keywords none."""
        if stage == "$rankFusion":
            return super()._searched(stage, spec)
        if stage == "$vectorSearch":
            limit, filter = spec["limit"], spec.get("filter", {})
        elif "equals" in spec:
            clause = spec["equals"]
            limit, filter = None, {clause["path"]: clause["value"]}
        else:
            return []
        stored = list(super().find(filter))
        rows = [*stored, *_first(self.passages.find(filter), limit)][:limit]
        return [(0.9 - place / 10_000, row) for place, row in enumerate(rows)]


def _first(rows: Iterator[Document], limit: int | None) -> list[Document]:
    found: list[Document] = []
    for row in rows:
        if limit is not None and len(found) >= limit:
            break
        found.append(row)
    return found
