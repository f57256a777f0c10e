"""Search by MongoDB's own engine (Atlas, Atlas Local, Community with mongot):
`$vectorSearch` and `$search`.
"""

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Collection as AnyOf
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import numpy as np

from ...database.core import CommandError, Json
from ...database.failures import PASSING, THROTTLED
from ...database.rows import id_forms, id_text, usable_vector
from ...domain import Chunk, Match, Scope, Vector
from ...domain.documents import best_matches, to_score
from .. import StoreTraits
from ..chunks import MongoChunks
from .collection import IndexedCollection, SentPipelines
from .errors import explain, is_away, no_reranking
from .indexes import IndexHealth, index_plans, index_status
from .pipelines import probe_search, rerank_pipeline

log = logging.getLogger(__name__)
T = TypeVar("T")
Hybrid = tuple[list[Match], list[Match]]
WEIGHED_CANDIDATES = 200
"""Rows with words of the question that are weighed here for a limited caller, at
least.
"""


@dataclass(kw_only=True, eq=False)
class AtlasStore(MongoChunks):
    """Implements `protocols.Store` on MongoDB collections with a vector index, and a
    text index where there is room. MONGODB_TIMEOUT bounds one search on the server. It
    is a `LateStore`: the engine follows writes on its own.
    """

    expected = (
        "the collections are set up for {dimensions}: use the model they were written "
        "with, or embed the reports again."
    )
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        super().__post_init__()
        planned = index_plans(
            self.settings, {self.slot: self.dimensions}, database=self.database
        )
        health = {
            (plan.collection, plan.kind): IndexHealth(self.database, plan, self.clock)
            for plan in planned
        }
        self._max_time_ms = int(self.settings.mongodb_timeout * 1000)
        self._trace = SentPipelines()
        shared = (
            self.embedding_field,
            self.dimensions,
            self._max_time_ms,
            self._trace,
            self.clock,
            self.changes,
            self.database.at_once,
            self.passages,
        )
        self._indexed = [
            IndexedCollection(
                self.database[name],
                health[name, "vectorSearch"],
                health[name, "search"],
                *shared,
            )
            for name in self._names
        ]
        self._rank_fusion: bool | None = None

    def vector_search(
        self,
        vector: Vector,
        *,
        top_k: int,
        scope: Scope,
        num_candidates: int | None = None,
    ) -> list[Match]:
        """Raises SearchEngineError (no engine, an index that does not answer, a field
        not declared, overload) and EmbedderMismatchError.
        """
        numbers: list[float] = self._check(vector).tolist()
        return self._best(
            self._each(
                scope, lambda one: one.near(numbers, top_k, scope, num_candidates)
            ),
            top_k,
        )

    def keyword_search(self, query: str, *, top_k: int, scope: Scope) -> list[Match]:
        """Return the best chunks of the scope's collections by the engine's BM25; none
        for an empty query.

        Raises: SearchEngineError: no collection has a text index that answers; where
            one has, the others are left out.
        """
        rows = self._each(
            scope,
            lambda one: one.worded(query, self._words_needed(top_k, scope), scope),
        )
        matches = self._best_worded(query, rows, top_k, scope)
        failures = [
            failure
            for one in self._inside(scope)
            if (failure := one.texts.known_failure())
        ]
        others = (
            index_status(self.database, one.texts.target) for one in self._indexed
        )
        if failures and not matches and not any(other.queryable for other in others):
            raise failures[0]
        return matches

    def hybrid_search(
        self,
        query: str,
        vector: Vector,
        *,
        top_k: int,
        scope: Scope,
        num_candidates: int | None = None,
    ) -> Hybrid:
        """Return what both searches find, in one round trip where the server has
        `$rankFusion`. A text index that cannot answer fails nothing: see
        `without_keywords`.
        """
        numbers: list[float] = self._check(vector).tolist()
        fuses = bool(query.strip()) and not scope.is_limited and self._has_rank_fusion()
        words_needed = self._words_needed(top_k, scope)

        def both(one: IndexedCollection) -> tuple[list[Json], list[Json], str | None]:
            rows, refusal = None, None
            if fuses and not one.texts.known_failure():
                try:
                    rows = one.fused(query, numbers, top_k, scope, num_candidates)
                except CommandError as error:
                    if is_away(error) or error.reason == THROTTLED:
                        raise explain(error, one.vectors.target) from error
                    if error.reason not in PASSING:
                        refusal = error.server_message
            if rows is None:
                rows = (
                    one.near(numbers, top_k, scope, num_candidates),
                    one.worded(query, words_needed, scope),
                )
            # Where the text index answers, the stage is refused, not the index.
            return *rows, None if one.texts.known_failure() else refusal

        results = self._each(scope, both)
        if refused := [refusal for _, (*_, refusal) in results if refusal is not None]:
            self._rank_fusion = False
            log.warning(
                "$rankFusion is refused, both searches run one by one: %s", refused[0]
            )
        near = [(one, near) for one, (near, _, _) in results]
        worded = [(one, words) for one, (_, words, _) in results]
        return self._best(near, top_k), self._best_worded(query, worded, top_k, scope)

    def _words_needed(self, top_k: int, scope: Scope) -> int:
        """Return how many rows the keyword search asks the engine for."""
        return max(top_k, WEIGHED_CANDIDATES) if scope.is_limited else top_k

    def _best_worded(
        self,
        query: str,
        rows: list[tuple[IndexedCollection, list[Json]]],
        top_k: int,
        scope: Scope,
    ) -> list[Match]:
        """Return the best matches by keywords. For a limited caller words are weighed
        here, by the rows found inside of its limit.
        """
        if not scope.is_limited:
            return self._best(rows, top_k)
        found = self._best(rows, self._words_needed(top_k, scope))
        texts = [
            self.terms_of(match.chunk.search_text) if match.chunk else ()
            for match in found
        ]
        scores = self._bm25.of_candidates(self.terms_of(query), texts)
        weighed = (
            replace(match, score=score)
            for match, score in zip(found, scores, strict=True)
            if score > 0
        )
        return best_matches(weighed, top_k)

    def _each(
        self, scope: Scope, search: Callable[[IndexedCollection], T]
    ) -> list[tuple[IndexedCollection, T]]:
        """Search the collections of the scope at once."""
        inside, sent = self._inside(scope), self._trace.sent

        def run(one: IndexedCollection) -> tuple[IndexedCollection, T]:
            self._trace.sent = sent  # in the thread that runs it
            return one, search(one)

        return self.database.at_once([partial(run, one) for one in inside])

    def _has_rank_fusion(self) -> bool:
        """Return whether the server has `$rankFusion`; it is asked once."""
        if self._rank_fusion is None:
            self._rank_fusion = probe_search(
                self.database, self._names[:2][-1]
            ).rank_fusion
        return self._rank_fusion

    def without_keywords(self, scope: Scope) -> list[str]:
        return [one.name for one in self._inside(scope) if one.texts.known_failure()]

    @contextmanager
    def traced(self) -> Iterator[list[tuple[str, list[Json]]]]:
        outer, sent = self._trace.sent, list[tuple[str, list[Json]]]()
        self._trace.sent = sent
        try:
            yield sent
        finally:
            self._trace.sent = outer
            sent.sort(
                key=lambda one: self._names.index(one[0])
            )  # they were sent at once
            if outer is not None:
                outer += sent

    def relevance(self, query: str, chunks: Sequence[Chunk]) -> dict[str, float]:
        scores: dict[str, float] = {}
        for name in (
            dict.fromkeys(chunk.collection for chunk in chunks)
            if chunks
            else self._names[:1]
        ):
            ids = id_forms(chunk.id for chunk in chunks if chunk.collection == name)
            try:
                pipeline = rerank_pipeline(query, ids, self.settings.rerank_model or "")
                rows = self.database[name].search(
                    pipeline, max_time_ms=self._max_time_ms
                )
            except CommandError as error:
                raise no_reranking(error) from error
            scores |= {id_text(row["_id"]): float(row["score"]) for row in rows}
        return scores

    def retire(self, document_id: str, *, keep: AnyOf[str] = ()) -> list[str]:
        kept = set(keep)
        return [id for one in self._indexed for id in one.retire(document_id, kept)]

    def unfollowed(
        self, document_id: str, *, written: AnyOf[str] = (), retired: AnyOf[str] = ()
    ) -> set[str]:
        looks = [
            partial(one.unfollowed, document_id, written, retired)
            for one in self._indexed
        ]
        return set().union(*self.database.at_once(looks))

    def vector_scores(
        self, vector: Vector, chunk_ids: Sequence[str]
    ) -> dict[str, float]:
        """Leave out chunks that are gone or have no embedding of this size."""
        unit, field = _unit(self._check(vector)), self.embedding_field
        scores: dict[str, float] = {}
        for collection in self.collections() if chunk_ids else ():
            for row in collection.find(
                {"_id": {"$in": id_forms(chunk_ids)}}, {field: 1}
            ):
                stored = usable_vector(row.get(field), self.dimensions)
                if stored is not None:
                    scores[id_text(row["_id"])] = to_score(float(_unit(stored) @ unit))
        return scores

    def ping(self) -> str:
        """Check that each collection with documents has a vector index that answers;
        name those without keywords.
        """
        answer = self.database.ping()
        for one in self._indexed:
            if failure := one.vectors.failure():
                raise failure
        lacking = [one.name for one in self._indexed if one.texts.failure()]
        words = (
            f"; keywords are not searched in {', '.join(lacking)} (python -m chatbot "
            "index status)"
        )
        return (
            f"{answer}; $vectorSearch on "
            f"{', '.join(self._names)}{words if lacking else ''}"
        )

    def _inside(self, scope: Scope) -> list[IndexedCollection]:
        return [one for one in self._indexed if scope.holds(one.name)]

    def _best(
        self, rows: list[tuple[IndexedCollection, list[Json]]], top_k: int
    ) -> list[Match]:
        found = ((one.name, row) for one, answer in rows for row in answer)
        matches = (
            Match(id_text(row["_id"]), float(row["score"]), self._chunk(row, name))
            for name, row in found
        )
        return best_matches(matches, top_k)


def _unit(vector: Vector) -> Vector:
    return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)


TRAITS = StoreTraits(has_search_indexes=True)
build = AtlasStore
