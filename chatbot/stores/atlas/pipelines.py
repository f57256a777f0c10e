"""The aggregations for MongoDB's search engine, and which of them the server has. Seed
003's pipeline to the letter: `$vectorSearch`, score, order, projection without the
embedding.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...database.core import CommandError, Database, Json
from ...database.rows import EMBEDDING_FIELD, TEXT_FIELD, WITHOUT_EMBEDDING
from ...domain import Range, Scope
from ...domain.documents import Meaning
from ...domain.scope import NO_VALUE, Condition, Value, Values, by_type
from ...language.analysis import WORD_PATTERN
from .errors import FOLLOWED_BY, explain, is_away, lacks_engine
from .indexes import TEXT_PATHS, SearchTarget
from .meaning import AutoEmbedField, MeaningField, VectorField

MIN_CANDIDATES = 1_000
"""So many find nearly everything where few results are wanted."""
MAX_CANDIDATES = 10_000
"""The engine's bound on ``numCandidates``."""


def candidates(limit: int, share: float = 1.0) -> int:
    """Return ``numCandidates`` for ``limit`` results in a scope that keeps a ``share``
    (0 to 1] of the chunks. The engine filters while it walks its graph, which gets
    sparser with the filter: the square root keeps recall up without comparing
    everything.
    """
    unfiltered = max(MIN_CANDIDATES, 20 * limit)  # MongoDB advises 20 for a result
    return min(MAX_CANDIDATES, math.ceil(unfiltered / math.sqrt(min(share, 1.0))))


def vector_stage(
    *,
    index: str,
    field: MeaningField,
    meaning: Meaning,
    scope: Scope,
    limit: int,
    num_candidates: int | None,
) -> Json:
    """Return the `$vectorSearch` stage; without ``num_candidates`` it compares every
    vector in the scope. The engine refuses ``numCandidates`` beside ``exact``.
    """
    query: Json = {"index": index, **field.asked(meaning)}
    if scope.conditions:
        query["filter"] = scope.to_mql()
    if num_candidates is None:
        query["exact"] = True
    else:
        query["numCandidates"] = num_candidates
    query["limit"] = limit
    return {"$vectorSearch": query}


MAX_WORDS = 300
"""Lucene takes 1,024 clauses in a query: one for each different word and path, and an
analyzer may make two of one.
"""


def text_stage(*, index: str, query: str, scope: Scope) -> Json:
    """Return `$search` for any word of ``query`` (the first MAX_WORDS different ones),
    inside the scope. The filter does not count in the score.
    """
    words = _different_words(query)
    if len(words) > MAX_WORDS:
        query = " ".join(words[:MAX_WORDS])
    clause = {"text": {"query": query, "path": list(TEXT_PATHS)}}
    return _search_stage(index, {"must": [clause]}, scope)


def counted_words_stage(*, index: str, query: str, scope: Scope) -> Json:
    """Return `$search` whose score is the number of the words of ``query`` that a row
    has. The engine weighs a word by all rows of the index, also by those that a limited
    caller may not see; a constant for each word says nothing of them.
    """
    score: Json = {"constant": {"value": 1}}
    clauses = [
        {"text": {"query": word, "path": list(TEXT_PATHS), "score": score}}
        for word in _different_words(query)[:MAX_WORDS]
    ]
    return _search_stage(index, {"should": clauses, "minimumShouldMatch": 1}, scope)


def _different_words(query: str) -> list[str]:
    return list(dict.fromkeys(WORD_PATTERN.findall(query.casefold())))


def _search_stage(index: str, compound: Json, scope: Scope) -> Json:
    if scope.conditions:
        filters = [_clause(path, condition) for path, condition in scope.conditions]
        compound["filter"] = filters
    return {"$search": {"index": index, "compound": compound}}


def _clause(path: str, condition: Condition) -> Json:
    """Return the filter of one condition."""
    if isinstance(condition, Range):
        return {"range": {"path": path, **condition.to_json()}}
    values = condition.values
    if condition.or_none:
        values = tuple(dict.fromkeys((*values, NO_VALUE)))
    # The engine takes the values of one type in a clause.
    clauses = [_any_of(path, group) for group in by_type(values)]
    if condition.or_none:
        clauses.append({"compound": {"mustNot": [{"exists": {"path": path}}]}})
    if len(clauses) == 1:
        return clauses[0]
    return {"compound": {"should": clauses, "minimumShouldMatch": 1}}


def _any_of(path: str, values: Sequence[Value]) -> Json:
    """Return the clause for one of these values, which are of one type."""
    if len(values) == 1:
        return {"equals": {"path": path, "value": values[0]}}
    return {"in": {"path": path, "value": list(values)}}


def ranked(score: str) -> list[Json]:
    """Return the stages that read the ``score`` of a search stage, order by it, and
    leave the embedding out.
    """
    return [
        {"$addFields": {"score": {"$meta": score}}},
        {"$sort": {"score": -1, "_id": 1}},
        {"$project": dict(WITHOUT_EMBEDDING)},
    ]


def rank_fusion_pipeline(
    *, vector_stage: Json, text_stage: Json, limit: int
) -> list[Json]:
    """Return both searches in one round trip; the stages must carry the same scope. The
    fused score is the server's, sum of weight / (60 + rank); ``details`` has the score
    of each search, so that the threshold and a better fusion can work on the two lists.
    """
    fusion = {
        "input": {
            "pipelines": {
                "vector": [vector_stage],
                "keyword": [text_stage, {"$limit": limit}],
            }
        },
        "combination": {"weights": {"vector": 0.5, "keyword": 0.5}},
        "scoreDetails": True,
    }
    add_fields, *rest = ranked("score")
    add_fields["$addFields"]["details"] = {"$meta": "scoreDetails"}
    return [{"$rankFusion": fusion}, add_fields, *rest]


