"""The aggregations that MongoDB's search engine is asked, as pure functions.

Seed 003's pipeline to the letter: `$vectorSearch`, score, order, projection without the embedding. The approximate
and the exact shape are built apart, because the engine refuses ``numCandidates`` beside ``exact``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ..database import Json
from ..schema import Condition, Range, Scope
from .chunks import EMBEDDING_FIELD, TEXT_FIELD, WITHOUT_EMBEDDING

MAX_CANDIDATES = 10_000
"""The engine's bound on ``numCandidates``."""
MIN_CANDIDATES = 1_000
CANDIDATES_PER_RESULT = 20
TEXT_PATHS = (TEXT_FIELD, "report_title", "document_title")
"""What the keyword search reads: a passage is found by its report and heading too."""


def candidates(limit: int, share: float = 1.0) -> int:
    """``numCandidates`` for ``limit`` results, raised where the scope keeps only a ``share`` (0 to 1] of the chunks.

    The engine filters while it walks its graph, which gets sparser with the filter: the square root keeps recall up
    without asking for everything at once.
    """
    wanted = max(MIN_CANDIDATES, CANDIDATES_PER_RESULT * limit)
    return min(MAX_CANDIDATES, math.ceil(wanted / math.sqrt(min(share, 1.0))))


def ann_stage(
    *,
    index: str,
    vector: Sequence[float],
    scope: Scope,
    limit: int,
    num_candidates: int,
    path: str = EMBEDDING_FIELD,
) -> Json:
    """Approximate nearest neighbours."""
    return {"$vectorSearch": {**_query(index, path, vector, scope), "numCandidates": num_candidates, "limit": limit}}


def exact_stage(*, index: str, vector: Sequence[float], scope: Scope, limit: int, path: str = EMBEDDING_FIELD) -> Json:
    """Exact nearest neighbours."""
    return {"$vectorSearch": {**_query(index, path, vector, scope), "exact": True, "limit": limit}}


def _query(index: str, path: str, vector: Sequence[float], scope: Scope) -> Json:
    query: Json = {"index": index, "path": path, "queryVector": list(vector)}
    return {**query, "filter": scope.to_mql()} if scope.conditions else query


def vector_pipeline(stage: Json) -> list[Json]:
    """The whole pipeline of a vector search that starts with ``stage``."""
    return [stage, *_ranked("vectorSearchScore")]


def text_stage(*, index: str, query: str, scope: Scope) -> Json:
    """`$search` for any word of ``query``, inside the scope. The filter does not count in the score."""
    compound: Json = {"must": [{"text": {"query": query, "path": list(TEXT_PATHS)}}]}
    if scope.conditions:
        compound["filter"] = [_clause(name, condition) for name, condition in scope.conditions]
    return {"$search": {"index": index, "compound": compound}}


def _clause(path: str, condition: Condition) -> Json:
    if isinstance(condition, Range):
        return {"range": {"path": path, **condition.to_json()}}
    if len(condition.values) == 1:
        return {"equals": {"path": path, "value": condition.values[0]}}
    return {"in": {"path": path, "value": list(condition.values)}}


def keyword_pipeline(*, index: str, query: str, scope: Scope, limit: int) -> list[Json]:
    """The whole pipeline of a keyword search.

    The engine returns best first, so the cut comes before the sort: otherwise the server would fetch every
    document with one of the words only to order it.
    """
    return [text_stage(index=index, query=query, scope=scope), {"$limit": limit}, *_ranked("searchScore")]


def rank_fusion_pipeline(*, vector_stage: Json, text_stage: Json, limit: int, vector_weight: float) -> list[Json]:
    """Both searches in one round trip; the stages must carry the same scope.

    The fused score is the server's, sum of weight / (60 + rank); ``details`` says what each search found, so that
    the threshold and a better fusion can work on the two lists.
    """
    fusion = {
        "input": {"pipelines": {"vector": [vector_stage], "keyword": [text_stage, {"$limit": limit}]}},
        "combination": {"weights": {"vector": vector_weight, "keyword": 1 - vector_weight}},
        "scoreDetails": True,
    }
    add_fields, *rest = _ranked("score")
    add_fields["$addFields"]["details"] = {"$meta": "scoreDetails"}
    return [{"$rankFusion": fusion}, add_fields, *rest]


def leg_scores(details: Any) -> dict[str, float]:
    """The score each input pipeline of `$rankFusion` gave a document; a pipeline that missed it has none."""
    found = details.get("details", []) if isinstance(details, Mapping) else []
    return {
        str(leg["inputPipelineName"]): float(leg["value"])
        for leg in found
        if isinstance(leg.get("value"), (int, float)) and isinstance(leg.get("rank"), int) and leg["rank"] > 0
    }


def _ranked(score: str) -> list[Json]:
    return [
        {"$addFields": {"score": {"$meta": score}}},
        {"$sort": {"score": -1, "_id": 1}},
        {"$project": dict(WITHOUT_EMBEDDING)},
    ]
