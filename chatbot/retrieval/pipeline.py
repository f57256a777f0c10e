"""One retrieval: embed the question, search under the scope, threshold, fuse, load, rerank, cut."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from ..protocols import (
    Embedder,
    HybridStore,
    PrefetchingEmbedder,
    Reranker,
    Store,
    TracedStore,
)
from ..request import RequestContext
from ..schema import Aggregation, Chunk, Match, QuerySettings, Scope, SearchHit, StepTiming, Threshold, Usage, Vector
from . import RETRIEVAL_METHODS, RetrievalMethod
from .ordering import DEPTH, Refiner
from .ranking import adaptive_threshold, merge_untagged, split_by_country_tag
from .search_text import SearchText

PAGE_CANDIDATES = 1000
MOST_CANDIDATES = 10_000
EDITIONS = 3
"""Passages that should pass the threshold for each that is wanted: of those of one line one is used (`by_edition`)."""
TRIES = 20
"""Of a search while reports change. On a busy machine one takes as long as a step of a replacement (measured: five in a
row met one, and the answer was empty)."""
Unsettled = Callable[[], Mapping[str, str]]
Found = tuple[list[Match], list[Match]]


@dataclass(frozen=True, slots=True)
class Retrieval:
    """Hits, best first, and how they came about."""

    hits: tuple[SearchHit, ...]
    threshold: Threshold | None
    steps: tuple[StepTiming, ...]
    pipeline: tuple[Aggregation, ...] | None = None


class Rerankers(Protocol):
    """Gives the reranker of a name; None for none."""

    def __call__(self, name: str, *, cached: bool) -> Reranker | None: ...


class Retriever:
    """Searches one store with one embedder. Stateless between calls; thread-safe."""

    def __init__(
        self,
        *,
        store: Store,
        embedder: Embedder,
        settings: QuerySettings = QuerySettings(),  # noqa: B008  # frozen
        unsettled: Unsettled = dict,
        position: Callable[[], int] = int,
        reranker: Rerankers = lambda name, *, cached: None,
        refiner: Refiner | None = None,
    ) -> None:
        """``settings`` are those of a search that brings none. ``unsettled``, ``position``: see `settled_search`.

        ``refiner``: for methods that may be refined; None = all are to the letter.
        """
        self._store = store
        self._embedder = embedder
        self._settings = settings
        self._settled = partial(settled_search, unsettled=unsettled, position=position)
        self._reranker = reranker
        self._refiner = refiner

    def retrieve(
        self,
        query: str,
        *,
        top_k: int,
        scope: Scope,
        method: str,
        settings: QuerySettings | None = None,
        page: int | None = None,
        reranker: Reranker | None = None,
        cache: bool = True,
        request: RequestContext | None = None,
    ) -> Retrieval:
        """Return up to ``top_k`` hits inside ``scope``, and on ``page`` of their report where one is given.

        ``reranker`` takes the place of the one that the settings name; that asks its model anew without ``cache``.

        Raises:
            UnknownNameError: no such method.
            DependencyError: the embedder, the search or the reranker failed.
        """
        settings = settings or self._settings
        chosen = RETRIEVAL_METHODS.builder(RETRIEVAL_METHODS.check(method, field="retrieval_method"))(settings)
        reranker = reranker or self._reranker(settings.reranker, cached=cache)
        fetched = max(top_k, settings.rerank_candidates or reranker.candidates(top_k)) if reranker else top_k
        refiner = self._refiner if settings.refine and chosen.refines else None
        clock, store = _Clock(), self._store
        search = _Search(store, self._embedder, chosen, settings, refiner, self._settled, fetched, page, clock, request)
        texts = [(scope, SearchText(query, query))]
        if refiner:
            parts = split_by_country_tag(scope, refiner.catalog)
            texts = [(part, refiner.read(query, part)) for part in parts if part is not None]
        with store.traced() if isinstance(store, TracedStore) else nullcontext() as sent:
            if refiner and isinstance(self._embedder, PrefetchingEmbedder):
                self._embedder.prefetch([each for _, text in texts for each in refiner.embedded(text)], request=request)
            hits, threshold = search.hits(*texts[0])
            for untagged in texts[1:]:
                hits = merge_untagged(hits, search.hits(*untagged)[0], texts[0][0])[:fetched]
        hits = with_rank(hits)
        if reranker:
            reranked = reranker.rerank(query, hits, top_k=top_k, request=request or RequestContext())
            hits = with_rank(reranked.hits)
            clock.lap("rerank", reranked.usage)
        pipeline = None if sent is None else tuple(Aggregation.of(*each) for each in sent)
        return Retrieval(hits, threshold, tuple(clock.laps), pipeline)


@dataclass(frozen=True, slots=True)
class _Search:
    """What the searches of one call of `Retriever.retrieve` share."""

    store: Store
    embedder: Embedder
    method: RetrievalMethod
    settings: QuerySettings
    refiner: Refiner | None
    settled: Callable[[Callable[[int], Found], int], Found]
    top_k: int
    page: int | None
    clock: _Clock
    request: RequestContext | None

    def hits(self, scope: Scope, text: SearchText) -> tuple[Sequence[SearchHit], Threshold | None]:
        """Hits of one scope in order, and the threshold they passed."""
        vector = self.embedder.embed_query(text.question, request=self.request)
        self.clock.lap("embed", Usage(embedding_tokens=self.embedder.count_tokens(text.question)))
        # No index knows pages, so as many are looked through as the nearest may be spread over.
        considered = max(self.top_k, PAGE_CANDIDATES if self.page else DEPTH if self.refiner else 0)
        for _ in range(TRIES):
            near, worded = self.settled(partial(self._matches, text, vector, scope), self.method.candidates(considered))
            hits, threshold, complete = self._ranked(vector, near, worded, considered)
            if complete:
                break  # else a report was replaced since it was found: its new passages are there now
        hits = [hit for hit in hits if self.page is None or hit.chunk.page == self.page]
        if self.refiner:
            hits = self.refiner.order(text, vector, hits, scope, self.request)
            self.clock.lap("order")
        return hits[: self.top_k], threshold

    def _matches(self, text: SearchText, vector: Vector, scope: Scope, count: int) -> Found:
        """What the vectors and what the keywords find: ``count`` matches each, of the searches the method uses."""
        near, worded = list[Match](), list[Match]()
        store = self.store
        num_candidates = None if self.settings.num_candidates == "auto" else self.settings.num_candidates
        # Words of another language are in no report but for names, which are what everything else is about, too.
        by_meaning = text.foreign and self.method.uses_vectors and self.embedder.multilingual
        if self.method.uses_vectors and self.method.uses_keywords and isinstance(store, HybridStore):
            near, worded = store.hybrid_search(
                text.topic, vector, top_k=count, scope=scope, num_candidates=num_candidates
            )
            self.clock.lap("hybrid_search")
            if store.without_keywords(scope):
                self.clock.lap("keywords_missing")
            return near, [] if by_meaning else worded
        if self.method.uses_vectors:
            near = store.vector_search(vector, top_k=count, scope=scope, num_candidates=num_candidates)
            self.clock.lap("vector_search")
        if self.method.uses_keywords and not by_meaning:
            worded = store.keyword_search(text.topic, top_k=count, scope=scope)
            self.clock.lap("keyword_search")
        return near, worded

    def _ranked(
        self, vector: Vector, near: Sequence[Match], worded: Sequence[Match], count: int
    ) -> tuple[list[SearchHit], Threshold | None, bool]:
        """At most ``count`` hits, fused, the threshold they passed, and whether all of them are still there."""
        scores = {match.chunk_id: match.score for match in near}
        scores |= self.store.vector_scores(vector, [one.chunk_id for one in worded if one.chunk_id not in scores])
        threshold, settings = None, self.settings
        passed = {*scores, *(match.chunk_id for match in worded)}
        if self.method.uses_vectors:
            keep = settings.threshold_keep
            if keep == "auto":
                keep = EDITIONS * self.top_k if self.refiner else 1
            threshold = adaptive_threshold(
                (match.score for match in near),
                start=settings.threshold_start,
                step=settings.threshold_step,
                floor=settings.threshold_floor,
                keep=keep,
            )
            # The first keyword matches stay whatever their vector score (R-D5).
            passed = {chunk_id for chunk_id, score in scores.items() if score > threshold.used}
            passed.update(match.chunk_id for match in worded[: settings.keyword_exempt])
        # The verdict is the threshold's, before fusion; but the scores are normalised over all that both searches
        # found: over the survivors alone they spread differently for every question (measured: nDCG .621 -> .651).
        ranked = [row for row in self.method.rank(near, worded, scores) if row[0] in passed][:count]
        self.clock.lap("fuse")
        chunks = {match.chunk_id: match.chunk for match in (*near, *worded) if match.chunk is not None}
        missing = [chunk_id for chunk_id, _ in ranked if chunk_id not in chunks]
        chunks.update((chunk.id, chunk) for chunk in self.store.get(missing) if missing)
        by_keyword = {match.chunk_id: match.score for match in worded}
        by_search = {"vector": {match.chunk_id for match in near}, "keyword": by_keyword}
        hits = [
            SearchHit(
                chunk=chunks[chunk_id],
                score=scores.get(chunk_id),
                keyword_score=by_keyword.get(chunk_id),
                fused_score=fused,
                found_by=tuple(name for name, ids in by_search.items() if chunk_id in ids),
            )
            for chunk_id, fused in ranked
            if chunk_id in chunks  # one that was deleted meanwhile is left out
        ]
        self.clock.lap("load")
        return hits, threshold, len(hits) == len(ranked)


def settled_search(
    search: Callable[[int], Found], count: int, unsettled: Unsettled, position: Callable[[], int] = int
) -> Found:
    """One version of a report: never half of it, never two.

    While a report is written or removed, passages of another version of it may be in the store too. Matches of those
    are dropped after the search, and the search is widened by what was dropped: nobody's result gets shorter.
    ``search(n)`` gives up to n matches of each kind; ``unsettled()`` the versions that are to be seen, as they are at
    this ``position()`` of the catalog's log.
    """
    for _ in range(TRIES):
        before, visible = position(), unsettled()
        found, dropped = _widened(search, count, visible) if visible else (search(count), False)
        of_versions = {match.chunk_id.rpartition("-")[0]: match.chunk_id for matches in found for match in matches}
        seen = set(map(Chunk.version_of, of_versions.values()))
        # What was dropped may have been all there was: replaced twice during the search, to the same version again.
        judged = unsettled() == visible and not (dropped and position() != before)
        # Two versions of one: it was replaced between the two searches, so quickly that it is settled again.
        if judged and len(seen) == len({document_id for document_id, _ in seen}):
            return found
    return found  # reports change faster than a search takes: what was visible a moment ago is the truth of then


def _widened(search: Callable[[int], Found], count: int, visible: Mapping[str, str]) -> tuple[Found, bool]:
    """What may be seen of it, and whether anything was dropped."""

    def is_visible(chunk_id: str) -> bool:
        document_id, version = Chunk.version_of(chunk_id)
        return visible.get(document_id, version) == version

    asked = count
    while True:
        found = search(asked)
        kept = tuple([match for match in matches if is_visible(match.chunk_id)] for matches in found)
        full = any(len(all_) >= asked and len(some) < count for all_, some in zip(found, kept, strict=True))
        if not full or asked >= MOST_CANDIDATES:
            near, worded = kept
            return (near[:count], worded[:count]), (len(near), len(worded)) != tuple(map(len, found))
        asked = min(2 * asked, MOST_CANDIDATES)


def with_rank(hits: Sequence[SearchHit]) -> tuple[SearchHit, ...]:
    """The hits, ranked as they come."""
    return tuple(replace(hit, rank=rank) for rank, hit in enumerate(hits, start=1))


class _Clock:
    def __init__(self) -> None:
        self.laps: list[StepTiming] = []
        self._last = time.perf_counter()

    def lap(self, name: str, usage: Usage = Usage()) -> None:  # noqa: B008  # frozen and zero
        now = time.perf_counter()
        self.laps.append(StepTiming(name, round((now - self._last) * 1000, 2), usage))
        self._last = now
