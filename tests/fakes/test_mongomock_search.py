"""The stand-in refuses what the engine refuses, in the engine's words; it answers what the engine answers."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pytest
from bson import ObjectId
from bson.binary import Binary, BinaryVectorDtype
from pymongo.errors import OperationFailure

from chatbot.schema import Scope
from chatbot.stores.atlas.definitions import text_index_definition, vector_index_definition
from chatbot.stores.atlas.pipelines import rank_fusion_pipeline, text_stage, vector_stage
from tests.fakes.mongomock_search import SearchClient

FIELDS = ("country", "year", "tags", "seen", "owner", "flag")
Query = dict[str, Any]


@pytest.fixture
def collection() -> Any:
    found = SearchClient()["test"]["reports"]
    rows = [
        {"_id": "a", "country": "Kenya", "year": 2023, "tags": ["x", "y"], "data": "coffee and tea"},
        {"_id": "b", "country": "Chad", "year": 2022, "tags": ["y"], "data": "coffee"},
        {"_id": "c", "country": "Peru", "year": "2023", "flag": True, "data": "maize"},
    ]
    for row, vector in zip(rows, np.eye(3, dtype=np.float32), strict=True):
        found.insert_one({**row, "data_embedding": Binary.from_vector(vector.tolist(), BinaryVectorDtype.FLOAT32)})
    found.create_search_index(
        {"name": "v", "type": "vectorSearch", "definition": vector_index_definition({"": 3}, FIELDS)},
    )
    found.create_search_index({"name": "t", "type": "search", "definition": text_index_definition(FIELDS, "english")})
    return found


def ann(**changes: Any) -> Query:
    base: Query = {
        "index": "v",
        "path": "data_embedding",
        "queryVector": [1.0, 0.0, 0.0],
        "numCandidates": 10,
        "limit": 3,
    }
    return {"$vectorSearch": {name: value for name, value in {**base, **changes}.items() if value is not None}}


def found_by(collection: Any, filter: Query) -> str:
    return "".join(sorted(row["_id"] for row in collection.aggregate([ann(filter=filter)])))


REFUSED: list[tuple[Query, str]] = [
    ({"filter": {"title": "x"}}, "Path 'title' needs to be indexed as filter"),
    ({"path": "other"}, "other is not indexed as vector"),
    ({"queryVector": [1.0, 0.0]}, "vector field is indexed with 3 dimensions but queried with 2"),
    ({"queryVector": [0.0, 0.0, 0.0]}, "Cosine similarity cannot be calculated against a zero vector."),
    ({"queryVector": [float("nan"), 0.0, 0.0]}, '"queryVector[0]" non-finite value'),
    ({"limit": 11}, "limit should be less than or equal to numCandidates"),
    ({"limit": 0}, '"limit" must be positive'),
    ({"numCandidates": 0}, '"numCandidates" must be within bounds [1..10000]'),
    ({"numCandidates": 10_001}, '"numCandidates" must be within bounds [1..10000]'),
    ({"numCandidates": None}, "numCandidates is required for approximate vector search"),
    ({"exact": True}, '"numCandidates" must be omitted when "exact" is set to true'),
    ({"index": None}, '"index" is required'),
    ({"k": 5}, 'unrecognized field "k"'),
    ({"filter": []}, "filter must be a document"),
    ({"filter": {"year": {"$in": []}}}, '"filter.year.$in" cannot be empty'),
    ({"filter": {"year": {"$in": [2023, "2023"]}}}, "must have elements of the same type"),
    ({"filter": {"year": {"$in": 2023}}}, "must be an array"),
    ({"filter": {"$and": []}}, '"filter.$and" cannot be empty'),
    ({"filter": {"country": {"$regex": "K"}}}, '"filter.country.$regex" unrecognized field'),
    ({"filter": {"tags": {"$elemMatch": {"$eq": "x"}}}}, '"filter.tags.$elemMatch" unrecognized field'),
    ({"filter": {"$expr": {"$eq": ["$year", 2023]}}}, '"filter.$expr" unrecognized field'),
    ({"filter": {"country": {"$eq": {"a": 1}}}}, "value must be one of"),
]


@pytest.mark.parametrize(("changes", "message"), REFUSED, ids=[row[1] for row in REFUSED])
def test_refusals(collection: Any, changes: Query, message: str) -> None:
    with pytest.raises(OperationFailure) as caught:
        list(collection.aggregate([ann(**changes)]))
    assert message in str(caught.value)
    assert caught.value.code == 8


@pytest.mark.parametrize(
    ("pipeline", "code"),
    [
        ([{"$match": {}}, ann()], 40602),
        ([ann(), ann()], 40602),
        ([{"$lookup": {"from": "reports", "pipeline": [ann()], "as": "x"}}], 51047),
        ([{"$facet": {"x": [ann()]}}], 40600),
        ([ann(), {"$addFields": {"score": {"$meta": "searchScore"}}}], 40218),
    ],
)
def test_misplaced_stages(collection: Any, pipeline: list[Query], code: int) -> None:
    with pytest.raises(OperationFailure) as caught:
        list(collection.aggregate(pipeline))
    assert caught.value.code == code


def test_an_unknown_index_gives_no_rows_and_no_error(collection: Any) -> None:
    assert list(collection.aggregate([ann(index="nope")])) == []
    assert list(collection.aggregate([{"$search": {"index": "nope", "text": {"query": "x", "path": "data"}}}])) == []


@pytest.mark.parametrize(
    ("filter", "expected"),
    [
        ({}, "abc"),
        ({"year": 2023}, "a"),
        ({"year": 2023.0}, "a"),
        ({"year": "2023"}, "c"),
        ({"year": {"$ne": 2023}}, "bc"),
        ({"year": {"$in": [2022, 2023]}}, "ab"),
        ({"year": {"$nin": [2022, 2023]}}, "c"),
        ({"year": {"$gt": 2022}}, "a"),
        ({"year": {"$gte": 2022, "$lt": 2023}}, "b"),
        ({"year": {"$lte": "2023"}}, "c"),
        ({"tags": "x"}, "a"),
        ({"tags": {"$exists": False}}, "c"),
        ({"country": {"$not": {"$eq": "Kenya"}}}, "bc"),
        ({"flag": True}, "c"),
        ({"flag": 1}, ""),
        ({"$or": [{"country": "Kenya"}, {"country": "Chad"}]}, "ab"),
        ({"$and": [{"country": "Kenya"}, {"year": 2022}]}, ""),
        ({"$nor": [{"country": "Kenya"}]}, "bc"),
        ({"seen": {"$gte": datetime.datetime(2024, 1, 1)}}, ""),
        ({"owner": ObjectId("65a0c0ffee65a0c0ffee65a0")}, ""),
    ],
    ids=str,
)
def test_filters_are_type_strict(collection: Any, filter: Query, expected: str) -> None:
    assert found_by(collection, filter) == expected


@pytest.mark.parametrize(
    ("stored", "indexed"),
    [
        ([1, 0, 0], True),
        ([1.0, 0.5, 0.25], True),
        (Binary.from_vector([1.0, 0.0, 0.0], BinaryVectorDtype.FLOAT32), True),
        (np.ones(3, dtype="<f4").tobytes(), False),
        ([1.0, 0.0], False),
        ([True, False, False], False),
        ([0.0, 0.0, 0.0], False),
        ("1,0,0", False),
        (None, False),
    ],
    ids=repr,
)
def test_what_is_indexed_as_a_vector(collection: Any, stored: Any, indexed: bool) -> None:
    collection.insert_one({"_id": "new", "data_embedding": stored})
    assert ("new" in {row["_id"] for row in collection.aggregate([ann(limit=10)])}) is indexed


def test_scores_by_similarity(collection: Any) -> None:
    for similarity, expected in (("cosine", 1.0), ("dotProduct", 1.5), ("euclidean", 0.5)):
        definition = vector_index_definition({"": 3}, FIELDS)
        definition["fields"][0]["similarity"] = similarity
        collection.update_search_index("v", definition)
        pipeline = [ann(queryVector=[2.0, 0.0, 0.0], limit=1), {"$project": {"s": {"$meta": "vectorSearchScore"}}}]
        assert list(collection.aggregate(pipeline)) == [{"_id": "a", "s": pytest.approx(expected)}]


@pytest.mark.parametrize(
    ("search", "message"),
    [
        ({"equals": {"path": "title", "value": "x"}}, "Path 'title' needs to be indexed as token"),
        ({"range": {"path": "data", "gte": 1}}, "Path 'data' needs to be indexed as number"),
        ({"in": {"path": "year", "value": []}}, "cannot be empty"),
        ({"text": {"path": "data", "query": ""}}, "cannot be empty"),
        ({"compound": {}}, "must be present"),
        ({"compound": {"filter": [{"near": {}}]}}, 'unrecognized operator "near"'),
        ({"compound": {"maybe": []}}, 'unrecognized field "maybe"'),
        ({}, "must be present"),
    ],
    ids=str,
)
def test_search_refusals(collection: Any, search: Query, message: str) -> None:
    with pytest.raises(OperationFailure) as caught:
        list(collection.aggregate([{"$search": {"index": "t", **search}}]))
    assert message in str(caught.value)


def test_rank_fusion_scores_are_weighted_reciprocal_ranks(collection: Any) -> None:
    vector = vector_stage(index="v", vector=[0.0, 1.0, 0.5], scope=Scope(), limit=2, num_candidates=10)
    text = text_stage(index="t", query="maize", scope=Scope())
    fused = rank_fusion_pipeline(vector_stage=vector, text_stage=text, limit=5)
    fused[0]["$rankFusion"]["combination"]["weights"] = {"vector": 0.6, "keyword": 0.4}
    rows = list(collection.aggregate(fused))
    assert [row["_id"] for row in rows] == ["c", "b"]
    assert rows[0]["score"] == pytest.approx(0.6 / 62 + 0.4 / 61)
    assert rows[1]["score"] == pytest.approx(0.6 / 61)
    assert "data_embedding" not in rows[0]


@pytest.mark.parametrize(
    "fusion",
    [
        {"input": {"pipelines": {}}},
        {"input": {"pipelines": {"x": [ann(), {"$project": {"_id": 1}}]}}},
        {"input": {"pipelines": {"x": [ann()]}}, "combination": {"weights": {"y": 1}}},
    ],
    ids=str,
)
def test_rank_fusion_refusals(collection: Any, fusion: Query) -> None:
    with pytest.raises(OperationFailure, match="rankFusion"):
        list(collection.aggregate([{"$rankFusion": fusion}]))


def test_the_same_definition_again_is_fine_another_is_not(collection: Any) -> None:
    model = {"name": "v", "type": "vectorSearch", "definition": vector_index_definition({"": 3}, FIELDS)}
    collection.create_search_index(model)
    with pytest.raises(OperationFailure) as caught:
        collection.create_search_index({**model, "definition": vector_index_definition({"": 4}, FIELDS)})
    assert caught.value.code == 68


@pytest.mark.parametrize("dimensions", [0, 8193])
def test_dimensions_out_of_bounds(collection: Any, dimensions: int) -> None:
    with pytest.raises(OperationFailure, match="within bounds"):
        collection.update_search_index("v", vector_index_definition({"": dimensions}, FIELDS))


def test_indexes_that_do_not_exist(collection: Any) -> None:
    for method, arguments in (("drop_search_index", ["nope"]), ("update_search_index", ["nope", {}])):
        with pytest.raises(OperationFailure) as caught:
            getattr(collection, method)(*arguments)
        assert caught.value.code == 27


def test_ordinary_aggregations_still_work(collection: Any) -> None:
    assert list(collection.aggregate([{"$match": {"country": "Chad"}}, {"$project": {"year": 1}}])) == [
        {"_id": "b", "year": 2022}
    ]