def leg_scores(details: Any) -> dict[str, float]:
    """Return the score each input pipeline of `$rankFusion` gave a document; a pipeline
    that missed it has none.
    """
    scores: dict[str, float] = {}
    if not isinstance(details, Mapping):
        return scores
    for leg in details.get("details", []):
        value = leg.get("value")
        rank = leg.get("rank")
        # A rank of 0, or none, is that of a pipeline that missed it.
        if isinstance(value, (int, float)) and isinstance(rank, int) and rank > 0:
            scores[str(leg["inputPipelineName"])] = float(value)
    return scores


def listing_pipeline(
    target: SearchTarget, document_id: str, *, limit: int, from_index: bool = False
) -> list[Json]:
    """Return the pipeline for the ids of all of a document's chunks that an index
    has. ``from_index``: it stores them, so that the server need not read the rows.
    """
    stored: Json = {"returnStoredSource": True} if from_index else {}
    if target.by_meaning is None:
        clause = {"path": FOLLOWED_BY, "value": document_id}
        stages: list[Json] = [
            {"$search": {"index": target.index, "equals": clause, **stored}},
            {"$limit": limit},
        ]
    else:
        # Any question will do: there are no more rows than the limit.
        stage = vector_stage(
            index=target.index,
            field=target.by_meaning,
            meaning=target.by_meaning.any_question,
            scope=Scope.of({FOLLOWED_BY: Values((document_id,))}),
            limit=limit,
            num_candidates=None,
        )
        stages = [{"$vectorSearch": {**stage["$vectorSearch"], **stored}}]
    return [*stages, {"$project": {"_id": 1}}]


def rerank_pipeline(query: str, ids: Sequence[Any], model: str = "") -> list[Json]:
    """Return the pipeline for the relevance of these chunks with their titles and
    headings, by the server's model where none is named. A row that lacks one of the
    fields fails the stage, as documented.
    """
    stage: Json = {
        "query": {"text": query},
        "path": list(TEXT_PATHS),
        "numDocsToRerank": max(1, len(ids)),
    }
    if model:
        stage["model"] = model
    match = {"_id": {"$in": list(ids)}, TEXT_FIELD: {"$type": "string"}}
    headings = {path: {"$ifNull": [f"${path}", ""]} for path in TEXT_PATHS[1:]}
    return [
        {"$match": match},
        {"$set": headings},
        {"$rerank": stage},
        {"$project": {"score": {"$meta": "score"}}},
    ]


PROBE_INDEX = "report_chat_probe"
"""An index that does not exist: a search engine answers with no rows, a server without
one refuses the stage.
"""


@dataclass(frozen=True, slots=True)
class SearchCapabilities:
    """``detail`` names the stages, or says why there are none."""

    vector: bool
    rank_fusion: bool
    detail: str


def probe_search(database: Database, collection: str) -> SearchCapabilities:
    """Try each search stage on the collection (best one that exists); three round trips
    at most.

    Raises:
        DatabaseError: the server does not answer, or refuses the user.
        SearchEngineError: there is a search engine, but it is away just now.
    """
    nearest = _probe(VectorField(EMBEDDING_FIELD, dimensions=1))
    keyword_stage = text_stage(index=PROBE_INDEX, query="probe", scope=Scope())
    refused = _refusal(database, collection, [nearest])
    if refused is not None and lacks_engine(refused):
        return SearchCapabilities(
            False,
            False,
            f"no search engine beside this server: {refused.server_message}",
        )
    refused = _refusal(database, collection, [keyword_stage])
    text = refused is None or not lacks_engine(refused)
    fused = rank_fusion_pipeline(
        vector_stage=nearest, text_stage=keyword_stage, limit=1
    )
    # Any refusal counts: servers that know the stage may lack `scoreDetails` or
    # `$meta`.
    rank_fusion = text and _refusal(database, collection, fused) is None
    stages = ["$vectorSearch"]
    if text:
        stages.append("$search")
    if rank_fusion:
        stages.append("$rankFusion")
    return SearchCapabilities(True, rank_fusion, ", ".join(stages))


def probe_auto_embedding(database: Database, collection: str) -> str:
    """Return why the server does not embed questions, "" if it does: it then answers
    with no rows, and embeds nothing, as the index does not exist. Raises as
    `probe_search` does.
    """
    refused = _refusal(database, collection, [_probe(AutoEmbedField(TEXT_FIELD, ""))])
    return refused.server_message if refused is not None else ""


def _probe(field: MeaningField) -> Json:
    return vector_stage(
        index=PROBE_INDEX,
        field=field,
        meaning=field.any_question,
        scope=Scope(),
        limit=1,
        num_candidates=1,
    )


def _refusal(
    database: Database, collection: str, pipeline: list[Json]
) -> CommandError | None:
    """Return the server's error; None where it answers, with no rows, as the index does
    not exist.
    """
    try:
        database[collection].search(pipeline)
    except CommandError as error:
        if is_away(error):
            target = SearchTarget(collection, PROBE_INDEX, "vectorSearch", {})
            raise explain(error, target) from error
        return error
    return None
