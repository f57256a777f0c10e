"""Search by MongoDB's own engine (Atlas, Atlas Local, Community with mongot): `$vectorSearch` and `$search`."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np

from ...database.core import Database, Json
from ...database.rows import decode_vector, id_forms
from ...protocols import ChangeLog
from ...schema import Match, Scope, Vector
from ...settings import Settings
from .. import StoreTraits
from ..chunks import MongoChunks, check_query, to_score
from .definitions import SearchTarget, index_plans
from .errors import translate_refusals
from .indexes import EmptyAnswers
from .pipelines import (
    MAX_CANDIDATES,
    ShapeChooser,
    keyword_pipeline,
    leg_scores,
    probe_search,
    rank_fusion_pipeline,
    text_stage,
    vector_pipeline,
)


class AtlasStore(MongoChunks):
    """Implements `protocols.Store` on MongoDB collections that have a vector and a text index.

    MONGODB_TIMEOUT bounds one search on the server. Writes are searchable when the engine has followed them,
    usually within a second.
    """

    def __init__(
        self,
        *,
        settings: Settings,
        database: Database,
        changes: ChangeLog,
        dimensions: int,
        slot: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(settings=settings, database=database, changes=changes, dimensions=dimensions, slot=slot)
        plans = {
            (plan.target.collection, plan.target.kind): plan.target for plan in index_plans(settings, dimensions, slot)
        }
        self._vector_targets = [plans[name, "vectorSearch"] for name in self._names]
        self._text_targets = [plans[name, "search"] for name in self._names]
        self._max_time_ms = int(settings.mongodb_timeout * 1000)
        self._shapes = ShapeChooser(path=self._embedding_field, clock=clock)
        self._empty = EmptyAnswers(database, clock)
        self._rank_fusion: bool | None = None

    def vector_search(self, vector: Vector, *, top_k: int, scope: Scope) -> list[Match]:
        """Nearest chunks of the scope's collections, best first, ties by id.

        Raises:
            SearchEngineError: no engine, an index is missing or not ready, a field is not declared, overload.
            EmbedderMismatchError: the vector is of another model.
        """
        query: list[float] = self._check(vector).tolist()

        def pipeline(target: SearchTarget, limit: int) -> list[Json]:
            collection = self._database[target.collection]
            with translate_refusals(target):
                stage = self._shapes.stage(collection, index=target.index, vector=query, scope=scope, limit=limit)
            return vector_pipeline(stage)

        return self._search(self._vector_targets, pipeline, top_k, scope)

    def keyword_search(self, query: str, *, top_k: int, scope: Scope) -> list[Match]:
        """Best chunks of the scope's collections by the engine's BM25, ties by id. An empty query finds nothing."""
        if not query.strip():
            return []

        def pipeline(target: SearchTarget, limit: int) -> list[Json]:
            return keyword_pipeline(index=target.index, query=query, scope=scope, limit=limit)

        return self._search(self._text_targets, pipeline, top_k, scope)

    def hybrid_search(self, query: str, vector: Vector, *, top_k: int, scope: Scope) -> tuple[list[Match], list[Match]]:
        """What `vector_search` and `keyword_search` find, in one round trip where the server has `$rankFusion`."""
        if self._rank_fusion is None and query.strip():  # asked of the server once
            reports = self._names[:2][-1]  # what is sure to have a text index, where any collection has
            self._rank_fusion = probe_search(self._database, reports).rank_fusion
        if not self._rank_fusion or not query.strip():
            return (
                self.vector_search(vector, top_k=top_k, scope=scope),
                self.keyword_search(query, top_k=top_k, scope=scope),
            )
        numbers: list[float] = self._check(vector).tolist()
        near: list[Match] = []
        worded: list[Match] = []
        empty: list[SearchTarget] = []
        for target, text_target in zip(self._vector_targets, self._text_targets, strict=True):
            if not scope.holds(target.collection):
                continue
            collection = self._database[target.collection]
            with translate_refusals(target):
                stage = self._shapes.stage(collection, index=target.index, vector=numbers, scope=scope, limit=top_k)
                text = text_stage(index=text_target.index, query=query, scope=scope)
                fused = rank_fusion_pipeline(vector_stage=stage, text_stage=text, limit=top_k, vector_weight=0.5)
                rows = collection.aggregate(fused, max_time_ms=self._max_time_ms)
            for row in rows:
                scores, chunk = leg_scores(row.get("details")), self._chunk(row, target.collection)
                near += [Match(chunk.id, scores["vector"], chunk)] if "vector" in scores else []
                worded += [Match(chunk.id, scores["keyword"], chunk)] if "keyword" in scores else []
            if not rows:
                empty.append(target)
        self._empty.check(empty, self._vector_targets)
        return _best(near, top_k), _best(worded, top_k)

    def vector_scores(self, vector: Vector, chunk_ids: Sequence[str]) -> dict[str, float]:
        """(1 + cosine) / 2 by chunk id; chunks that are gone or have no embedding of this size are left out."""
        unit = _unit(self._check(vector))
        scores: dict[str, float] = {}
        if chunk_ids:
            field = self._embedding_field
            for collection in self._collections():
                for row in collection.find({"_id": {"$in": id_forms(chunk_ids)}}, {field: 1}):
                    stored = decode_vector(row[field]) if row.get(field) is not None else None
                    if stored is not None and len(stored) == self._dimensions and np.any(stored):
                        scores[str(row["_id"])] = to_score(float(_unit(stored) @ unit))
        return scores

    def ping(self) -> str:
        """The server, and that each collection with documents has a vector index that answers."""
        answer = self._database.ping()
        self._empty.check(self._vector_targets, self._vector_targets)
        return f"{answer}; $vectorSearch on {', '.join(self._names)}"

    def _search(
        self,
        targets: Sequence[SearchTarget],
        pipeline: Callable[[SearchTarget, int], list[Json]],
        top_k: int,
        scope: Scope,
    ) -> list[Match]:
        if top_k < 1:
            return []
        matches: list[Match] = []
        empty: list[SearchTarget] = []
        for target in targets:
            if not scope.holds(target.collection):
                continue
            rows = self._best_rows(target, pipeline, top_k)
            matches += [
                Match(str(row["_id"]), float(row["score"]), self._chunk(row, target.collection)) for row in rows
            ]
            if not rows:
                empty.append(target)
        self._empty.check(empty, targets)
        return _best(matches, top_k)

    def _best_rows(
        self, target: SearchTarget, pipeline: Callable[[SearchTarget, int], list[Json]], top_k: int
    ) -> list[Json]:
        """At least the ``top_k`` best rows, with every row that ties with the last of them.

        The engine cuts ties in an order of its own. So one row more is asked for than is wanted, and more again
        while that one ties with the last.
        """
        limit = top_k + 1
        while True:
            with translate_refusals(target):
                rows = self._database[target.collection].aggregate(
                    pipeline(target, limit), max_time_ms=self._max_time_ms
                )
            if len(rows) < limit or rows[-1]["score"] < rows[top_k - 1]["score"] or limit >= MAX_CANDIDATES:
                return rows
            limit = min(2 * limit, MAX_CANDIDATES)

    def _check(self, vector: Vector) -> Vector:
        return check_query(
            vector,
            self._dimensions,
            f"the collections are set up for {self._dimensions}: use the model they were written with, or embed the "
            "reports again.",
        )


def _best(matches: list[Match], top_k: int) -> list[Match]:
    return sorted(matches, key=lambda match: (-match.score, match.chunk_id))[:top_k]


def _unit(vector: Vector) -> Vector:
    return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)


TRAITS = StoreTraits(has_search_indexes=True)


build = AtlasStore
