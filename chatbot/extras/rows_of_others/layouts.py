"""Collections of other programs, read as they are: their rows come out with our names,
and nothing is ever written.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, NoReturn

from ...config.settings import Settings
from ...database import rows as forms
from ...database.core import Collection, Database, Group, Json
from ...domain.documents import SECTION_SEPARATOR
from ...domain.errors import ReadOnlyError, read_table
from ...domain.scope import NO_VALUE
from ...stores.atlas.indexes import (
    TEXT_INDEX,
    VECTOR_INDEX,
    SearchTarget,
    vector_index_definition,
)
from ...stores.atlas.meaning import AutoEmbedField, MeaningField, VectorField

_TABLE = read_table(__package__, "layouts")
IDENTITIES, ALIASES, OUR_NAMES = (
    _TABLE["identities"],
    _TABLE["aliases"],
    _TABLE["names"],
)
HEADERS = tuple(f"Header {level}" for level in range(1, 7))
"""Of langchain-text-splitters' `MarkdownHeaderTextSplitter`, as its documentation names
them.
"""
STATED = ("document_name", "document_page_number")
"""Fields that are read of other metadata where no path is named."""
LABELS = ("data_labels", "data_description")
READ = (
    "report_title",
    "document_title",
    "ordinal",
    "start",
    "url",
    "country_name",
    "year",
    *LABELS,
)
"""Fields that are read besides those of scopes."""
YEAR_OPERATORS = frozenset({"$eq", "$in", "$gte", "$lte"})
LAST_YEAR = datetime.max.year - 1
"""The last year that a date can follow."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The paths of our fields in rows of other programs. ``paths``: those that a person
    has named, by our field.
    """

    text: str = forms.TEXT_FIELD
    embedding: str = forms.EMBEDDING_FIELD
    metadata: str = ""
    """Path of the object with the metadata, "" = the row itself."""
    paths: Mapping[str, str] = field(default_factory=dict)

    def with_paths(self, pairs: Iterable[tuple[str, str]]) -> "Layout":
        """Return the layout with the paths of a map, by the names that people write."""
        paths = {OUR_NAMES.get(name, name): path for name, path in pairs}
        text = paths.pop(forms.TEXT_FIELD, self.text)
        embedding = paths.pop(forms.EMBEDDING_FIELD, self.embedding)
        return replace(
            self, text=text, embedding=embedding, paths={**self.paths, **paths}
        )

    def about(self, row: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the metadata of a row."""
        about = value_at(row, self.metadata) if self.metadata else row
        return about if isinstance(about, Mapping) else {}

    def candidates(self, name: str) -> list[str]:
        """Return the paths that may hold one of our fields, the most likely first."""
        if name in (forms.TEXT_FIELD, forms.EMBEDDING_FIELD):
            return [self.text if name == forms.TEXT_FIELD else self.embedding]
        if name in self.paths:
            return [self.paths[name]]
        return [self.inside(alias) for alias in ALIASES.get(name, (name,))]

    def inside(self, name: str) -> str:
        """Return the path of a metadata field."""
        return f"{self.metadata}.{name}" if self.metadata else name

    def identity(self, row: Mapping[str, Any]) -> tuple[str, Any] | None:
        """Return the path and the value that all rows of the row's report share; None =
        it states none.
        """
        named = [self.paths["document_id"]] if "document_id" in self.paths else []
        for path in (*named, *map(self.inside, IDENTITIES)):
            if (value := value_at(row, path)) not in (
                None,
                "",
                "None",
            ) and not isinstance(value, (Mapping, list)):
                return path, value
        return None

    def read(self, row: Mapping[str, Any], fields: Iterable[str]) -> Json:
        """Return a row with our names. ``fields``: metadata that scopes filter."""
        about = self.about(row)
        ours: Json = {
            name: self.first(row, name) for name in dict.fromkeys((*fields, *READ))
        }
        headers = SECTION_SEPARATOR.join(
            filter(None, (forms.text_value(about.get(name)) for name in HEADERS))
        )
        stated = {
            name: value_at(row, self.paths[name])
            for name in STATED
            if name in self.paths
        }
        return {
            **{
                name: value
                for name, value in row.items()
                if name in ("_id", "score", "details")
            },
            **{name: value for name, value in ours.items() if value is not None},
            forms.TEXT_FIELD: value_at(row, self.text),
            forms.EMBEDDING_FIELD: value_at(row, self.embedding),
            "document_id": self.document_id(row),
            "document_name": forms.document_name_of({**about, **stated}),
            "document_title": ours["document_title"] or headers,
            "document_page_number": forms.page_of({**about, **stated}),
        }

    def first(self, row: Mapping[str, Any], name: str) -> Any:
        """Return the row's value of one of our fields, None = it has none."""
        values = (value_at(row, path) for path in self.candidates(name))
        return next((value for value in values if value is not None), None)

    def document_id(self, row: Mapping[str, Any]) -> str:
        """Return the id of the row's report."""
        identity = self.identity(row)
        key = (
            repr(identity[1])
            if identity
            else repr([self.first(row, name) for name in forms.KEY_FIELDS])
        )
        return forms.OLDER_PREFIX + hashlib.sha256(key.encode()).hexdigest()[:16]

    def condition(self, row: Mapping[str, Any]) -> Json:
        """Return the filter for all rows of the row's report."""
        if identity := self.identity(row):
            return {identity[0]: identity[1]}
        about = {
            path: value_at(row, path)
            for name in forms.KEY_FIELDS
            for path in self.candidates(name)
        }
        return {**dict.fromkeys(map(self.inside, IDENTITIES)), **about}


