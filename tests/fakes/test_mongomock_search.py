"""The stand-in refuses what the engine refuses, in the engine's words; it answers what the engine answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from bson.binary import Binary, BinaryVectorDtype
from pymongo.errors import OperationFailure

from chatbot.domain import Scope
from chatbot.stores.atlas.definitions import text_index_definition, vector_index_definition
from chatbot.stores.atlas.pipelines import rank_fusion_pipeline, text_stage, vector_stage
from tests.fakes.mongomock_search import SearchClient

FIELDS = ("country", "year", "tags", "flag")
Query = dict[str, Any]


@pytest.fixture
def collection() -> Any:
    reports = SearchClient()["test"]["reports"]
    rows = [
        {"_id": "a", "country": "Kenya", "year": 2023, "tags": ["x", "y"], "data": "coffee and tea"},
        {"_id": "b", "country": "Chad", "year": 2022, "tags": ["y"], "data": "coffee"},
        {"_id": "c", "country": "Peru", "year": "2023", "flag": True, "data": "maize"},
    ]
    for row, vector in zip(rows, np.eye(3, dtype=np.float32), strict=True):
        reports.insert_one({**row, "data_embedding": Binary.from_vector(vector.tolist(), BinaryVectorDtype.FLOAT32)})
    reports.create_search_index(
        {"name": "v", "type": "vectorSearch", "definition": vector_index_definition({"": 3}, FIELDS)}
    )
    reports.create_search_index({"name": "t", "type": "search", "definition": text_index_definition(FIELDS, "english")})
    return reports


def ann(**changes: Any) -> Query:
    vector = [1.0, 0.0, 0.0]
    base = {"index": "v", "path": "data_embedding", "queryVector": vector, "numCandidates": 10, "limit": 3}
    return {"$vectorSearch": {name: value for name, value in {**base, **changes}.items() if value is not None}}


def search(**spec: Any) -> Query:
    return {"$search": {"index": "t", **spec}}


def fusion(**spec: Any) -> Query:
    return {"$rankFusion": spec}


REFUSED: list[tuple[Query, str]] = [
    (ann(filter={"title": "x"}), "Path 'title' needs to be indexed as filter"),
    (ann(path="other"), "other is not indexed as vector"),
    (ann(queryVector=[1.0, 0.0]), "vector field is indexed with 3 dimensions but queried with 2"),
    (ann(queryVector=[0.0, 0.0, 0.0]), "Cosine similarity cannot be calculated against a zero vector."),
    (ann(queryVector=[float("nan"), 0.0, 0.0]), '"queryVector[0]" non-finite value'),
    (ann(limit=11), "limit should be less than or equal to numCandidates"),
    (ann(limit=0), '"limit" must be positive'),
    (ann(numCandidates=0), '"numCandidates" must be within bounds [1..10000]'),
    (ann(numCandidates=10_001), '"numCandidates" must be within bounds [1..10000]'),
    (ann(numCandidates=None), "numCandidates is required for approximate vector search"),
    (ann(exact=True), '"numCandidates" must be omitted when "exact" is set to true'),
    (ann(index=None), '"index" is required'),
    (ann(k=5), 'unrecognized field "k"'),
    (ann(filter=[]), "filter must be a document"),
    (ann(filter={"year": {"$in": []}}), '"filter.year.$in" cannot be empty'),
    (ann(filter={"year": {"$in": [2023, "2023"]}}), "must have elements of the same type"),
    (ann(filter={"year": {"$in": 2023}}), "must be an array"),
    (ann(filter={"$and": []}), '"filter.$and" cannot be empty'),
    (ann(filter={"country": {"$regex": "K"}}), '"filter.country.$regex" unrecognized field'),
    (ann(filter={"$expr": {"$eq": ["$year", 2023]}}), '"filter.$expr" unrecognized field'),
    (ann(filter={"country": {"$eq": {"a": 1}}}), "value must be one of"),
    (search(equals={"path": "title", "value": "x"}), "Path 'title' needs to be indexed as token"),
    (search(range={"path": "data", "gte": 1}), "Path 'data' needs to be indexed as number"),
    (search(**{"in": {"path": "year", "value": []}}), "cannot be empty"),
    (search(text={"path": "data", "query": ""}), "cannot be empty"),
    (search(compound={}), "must be present"),
    (search(compound={"filter": [{"near": {}}]}), 'unrecognized operator "near"'),
    (search(compound={"maybe": []}), 'unrecognized field "maybe"'),
    (search(), "must be present"),
    (fusion(input={"pipelines": {}}), "requires at least one input pipeline"),
    (fusion(input={"pipelines": {"x": [ann(), {"$project": {"_id": 1}}]}}), "must be a selection and ranked pipeline"),
    (fusion(input={"pipelines": {"x": [ann()]}}, combination={"weights": {"y": 1}}), "weights name unknown pipelines"),
]


@pytest.mark.parametrize(("stage", "message"), REFUSED, ids=[row[1] for row in REFUSED])
def test_refusals(collection: Any, stage: Query, message: str) -> None:
    with pytest.raises(OperationFailure) as caught:
        list(collection.aggregate([stage]))
    assert message in str(caught.value)
    assert caught.value.code == 8 or "$rankFusion" in stage


@pytest.mark.parametrize(
    ("pipeline", "code"),
    [
        ([{"$match": {}}, ann()], 40602),
        ([ann(), ann()], 40602),
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
        ({"year": {"$in": [2022, 2023]}}, "ab"),
        ({"year": {"$gte": 2022, "$lte": 2022}}, "b"),
        ({"year": {"$lte": "2023"}}, "c"),
        ({"tags": "x"}, "a"),
        ({"flag": True}, "c"),
        ({"flag": 1}, ""),
        ({"$or": [{"country": "Kenya"}, {"country": "Chad"}]}, "ab"),
        ({"$and": [{"country": "Kenya"}, {"year": 2022}]}, ""),
    ],
    ids=str,
)
def test_filters_are_type_strict(collection: Any, filter: Query, expected: str) -> None:
    assert "".join(sorted(row["_id"] for row in collection.aggregate([ann(filter=filter)]))) == expected


@pytest.mark.parametrize(
    ("stored", "indexed"),
    [
        ([1.0, 0.5, 0.25], True),
        (Binary.from_vector([1.0, 0.0, 0.0], BinaryVectorDtype.FLOAT32), True),
        (np.ones(3, dtype="<f4").tobytes(), False),
        ([1.0, 0.0], False),
        ([0.0, 0.0, 0.0], False),
        ("1,0,0", False),
        (None, False),
    ],
    ids=repr,
)
def test_what_is_indexed_as_a_vector(collection: Any, stored: Any, indexed: bool) -> None:
    collection.insert_one({"_id": "new", "data_embedding": stored})
    assert ("new" in {row["_id"] for row in collection.aggregate([ann(limit=10)])}) is indexed


def test_rank_fusion_scores_are_weighted_reciprocal_ranks(collection: Any) -> None:
    vector = vector_stage(index="v", vector=[0.0, 1.0, 0.5], scope=Scope(), limit=2, num_candidates=10)
    text = text_stage(index="t", query="maize", scope=Scope())
    fused = rank_fusion_pipeline(vector_stage=vector, text_stage=text, limit=5)
    fused[0]["$rankFusion"]["combination"]["weights"] = {"vector": 0.6, "keyword": 0.4}
    rows = list(collection.aggregate(fused))
    assert {row["_id"]: row["score"] for row in rows} == pytest.approx({"c": 0.6 / 62 + 0.4 / 61, "b": 0.6 / 61})
    assert [row["_id"] for row in rows] == ["c", "b"]
    assert "data_embedding" not in rows[0]


def test_refused_indexes(collection: Any) -> None:
    same = {"name": "v", "type": "vectorSearch", "definition": vector_index_definition({"": 3}, FIELDS)}
    collection.create_search_index(same)  # again, which is fine
    other = {**same, "definition": vector_index_definition({"": 4}, FIELDS)}
    for call, code in (
        (lambda: collection.create_search_index(other), 68),
        (lambda: collection.update_search_index("v", vector_index_definition({"": 0}, FIELDS)), 8),
        (lambda: collection.update_search_index("v", vector_index_definition({"": 8193}, FIELDS)), 8),
        (lambda: collection.update_search_index("nope", {}), 27),
        (lambda: collection.drop_search_index("nope"), 27),
    ):
        with pytest.raises(OperationFailure) as caught:
            call()
        assert caught.value.code == code
