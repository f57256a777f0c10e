"""The aggregations that MongoDB's search engine is asked, which of them suits, and which the server has at all.

Seed 003's pipeline to the letter: `$vectorSearch`, score, order, projection without the embedding. The approximate
and the exact shape are built apart, because the engine refuses ``numCandidates`` beside ``exact``.
"""

from __future__ import annotations

import itertools
import math
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...database.core import Collection, CommandError, Database, Json
from ...database.rows import EMBEDDING_FIELD, TEXT_FIELD, WITHOUT_EMBEDDING
from ...schema import NO_VALUE, Condition, Range, Scope, Values
from .definitions import FOLLOWED_BY, TEXT_PATHS, SearchTarget
from .errors import explain, is_away, lacks_engine

MAX_CANDIDATES = 10_000
"""The engine's bound on ``numCandidates``."""
MIN_CANDIDATES = 1_000
CANDIDATES_PER_RESULT = 20


def candidates(limit: int, share: float = 1.0) -> int:
    """``numCandidates`` for ``limit`` results, raised where the scope keeps only a ``share`` (0 to 1] of the chunks.

    The engine filters while it walks its graph, which gets sparser with the filter: the square root keeps recall up
    without asking for everything at once.
    """
    wanted = max(MIN_CANDIDATES, CANDIDATES_PER_RESULT * limit)
    return min(MAX_CANDIDATES, math.ceil(wanted / math.sqrt(min(share, 1.0))))


def ann_stage(
    *, index: str, vector: Sequence[float], scope: Scope, limit: int, num_candidates: int, path: str = EMBEDDING_FIELD
) -> Json:
    """The `$vectorSearch` stage that finds approximate nearest neighbours."""
    return {"$vectorSearch": {**_query(index, path, vector, scope), "numCandidates": num_candidates, "limit": limit}}


def exact_stage(*, index: str, vector: Sequence[float], scope: Scope, limit: int, path: str = EMBEDDING_FIELD) -> Json:
    """The `$vectorSearch` stage that compares every vector in the scope."""
    return {"$vectorSearch": {**_query(index, path, vector, scope), "exact": True, "limit": limit}}


def _query(index: str, path: str, vector: Sequence[float], scope: Scope) -> Json:
    query: Json = {"index": index, "path": path, "queryVector": list(vector)}
    return {**query, "filter": scope.to_mql()} if scope.conditions else query


def vector_pipeline(stage: Json) -> list[Json]:
    """The whole pipeline of a vector search that starts with ``stage``."""
    return [stage, *_ranked("vectorSearchScore")]


MOST_WORDS = 300
"""Lucene takes 1,024 clauses in a query: one for each different word and path, and an analyzer may make two of one."""
_WORD = re.compile(r"\w+")


def shortened(query: str) -> str:
    """The query, or its first different words where it has too many."""
    words = dict.fromkeys(_WORD.findall(query.casefold()))
    return query if len(words) <= MOST_WORDS else " ".join(itertools.islice(words, MOST_WORDS))


def text_stage(*, index: str, query: str, scope: Scope) -> Json:
    """`$search` for any word of ``query``, inside the scope. The filter does not count in the score."""
    compound: Json = {"must": [{"text": {"query": shortened(query), "path": list(TEXT_PATHS)}}]}
    if scope.conditions:
        compound["filter"] = [_clause(path, condition) for path, condition in scope.conditions]
    return {"$search": {"index": index, "compound": compound}}


def _clause(path: str, condition: Condition) -> Json:
    if isinstance(condition, Range):
        return {"range": {"path": path, **condition.to_json()}}
    if condition.or_none:
        either = [_clause(path, Values(condition.values)), _clause(path, Values((NO_VALUE,)))]
        return {"compound": {"should": either, "minimumShouldMatch": 1}}
    if len(condition.values) == 1:
        return {"equals": {"path": path, "value": condition.values[0]}}
    return {"in": {"path": path, "value": list(condition.values)}}


