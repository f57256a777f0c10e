"""The search engine that stands beside mongomock: its indexes, its switches, what it
was asked, how it refuses.

Where its beliefs come from (paths of github.com/mongodb/mongot are below
src/main/java/com/xgen/mongot, those of github.com/mongodb/mongo below src/mongo):
- which states refuse, which give no rows, and the sentence: LuceneVectorIndex.java and
  LuceneSearchIndex.java in index/lucene, `throwIfUnavailableForQuerying`;
- the states that users see, and the engine's own names of them:
  server/command/management/util/IndexMapper.java, `fromStatusCode`;
- at most 8,192 dimensions: index/definition/VectorFieldSpecification.java;
- `$rankFusion`: db/pipeline/document_source_rank_fusion.cpp. A weight over 60 + rank,
  ties by `_id`, "NA" for a pipeline that missed the document; its input pipelines may
  only retrieve, order and limit (document_source_hybrid_scoring_util.cpp);
- definitions of automated embedding: AutoEmbeddingIndexValidator.java in
  config/provider/community/embedding (models, options, no mixing, no change of such a
  field); the models, and three questions a minute on a free cluster without a payment
  card: mongodb.com/docs/vector-search/crud-embeddings/automated-embedding/models and
  skills/mongodb-search-and-ai/references/automated-embedding.md in
  github.com/mongodb/agent-skills (3637f5da); the sentence of the refusal of a further
  one: "Client side rate limit exceeded", embedding/providers (EmbeddingServiceManager);
- `$rerank`, whose `path` may be a list, and which fails where a row lacks a field:
  mongodb.com/docs/vector-search/query/aggregation-stages/rerank (read 2026-11-30);
- `storedSource` with `returnStoredSource`: mongodb.com/docs/search/query/
  return-stored-source and .../indexes/stored-source-definition (read 2026-11-30: the
  server reads no rows, and `_id` is always stored). For indexes of vectors
  server/command/search/VectorSearchCommand.java, `checkSupportForVectorStoredSource`
  (d38b926d: MongoDB 8.2, and the two refusals), and index/definition/
  VectorIndexDefinition.java (no `storedSource: true`).
"""

import copy
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pymongo.errors import OperationFailure

Row = tuple[float, dict[str, Any]]
"""(score, document)"""
Documents = Sequence[dict[str, Any]]
Find = Callable[[str, str], "Mapping[str, Any] | None"]
"""(index name, type) -> the definition that serves; None when no such index exists."""


@dataclass
class SearchIndex:
    """One search index. ``serving`` is the definition that answers: the old one until a
    new one is built.
    """

    name: str
    type: str
    latest: dict[str, Any]
    status: str = "READY"
    serving: dict[str, Any] | None = None
    message: str = ""

    @property
    def queryable(self) -> bool:
        return self.serving is not None and self.status in (
            "READY",
            "STALE",
            "BUILDING",
            "PENDING",
        )

    def become(self, status: str, message: str = "") -> None:
        self.status, self.message = status, message
        if status == "READY":
            self.serving = self.latest

    def described(self, *, community: bool) -> dict[str, Any]:
        """Community's has no type, and its message in the detail of the host: see
        mongot's server/command/management/definition,
        ListSearchIndexesResponseDefinition.java (IndexEntry, HostStatusDetail,
        HostIndexStatusDetail). Atlas's has both:
        mongodb.com/docs/manual/reference/operator/aggregation/listsearchindexes.
        """
        row: dict[str, Any] = {
            "id": f"id-{self.name}",
            "name": self.name,
            "status": self.status,
        }
        row |= {
            "queryable": self.queryable,
            "latestDefinition": copy.deepcopy(self.latest),
        }
        message = {"message": self.message} if self.message else {}
        if not community:
            return {**row, "type": self.type, **message}
        part = {
            "status": self.status,
            "queryable": self.queryable,
            "definition": copy.deepcopy(self.latest),
            **message,
        }
        building = self.serving is not None and self.serving != self.latest
        host = {
            "hostname": "mongot-0",
            "status": self.status,
            "queryable": self.queryable,
        }
        return {
            **row,
            "statusDetail": [
                {**host, "stagedIndex" if building else "mainIndex": part}
            ],
        }


