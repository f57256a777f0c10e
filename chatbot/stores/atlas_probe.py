"""What a server's search engine can do, found out by asking: versions and preview features say too little."""

from __future__ import annotations

from dataclasses import dataclass

from ..database import CommandError, Database, Json
from ..schema import Scope
from .atlas_errors import lacks_engine
from .atlas_pipelines import ann_stage, rank_fusion_pipeline, text_stage

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
    """
    if database.embedded:
        return SearchCapabilities(False, False, False, "embedded database: search runs in this process")
    vector_stage = ann_stage(index=PROBE_INDEX, vector=[1.0], scope=Scope(), limit=1, num_candidates=1)
    keyword_stage = text_stage(index=PROBE_INDEX, query="probe", scope=Scope())
    missing = _refusal(database, collection, [vector_stage])
    if missing:
        return SearchCapabilities(False, False, False, f"no search engine beside this server: {missing}")
    text = not _refusal(database, collection, [keyword_stage])
    fused = rank_fusion_pipeline(vector_stage=vector_stage, text_stage=keyword_stage, limit=1, vector_weight=0.5)
    rank_fusion = text and not _refusal(database, collection, fused)
    names = ["$vectorSearch", *(["$search"] if text else []), *(["$rankFusion"] if rank_fusion else [])]
    return SearchCapabilities(True, text, rank_fusion, ", ".join(names))


def _refusal(database: Database, collection: str, pipeline: list[Json]) -> str:
    """The server's words when it lacks the stage, else empty: any other refusal comes from an engine that is there."""
    try:
        database[collection].aggregate(pipeline)
    except CommandError as error:
        return error.server_message if lacks_engine(error) else ""
    return ""
