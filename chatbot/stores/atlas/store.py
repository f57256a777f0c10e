"""Search by MongoDB's own engine (Atlas, Atlas Local, Community with mongot): `$vectorSearch` and `$search`."""

from __future__ import annotations

import copy
import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Collection as AnyOf
from contextlib import contextmanager
from functools import partial

import numpy as np

from ...database.core import CommandError, Database, Json
from ...database.rows import decode_vector, id_forms
from ...errors import SearchEngineError
from ...protocols import ChangeLog
from ...schema import Chunk, Match, Scope, Vector
from ...scores import to_score
from ...settings import Settings
from .. import StoreTraits
from ..chunks import MongoChunks, check_query, is_retired
from .definitions import SearchTarget, index_plans
from .errors import NOT_QUERYABLE, OVERLOADED, explain, is_away, no_reranking, translate_refusals
from .following import Following
from .indexes import IndexHealth, index_status
from .pipelines import (
    MAX_CANDIDATES,
    ShapeChooser,
    keyword_pipeline,
    leg_scores,
    probe_search,
    rank_fusion_pipeline,
    rerank_pipeline,
    text_stage,
    vector_pipeline,
)

log = logging.getLogger(__name__)
Hybrid = tuple[list[Match], list[Match]]
Sent = tuple[str, list[Json]]
"""An aggregation with its collection."""
WIDER = 4
"""The factor by which more is asked for where the server dropped rows."""