OWN_STATES = {"PENDING": "NOT_STARTED", "BUILDING": "INITIAL_SYNC"}
"""What the engine itself calls the states of an index that does not answer yet."""


VOYAGE_MODELS = ("voyage-4-lite", "voyage-4", "voyage-4-large", "voyage-code-3")


@dataclass
class Engine:
    """The switches of a search engine, and what it was asked.

    ``room``: how many search indexes the tier allows. ``silent``: an unfinished index
    gives no rows and no error, as some deployments do, instead of the refusal of
    others. ``lag``: seconds after which it knows what was written. ``community``: how
    it lists its indexes. ``fusion_failure``: how it refuses `$rankFusion`. ``rows``:
    the number that the server's metadata give for each collection, None = the true one.
    """

    enabled: bool = True
    models: tuple[str, ...] = VOYAGE_MODELS
    """Models that embed; none = automated embedding is not configured."""
    takes_questions: bool = True
    """False: it is older than automated embedding, and needs a vector."""
    questions_left: int | None = None
    """The questions that are embedded in this minute; None = as many as come."""
    rank_fusion: bool = True
    reranks: bool = False
    constant_score: float | None = None
    """The score of every passage: all models but one gave it in the preview
    (langchain-mongodb's changelog).
    """
    fusion_failure: OperationFailure | None = None
    stores_vectors_source: bool = True
    """False: the server is older than 8.2, and its indexes of vectors store nothing."""
    looked_up: list[str] = field(default_factory=list)
    """The rows that the server read since the engine gave their ids only."""
    community: bool = True
    lag: float = 0.0
    clock: Callable[[], float] = time.monotonic
    new_status: str = "READY"
    room: int | None = None
    failure: OperationFailure | None = None
    silent: bool = False
    rows: int | None = None
    counted: list[Any] = field(default_factory=list)
    """The filters by which rows were counted one by one."""
    operations: list[int] = field(default_factory=list)
    """The operations of each call that updated rows, as a quota counts them."""
    indexes: dict[str, dict[str, SearchIndex]] = field(default_factory=dict)
    states: dict[str, list[tuple[float, list[dict[str, Any]]]]] = field(
        default_factory=dict
    )
    asked: list[tuple[str, list[dict[str, Any]], dict[str, Any]]] = field(
        default_factory=list
    )

    def index(self, collection: str, name: str) -> SearchIndex:
        return self.indexes[collection][name]

    def serving(
        self, collection: str, name: str, type: str
    ) -> Mapping[str, Any] | None:
        found = self.indexes.get(collection, {}).get(name)
        if found is None or found.type != type:
            return None
        if found.serving is None or not found.queryable:
            if self.silent:
                return None
            if found.status == "DOES_NOT_EXIST":
                return None
            kind = "vector" if type == "vectorSearch" else "search"
            state = OWN_STATES.get(found.status, found.status)
            raise refused(
                f"cannot query {kind} index 6ac2 ({kind} index {name}) while in "
                f"state {state}"
            )
        return found.serving

    def stored_fields(self, definition: Mapping[str, Any], type: str) -> list[str]:
        """The fields that an index stores itself: its ids, and those it includes."""
        if type == "vectorSearch" and not self.stores_vectors_source:
            raise refused(
                "The returnStoredSource setting requires MongoDB server version 8.2.0 "
                "or higher for vector indexes but got version 8.0.4 instead."
            )
        stored = definition.get("storedSource")
        if not stored:
            raise refused("storedSource is not configured for this index.")
        return ["_id", *stored["include"]]

    def embed_question(self, definition: Mapping[str, Any] | None) -> None:
        """Take a question from this minute's, if an index of texts is searched."""
        if self.questions_left is None or not embedded_fields(definition or {}):
            return
        if not self.questions_left:
            raise refused("Client side rate limit exceeded, retry it later")
        self.questions_left -= 1

    def check_embedding(
        self, definition: Mapping[str, Any], before: Mapping[str, Any]
    ) -> None:
        """Refuse a definition of automated embedding that cannot be built."""
        embedded = embedded_fields(definition)
        if not embedded:
            if embedded_fields(before):
                raise refused("you cannot convert a type:autoEmbed to a type:vector")
            return
        for one in embedded:
            assert one["modality"] == "text"
            if set(one) != {"type", "modality", "path", "model"}:
                raise refused("not supported for auto-embedding indexes on community.")
            if one["model"] not in self.models:
                supported = ", ".join(self.models)
                supported = supported or "none (embedding service not configured)"
                raise refused(
                    "The following embedding model(s) are not supported: "
                    f"{one['model']}. Supported models: {supported}."
                )
        if any(one["type"] == "vector" for one in definition["fields"]):
            raise refused(
                "Index cannot mix regular vector fields with auto-embedding fields."
            )
        if before and embedded_fields(before) != embedded:
            raise refused("Index: x cannot update type:autoEmbed fields.")


