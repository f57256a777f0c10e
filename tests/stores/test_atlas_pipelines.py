"""The aggregations, word for word."""

from __future__ import annotations

import pytest

from chatbot.schema import Range, Scope, Values
from chatbot.stores.atlas.pipelines import (
    ann_stage,
    candidates,
    exact_stage,
    keyword_pipeline,
    rank_fusion_pipeline,
    text_stage,
    vector_pipeline,
)

SCOPE = Scope.of({"country_name": Values(("Kenya",)), "type": Values(("a", "b")), "year": Range(2020, 2023)})
RANKED = [{"$sort": {"score": -1, "_id": 1}}, {"$project": {"data_embedding": 0, "data_embedding_b": 0}}]


def test_approximate_shape_without_a_scope() -> None:
    stage = ann_stage(index="vector_index", vector=[0.5, 0.25], scope=Scope(), limit=5, num_candidates=1000)
    assert vector_pipeline(stage) == [
        {
            "$vectorSearch": {
                "index": "vector_index",
                "path": "data_embedding",
                "queryVector": [0.5, 0.25],
                "numCandidates": 1000,
                "limit": 5,
            }
        },
        {"$addFields": {"score": {"$meta": "vectorSearchScore"}}},
        *RANKED,
    ]


def test_approximate_shape_with_a_scope_in_the_seeds_order() -> None:
    stage = ann_stage(index="i", vector=[1.0], scope=SCOPE, limit=5, num_candidates=1000)
    assert list(stage["$vectorSearch"]) == ["index", "path", "queryVector", "filter", "numCandidates", "limit"]
    assert stage["$vectorSearch"]["filter"] == {
        "country_name": {"$eq": "Kenya"},
        "type": {"$in": ["a", "b"]},
        "year": {"$gte": 2020, "$lte": 2023},
    }


def test_exact_shape_has_no_candidates() -> None:
    stage = exact_stage(index="i", vector=[1.0], scope=SCOPE, limit=5)
    assert list(stage["$vectorSearch"]) == ["index", "path", "queryVector", "filter", "exact", "limit"]
    assert stage["$vectorSearch"]["exact"] is True
    assert "filter" not in exact_stage(index="i", vector=[1.0], scope=Scope(), limit=5)["$vectorSearch"]


@pytest.mark.parametrize(
    ("limit", "share", "expected"),
    [
        (5, 1.0, 1000),
        (50, 1.0, 1000),
        (51, 1.0, 1020),
        (100, 1.0, 2000),
        (500, 1.0, 10_000),
        (10_000, 1.0, 10_000),
        (5, 0.25, 2000),
        (5, 0.05, 4473),
        (100, 0.05, 8945),
        (200, 0.05, 10_000),
    ],
)
def test_candidates(limit: int, share: float, expected: int) -> None:
    assert candidates(limit, share) == expected


def test_keyword_pipeline() -> None:
    assert keyword_pipeline(index="text_index", query="growth rate", scope=SCOPE, limit=7) == [
        {
            "$search": {
                "index": "text_index",
                "compound": {
                    "must": [
                        {"text": {"query": "growth rate", "path": ["data", "report_title", "document_title"]}},
                    ],
                    "filter": [
                        {"equals": {"path": "country_name", "value": "Kenya"}},
                        {"in": {"path": "type", "value": ["a", "b"]}},
                        {"range": {"path": "year", "gte": 2020, "lte": 2023}},
                    ],
                },
            }
        },
        {"$limit": 7},
        {"$addFields": {"score": {"$meta": "searchScore"}}},
        *RANKED,
    ]


def test_keyword_pipeline_without_a_scope_has_no_filter() -> None:
    (search, *_) = keyword_pipeline(index="i", query="q", scope=Scope(), limit=1)
    assert list(search["$search"]["compound"]) == ["must"]


def test_rank_fusion_carries_the_filter_in_both_legs() -> None:
    vector = ann_stage(index="v", vector=[1.0], scope=SCOPE, limit=5, num_candidates=1000)
    text = text_stage(index="t", query="q", scope=SCOPE)
    pipeline = rank_fusion_pipeline(vector_stage=vector, text_stage=text, limit=5, vector_weight=0.75)
    fusion = pipeline[0]["$rankFusion"]
    assert fusion == {
        "input": {"pipelines": {"vector": [vector], "keyword": [text, {"$limit": 5}]}},
        "combination": {"weights": {"vector": 0.75, "keyword": 0.25}},
        "scoreDetails": True,
    }
    assert fusion["input"]["pipelines"]["vector"][0]["$vectorSearch"]["filter"]
    assert fusion["input"]["pipelines"]["keyword"][0]["$search"]["compound"]["filter"]
    fields = {"score": {"$meta": "score"}, "details": {"$meta": "scoreDetails"}}
    assert pipeline[1:] == [{"$addFields": fields}, *RANKED]