class AtlasStore(MongoChunks):
    """Implements `protocols.Store` on MongoDB collections that have a vector index, and a text index where there is
    room for one.

    MONGODB_TIMEOUT bounds one search on the server. It is a `LateStore`: the engine follows writes on its own.
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
        plans = {(plan.collection, plan.kind): plan for plan in index_plans(settings, {slot: dimensions})}
        self._targets = [(plans[name, "vectorSearch"], plans[name, "search"]) for name in self._names]
        self._max_time_ms = int(settings.mongodb_timeout * 1000)
        self._clock = clock
        self._choose(None if settings.num_candidates == "auto" else settings.num_candidates)
        self._health = IndexHealth(database, clock)
        self._following = Following(
            database, self._targets, self._health, embedding_field=self._embedding_field, dimensions=dimensions
        )
        self._rank_fusion: bool | None = None
        self._thread = _Thread()

    def vector_search(self, vector: Vector, *, top_k: int, scope: Scope) -> list[Match]:
        """Nearest chunks of the scope's collections, best first, ties by id.

        Raises:
            SearchEngineError: no engine, an index is missing or not ready, a field is not declared, overload.
            EmbedderMismatchError: the vector is of another model.
        """
        numbers: list[float] = self._check(vector).tolist()
        matches = (self._near(target, numbers, top_k, scope) for target, _ in self._inside(scope))
        return _best([match for found in matches for match in found], top_k)

    def keyword_search(self, query: str, *, top_k: int, scope: Scope) -> list[Match]:
        """Best chunks of the scope's collections by the engine's BM25, ties by id. An empty query finds nothing.

        Raises:
            SearchEngineError: no collection has a text index that answers; where one has, the others are left out.
        """
        targets = [texts for _, texts in self._inside(scope)]
        matches = [match for target in targets for match in self._worded(target, query, top_k, scope)]
        failures = [failure for target in targets if (failure := self._health.known_failure(target))]
        others = (index_status(self._database, texts) for _, texts in self._targets)
        if failures and not matches and not any(other.queryable for other in others):
            raise failures[0]
        return _best(matches, top_k)

    def hybrid_search(self, query: str, vector: Vector, *, top_k: int, scope: Scope) -> Hybrid:
        """What `vector_search` and `keyword_search` find, in one round trip where the server has `$rankFusion`.

        A text index that cannot answer fails nothing: see `without_keywords`.
        """
        numbers: list[float] = self._check(vector).tolist()
        near: list[Match] = []
        worded: list[Match] = []
        for target, texts in self._inside(scope):
            found = self._fused(target, texts, query, numbers, top_k, scope)
            if found is None:
                found = self._near(target, numbers, top_k, scope), self._worded(texts, query, top_k, scope)
            near += found[0]
            worded += found[1]
        return _best(near, top_k), _best(worded, top_k)

    def without_keywords(self, scope: Scope) -> list[str]:
        """See `protocols.HybridStore`."""
        return [texts.collection for _, texts in self._inside(scope) if self._health.known_failure(texts)]

    @contextmanager
    def traced(self) -> Iterator[list[Sent]]:
        """See `protocols.TracedStore`."""
        outer, mine = self._thread.sent, list[Sent]()
        self._thread.sent = mine
        try:
            yield mine
        finally:
            self._thread.sent = outer
            if outer is not None:
                outer += mine

    def _send(self, target: SearchTarget, pipeline: list[Json]) -> list[Json]:
        if self._thread.sent is not None:
            self._thread.sent.append((target.collection, pipeline))
        return self._database[target.collection].search(pipeline, max_time_ms=self._max_time_ms)

    def with_candidates(self, count: int | None) -> AtlasStore:
        """See `protocols.CandidateStore`."""
        other = copy.copy(self)
        other._choose(count)
        return other

    def _choose(self, num_candidates: int | None) -> None:
        self._spare = 1 if num_candidates is None else 0
        self._shapes = ShapeChooser(path=self._embedding_field, num_candidates=num_candidates, clock=self._clock)

    def relevance(self, query: str, chunks: Sequence[Chunk]) -> dict[str, float]:
        """See `protocols.RerankingStore`."""
        found: dict[str, float] = {}
        for name in dict.fromkeys(chunk.collection for chunk in chunks) if chunks else self._names[:1]:
            ids = id_forms(chunk.id for chunk in chunks if chunk.collection == name)
            try:
                rows = self._database[name].search(rerank_pipeline(query, ids), max_time_ms=self._max_time_ms)
            except CommandError as error:
                raise no_reranking(error) from error
            found |= {str(row["_id"]): float(row["score"]) for row in rows}
        return found

    def retire(self, document_id: str, *, keep: AnyOf[str] = ()) -> list[str]:
        """See `protocols.LateStore`."""
        return self._following.retire(document_id, keep=keep)

    def unfollowed(self, document_id: str, *, there: AnyOf[str] = (), gone: AnyOf[str] = ()) -> int:
        """See `protocols.LateStore`."""
        return self._following.unfollowed(document_id, there=there, gone=gone)

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
        """The server, that each collection with documents has a vector index that answers, and which have no words."""
        answer = self._database.ping()
        for target, _ in self._targets:
            if failure := self._health.failure(target):
                raise failure
        lacking = [texts.collection for _, texts in self._targets if self._health.failure(texts)]
        words = f"; keywords are not searched in {', '.join(lacking)} (python -m chatbot index status)"
        return f"{answer}; $vectorSearch on {', '.join(self._names)}{words if lacking else ''}"

    def _inside(self, scope: Scope) -> list[tuple[SearchTarget, SearchTarget]]:
        return [targets for targets in self._targets if scope.holds(targets[0].collection)]

    def _near(self, target: SearchTarget, vector: Sequence[float], top_k: int, scope: Scope) -> list[Match]:
        """At least the ``top_k`` nearest passages, with all that tie with the last of them."""
        rows = self._best_rows(target, partial(self._vector_pipeline, target, vector, scope), top_k, scope)
        if not rows and top_k > 0 and (failure := self._health.failure(target)):
            raise failure
        return self._matches(rows, target)

    def _vector_pipeline(self, target: SearchTarget, vector: Sequence[float], scope: Scope, limit: int) -> list[Json]:
        collection = self._database[target.collection]
        return vector_pipeline(
            self._shapes.stage(collection, index=target.index, vector=vector, scope=scope, limit=limit)
        )

    def _worded(self, target: SearchTarget, query: str, top_k: int, scope: Scope) -> list[Match]:
        """The best passages by keywords, with ties; none where the index cannot answer, which is noted."""
        if not query.strip() or self._health.known_failure(target):
            return []

        def pipeline(limit: int) -> list[Json]:
            return keyword_pipeline(index=target.index, query=query, scope=scope, limit=limit)

        try:
            rows = self._best_rows(target, pipeline, top_k)
        except SearchEngineError as error:
            if error.reason != NOT_QUERYABLE:
                raise
            rows = []
        if not rows and top_k > 0:
            self._health.failure(target)
        return self._matches(rows, target)

    def _fused(
        self, target: SearchTarget, texts: SearchTarget, query: str, vector: Sequence[float], top_k: int, scope: Scope
    ) -> Hybrid | None:
        """Both lists from `$rankFusion`; None where they have to be searched for one by one."""
        if not query.strip() or self._health.known_failure(texts) or not self._has_rank_fusion():
            return None
        with translate_refusals(target):
            pipeline = self._fused_pipeline(target, texts, query, vector, top_k, scope)
        try:
            rows = self._send(target, pipeline)
        except CommandError as error:
            if is_away(error) or error.server_code == OVERLOADED:
                raise explain(error, target) from error
            found = self._near(target, vector, top_k, scope), self._worded(texts, query, top_k, scope)
            if not self._health.known_failure(texts):  # so it is the stage that is refused, not an index
                self._rank_fusion = False
                log.warning("$rankFusion is refused, both searches run one by one: %s", error.server_message)
            return found
        if any(map(is_retired, rows)):
            return None
        scored = [(leg_scores(row.get("details")), self._chunk(row, target.collection)) for row in rows]
        near, worded = (
            [Match(chunk.id, scores[leg], chunk) for scores, chunk in scored if leg in scores]
            for leg in ("vector", "keyword")
        )
        if not worded:
            self._health.failure(texts)
        if not near and (failure := self._health.failure(target)):
            raise failure
        short = len(near) < top_k and self._is_short(near, target, top_k, scope)
        return (self._near(target, vector, top_k, scope) if short else near), worded

    def _fused_pipeline(
        self, target: SearchTarget, texts: SearchTarget, query: str, vector: Sequence[float], top_k: int, scope: Scope
    ) -> list[Json]:
        collection = self._database[target.collection]
        stage = self._shapes.stage(collection, index=target.index, vector=vector, scope=scope, limit=top_k)
        text = text_stage(index=texts.index, query=query, scope=scope)
        return rank_fusion_pipeline(vector_stage=stage, text_stage=text, limit=top_k)

    def _has_rank_fusion(self) -> bool:
        """Whether the server has `$rankFusion`; it is asked once."""
        if self._rank_fusion is None:
            self._rank_fusion = probe_search(self._database, self._names[:2][-1]).rank_fusion
        return self._rank_fusion

    def _matches(self, rows: Sequence[Json], target: SearchTarget) -> list[Match]:
        return [Match(str(row["_id"]), float(row["score"]), self._chunk(row, target.collection)) for row in rows]

    def _best_rows(
        self, target: SearchTarget, pipeline: Callable[[int], list[Json]], top_k: int, counted: Scope | None = None
    ) -> list[Json]:
        """At least the ``top_k`` best rows, with every row that ties with the last of them.

        The engine cuts ties in an order of its own. So one row more is asked for than is wanted, and more again
        while that one ties with the last; and while some rows only wait to be deleted; and while rows go and there
        are fewer than are ``counted`` in that scope: the server drops what is gone, and says nothing.
        """
        limit = wanted = top_k + self._spare
        while top_k > 0:
            with translate_refusals(target):
                found = self._send(target, pipeline(limit))
            rows = [row for row in found if not is_retired(row)]
            full = len(found) >= limit
            tied = full and len(rows) > top_k and rows[-1]["score"] >= rows[top_k - 1]["score"]
            short = len(rows) < wanted and (
                full or (counted is not None and self._is_short(rows, target, wanted, counted))
            )
            if limit >= MAX_CANDIDATES or not (tied or short):
                if short and counted is not None:
                    self._shapes.only(self._database[target.collection], counted, len(rows))
                return rows
            limit = min((WIDER if short else 2) * limit, MAX_CANDIDATES)
        return []

    def _is_short(self, rows: Sequence[object], target: SearchTarget, wanted: int, scope: Scope) -> bool:
        """Whether there should be more rows; not where there are none because the index cannot answer."""
        collection = self._database[target.collection]
        if (not rows and self._health.failure(target)) or not self._shapes.shrank(collection):
            return False
        return len(rows) < min(wanted, self._shapes.count(collection, scope))

    def _check(self, vector: Vector) -> Vector:
        return check_query(
            vector,
            self._dimensions,
            f"the collections are set up for {self._dimensions}: use the model they were written with, or embed the "
            "reports again.",
        )


class _Thread(threading.local):
    """What the searches of the running thread send, where somebody wants to know."""

    sent: list[Sent] | None = None


def _best(matches: list[Match], top_k: int) -> list[Match]:
    return sorted(matches, key=lambda match: (-match.score, match.chunk_id))[:top_k]


def _unit(vector: Vector) -> Vector:
    return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)


TRAITS = StoreTraits(has_search_indexes=True)


build = AtlasStore