def embedded_fields(definition: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [one for one in definition.get("fields", []) if one["type"] == "autoEmbed"]


def check_definition(type: str, definition: Mapping[str, Any]) -> None:
    fields = definition.get("fields", []) if type == "vectorSearch" else []
    vectors = [one for one in fields if one["type"] == "vector"]
    if embedded_fields(definition):
        return
    assert vectors if type == "vectorSearch" else "mappings" in definition
    assert all(1 <= one["numDimensions"] <= 8192 for one in vectors)


NOT_ENABLED = (
    "Using $search and $vectorSearch aggregation stages requires additional "
    "configuration. Please connect to Atlas "
    "or an AtlasCLI local deployment to enable. For more information on how to "
    "connect, see "
    "https://dochub.mongodb.org/core/atlas-cli-deploy-local-reqs."
)
"""Refusals are in its own words (mongot's source and measured servers, 2026)."""


def failure(message: str, code: int, name: str) -> OperationFailure:
    return OperationFailure(
        message, code, {"ok": 0.0, "errmsg": message, "code": code, "codeName": name}
    )


def refused(message: str) -> OperationFailure:
    """What the search engine itself says, as the server passes it on."""
    return failure(
        f"PlanExecutor error during aggregation :: caused by :: {message}",
        8,
        "UnknownError",
    )


def location(code: int, message: str) -> OperationFailure:
    """What the server says before it asks the engine."""
    return failure(message, code, f"Location{code}")


def not_enabled() -> OperationFailure:
    return failure(NOT_ENABLED, 31082, "SearchNotEnabled")


DETAILS, LEG = "__details", "__leg"


def rank_fusion(
    spec: Mapping[str, Any],
    run: Callable[[Sequence[Mapping[str, Any]]], list[dict[str, Any]]],
) -> list[Row]:
    """`$rankFusion`: reciprocal ranks of several pipelines over one collection."""
    pipelines = spec["input"]["pipelines"]
    assert pipelines
    weights = spec.get("combination", {}).get("weights", {})
    assert set(weights) <= set(pipelines)
    allowed = {
        "$match",
        "$search",
        "$vectorSearch",
        "$sample",
        "$geoNear",
        "$sort",
        "$skip",
        "$limit",
    }
    scores: dict[Any, float] = {}
    documents: dict[Any, dict[str, Any]] = {}
    details: dict[Any, dict[str, dict[str, Any]]] = {}
    for name, pipeline in pipelines.items():
        assert pipeline
        assert {stage for part in pipeline for stage in part} <= allowed
        meta = "vectorSearchScore" if "$vectorSearch" in pipeline[0] else "searchScore"
        scored = [*pipeline, {"$addFields": {LEG: {"$meta": meta}}}]
        for rank, document in enumerate(run(scored), start=1):
            leg = {"inputPipelineName": name, "rank": rank, "value": document.pop(LEG)}
            details.setdefault(document["_id"], {})[name] = {
                **leg,
                "weight": weights.get(name, 1.0),
            }
            scores[document["_id"]] = scores.get(document["_id"], 0.0) + weights.get(
                name, 1.0
            ) / (60 + rank)
            documents[document["_id"]] = document
    for id, found in details.items():
        # a pipeline that missed the document is listed too, with NA for its rank
        legs = [
            found.get(name, {"inputPipelineName": name, "rank": "NA"})
            for name in pipelines
        ]
        documents[id][DETAILS] = {"value": scores[id], "details": legs}
    return sorted(
        ((score, documents[id]) for id, score in scores.items()),
        key=lambda row: (-row[0], str(row[1]["_id"])),
    )
