"""A collection of another program behind the interface of ours: filters and pipelines go out with its paths."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NoReturn

from ..config.settings import Settings
from ..domain import NO_VALUE
from ..domain.errors import ReadOnlyError
from .core import Collection, Database, Json
from .layouts import SAMPLED, Layout, read_layout, value_at
from .rows import EMBEDDING_FIELD, TEXT_FIELD, WITHOUT_EMBEDDING, unregistered

OWN_PREFIX = "report_chat_"
"""Of our own collections in a database whose passages belong to another program."""
NOTHING: Json = {"_id": {"$in": []}}
RANGE_OPERATORS = ("$gt", "$gte", "$lt", "$lte")


def map_collections(database: Database, settings: Settings) -> None:
    """Have the database read the collections of passages in the layout of SCHEMA, where it is set."""
    if settings.schema and not database.mapped:
        layout, names = read_layout(settings.schema), settings.chunk_collections
        database.prefix = OWN_PREFIX
        database.mapped = {name: MappedCollection(name, database, layout, settings.filter_fields) for name in names}


class MappedCollection(Collection):
    """Rows come out with our names (`Layout.read`). Thread-safe. Writing raises ReadOnlyError."""

    read_only = True

    def __init__(self, name: str, database: Database, layout: Layout, fields: Sequence[str]) -> None:
        super().__init__(name, database)
        self.layout = layout
        self._fields = tuple(fields)
        self._sample: list[Json] = []
        self._reports: dict[str, tuple[Json, Json]] = {}
        """A row of each report without text and vector, and the filter for its rows, by the report's id."""

    def path(self, name: str) -> str:
        """Return the path of one of our fields in this collection: of several, the one that its rows have."""
        candidates = self.layout.candidates(name)
        used = (path for path in candidates if any(value_at(row, path) is not None for row in self.sample()))
        return candidates[0] if len(candidates) == 1 else next(used, candidates[0])

    def sample(self) -> list[Json]:
        """Return some rows as they are stored, without texts and vectors."""
        if not self._sample:
            without = {self.layout.text: 0, self.layout.embedding: 0}
            self._sample = list(super().find({}, without, limit=SAMPLED))
        return self._sample

    def find(
        self,
        filter: Mapping[str, Any] | None = None,
        projection: Mapping[str, int] | None = None,
        *,
        sort: Sequence[tuple[str, int]] | None = None,
        limit: int = 0,
    ) -> Iterator[Json]:
        rows = super().find(self.condition(filter or {}), self._projection(projection), sort=sort, limit=limit)
        return (self.layout.read(row, self._fields) for row in rows)

    def find_one(self, filter: Mapping[str, Any], projection: Mapping[str, int] | None = None) -> Json | None:
        return next(self.find(filter, projection, limit=1), None)

    def count(self, filter: Mapping[str, Any]) -> int:
        return super().count(self.condition(filter))

    def distinct(self, field: str, filter: Mapping[str, Any] | None = None) -> list[Any]:
        return super().distinct(self.path(field), self.condition(filter or {}))

    def search(self, pipeline: Sequence[Json], *, max_time_ms: int | None = None) -> list[Json]:
        stages = [self._stage(stage) for stage in pipeline]
        return [self.layout.read(row, self._fields) for row in super().search(stages, max_time_ms=max_time_ms)]

    def _refuse(self, *arguments: object, **options: object) -> NoReturn:
        raise ReadOnlyError(f"The collection {self.name!r} belongs to another program (SCHEMA): it is only read.")

    insert_one = replace_many = update_each = update_one = find_one_and_update = ensure = delete_many = _refuse
    create_index = create_search_index = update_search_index = drop_search_index = _refuse

    def condition(self, filter: Mapping[str, Any]) -> Json:
        """Return a filter over our fields as one over the paths of this collection."""
        if filter == unregistered(embedded=False):
            return {}
        parts = [self._part(name, condition) for name, condition in filter.items()]
        return {"$and": parts} if len(parts) > 1 else parts[0] if parts else {}

    def _part(self, name: str, condition: Any) -> Json:
        if name in ("$and", "$or"):
            return {name: [self.condition(one) for one in condition]}
        if name == "_id":
            return {name: condition}
        operators = dict(condition) if isinstance(condition, Mapping) else {"$eq": condition}
        if name in ("document_id", "document_name"):
            return self._of_reports(name, operators)
        path = self.path(name)
        if operators == {"$eq": NO_VALUE}:
            return {path: {"$exists": False}}
        if name != "year" or operators.keys() - {"$eq", "$in", *RANGE_OPERATORS}:
            return {path: operators}
        stored = next((value for row in self.sample() if (value := value_at(row, path)) is not None), None)
        if isinstance(stored, str):
            return {path: {op: list(map(str, value)) if op == "$in" else str(value) for op, value in operators.items()}}
        if not isinstance(stored, datetime):
            return {path: operators}
        years = operators.get("$in", [operators["$eq"]] if "$eq" in operators else None)
        ranges = [operators] if years is None else [{"$gte": year, "$lte": year} for year in years]
        return {"$or": [{path: _dates(one)} for one in ranges]}

    def _of_reports(self, name: str, operators: Json) -> Json:
        """Return the filter for the rows of the reports with these ids or names."""
        wanted = set(operators.get("$in", [operators.get("$eq")]))
        if not wanted <= {known[name] for known, _ in self._reports.values()}:
            for row in super().find({}, self._projection({"document_id": 1})):
                ours = self.layout.read(row, ())
                self._reports[ours["document_id"]] = ours, self.layout.condition(row)
        found = [condition for known, condition in self._reports.values() if known[name] in wanted]
        return {"$or": found} if len(found) > 1 else found[0] if found else NOTHING

    def _projection(self, projection: Mapping[str, int] | None) -> Json:
        """Return what to leave out: which metadata a row has, it alone knows."""
        projection = projection or {}
        wanted = [name for name, included in projection.items() if included]
        if wanted == ["_id"]:
            return {"_id": 1}
        # LlamaIndex keeps the whole node once more, as JSON.
        hidden = {self.layout.inside("_node_content"): 0} if self.layout.metadata else {}
        for name, path in ((TEXT_FIELD, self.layout.text), (EMBEDDING_FIELD, self.layout.embedding)):
            if projection.get(name) == 0 or (wanted and name not in wanted):
                hidden[path] = 0
        return hidden

    def _stage(self, stage: Json) -> Json:
        ((name, spec),) = stage.items()
        if name == "$vectorSearch":
            inside = {"filter": self.condition(spec["filter"])} if "filter" in spec else {}
            return {name: {**spec, **inside, "path": self.path(EMBEDDING_FIELD)}}
        if name == "$search":
            (must,) = spec["compound"]["must"]
            text = {"text": {**must["text"], "path": [self.path(TEXT_FIELD)]}}
            return {name: {**spec, "compound": {**spec["compound"], "must": [text]}}}
        if name == "$match":
            return {name: self.condition(spec)}
        if name == "$rerank":
            return {name: {**spec, "path": self.path(TEXT_FIELD)}}
        if name == "$project" and spec == WITHOUT_EMBEDDING:
            return {name: {self.path(EMBEDDING_FIELD): 0}}
        if name == "$rankFusion":
            pipelines = {leg: [self._stage(one) for one in part] for leg, part in spec["input"]["pipelines"].items()}
            return {name: {**spec, "input": {"pipelines": pipelines}}}
        return stage


def _dates(years: Mapping[str, int]) -> Json:
    """Return a range of years as one of dates."""
    first, last = max(years.get("$gte", 1), 1), min(years.get("$lte", 9998), 9998)
    return {"$gte": datetime(first, 1, 1, tzinfo=UTC), "$lt": datetime(last + 1, 1, 1, tzinfo=UTC)}
