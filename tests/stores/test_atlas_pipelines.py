"""The aggregations, word for word."""

from __future__ import annotations

from typing import Literal

import pytest

from chatbot.schema import Range, Scope, Values
from chatbot.stores.atlas.definitions import SearchTarget
from chatbot.stores.atlas.pipelines import (
    candidates,
    keyword_pipeline,
    listing_pipeline,
    rank_fusion_pipeline,
    text_stage,
    vector_stage,
)

SCOPE = Scope.of({"country_name": Values(("Kenya",)), "type": Values(("a", "b")), "year": Range(2020, 2023)})
RANKED = [{"$sort": {"score": -1, "_id": 1}}, {"$project": {"data_embedding": 0, "data_embedding_b": 0}}]


def test_approximate_shape_with_a_scope_in_the_seeds_order() -> None:
    """The same page: `filter` is MQL over fields that the index declares as filter. The order is seed 003's (R-D3)."""
    stage = vector_stage(index="i", vector=[1.0], scope=SCOPE, limit=5, num_candidates=1000)
    assert list(stage["$vectorSearch"]) == ["index", "path", "queryVector", "filter", "numCandidates", "limit"]
    assert stage["$vectorSearch"]["filter"] == {
        "country_name": {"$eq": "Kenya"},
        "type": {"$in": ["a", "b"]},
        "year": {"$gte": 2020, "$lte": 2023},
    }


def test_exact_shape_has_no_candidates() -> None:
    """The same page; mongot's words otherwise: "numCandidates" must be omitted when "exact" is set to true."""
    stage = vector_stage(index="i", vector=[1.0], scope=SCOPE, limit=5, num_candidates=None)
    assert list(stage["$vectorSearch"]) == ["index", "path", "queryVector", "filter", "exact", "limit"]
    assert stage["$vectorSearch"]["exact"] is True
    assert (
        "filter"
        not in vector_stage(index="i", vector=[1.0], scope=Scope(), limit=5, num_candidates=None)["$vectorSearch"]
    )


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
    """The same page: at least 20 x `limit`, more for selective filters, at most 10,000."""
    assert candidates(limit, share) == expected


def test_keyword_pipeline() -> None:
    """mongodb.com/docs/search/operators-collectors/compound: what is in `filter` does not count in the score; `equals`
    and `in` take token and number fields, `range` number fields; the score is `{$meta: "searchScore"}`."""
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
    """mongodb.com/docs/manual/reference/operator/aggregation/rankFusion: `input.pipelines` by name, of ranking stages
    alone, `combination.weights` by the same names, `scoreDetails` for `{$meta: "scoreDetails"}`."""
    vector = vector_stage(index="v", vector=[1.0], scope=SCOPE, limit=5, num_candidates=1000)
    text = text_stage(index="t", query="q", scope=SCOPE)
    pipeline = rank_fusion_pipeline(vector_stage=vector, text_stage=text, limit=5)
    fusion = pipeline[0]["$rankFusion"]
    assert fusion == {
        "input": {"pipelines": {"vector": [vector], "keyword": [text, {"$limit": 5}]}},
        "combination": {"weights": {"vector": 0.5, "keyword": 0.5}},
        "scoreDetails": True,
    }
    assert fusion["input"]["pipelines"]["vector"][0]["$vectorSearch"]["filter"]
    assert fusion["input"]["pipelines"]["keyword"][0]["$search"]["compound"]["filter"]
    fields = {"score": {"$meta": "score"}, "details": {"$meta": "scoreDetails"}}
    assert pipeline[1:] == [{"$addFields": fields}, *RANKED]


def test_a_long_question_stays_below_lucenes_clauses() -> None:
    """IndexSearcher.getMaxClauseCount: 1,024, one clause for each different word and path."""
    words = [f"word{number}" for number in range(500)]
    stage = text_stage(index="t", query=" ".join([*words, *words]), scope=Scope())
    sent = stage["$search"]["compound"]["must"][0]["text"]
    assert sent["query"].split() == words[:300]
    assert len(sent["query"].split()) * len(sent["path"]) < 1024
    short = "Growth, growth and GROWTH " * 200
    assert text_stage(index="t", query=short, scope=Scope())["$search"]["compound"]["must"][0]["text"]["query"] == short


@pytest.mark.parametrize("kind", ["vectorSearch", "search"])
def test_an_index_is_asked_for_all_that_it_has_of_a_document(kind: Literal["vectorSearch", "search"]) -> None:
    """Exact, so that nothing is missed; ids alone, so that no row is read (but mongod looks each of them up)."""
    target = SearchTarget("reports", "an_index", kind, {})
    pipeline = listing_pipeline(target, "d1", dimensions=3, path="data_embedding_b", limit=7)
    expected = {
        "search": [{"$search": {"index": "an_index", "equals": {"path": "document_id", "value": "d1"}}}, {"$limit": 7}],
        "vectorSearch": [
            {
                "$vectorSearch": {
                    "index": "an_index",
                    "path": "data_embedding_b",
                    "queryVector": [1.0, 0.0, 0.0],
                    "filter": {"document_id": {"$eq": "d1"}},
                    "exact": True,
                    "limit": 7,
                }
            }
        ],
    }
    assert pipeline == [*expected[kind], {"$project": {"_id": 1}}]