LAYOUTS = {name: Layout(**row) for name, row in _TABLE["layouts"].items()}


def read_layout(schema: Sequence[str]) -> Layout:
    """Return the layout of a name, of ``field=path`` pairs, or of both."""
    layout = next((LAYOUTS[part] for part in schema if part in LAYOUTS), Layout())
    pairs = (part.partition("=") for part in schema if "=" in part)
    return layout.with_paths((name.strip(), path.strip()) for name, _, path in pairs)


def guess_layout(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return the name of the layout that these rows seem to have; "" = none that is
    known.
    """
    fitting = (
        name
        for row in rows
        for name, one in LAYOUTS.items()
        if one.text in row and one.about(row)
    )
    return next(fitting, "")


def value_at(row: Mapping[str, Any], path: str) -> Any:
    """Return the value at a dotted path; None = there is none."""
    value: Any = row
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


OWN_PREFIX = "report_chat_"
"""The prefix of our own collections in a database whose passages belong to another
program.
"""


class RowsOfOthers:
    """One of `ForeignRows`, by the settings."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def adapt(self, database: Database) -> None:
        """Have the database read the collections of passages in the layout of SCHEMA;
        do nothing where it is not set.
        """
        if not self._settings.schema or database.mapped:
            return
        layout = read_layout(self._settings.schema)
        fields = self._settings.filter_fields
        database.prefix = OWN_PREFIX
        database.mapped = {
            name: MappedCollection(name, database, layout, fields)
            for name in self._settings.chunk_collections
        }

    def remedy(self, rows: Sequence[Json]) -> str:
        schema = guess_layout(rows)
        if not schema:
            schema = f"{' or '.join(LAYOUTS)}, or text=FIELD,embedding=FIELD"
        return f"To read it in place, set SCHEMA={schema}."


rows_of = RowsOfOthers


class MappedCollection(Collection):
    """Rows come out with our names (`Layout.read`). Thread-safe. Writing raises
    ReadOnlyError.
    """

    read_only = True

    def __init__(
        self, name: str, database: Database, layout: Layout, fields: Sequence[str]
    ) -> None:
        super().__init__(name, database)
        self.layout = layout
        self._fields = tuple(fields)
        self._sample: list[Json] = []
        self._reports: dict[str, tuple[Json, Json]] = {}
        """A row of each report without text and vector, and the filter for its rows, by
        the report's id.
        """

    def path(self, name: str) -> str:
        """Return the path of one of our fields in this collection: of several, the one
        that its rows have.
        """
        candidates = self.layout.candidates(name)
        used = (
            path
            for path in candidates
            if any(value_at(row, path) is not None for row in self.sample())
        )
        return candidates[0] if len(candidates) == 1 else next(used, candidates[0])

    def sample(self) -> list[Json]:
        """Return some rows as they are stored, without texts and vectors."""
        if not self._sample:
            without = {self.layout.text: 0, self.layout.embedding: 0}
            self._sample = list(super().find({}, without, limit=50))
        return self._sample

    def find(
        self,
        filter: forms.Filter | None = None,
        projection: forms.Projection | None = None,
        **options: Any,
    ) -> Iterator[Json]:
        rows = super().find(
            self.condition(filter or {}), self._projection(projection), **options
        )
        if projection and projection.get("document_id"):
            return (self._noted(row, self._fields) for row in rows)
        return (self.layout.read(row, self._fields) for row in rows)

    def find_one(
        self, filter: Mapping[str, Any], projection: Mapping[str, int] | None = None
    ) -> Json | None:
        return next(self.find(filter, projection, limit=1), None)

    def count(self, filter: Mapping[str, Any]) -> int:
        return super().count(self.condition(filter))

    def distinct(
        self, field: str, filter: Mapping[str, Any] | None = None
    ) -> list[Any]:
        return super().distinct(self.path(field), self.condition(filter or {}))

    def group(
        self,
        filter: forms.Filter,
        by: Sequence[str],
        first: Sequence[str] = (),
    ) -> list[Group]:
        """Group the rows by what names their reports, and by the other fields of
        ``by``.
        """
        others_of_by = [name for name in by if name not in forms.NAMING]
        first = tuple(dict.fromkeys((*others_of_by, *first)))
        names = [self.layout.inside(name) for name in (*IDENTITIES, *forms.NAMING)]
        for name in forms.KEY_FIELDS:
            names += self.layout.candidates(name)
        names += self.layout.paths.values()
        for name in others_of_by:
            names += self.layout.candidates(name)
        values = [path for name in first for path in self.layout.candidates(name)]
        paths = list(dict.fromkeys(names))
        others = [path for path in dict.fromkeys(values) if path not in paths]
        groups = super().group(self.condition(filter), paths, others)
        return [(self._noted(row, first), number) for row, number in groups]

    def index_plans(
        self, by_meaning: MeaningField, fields: Iterable[str]
    ) -> list[SearchTarget]:
        """Return the search indexes that have the vectors and the texts, whatever
        their names. See `HasIndexes`.
        """
        searched = self.path(by_meaning.path)
        text = self.path(forms.TEXT_FIELD)
        paths = {name: self.path(name) for name in fields if name != "document_name"}
        planned: Json = vector_index_definition([by_meaning], paths.values())
        first, *filters = planned["fields"]
        expected = {"fields": [{**first, "path": searched}, *filters[:-1]]}
        vector_index = VECTOR_INDEX
        text_index = TEXT_INDEX
        declared: frozenset[str] = frozenset()
        for index in self.search_indexes():
            definition = index.get("latestDefinition") or {}
            of_type = {
                (field.get("type"), field.get("path"))
                for field in definition.get("fields", ())
            }
            mappings = definition.get("mappings") or {}
            if (by_meaning.type, searched) in of_type:
                vector_index = str(index["name"])
                declared = frozenset(
                    name for name, path in paths.items() if ("filter", path) in of_type
                )
            elif mappings.get("dynamic") or text in mappings.get("fields", ()):
                text_index = str(index["name"])
        return [
            SearchTarget(
                self.name,
                vector_index,
                "vectorSearch",
                expected,
                by_meaning,
                theirs=declared,
            ),
            SearchTarget(self.name, text_index, "search", {}, theirs=frozenset()),
        ]

    def auto_embedding_model(self) -> str:
        """Return the model of an index that embeds the texts, "" where there is none or
        another index has vectors. See `HasIndexes`.
        """
        model = ""
        for index in self.search_indexes():
            definition = index.get("latestDefinition") or {}
            for declared in definition.get("fields", ()):
                by_meaning = (declared.get("type"), declared.get("path"))
                if by_meaning == (VectorField.type, self.path(forms.EMBEDDING_FIELD)):
                    return ""
                if by_meaning == (AutoEmbedField.type, self.path(forms.TEXT_FIELD)):
                    model = str(declared.get("model"))
        return model

    def _noted(self, row: Json, fields: Sequence[str]) -> Json:
        """Return a row with our names, and note how its report's rows are found."""
        ours = self.layout.read(row, fields)
        self._reports[ours["document_id"]] = ours, self.layout.condition(row)
        return ours

    def search(
        self, pipeline: Sequence[Json], *, max_time_ms: int | None = None
    ) -> list[Json]:
        stages = [self._stage(stage) for stage in pipeline]
        return [
            self.layout.read(row, self._fields)
            for row in super().search(stages, max_time_ms=max_time_ms)
        ]

    def _refuse(self, *arguments: object, **options: object) -> NoReturn:
        raise ReadOnlyError(
            f"The collection {self.name!r} belongs to another program (SCHEMA): it "
            "is only read."
        )

    insert_one = replace_many = update_each = update_one = update_many = _refuse
    find_one_and_update = ensure = delete_many = _refuse
    create_index = create_search_index = update_search_index = drop_search_index = (
        _refuse
    )

    def condition(self, filter: Mapping[str, Any]) -> Json:
        """Return a filter over our fields as one over the paths of this collection."""
        if filter == forms.unregistered(embedded=False):
            return {}
        parts = [self._part(name, condition) for name, condition in filter.items()]
        if len(parts) > 1:
            return {"$and": parts}
        return parts[0] if parts else {}

    def _part(self, name: str, condition: Any) -> Json:
        """Return the condition on one of our fields as one over our paths."""
        if name in ("$and", "$or"):
            return {name: [self.condition(one) for one in condition]}
        if name == "_id":
            return {name: condition}
        operators = {"$eq": condition}
        if isinstance(condition, Mapping):
            operators = dict(condition)
        if name in ("document_id", "document_name"):
            return self._of_reports(name, operators)
        path = self.path(name)
        if operators == {"$eq": NO_VALUE}:
            return {path: {"$exists": False}}
        if name == "year" and not operators.keys() - YEAR_OPERATORS:
            return self._of_years(path, operators)
        return {path: operators}

    def _of_years(self, path: str, operators: Json) -> Json:
        """Return the condition on years in the type that the rows have them in."""
        stored = self._stored_value(path)
        if isinstance(stored, str):
            return {path: {op: _as_text(value) for op, value in operators.items()}}
        if not isinstance(stored, datetime):
            return {path: operators}
        ranges = [operators]
        if "$in" in operators:
            ranges = [{"$gte": year, "$lte": year} for year in operators["$in"]]
        elif "$eq" in operators:
            ranges = [{"$gte": operators["$eq"], "$lte": operators["$eq"]}]
        return {"$or": [{path: _dates(one)} for one in ranges]}

    def _stored_value(self, path: str) -> Any:
        """Return a value at a path in the sample, None if no row has one."""
        for row in self.sample():
            value = value_at(row, path)
            if value is not None:
                return value
        return None

    def _of_reports(self, name: str, operators: Json) -> Json:
        """Return the filter for the rows of the reports with these ids or names."""
        values = set(operators.get("$in", [operators.get("$eq")]))
        if not self._reports:
            self.group({}, ())
        # Whoever asks knows the reports from `group` or `find`, so what is not noted
        # does not exist: a look at all rows would take as long as there are rows.
        conditions = [
            condition
            for report, condition in list(self._reports.values())
            if report[name] in values
        ]
        if len(conditions) > 1:
            return {"$or": conditions}
        return conditions[0] if conditions else {"_id": {"$in": []}}

    def _projection(self, projection: Mapping[str, int] | None) -> Json:
        """Return what to leave out: which metadata a row has, it alone knows."""
        projection = projection or {}
        fields = [name for name, included in projection.items() if included]
        if fields == ["_id"]:
            return {"_id": 1}
        left_out: Json = {}
        if self.layout.metadata:
            # LlamaIndex keeps the whole node once more, as JSON.
            left_out[self.layout.inside("_node_content")] = 0
        for name in (forms.TEXT_FIELD, forms.EMBEDDING_FIELD):
            is_unnamed = bool(fields) and name not in fields
            if projection.get(name) == 0 or is_unnamed:
                left_out[self.path(name)] = 0
        return left_out

    def _stage(self, stage: Json) -> Json:
        ((name, spec),) = stage.items()
        if name == "$vectorSearch":
            # Both slots of vectors of ours are their one field.
            is_text = spec["path"] == forms.TEXT_FIELD
            name_of_field = forms.TEXT_FIELD if is_text else forms.EMBEDDING_FIELD
            ours = {**spec, "path": self.path(name_of_field)}
            if "filter" in spec:
                ours["filter"] = self.condition(spec["filter"])
            return {name: ours}
        if name == "$search":
            return {name: {**spec, "compound": self._compound(spec["compound"])}}
        if name == "$match":
            return {name: self.condition(spec)}
        if name == "$project" and spec == forms.WITHOUT_EMBEDDING:
            return {name: {self.path(forms.EMBEDDING_FIELD): 0}}
        if name == "$rerank":
            return {name: {**spec, "path": [self.path(forms.TEXT_FIELD)]}}
        if name == "$rankFusion":
            pipelines = {
                leg: [self._stage(one) for one in part]
                for leg, part in spec["input"]["pipelines"].items()
            }
            return {name: {**spec, "input": {"pipelines": pipelines}}}
        return stage

    def _compound(self, compound: Json) -> Json:
        """Return the clauses of words over the path of the texts: all in one, or one
        for each word.
        """
        path = [self.path(forms.TEXT_FIELD)]
        ours = dict(compound)
        for kind in ("must", "should"):
            if kind in compound:
                texts = [clause["text"] for clause in compound[kind]]
                ours[kind] = [{"text": {**text, "path": path}} for text in texts]
        return ours


def _as_text(value: Any) -> Any:
    """Return years as rows have them that keep years as texts."""
    if isinstance(value, list):
        return [str(year) for year in value]
    return str(value)


def _dates(years: Mapping[str, int]) -> Json:
    """Return a range of years as one of dates."""
    first = max(years.get("$gte", datetime.min.year), datetime.min.year)
    last = min(years.get("$lte", LAST_YEAR), LAST_YEAR)
    return {
        "$gte": datetime(first, 1, 1, tzinfo=UTC),
        "$lt": datetime(last + 1, 1, 1, tzinfo=UTC),
    }
