"""`$rankFusion`: reciprocal ranks of several pipelines over one collection."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.fakes.engine_errors import location
from tests.fakes.search_engine import Row

DETAILS, LEG = "__details", "__leg"


def rank_fusion(
    spec: Mapping[str, Any], run: Callable[[Sequence[Mapping[str, Any]]], list[dict[str, Any]]]
) -> list[Row]:
    pipelines = spec.get("input", {}).get("pipelines", {})
    if not pipelines:
        raise location(9191103, "$rankFusion requires at least one input pipeline")
    weights = spec.get("combination", {}).get("weights", {})
    if unknown := set(weights) - set(pipelines):
        raise location(9967500, f"$rankFusion: weights name unknown pipelines: {', '.join(sorted(unknown))}")
    allowed = {"$match", "$search", "$vectorSearch", "$sample", "$geoNear", "$sort", "$skip", "$limit"}
    scores: dict[Any, float] = {}
    documents: dict[Any, dict[str, Any]] = {}
    details: dict[Any, dict[str, dict[str, Any]]] = {}
    for name, pipeline in pipelines.items():
        if not pipeline or {stage for part in pipeline for stage in part} - allowed:
            raise location(9191100, f"$rankFusion input pipeline {name!r} must be a selection and ranked pipeline")
        meta = "vectorSearchScore" if "$vectorSearch" in pipeline[0] else "searchScore"
        scored = [*pipeline, {"$addFields": {LEG: {"$meta": meta}}}]
        for rank, document in enumerate(run(scored), start=1):
            leg = {"inputPipelineName": name, "rank": rank, "value": document.pop(LEG)}
            details.setdefault(document["_id"], {})[name] = {**leg, "weight": weights.get(name, 1.0)}
            scores[document["_id"]] = scores.get(document["_id"], 0.0) + weights.get(name, 1.0) / (60 + rank)
            documents[document["_id"]] = document
    for id, found in details.items():
        # a pipeline that missed the document is listed too, with NA for its rank
        legs = [found.get(name, {"inputPipelineName": name, "rank": "NA"}) for name in pipelines]
        documents[id][DETAILS] = {"value": scores[id], "details": legs}
    return sorted(((score, documents[id]) for id, score in scores.items()), key=lambda row: -row[0])