def keyword_pipeline(*, index: str, query: str, scope: Scope, limit: int) -> list[Json]:
    """The whole pipeline of a keyword search.

    The engine returns best first, so the cut comes before the sort: otherwise the server would fetch every
    document with one of the words only to order it.
    """
    return [text_stage(index=index, query=query, scope=scope), {"$limit": limit}, *_ranked("searchScore")]


def rank_fusion_pipeline(*, vector_stage: Json, text_stage: Json, limit: int) -> list[Json]:
    """Both searches in one round trip; the stages must carry the same scope.

    The fused score is the server's, sum of weight / (60 + rank); ``details`` says what each search found, so that
    the threshold and a better fusion can work on the two lists.
    """
    fusion = {
        "input": {"pipelines": {"vector": [vector_stage], "keyword": [text_stage, {"$limit": limit}]}},
        "combination": {"weights": {"vector": 0.5, "keyword": 0.5}},
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


def listing_pipeline(target: SearchTarget, document_id: str, *, dimensions: int, path: str, limit: int) -> list[Json]:
    """The ids of all of a document's chunks that an index has, whatever they say."""
    if target.kind == "search":
        clause = {"path": FOLLOWED_BY, "value": document_id}
        stages: list[Json] = [{"$search": {"index": target.index, "equals": clause}}, {"$limit": limit}]
    else:
        scope, anywhere = Scope.of({FOLLOWED_BY: Values((document_id,))}), [1.0] + [0.0] * (dimensions - 1)
        stages = [exact_stage(index=target.index, path=path, vector=anywhere, scope=scope, limit=limit)]
    return [*stages, {"$project": {"_id": 1}}]


RERANK_MODEL = "rerank-2.5"


def rerank_pipeline(query: str, ids: Sequence[Any]) -> list[Json]:
    """The relevance of these chunks. A row without the field fails the stage (its documentation, 2026)."""
    stage = {"query": {"text": query}, "path": TEXT_FIELD, "numDocsToRerank": max(1, len(ids)), "model": RERANK_MODEL}
    return [
        {"$match": {"_id": {"$in": list(ids)}, TEXT_FIELD: {"$type": "string"}}},
        {"$rerank": stage},
        {"$project": {"score": {"$meta": "score"}}},
    ]


def _ranked(score: str) -> list[Json]:
    return [
        {"$addFields": {"score": {"$meta": score}}},
        {"$sort": {"score": -1, "_id": 1}},
        {"$project": dict(WITHOUT_EMBEDDING)},
    ]


EXACT_BELOW = 10_000
"""Documents below which MongoDB advises exact search."""
EXACT_SHARE = 0.05
"""Share of the documents kept by a scope, below which exact search is better and faster."""
REMEMBERED_SECONDS = 30.0
"""A count only chooses between two right answers, so an old one does no harm."""
REMEMBERED_COUNTS = 500
SETTLING_SECONDS = 60.0
"""The time after which an engine has followed a deletion."""


class ShapeChooser:
    """Builds the stage that fits, from counts that are remembered for a while. Thread-safe.

    ``num_candidates``: always the approximate shape, with so many.
    """

    def __init__(
        self,
        *,
        path: str = EMBEDDING_FIELD,
        num_candidates: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._path = path
        self._fixed = num_candidates
        self._clock = clock
        self._counts: dict[tuple[str, Scope], tuple[float, int]] = {}
        self._shrunk: dict[str, float] = {}

    def stage(self, collection: Collection, *, index: str, vector: Sequence[float], scope: Scope, limit: int) -> Json:
        """`$vectorSearch` for the ``limit`` nearest chunks of the collection inside the scope."""
        if self._fixed is not None and limit <= MAX_CANDIDATES:
            wide = max(self._fixed, limit)
        else:
            total = self.count(collection, Scope())
            share = 1.0 if total < EXACT_BELOW or not scope.conditions else self.count(collection, scope) / total
            if total < EXACT_BELOW or share < EXACT_SHARE or limit > MAX_CANDIDATES:
                return exact_stage(index=index, path=self._path, vector=vector, scope=scope, limit=limit)
            wide = candidates(limit, share)
        return ann_stage(index=index, path=self._path, vector=vector, scope=scope, limit=limit, num_candidates=wide)

    def shrank(self, collection: Collection) -> bool:
        """Whether rows went a moment ago, by whomever: the engine may still give their ids, and the server drops those.
        Asks for the collection's count."""
        total = collection.name, Scope()
        if total in self._counts:
            self._counts[total] = (float("-inf"), self._counts[total][1])
        self.count(collection, Scope())
        return self._clock() - self._shrunk.get(collection.name, float("-inf")) < SETTLING_SECONDS

    def only(self, collection: Collection, scope: Scope, found: int) -> None:
        """No search finds more than ``found`` chunks of the scope, however many are counted."""
        self._counts[collection.name, Scope(scope.conditions)] = (self._clock(), found)

    def count(self, collection: Collection, scope: Scope) -> int:
        """The chunks of a collection inside the scope, as counted a moment ago."""
        key = (collection.name, Scope(scope.conditions))
        remembered = self._counts.get(key)
        if remembered and self._clock() - remembered[0] < REMEMBERED_SECONDS:
            return remembered[1]
        count = collection.count(scope.to_mql()) if scope.conditions else collection.estimated_count()
        if not scope.conditions and remembered and count < remembered[1]:
            self._shrunk[collection.name] = self._clock()
        if len(self._counts) >= REMEMBERED_COUNTS:
            self._counts.clear()
        self._counts[key] = (self._clock(), count)
        return count


PROBE_INDEX = "report_chat_probe"
"""An index that does not exist: a search engine answers with no rows, a server without one refuses the stage."""


@dataclass(frozen=True, slots=True)
class SearchCapabilities:
    """``detail`` says in a few words what was found, and why where something is missing."""

    vector: bool
    text: bool
    rank_fusion: bool
    detail: str


def probe_search(database: Database, collection: str) -> SearchCapabilities:
    """Try each search stage on the collection (best one that exists); three round trips at most.

    Raises:
        DatabaseError: the server does not answer, or refuses the user.
        SearchEngineError: there is a search engine, but it is away just now.
    """
    if database.embedded:
        return SearchCapabilities(False, False, False, "embedded database: search runs in this process")
    vector_stage = ann_stage(index=PROBE_INDEX, vector=[1.0], scope=Scope(), limit=1, num_candidates=1)
    keyword_stage = text_stage(index=PROBE_INDEX, query="probe", scope=Scope())
    refused = _refusal(database, collection, [vector_stage])
    if refused is not None and lacks_engine(refused):
        return SearchCapabilities(False, False, False, f"no search engine beside this server: {refused.server_message}")
    refused = _refusal(database, collection, [keyword_stage])
    text = refused is None or not lacks_engine(refused)
    fused = rank_fusion_pipeline(vector_stage=vector_stage, text_stage=keyword_stage, limit=1)
    # Whatever the refusal: servers that know the stage may lack what is asked of it (`scoreDetails`, `$meta`).
    rank_fusion = text and _refusal(database, collection, fused) is None
    names = ["$vectorSearch", *(["$search"] if text else []), *(["$rankFusion"] if rank_fusion else [])]
    return SearchCapabilities(True, text, rank_fusion, ", ".join(names))


def _refusal(database: Database, collection: str, pipeline: list[Json]) -> CommandError | None:
    """The server's error to a pipeline; None where it answers, with no rows, as the index does not exist."""
    try:
        database[collection].search(pipeline)
    except CommandError as error:
        if is_away(error):
            raise explain(error, SearchTarget(collection, PROBE_INDEX, "vectorSearch", {})) from error
        return error
    return None
