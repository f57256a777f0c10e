"""Search by MongoDB's own engine (Atlas, Atlas Local, Community with mongot):
`$vectorSearch` and `$search`.
"""

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Collection as AnyOf
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from ...database.core import CommandError, Json
from ...database.failures import PASSING, THROTTLED
from ...database.rows import TEXT_FIELD, id_forms, id_text, usable_vector
from ...domain import Chunk, Match, Scope, Vector
from ...domain.documents import Meaning, best_matches, to_score
from ...domain.errors import SearchEngineError
from .. import StoreTraits
from ..chunks import MongoChunks, is_retired, no_direction
from .collection import IndexedCollection, SentPipelines
from .errors import explain, failure, is_away, is_rate_limited, no_reranking
from .indexes import IndexHealth, index_plans, index_status, meaning_fields
from .pipelines import probe_auto_embedding, probe_search, rerank_pipeline

log = logging.getLogger(__name__)
T = TypeVar("T")
Hybrid = tuple[list[Match], list[Match]]
MIN_WEIGHED_ROWS = 200
"""Rows with words of the question that are weighed here for a limited caller: the rank
of a word is that among these, so there have to be more than are shown.
"""


@dataclass(frozen=True, slots=True)
class BothSearches:
    """The rows that one collection has for a hybrid search, and why the server refused
    to make it in one round trip; None = it did not.
    """

    nearest: list[Json]
    with_words: list[Json]
    refusal: str | None = None


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
    embedding_model: str = ""
    """By which MongoDB embeds passages and questions; "" = they come with vectors."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._max_time_ms = int(self.settings.mongodb_timeout * 1000)
        self._trace = SentPipelines()
        self._rank_fusion: bool | None = None
        health: dict[tuple[str, str], IndexHealth] = {}
        sizes = {self.slot: self.dimensions}
        [by_meaning] = meaning_fields(sizes, self.embedding_model)
        for plan in index_plans(
            self.settings, sizes, model=self.embedding_model, database=self.database
        ):
            index = IndexHealth(self.database, plan, self.clock)
            health[plan.collection, plan.kind] = index
        self._indexed = [
            IndexedCollection(
                collection=self.database[name],
                vectors=health[name, "vectorSearch"],
                texts=health[name, "search"],
                by_meaning=by_meaning,
                max_time_ms=self._max_time_ms,
                trace=self._trace,
                clock=self.clock,
                changes=self.changes,
                at_once=self.database.at_once,
                passages=self.passages,
            )
            for name in self._names
        ]

    def vector_search(
        self,
        meaning: Meaning,
        *,
        top_k: int,
        scope: Scope,
        num_candidates: int | None = None,
    ) -> list[Match]:
        """Raises SearchEngineError (no engine, an index that does not answer, a field
        not declared, overload) and EmbedderMismatchError.
        """
        question = self._checked(meaning)

        def search(collection: IndexedCollection) -> list[Json]:
            return collection.nearest(question, top_k, scope, num_candidates)

        return self._best(self._search_each(scope, search), top_k)

    def keyword_search(self, query: str, *, top_k: int, scope: Scope) -> list[Match]:
        """Return the best chunks of the scope's collections by the engine's BM25; none
        for an empty query.

        Raises: SearchEngineError: no collection has a text index that answers; where
            one has, the others are left out.
        """
        rows_needed = self._rows_needed(top_k, scope)

        def search(collection: IndexedCollection) -> list[Json]:
            return collection.best_by_words(query, rows_needed, scope)

        rows = self._search_each(scope, search)
        matches = self._best_by_words(query, rows, top_k, scope)
        if matches:
            return matches
        failure = self._known_text_failure(scope)
        if failure is not None and not self._searches_words():
            raise failure
        return []

    def _checked(self, meaning: Meaning) -> Meaning:
        """Return a question that can be searched for. Raises EmbedderMismatchError: it
        is of another model; SearchEngineError: it says nothing.
        """
        if not isinstance(meaning, str):
            return self._check(meaning)
        if not meaning.strip():
            raise no_direction()
        return meaning

    def _known_text_failure(self, scope: Scope) -> SearchEngineError | None:
        """Return why a text index of the scope has not answered, if one has not."""
        for collection in self._in_scope(scope):
            failure = collection.texts.known_failure()
            if failure is not None:
                return failure
        return None

    def _searches_words(self) -> bool:
        """Return whether any collection has a text index that answers."""
        for collection in self._indexed:
            if index_status(self.database, collection.texts.target).queryable:
                return True
        return False

    def hybrid_search(
        self,
        query: str,
        meaning: Meaning,
        *,
        top_k: int,
        scope: Scope,
        num_candidates: int | None = None,
    ) -> Hybrid:
        """Return what both searches find, in one round trip where the server has
        `$rankFusion`. A text index that cannot answer fails nothing: see
        `without_keywords`.
        """
        question = self._checked(meaning)
        fuses = bool(query.strip()) and not scope.is_limited and self._has_rank_fusion()
        rows_needed = self._rows_needed(top_k, scope)

        def search(collection: IndexedCollection) -> BothSearches:
            refusal = None
            if fuses and not collection.texts.known_failure():
                try:
                    fused = collection.fused(
                        query, question, top_k, scope, num_candidates
                    )
                    if fused is not None:
                        return BothSearches(*fused)
                except CommandError as error:
                    refusal = _refusal(error, collection)
            nearest = collection.nearest(question, top_k, scope, num_candidates)
            with_words = collection.best_by_words(query, rows_needed, scope)
            # Where the text index answers, the stage is refused, not the index.
            if collection.texts.known_failure():
                refusal = None
            return BothSearches(nearest, with_words, refusal)

        nearest = []
        with_words = []
        for collection, searches in self._search_each(scope, search):
            nearest.append((collection, searches.nearest))
            with_words.append((collection, searches.with_words))
            if searches.refusal is not None and self._rank_fusion:
                self._rank_fusion = False
                log.warning(
                    "$rankFusion is refused, both searches run one by one: %s",
                    searches.refusal,
                )
        by_words = self._best_by_words(query, with_words, top_k, scope)
        return self._best(nearest, top_k), by_words

    def _rows_needed(self, top_k: int, scope: Scope) -> int:
        """Return how many rows the keyword search asks the engine for."""
        return max(top_k, MIN_WEIGHED_ROWS) if scope.is_limited else top_k

    def _best_by_words(
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
        matches = self._best(rows, self._rows_needed(top_k, scope))
        texts = [
            self.terms_of(match.chunk.search_text) for match in matches if match.chunk
        ]
        scores = self._bm25.of_candidates(self.terms_of(query), texts)
        weighed = (
            replace(match, score=score)
            for match, score in zip(matches, scores, strict=True)
            if score > 0
        )
        return best_matches(weighed, top_k)

    def _search_each(
        self, scope: Scope, search: Callable[[IndexedCollection], T]
    ) -> list[tuple[IndexedCollection, T]]:
        """Search the collections of the scope at once."""
        collections = self._in_scope(scope)
        results = self._at_once(collections, search)
        return list(zip(collections, results, strict=True))

    def _at_once(
        self,
        collections: list[IndexedCollection],
        call: Callable[[IndexedCollection], T],
    ) -> list[T]:
        """Make a call for each collection, in threads, and return the results."""
        sent = self._trace.sent

        def calling(collection: IndexedCollection) -> Callable[[], T]:
            def run() -> T:
                self._trace.sent = sent  # in the thread that runs it
                return call(collection)

            return run

        return self.database.at_once(
            [calling(collection) for collection in collections]
        )

    def _has_rank_fusion(self) -> bool:
        """Return whether the server has `$rankFusion`; it is asked once."""
        if self._rank_fusion is None:
            reports = self._names[:2][-1]  # the general collection is the first
            self._rank_fusion = probe_search(self.database, reports).rank_fusion
        return self._rank_fusion

    def without_keywords(self, scope: Scope) -> list[str]:
        return [
            collection.name
            for collection in self._in_scope(scope)
            if collection.texts.known_failure()
        ]

    @contextmanager
    def traced(self) -> Iterator[list[tuple[str, list[Json]]]]:
        outer_trace = self._trace.sent
        sent: list[tuple[str, list[Json]]] = []
        self._trace.sent = sent
        try:
            yield sent
        finally:
            self._trace.sent = outer_trace
            # They were sent at once, so their order is chance.
            sent.sort(
                key=lambda name_and_pipeline: self._names.index(name_and_pipeline[0])
            )
            if outer_trace is not None:
                outer_trace += sent

    def relevance(self, query: str, chunks: Sequence[Chunk]) -> dict[str, float]:
        names = list(dict.fromkeys(chunk.collection for chunk in chunks))
        if not names:  # only whether the server has the stage is asked then
            names = [self._names[0]]
        scores: dict[str, float] = {}
        for name in names:
            ids = id_forms(chunk.id for chunk in chunks if chunk.collection == name)
            pipeline = rerank_pipeline(query, ids, self.settings.rerank_model or "")
            try:
                rows = self.database[name].search(
                    pipeline, max_time_ms=self._max_time_ms
                )
            except CommandError as error:
                raise no_reranking(error) from error
            for row in rows:
                scores[id_text(row["_id"])] = float(row["score"])
        return scores

    def retire(self, document_id: str, *, keep: AnyOf[str] = ()) -> list[str]:
        kept_ids = set(keep)
        retired: list[str] = []
        for collection in self._indexed:
            retired += collection.retire(document_id, kept_ids)
        return retired

    def unfollowed(
        self, document_id: str, *, written: AnyOf[str] = (), retired: AnyOf[str] = ()
    ) -> set[str]:
        def unfollowed(collection: IndexedCollection) -> set[str]:
            return collection.unfollowed(document_id, written, retired)

        return set().union(*self._at_once(self._indexed, unfollowed))

    def vector_scores(
        self, meaning: Meaning, chunk_ids: Sequence[str]
    ) -> dict[str, float]:
        """Leave out chunks that are gone or have no embedding of this size: all, where
        MongoDB embeds them. Their order is then that of the searches themselves.
        """
        scores: dict[str, float] = {}
        if isinstance(meaning, str):
            return scores
        unit = _unit(self._check(meaning))
        if not chunk_ids:
            return scores
        field = self.embedding_field
        query = {"_id": {"$in": id_forms(chunk_ids)}}
        for collection in self.collections():
            for row in collection.find(query, {field: 1}):
                stored = usable_vector(row.get(field), self.dimensions)
                if stored is not None:
                    scores[id_text(row["_id"])] = to_score(float(_unit(stored) @ unit))
        return scores

    def stored_vector(self, row: Json, dimensions: int | None) -> Vector | None:
        if not self.embedding_model:
            return super().stored_vector(row, dimensions)
        if is_retired(row) or not row.get(TEXT_FIELD):
            return None
        return np.empty(0, dtype=np.float32)

    def verify(self) -> None:
        """Raises SearchEngineError: the server shall embed, and does not."""
        if self.embedding_model:
            reports = self._names[:2][-1]
            said = probe_auto_embedding(self.database, reports)
            if said:
                raise failure("no_auto_embedding", said=said)

    def ping(self) -> str:
        """Check that each collection with documents has a vector index that answers;
        name those without keywords.
        """
        description = f"{self.database.ping()}; $vectorSearch on "
        description += ", ".join(self._names)
        for collection in self._indexed:
            failure = collection.vectors.failure()
            if failure:
                raise failure
        without_words = [
            collection.name
            for collection in self._indexed
            if collection.texts.failure()
        ]
        if without_words:
            description += (
                f"; keywords are not searched in {', '.join(without_words)} (python -m "
                "chatbot index status)"
            )
        return description

    def _in_scope(self, scope: Scope) -> list[IndexedCollection]:
        return [
            collection for collection in self._indexed if scope.holds(collection.name)
        ]

    def _best(
        self, answers: list[tuple[IndexedCollection, list[Json]]], top_k: int
    ) -> list[Match]:
        matches = []
        for collection, rows in answers:
            for row in rows:
                chunk = self._chunk(row, collection.name)
                score = float(row["score"])
                matches.append(Match(id_text(row["_id"]), score, chunk))
        return best_matches(matches, top_k)


def _refusal(error: CommandError, collection: IndexedCollection) -> str | None:
    """Return the server's words where it refuses the stage itself, None where it will
    not the next time. Raises SearchEngineError: the engine is away or overloaded.
    """
    if is_away(error) or is_rate_limited(error) or error.reason == THROTTLED:
        raise explain(error, collection.vectors.target) from error
    if error.reason in PASSING:
        return None
    return error.server_message


def _unit(vector: Vector) -> Vector:
    return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)


TRAITS = StoreTraits(has_search_indexes=True, embeds=True)
build = AtlasStore
