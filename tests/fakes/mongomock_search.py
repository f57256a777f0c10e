"""mongomock with a search engine: search stages, search indexes, and every refusal that
matters.

    client = SearchClient()
    database = MongoDatabase(client, "test")

Documents are searchable after ``engine.lag``; as the real one, it gives ids, and the
server drops those whose rows are gone meanwhile. An unknown index gives no rows and no
error, an unfinished one refuses, filters are type-strict.

Where these beliefs come from (paths of github.com/mongodb/mongot are below
src/main/java/com/xgen/mongot, those of github.com/mongodb/mongo below src/mongo):
- rows that are gone: db/pipeline/search/document_source_internal_search_id_lookup.cpp;
- late searches: mongodb.com/docs/atlas/atlas-search/performance/index-performance,
  "Eventual Consistency";
- an unknown index: mongot's server/command/search/VectorSearchCommand.java answers
  "index does not exist" with an empty batch;
- search stages come first (40602): db/pipeline/pipeline.cpp, and the tests in
  jstests/search; unknown stages (40324): db/pipeline/lite_parsed_document_source.cpp;
  `$meta` of what is not there (40218): db/pipeline/dependencies.cpp;
- no change streams without a replica set (40573):
  db/pipeline/document_source_change_stream.cpp;
- names of other codes (8, 26, 27, 68, 31082): base/error_codes.yml;
- commands of search indexes, of which one with an equal definition succeeds: mongot's
  server/command/management/aic (AicCreateSearchIndexesCommand.java and the others);
- three search indexes on the free tier, and the sentence of the refusal:
  mongodb.com/docs/atlas/reference/free-shared-limitations.
What ordinary commands do is mongomock's belief; tests/database/test_collection.py
compares it with the SQLite file, and at night with mongoeco.
"""

import copy
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from typing import Any

from pymongo import ReplaceOne, UpdateOne
from pymongo.results import BulkWriteResult

from tests.fakes.grouping import grouped, is_grouping
from tests.fakes.search_engine import (
    DETAILS,
    Engine,
    Row,
    SearchIndex,
    check_definition,
    failure,
    location,
    not_enabled,
    rank_fusion,
    refused,
)
from tests.fakes.text_search import text_search
from tests.fakes.vector_search import vector_search

SEARCH_STAGES = {
    "$vectorSearch": "vectorSearchScore",
    "$search": "searchScore",
    "$rankFusion": "score",
}
HIDDEN = "__meta"
# imported as Any: mongomock's type stubs describe PyMongo instead
MockClient: Any = import_module("mongomock").MongoClient
MockDatabase: Any = import_module("mongomock.database").Database
MockCollection: Any = import_module("mongomock.collection").Collection
process_pipeline: Any = import_module("mongomock.aggregate").process_pipeline


class SearchClient(MockClient):  # type: ignore[misc]
    """A MongoDB with a search engine, in memory. ``engine`` holds its switches."""

    def __init__(self) -> None:
        super().__init__()
        self.engine = Engine()
        self.lock = threading.RLock()
        self._searchable: dict[str, SearchDatabase] = {}

    def get_database(self, name: str | None = None, **options: Any) -> "SearchDatabase":
        assert name is not None
        with self.lock:
            if name not in self._searchable:
                self._searchable[name] = SearchDatabase(
                    self, name, _store=self._store[name]
                )
            return self._searchable[name]


class SearchDatabase(MockDatabase):  # type: ignore[misc]
    def command(self, command: Any, **options: Any) -> Any:
        # mongodb.com/docs/manual/reference/command/hello: localTime, a date in UTC
        if command == "hello":
            return {"ok": 1.0, "localTime": datetime.now(UTC).replace(tzinfo=None)}
        return super().command(command, **options)

    def watch(self, *arguments: Any, **options: Any) -> Any:
        raise failure(
            "The $changeStream stage is only supported on replica sets",
            40573,
            "Location40573",
        )

    def get_collection(self, name: str, **options: Any) -> "SearchCollection":
        with self._client.lock:
            if name not in self._collection_accesses:
                self._collection_accesses[name] = SearchCollection(
                    self, name, _db_store=self._store
                )
            found: SearchCollection = self._collection_accesses[name]
            return found


