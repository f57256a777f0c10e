"""One retrieval: embed the question, search under the scope, threshold, fuse, load, rerank, cut."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial

from ..protocols import Embedder, HybridStore, PrefetchingEmbedder, Reranker, Store, TracedStore
from ..request import RequestContext
from ..schema import Aggregation, Chunk, Match, Scope, SearchHit, StepTiming, Threshold, Usage, Vector
from . import RetrievalMethod
from .ordering import DEPTH, Refiner
from .search_text import SearchText
from .threshold import adaptive_threshold
from .untagged import joined, parted

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


@dataclass(frozen=True, slots=True)
class ThresholdSettings:
    """See `adaptive_threshold`. ``keep``: None = as many as are asked for."""

    start: float
    step: float
    floor: float
    keep: int | None = None


class Retriever:
    """Searches one store with one embedder. Stateless between calls; thread-safe."""

    def __init__(
        self,
        *,
        store: Store,
        embedder: Embedder,
        methods: Callable[[str], RetrievalMethod],
        threshold: ThresholdSettings,
        unsettled: Unsettled = dict,
        position: Callable[[], int] = int,
        reranker: Callable[[], Reranker | None] = lambda: None,
        refiner: Refiner | None = None,
        keyword_exempt: int = 10,
        rerank_candidates: int | None = None,
    ) -> None:
        """``unsettled``, ``position``: see `settled_search`. ``reranker`` is the one where a call names no other.

        The first ``keyword_exempt`` keyword matches stay whatever their vector score (R-D5). ``rerank_candidates``:
        how many hits a reranker is given, None = as many as it asks for.

        ``refiner``: for methods that may be refined; None = all are to the letter.
        """
        self._store = store
        self._embedder = embedder
        self._methods = methods
        self._threshold = threshold
        self._settled = partial(settled_search, unsettled=unsettled, position=position)
        self._reranker = reranker
        self._refiner = refiner
        self._exempt = keyword_exempt
        self._rerank_candidates = rerank_candidates

    def retrieve(
        self,
        query: str,
        *,
        top_k: int,
        scope: Scope,
        method: str,
        page: int | None = None,
        reranker: Reranker | None = None,
        request: RequestContext | None = None,
    ) -> Retrieval:
        """Up to ``top_k`` hits inside ``scope``, and on ``page`` of their report where one is given.

        ``reranker`` orders them anew, among as many as it asks for.

        Raises:
            UnknownNameError: no such method.
            DependencyError: the embedder, the search or the reranker failed.
        """
        chosen = self._methods(method)
        reranker = reranker or self._reranker()
        fetched = max(top_k, self._rerank_candidates or reranker.candidates(top_k)) if reranker else top_k
        clock = _Clock()
        find = partial(self._found, chosen, fetched, page, clock, request)
        asked = self._asked(query, scope, chosen)
        store = self._store
        with store.traced() if isinstance(store, TracedStore) else nullcontext() as sent:
            self._prefetch([text for _, text in asked], chosen, request)
            hits, threshold = find(*asked[0])
            for untagged in asked[1:]:
                hits = joined(hits, find(*untagged)[0], asked[0][0])[:fetched]
        hits = with_rank(hits)
        if reranker:
            reranked = reranker.rerank(query, hits, top_k=top_k, request=request or RequestContext())
            hits = with_rank(reranked.hits)
            clock.lap("rerank", reranked.usage)
        pipeline = None if sent is None else tuple(Aggregation.of(*one) for one in sent)
        return Retrieval(hits, threshold, tuple(clock.laps), pipeline)

    def _asked(self, query: str, scope: Scope, method: RetrievalMethod) -> list[tuple[Scope, SearchText]]:
        """What is searched for where: in the scope, and apart in its reports that say no country."""
        if self._refiner is None or not method.refines:
            return [(scope, SearchText(query, query))]
        parts = parted(scope, self._refiner.catalog)
        return [(part, self._refiner.read(query, part)) for part in parts if part is not None]

    def _prefetch(self, asked: Sequence[SearchText], method: RetrievalMethod, request: RequestContext | None) -> None:
        if self._refiner and method.refines and isinstance(self._embedder, PrefetchingEmbedder):
            self._embedder.prefetch([one for text in asked for one in self._refiner.embedded(text)], request=request)

    def _found(
        self,
        method: RetrievalMethod,
        top_k: int,
        page: int | None,
        clock: _Clock,
        request: RequestContext | None,
        scope: Scope,
        text: SearchText,
    ) -> tuple[Sequence[SearchHit], Threshold | None]:
        """Hits of one scope in order, and the threshold they passed."""
        refiner = self._refiner if method.refines else None
        vector = self._embedder.embed_query(text.question, request=request)
        clock.lap("embed", Usage(embedding_tokens=self._embedder.count_tokens(text.question)))
        # No index knows pages, so as many are looked through as the nearest may be spread over.
        considered = max(top_k, PAGE_CANDIDATES if page else DEPTH if refiner else 0)
        search = partial(self._search, text, vector, method, scope, clock)
        for _ in range(TRIES):
            near, worded = self._settled(search, method.candidates(considered))
            hits, threshold, complete = self._rank(vector, method, near, worded, (considered, top_k), clock)
            if complete:
                break  # else a report was replaced since it was found: its new passages are there now
        found = [hit for hit in hits if page is None or hit.chunk.page == page]
        if refiner:
            found = refiner.order(text, vector, found, scope, request)
            clock.lap("order")
        return found[:top_k], threshold

    def _search(
        self, text: SearchText, vector: Vector, method: RetrievalMethod, scope: Scope, clock: _Clock, count: int
    ) -> Found:
        """What the vectors and what the keywords find: ``count`` matches each, of the searches the method uses."""
        near, worded = list[Match](), list[Match]()
        store = self._store
        # Words of another language are in no report but for names, which are what everything else is about, too.
        by_meaning = text.foreign and method.uses_vectors and self._embedder.multilingual
        if method.uses_vectors and method.uses_keywords and isinstance(store, HybridStore):
            near, worded = store.hybrid_search(text.topic, vector, top_k=count, scope=scope)
            clock.lap("hybrid_search")
            if store.without_keywords(scope):
                clock.lap("keywords_missing")
            return near, [] if by_meaning else worded
        if method.uses_vectors:
            near = store.vector_search(vector, top_k=count, scope=scope)
            clock.lap("vector_search")
        if method.uses_keywords and not by_meaning:
            worded = store.keyword_search(text.topic, top_k=count, scope=scope)
            clock.lap("keyword_search")
        return near, worded

    def _rank(
        self,
        vector: Vector,
        method: RetrievalMethod,
        near: Sequence[Match],
        worded: Sequence[Match],
        counts: tuple[int, int],
        clock: _Clock,
    ) -> tuple[list[SearchHit], Threshold | None, bool]:
        """Hits, fused, the threshold they passed, and whether all of them are still there.

        ``counts``: how many hits at most, and how many should pass the threshold.
        """
        count, keep = counts
        scores = {match.chunk_id: match.score for match in near}
        scores |= self._store.vector_scores(vector, [one.chunk_id for one in worded if one.chunk_id not in scores])
        threshold = None
        if method.uses_vectors:
            own = self._threshold
            keep = own.keep or (EDITIONS * keep if self._refiner and method.refines else 1)
            scored = (match.score for match in near)
            threshold = adaptive_threshold(scored, start=own.start, step=own.step, floor=own.floor, keep=keep)
        stays = _survivors(threshold, worded, scores, self._exempt)
        # The verdict is the threshold's, before fusion; but the scores are normalised over all that both searches
        # found: over the survivors alone they spread differently for every question (measured: nDCG .621 -> .651).
        ranked = [row for row in method.rank(near, worded, scores) if row[0] in stays][:count]
        clock.lap("fuse")
        hits = self._load(ranked, near, worded, scores)
        clock.lap("load")
        return hits, threshold, len(hits) == len(ranked)

    def _load(
        self,
        ranked: Sequence[tuple[str, float | None]],
        near: Sequence[Match],
        worded: Sequence[Match],
        scores: dict[str, float],
    ) -> list[SearchHit]:
        """Chunks for the ranking; one that was deleted meanwhile is left out."""
        chunks = {match.chunk_id: match.chunk for match in (*near, *worded) if match.chunk is not None}
        missing = [chunk_id for chunk_id, _ in ranked if chunk_id not in chunks]
        chunks.update((chunk.id, chunk) for chunk in self._store.get(missing) if missing)
        by_keyword = {match.chunk_id: match.score for match in worded}
        by_search = {"vector": {match.chunk_id for match in near}, "keyword": by_keyword}
        return [
            SearchHit(
                chunk=chunks[chunk_id],
                score=scores.get(chunk_id),
                keyword_score=by_keyword.get(chunk_id),
                fused_score=fused,
                found_by=tuple(name for name, found in by_search.items() if chunk_id in found),
            )
            for chunk_id, fused in ranked
            if chunk_id in chunks
        ]


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
    asked = count
    while True:
        found = search(asked)
        kept = tuple([match for match in matches if _seen(match.chunk_id, visible)] for matches in found)
        full = any(len(all_) >= asked and len(some) < count for all_, some in zip(found, kept, strict=True))
        if not full or asked >= MOST_CANDIDATES:
            near, worded = kept
            return (near[:count], worded[:count]), (len(near), len(worded)) != tuple(map(len, found))
        asked = min(2 * asked, MOST_CANDIDATES)


def _seen(chunk_id: str, visible: Mapping[str, str]) -> bool:
    document_id, version = Chunk.version_of(chunk_id)
    return visible.get(document_id, version) == version


def _survivors(threshold: Threshold | None, worded: Sequence[Match], scores: dict[str, float], exempt: int) -> set[str]:
    """The candidates above the threshold, and the first ``exempt`` keyword matches whatever their score (R-D5)."""
    if threshold is None:
        return set(scores) | {match.chunk_id for match in worded}
    close = {chunk_id for chunk_id, score in scores.items() if score > threshold.used}
    return close | {match.chunk_id for match in worded[:exempt]}


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
