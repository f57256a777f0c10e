"""`$vectorSearch` over a list of documents, exact; rows come best first with their
score.

Where its beliefs come from (paths of github.com/mongodb/mongot, below
src/main/java/com/xgen/mongot):
- the limits of `limit` and `numCandidates`, which `exact` leaves out:
  index/query/operators/VectorSearchCriteria.java, ApproximateVectorSearchCriteria.java
  and ExactVectorSearchCriteria.java;
- the refusals of a path and of other dimensions:
  index/query/VectorQueryTimeMappingChecks.java; of a zero vector:
  index/lucene/query/VectorSearchQueryFactory.java;
- vectors of other dimensions, zero vectors and those with values that are not finite
  are not indexed: index/lucene/document/single/IndexableFieldFactory.java,
  `addKnnVectorField` (Lucene's KnnFloatVectorField refuses the last ones);
- the score (1 + cosine) / 2:
  mongodb.com/docs/vector-search/query/aggregation-stages/vector-search-stage;
- automated embedding: a text or `{text: ...}` as ``query``, the refusals of an empty
  one, of one where vectors are stored and of a ``model`` beside a vector:
  server/command/search/VectorSearchCommand.java, `maybeEmbed`, and
  index/query/operators/VectorSearchQueryInput.java. Rows without a text are skipped,
  and a vector is no question there ("query: required"): "Query Parameters Reference"
  and "Troubleshooting" of skills/mongodb-search-and-ai/references/
  automated-embedding.md in github.com/mongodb/agent-skills (3637f5da). mongot itself
  would take a vector of the model's dimensions; the vendor does not promise it.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from bson.binary import Binary

from chatbot.models.embed.hashing import HashingEmbedder
from tests.fakes.mql_filter import compiled
from tests.fakes.search_engine import Documents, Find, Row, refused


def vector_search(
    spec: Mapping[str, Any], documents: Documents, find: Find
) -> list[Row]:
    limit = _parsed_limit(spec)
    definition = find(str(spec["index"]), "vectorSearch")
    if definition is None:
        return []
    embedded = {f["path"]: f for f in definition["fields"] if f["type"] == "autoEmbed"}
    if embedded:
        return _embedded_search(spec, documents, embedded, definition)[:limit]
    if "query" in spec:
        raise refused("queryVector must be present")
    query = np.asarray(spec["queryVector"], dtype=np.float64)
    assert np.isfinite(query).all()
    vectors = {f["path"]: f for f in definition["fields"] if f["type"] == "vector"}
    declared = {f["path"] for f in definition["fields"] if f["type"] == "filter"}
    path = spec["path"]
    if path not in vectors:
        raise refused(f"{path} is not indexed as vector")
    dimensions = vectors[path]["numDimensions"]
    assert vectors[path]["similarity"] == "cosine"
    if dimensions != len(query):
        raise refused(
            f"vector field is indexed with {dimensions} dimensions but queried "
            f"with {len(query)}"
        )
    if not query.any():
        raise refused("Cosine similarity cannot be calculated against a zero vector.")
    inside = compiled(spec.get("filter", {}), declared)
    rows = []
    for document in documents:
        stored = stored_vector(document.get(path), dimensions)
        if stored is not None and inside(document):
            cosine = query @ stored / np.linalg.norm(query) / np.linalg.norm(stored)
            rows.append((float(np.float32((1 + cosine) / 2)), document))
    return sorted(rows, key=lambda row: -row[0])[:limit]


EMBED = HashingEmbedder(1024)
"""Stands for every model of Voyage AI."""


def _embedded_search(
    spec: Mapping[str, Any],
    documents: Documents,
    embedded: Mapping[str, Any],
    definition: Mapping[str, Any],
) -> list[Row]:
    path = spec["path"]
    if path not in embedded:
        raise refused(f"{path} is not indexed as vector")
    if "query" not in spec:
        raise refused("'query' is required to query an Automated Embedding index")
    text = spec["query"]["text"] if isinstance(spec["query"], dict) else spec["query"]
    if not text:
        raise refused(
            "'query' field cannot be empty when querying Automated Embedding index"
        )
    declared = {f["path"] for f in definition["fields"] if f["type"] == "filter"}
    inside = compiled(spec.get("filter", {}), declared)
    query = EMBED.embed_query(text)
    rows = []
    for document in documents:
        stored = document.get(path)
        if isinstance(stored, str) and stored and inside(document):
            dot = float(query @ EMBED.embed_query(stored))
            rows.append((float(np.float32((1 + dot) / 2)), document))
    return sorted(rows, key=lambda row: -row[0])


def _parsed_limit(spec: Mapping[str, Any]) -> int:
    """What the engine would refuse is a mistake of the program."""
    amount = {"exact"} if spec.get("exact") else {"numCandidates"}
    meant = {"query"} if "query" in spec else {"queryVector"}
    assert set(spec) - {"filter", "returnStoredSource"} == {
        "index",
        "path",
        "limit",
        *meant,
        *amount,
    }
    assert 1 <= spec["limit"] <= spec.get("numCandidates", spec["limit"])
    assert spec.get("numCandidates", 1) <= 10_000
    return int(spec["limit"])


def stored_vector(value: Any, dimensions: int) -> np.ndarray[Any, Any] | None:
    """What the engine indexes: an array of numbers or a float32 BinData vector of the
    right size, nothing else.
    """
    if isinstance(value, list) and all(
        isinstance(one, (int, float)) and not isinstance(one, bool) for one in value
    ):
        vector = np.asarray(value, dtype=np.float64)
    elif (
        isinstance(value, Binary)
        and value.subtype == 9
        and value[:2] == b"\x27\x00"
        and len(value) % 4 == 2
    ):
        vector = np.frombuffer(value, dtype="<f4", offset=2).astype(np.float64)
    else:
        return None
    return (
        vector
        if len(vector) == dimensions
        and bool(np.all(np.isfinite(vector)) and vector.any())
        else None
    )