class SearchCollection(MockCollection):  # type: ignore[misc]
    """One collection: its documents, search indexes and aggregations."""

    @property
    def _engine(self) -> Engine:
        engine: Engine = self.database.client.engine
        return engine

    def with_options(self, *arguments: Any, **options: Any) -> "SearchCollection":
        return self

    def estimated_document_count(self, **options: Any) -> int:
        number = self._engine.rows
        return len(self._store) if number is None else number

    def count_documents(self, filter: Mapping[str, Any], **options: Any) -> int:
        self._engine.counted.append(filter)
        with self.database.client.lock:
            return int(super().count_documents(filter, **options))

    def _get_dataset(self, *arguments: Any) -> Iterator[Any]:
        """What a cursor hands out, read at once: mongomock changes a stored document
        in place while a cursor of another thread copies it.
        """
        with self.database.client.lock:
            return iter(list(super()._get_dataset(*arguments)))

    def aggregate(
        self, pipeline: Sequence[Mapping[str, Any]], session: Any = None, **options: Any
    ) -> Any:
        self._engine.asked.append(
            (self.name, copy.deepcopy([dict(stage) for stage in pipeline]), options)
        )
        return iter(self._run(pipeline))

    def bulk_write(
        self, requests: Sequence[Any], ordered: bool = True, **options: Any
    ) -> Any:
        # mongomock 4.3 does not know the ``sort`` that PyMongo 4.11+ passes along with
        # a replacement
        assert all(isinstance(request, (ReplaceOne, UpdateOne)) for request in requests)
        self._engine.operations.append(len(requests))
        with self.database.client.lock:
            results = self._noted(lambda: [self._write(one) for one in requests])
        matched = sum(result.matched_count for result in results)
        return BulkWriteResult({"nMatched": matched}, acknowledged=True)

    def _write(self, request: Any) -> Any:
        write = (
            super().replace_one
            if isinstance(request, ReplaceOne)
            else super().update_one
        )
        return write(request._filter, request._doc, upsert=bool(request._upsert))

    def update_one(self, *arguments: Any, **options: Any) -> Any:
        with (
            self.database.client.lock
        ):  # mongomock reads, changes and writes back: two at once lost one's changes
            return self._noted(partial(super().update_one, *arguments, **options))

    def update_many(self, *arguments: Any, **options: Any) -> Any:
        self._engine.operations.append(1)
        with self.database.client.lock:
            return self._noted(partial(super().update_many, *arguments, **options))

    def insert_one(self, *arguments: Any, **options: Any) -> Any:
        with self.database.client.lock:
            return self._noted(partial(super().insert_one, *arguments, **options))

    def delete_many(self, *arguments: Any, **options: Any) -> Any:
        with self.database.client.lock:
            return self._noted(partial(super().delete_many, *arguments, **options))

    def _noted(self, write: Callable[[], Any]) -> Any:
        """The engine will see the documents as they are afterwards; nothing is kept
        while it follows at once.
        """
        if not self._engine.lag:
            return write()
        states = self._engine.states.setdefault(self.name, [])
        if not states:
            states.append((float("-inf"), list(self.find())))
        result = write()
        states.append((self._engine.clock(), list(self.find())))
        return result

    def _followed(self) -> list[dict[str, Any]]:
        """The documents as the engine knows them."""
        states, known = (
            self._engine.states.get(self.name, []),
            self._engine.clock() - self._engine.lag,
        )
        while len(states) > 1 and states[1][0] <= known:
            del states[0]
        return states[0][1] if states else list(self.find())

    def find_one_and_update(self, *arguments: Any, **options: Any) -> Any:
        with self.database.client.lock:
            return super().find_one_and_update(*arguments, **options)

    def _run(self, pipeline: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        _check_places(pipeline)
        if any("$rerank" in part for part in pipeline):
            return self._reranked(pipeline)
        if is_grouping(pipeline):  # mongomock cannot order decimals, by which it groups
            match, group = pipeline
            return grouped(self.find(match["$match"]), group["$group"])
        if not pipeline or next(iter(pipeline[0])) not in SEARCH_STAGES:
            return list(super().aggregate(list(pipeline)))
        ((stage, spec),) = pipeline[0].items()
        meta = SEARCH_STAGES[stage]
        rows = [
            {**document, HIDDEN: {meta: score, "scoreDetails": document.get(DETAILS)}}
            for score, document in self._searched(stage, spec)
        ]
        known = {meta, "scoreDetails"} if spec.get("scoreDetails") else {meta}
        rest = [_with_meta(part, known) for part in pipeline[1:]]
        found = process_pipeline(rows, self.database, rest, None)
        return [
            {
                name: value
                for name, value in row.items()
                if name not in (HIDDEN, DETAILS)
            }
            for row in found
        ]

    def _reranked(self, pipeline: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """`$match`, `$rerank`, and the score:
        mongodb.com/docs/vector-search/query/aggregation-stages/rerank.
        """
        if self._engine.failure is not None:
            raise self._engine.failure
        if not self._engine.reranks:
            raise location(40324, "Unrecognized pipeline stage name: '$rerank'")
        at = next(n for n, stage in enumerate(pipeline) if "$rerank" in stage)
        spec = pipeline[at]["$rerank"]
        assert set(spec) - {"model"} == {"query", "path", "numDocsToRerank"}
        paths = [spec["path"]] if isinstance(spec["path"], str) else spec["path"]
        assert 1 <= spec["numDocsToRerank"] <= 1000
        constant = self._engine.constant_score
        words = set(spec["query"]["text"].casefold().split())
        rows = [
            {
                **row,
                HIDDEN: {
                    "score": constant
                    or float(
                        sum(
                            len(words & set(row[path].casefold().split()))
                            for path in paths
                        )
                    )
                },
            }
            for row in list(super().aggregate(list(pipeline[:at])))[
                : spec["numDocsToRerank"]
            ]
        ]
        rows.sort(key=lambda row: -row[HIDDEN]["score"])
        return list(
            process_pipeline(
                rows,
                self.database,
                [_with_meta(part, {"score"}) for part in pipeline[at + 1 :]],
                None,
            )
        )

    def _searched(self, stage: str, spec: Mapping[str, Any]) -> list[Row]:
        engine = self._engine
        if engine.failure is not None:
            raise engine.failure
        if not engine.enabled:
            raise not_enabled()
        if stage == "$rankFusion":
            if not engine.rank_fusion:
                raise location(40324, "Unrecognized pipeline stage name: '$rankFusion'")
            if engine.fusion_failure is not None:
                raise engine.fusion_failure
            return rank_fusion(spec, self._run)
        with self.database.client.lock:
            documents, rows = self._followed(), {row["_id"]: row for row in self.find()}
        if "query" in spec and not engine.takes_questions:
            raise refused('"queryVector" is required')
        search = vector_search if stage == "$vectorSearch" else text_search

        def serving(name: str, type: str) -> Mapping[str, Any] | None:
            definition = engine.serving(self.name, name, type)
            engine.embed_question(definition)
            return definition

        found = search(spec, documents, serving)
        if spec.get("returnStoredSource"):
            type = "vectorSearch" if stage == "$vectorSearch" else "search"
            name = str(spec["index"])
            stored = engine.stored_fields(serving(name, type) or {}, type)
            # What the engine has, also of rows that are gone meanwhile.
            return [
                (score, {path: row[path] for path in stored if path in row})
                for score, row in found
            ]
        engine.looked_up.extend(str(document["_id"]) for _, document in found)
        return [
            (score, rows[document["_id"]])
            for score, document in found
            if document["_id"] in rows
        ]

    def list_search_indexes(
        self, name: str | None = None, **options: Any
    ) -> Iterator[dict[str, Any]]:
        indexes = self._indexes().values()
        community = self._engine.community
        return iter(
            [
                index.described(community=community)
                for index in indexes
                if name in (None, index.name)
            ]
        )

    def create_search_index(self, model: Mapping[str, Any], **options: Any) -> str:
        name, type, definition = (
            model["name"],
            model.get("type", "search"),
            dict(model["definition"]),
        )
        indexes = self._indexes()
        if self.name not in self.database.list_collection_names():
            raise failure(
                f"Collection '{self.full_name}' does not exist.",
                26,
                "NamespaceNotFound",
            )
        if name in indexes:
            if indexes[name].latest == definition:
                return str(name)
            raise failure("Duplicate Index", 68, "IndexAlreadyExists")
        room = self._engine.room
        if (
            room is not None
            and sum(len(one) for one in self._engine.indexes.values()) >= room
        ):
            raise failure(
                (
                    "The maximum number of FTS indexes has been reached for this "
                    "instance size."
                ),
                8,
                "UnknownError",
            )
        self._engine.check_embedding(definition, {})
        check_definition(type, definition)
        indexes[name] = SearchIndex(name, type, definition)
        indexes[name].become(self._engine.new_status)
        return str(name)

    def update_search_index(
        self, name: str, definition: Mapping[str, Any], **options: Any
    ) -> None:
        index = self._existing(name)
        self._engine.check_embedding(definition, index.latest)
        check_definition(index.type, definition)
        index.latest = copy.deepcopy(dict(definition))
        index.become(self._engine.new_status)

    def drop_search_index(self, name: str, **options: Any) -> None:
        self._existing(name)
        del self._indexes()[name]

    def _indexes(self) -> dict[str, SearchIndex]:
        if not self._engine.enabled:
            raise not_enabled()
        return self._engine.indexes.setdefault(self.name, {})

    def _existing(self, name: str) -> SearchIndex:
        if name not in self._indexes():
            raise failure(f"index {name} does not exist", 27, "IndexNotFound")
        return self._indexes()[name]


def _check_places(pipeline: Sequence[Mapping[str, Any]]) -> None:
    for stage in (
        stage for part in pipeline[1:] for stage in part if stage in SEARCH_STAGES
    ):
        raise location(40602, f"{stage} is only valid as the first stage in a pipeline")


def _with_meta(value: Any, known: Set[str]) -> Any:
    """The stage with `{$meta: ...}` replaced by the hidden field it stands for."""
    if isinstance(value, Mapping):
        if set(value) == {"$meta"}:
            if value["$meta"] not in known:
                raise location(
                    40218,
                    (
                        f"query requires {value['$meta']} metadata, but it is not "
                        "available"
                    ),
                )
            return f"${HIDDEN}.{value['$meta']}"
        return {name: _with_meta(inner, known) for name, inner in value.items()}
    return (
        [_with_meta(inner, known) for inner in value]
        if isinstance(value, list)
        else value
    )
