"""One retrieval: embed the question, search under the scope, threshold, fuse, load,
rerank, cut. A summary leads to pages and is no source itself, so the passages that it
is made from take its place.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import NamedTuple, Protocol
from weakref import WeakKeyDictionary

from ..domain import QuerySettings, RequestContext, Scope, Usage
from ..domain.chat import Aggregation, StepTiming, Threshold
from ..domain.documents import (
    Chunk,
    DocumentRecord,
    Match,
    Meaning,
    SearchHit,
    best_matches,
)
from ..domain.protocols import (
    Embedder,
    HybridStore,
    Passages,
    Reranker,
    TracedStore,
    model_in_store,
    search_meaning,
)
from ..domain.scope import Reading, SearchText
from ..domain.turns import give_way
from ..language.analysis import Analyzer, analyzer
from ..language.sentences import sentences
from ..language.zones import zones_in
from ..models.caches import CachedEmbedder
from ..questions.reading import read_names
from . import RETRIEVAL_METHODS, RetrievalMethod
from .features import words_in
from .ordering import DEPTH, Refiner, by_edition, first_in_both
from .ranking import (
    KeptGeneral,
    adaptive_threshold,
    merge_untagged,
    searched_scopes,
    split_by_country_tag,
)
from .search_text import search_text
from .zones import body_first, headings_of, titles_of

PAGE_CANDIDATES = 1000
"""Candidates of a search on one page of the reports: no index knows pages."""
MAX_CANDIDATES = 10_000
KEYWORD_EXEMPT = 10
"""First passages of the keyword search that the threshold never drops."""
EDITIONS = 3
"""Passages that should pass the threshold for each one requested, as one of several
editions is used (`by_edition`).
"""
TRIES = 20
"""Attempts of a search while reports change. On a busy machine one takes as long as a
step of a replacement (measured: five in a row met one, and the answer was empty).
"""
SUMMARY_SOURCES = 2
"""Passages in place of a summary."""
SOURCE_SHARE = 0.5
"""The share of a sentence's words that a passage must have to be its source: a model
writes in words of its own.
"""
KEPT_SUMMARIES = 2_000
"""Summaries of a store whose sources are kept: their whole report is read once to find
them.
"""


class Visible(Protocol):
    """What questions may see, at one moment."""

    @property
    def records(self) -> Mapping[str, object]:
        """The reports by id: another object after each change of a report."""

    def shows(self, chunk_id: str) -> bool:
        """Return whether questions may see a passage."""


class Everything:
    """All passages can be seen."""

    records: Mapping[str, object] = MappingProxyType({})

    def shows(self, chunk_id: str) -> bool:
        return True


EVERYTHING = Everything()
Matches = tuple[list[Match], list[Match]]
"""The matches of the vector search and of the keyword search."""


@dataclass(frozen=True, slots=True)
class Retrieval:
    """Hits, best first, and how they came about."""

    hits: tuple[SearchHit, ...]
    threshold: Threshold | None
    steps: tuple[StepTiming, ...]
    pipeline: tuple[Aggregation, ...] | None = None


class Retriever:
    """Searches one store with one embedder. Stateless between calls; thread-safe."""

    def __init__(
        self,
        *,
        store: Passages,
        embedder: Embedder,
        settings: QuerySettings = QuerySettings(),  # noqa: B008  # frozen
        visible: Callable[[], Visible] = lambda: EVERYTHING,
        known: Callable[[], Visible] | None = None,
        reranker: Callable[[str], Reranker | None] = lambda name: None,
        refiner: Refiner | None = None,
    ) -> None:
        """``settings``: of a search without its own. ``visible``, ``known``: see
        `settled_search`.

        ``reranker`` returns the reranker of a name, None for none.
        ``refiner``: for methods that may be refined; None = none is.
        """
        self._store = store
        self._embedder = embedder
        self._settings = settings
        self._settled = partial(settled_search, visible=visible, known=known)
        self._reranker = reranker
        self._refiner = refiner

    @property
    def is_multilingual(self) -> bool:
        """True if vectors compare texts of several languages."""
        return self._embedder.multilingual

    def retrieve(
        self,
        query: str,
        *,
        top_k: int,
        scope: Scope,
        method: str,
        settings: QuerySettings | None = None,
        page: int | None = None,
        general: bool = True,
        reading: Reading | None = None,
        reranker: Reranker | None = None,
        request: RequestContext | None = None,
    ) -> Retrieval:
        """Return up to ``top_k`` hits inside ``scope``, and on ``page`` of their report
        if it is given.

        ``general``: documents of the general collection about no country are searched
        beside those of the countries chosen (`split_by_country_tag`). ``reading``: of
        the query, if it was read before. ``reranker`` replaces that of the settings.

        Raises:
            UnknownNameError: no such method.
            DependencyError: the embedder, the search or the reranker failed.
        """
        settings = settings or self._settings
        chosen = RETRIEVAL_METHODS.builder(
            RETRIEVAL_METHODS.check(method, field="retrieval_method")
        )(settings)
        reranker = reranker or self._reranker(settings.reranker)
        fetched = _fetched(top_k, reranker)
        refiner = self._refiner if settings.refine and chosen.refines else None
        search = _Search(
            self._store,
            self._embedder,
            chosen,
            settings,
            refiner,
            self._settled,
            fetched,
            page,
            _Clock(),
            request,
        )
        kept = settings.general_collection
        if page is not None or not general:
            kept = "scoped"
        texts = [(scope, SearchText(query, query))]
        if refiner is not None:
            search.zones = zones_in(query)
            texts = search.texts_of_parts(query, scope, kept, reading, refiner)
        elif self._refiner is not None:
            search.scopes = searched_scopes(
                scope, kept, self._refiner.collections, self._refiner.catalog
            )
        store = self._store
        with (
            store.traced() if isinstance(store, TracedStore) else nullcontext() as sent
        ):
            hits, threshold = search.hits_of_all(texts, scope)
        hits = with_rank(hits)
        if reranker is not None:
            hits = search.reranked(query, hits, reranker, top_k)
        if scope.is_limited and isinstance(store, HybridStore):
            hits = _without_keyword_scores(hits)
        steps = tuple(search.clock.laps)
        if sent is None:
            return Retrieval(hits, threshold, steps)
        pipeline = tuple(Aggregation.of(*each) for each in sent)
        return Retrieval(hits, threshold, steps, pipeline)


def _fetched(top_k: int, reranker: Reranker | None) -> int:
    """Return how many hits are needed for ``top_k`` after a reranker."""
    if reranker is None:
        return top_k
    return max(top_k, reranker.candidates(top_k))


def _without_keyword_scores(hits: Iterable[SearchHit]) -> tuple[SearchHit, ...]:
    """Return hits for a limited caller, who does not get what an engine weighs over its
    whole index.
    """
    return tuple(replace(hit, keyword_score=None, fused_score=None) for hit in hits)


@dataclass(slots=True)
class _Search:
    """The common state of the searches of one `Retriever.retrieve` call."""

    store: Passages
    embedder: Embedder
    method: RetrievalMethod
    settings: QuerySettings
    refiner: Refiner | None
    settled: Callable[[Callable[[int], Matches], int], Matches]
    top_k: int
    page: int | None
    clock: _Clock
    request: RequestContext | None
    scopes: Sequence[Scope] = ()
    """Scopes that are searched together in place of the chosen one; none = only it."""
    zones: frozenset[str] = frozenset()
    """The zones of documents that the question asks for (`language/zones.toml`)."""

    def texts_of_parts(
        self,
        query: str,
        scope: Scope,
        kept: KeptGeneral,
        reading: Reading | None,
        refiner: Refiner,
    ) -> list[tuple[Scope, SearchText]]:
        """Return each part of a scope (`split_by_country_tag`) with what is searched
        for in it: the part of its countries first.
        """
        reading = reading or read_names(query, refiner.catalog, scope)
        titles = titles_of(self.zones)
        headings = headings_of(self.zones)
        texts: list[tuple[Scope, SearchText]] = []
        for part in split_by_country_tag(scope, refiner.catalog, refiner.general, kept):
            if part is None:
                continue
            text = search_text(reading, part, language=refiner.language)
            if self.zones:
                question = f"{text.question} {titles}"
                topic = f"{text.topic} {headings}"
                text = replace(text, question=question, topic=topic)
            texts.append((part, text))
        return texts

    def hits_of_all(
        self, texts: Sequence[tuple[Scope, SearchText]], scope: Scope
    ) -> tuple[Sequence[SearchHit], Threshold | None]:
        """Return the hits of a question together, and the threshold that those of the
        scope it states passed.

        ``texts``: that scope and what is searched for in it; behind it the scopes of
        documents without the fields that it asks for (no country, no year), which have
        only hits that are near enough. Without a refiner only the first is searched.
        """
        if self.refiner is None:
            return self.hits(*texts[0])
        self._prefetch([text for _, text in texts], self.refiner)
        hits, threshold = self.hits(*texts[0])
        asked = texts[0][1]
        # Of a passage: which words of the question it has.
        words_of = partial(words_in, asked.topic, self.refiner.language)
        for scope_of_untagged, text in texts[1:]:
            untagged, _ = self.hits(scope_of_untagged, text)
            near = self.nearness(untagged, asked)
            hits = merge_untagged(hits, near, scope, self.refiner.catalog, words_of)
            hits = hits[: self.top_k]
        return body_first(hits, self.zones, first_in_both(hits)), threshold

    def reranked(
        self, query: str, hits: Sequence[SearchHit], reranker: Reranker, top_k: int
    ) -> tuple[SearchHit, ...]:
        """Return the best ``top_k`` hits in the order of a reranker."""
        reranked = reranker.rerank(
            query, hits, top_k=top_k, request=self.request or RequestContext()
        )
        self.clock.lap("rerank", reranked.usage)
        return with_rank(reranked.hits)

    def _prefetch(self, texts: Sequence[SearchText], refiner: Refiner) -> None:
        """Embed all that will be needed in one call."""
        if not isinstance(self.embedder, CachedEmbedder):
            return
        if model_in_store(self.embedder):
            return
        needed = [text.question for text in texts]
        if refiner.index:
            needed += [refiner.index.compared_text(text.topic) for text in texts]
        self.embedder.prefetch(needed, request=self.request)

    def hits(
        self, scope: Scope, text: SearchText
    ) -> tuple[Sequence[SearchHit], Threshold | None]:
        """Return the hits of one scope in order, and the threshold they passed."""
        meaning = search_meaning(self.embedder, text.question, request=self.request)
        self.clock.lap(
            "embed", Usage(embedding_tokens=self.embedder.count_tokens(text.question))
        )
        considered = max(
            self.top_k, PAGE_CANDIDATES if self.page else DEPTH if self.refiner else 0
        )
        searched = text
        for _ in range(TRIES):
            matches = partial(self._all_matches, searched, meaning, scope)
            near, worded = self.settled(matches, self.method.candidates(considered))
            hits, threshold, complete = self._ranked(meaning, near, worded, considered)
            meant: Sequence[str] = ()
            if searched is text:
                # Passages of these headings are found by their words: the question's
                # own may stand in none of them.
                meant = self._sure_headings(text.topic, hits)
            if meant:
                searched = replace(text, topic=" ".join([text.topic, *meant]))
            elif complete:
                # else a report was replaced during the search, and its new passages are
                # there now
                break
        if self.scopes:
            hits = [
                replace(hit, general=not scope.matches(hit.chunk.about)) for hit in hits
            ]
        if self.page is not None:
            hits = [hit for hit in hits if hit.chunk.page == self.page]
        if self.refiner:
            hits = self.refiner.by_heading(text, hits, self.request)
            hits = by_edition(hits, text, scope, analyzer(self.refiner.language).terms)
            hits = body_first(hits, self.zones, first_in_both(hits))
            self.clock.lap("order")
        return hits[: self.top_k], threshold

    def _sure_headings(self, topic: str, hits: Sequence[SearchHit]) -> Sequence[str]:
        """Return the headings, other than those of hits, that a topic surely means."""
        if not self.refiner or not self.refiner.index:
            return ()
        present = {hit.chunk.heading for hit in hits}
        return self.refiner.index.sure_headings(topic, present, self.request)

    def nearness(self, hits: Sequence[SearchHit], text: SearchText) -> list[SearchHit]:
        """Return the hits with their scores for this text: those for texts with and
        without a name differ.
        """
        meaning = search_meaning(self.embedder, text.question, request=self.request)
        scores = self.store.vector_scores(
            meaning, [hit.chunk.id for hit in hits if hit.score is not None]
        )
        return [replace(hit, score=scores.get(hit.chunk.id, hit.score)) for hit in hits]

    def _all_matches(
        self, text: SearchText, meaning: Meaning, scope: Scope, count: int
    ) -> Matches:
        """Return the best ``count`` matches of each search in all scopes together."""
        if len(self.scopes) < 2:
            [one] = self.scopes or [scope]
            return self._matches(text, meaning, one, count)
        near, worded = list[Match](), list[Match]()
        for one in self.scopes:
            of_scope = self._matches(text, meaning, one, count)
            near += of_scope[0]
            worded += of_scope[1]
        return best_matches(near, count), best_matches(worded, count)

    def _matches(
        self, text: SearchText, meaning: Meaning, scope: Scope, count: int
    ) -> Matches:
        """Run the searches that the method uses, for ``count`` matches each."""
        near, worded, store = list[Match](), list[Match](), self.store
        num_candidates = (
            None
            if self.settings.num_candidates == "auto"
            else self.settings.num_candidates
        )
        # Reports share only names with a question in another language, and names are
        # what all hits are about.
        by_meaning = (
            text.foreign and self.method.uses_vectors and self.embedder.multilingual
        )
        if (
            self.method.uses_vectors
            and self.method.uses_keywords
            and isinstance(store, HybridStore)
        ):
            near, worded = store.hybrid_search(
                text.topic,
                meaning,
                top_k=count,
                scope=scope,
                num_candidates=num_candidates,
            )
            self.clock.lap("hybrid_search")
            if store.without_keywords(scope):
                self.clock.lap("keywords_missing")
            return near, [] if by_meaning else worded
        if self.method.uses_vectors:
            near = store.vector_search(
                meaning, top_k=count, scope=scope, num_candidates=num_candidates
            )
            self.clock.lap("vector_search")
        if self.method.uses_keywords and not by_meaning:
            worded = store.keyword_search(text.topic, top_k=count, scope=scope)
            self.clock.lap("keyword_search")
        return near, worded

    def _ranked(
        self,
        meaning: Meaning,
        near: Sequence[Match],
        worded: Sequence[Match],
        count: int,
    ) -> tuple[list[SearchHit], Threshold | None, bool]:
        """Return at most ``count`` fused hits, the threshold they passed, and whether
        none was deleted meanwhile.
        """
        by_keyword = {match.chunk_id: match.score for match in worded}
        by_vector = {match.chunk_id: match.score for match in near}
        scores = by_vector | self.store.vector_scores(
            meaning, [id for id in by_keyword if id not in by_vector]
        )
        threshold = None
        passed = {*scores, *by_keyword}
        if self.method.uses_vectors:
            threshold = self._threshold(by_vector.values())
            # The first keyword matches stay whatever their vector score (R-D5).
            passed = {id for id, score in scores.items() if score > threshold.used}
            passed.update([*by_keyword][:KEYWORD_EXEMPT])
        # The threshold decides before fusion, but the scores are normalised over all
        # matches of both searches: over the survivors alone they spread differently for
        # every question (measured: nDCG .621 -> .651).
        ranked = [
            row for row in self.method.rank(near, worded, scores) if row[0] in passed
        ][:count]
        self.clock.lap("fuse")
        chunks = self._load([id for id, _ in ranked], [*near, *worded])
        hits: list[SearchHit] = []
        for id, fused in ranked:
            # Others were deleted meanwhile.
            if id in chunks:
                searches = (("vector", by_vector), ("keyword", by_keyword))
                found_by = tuple(name for name, ids in searches if id in ids)
                score = scores.get(id)
                hit = SearchHit(
                    chunks[id], 0, score, by_keyword.get(id), fused, found_by
                )
                hits.append(hit)
        self.clock.lap("load")
        return hits, threshold, len(hits) == len(ranked)

    def _threshold(self, vector_scores: Collection[float]) -> Threshold:
        keep = self.settings.threshold_keep
        if keep == "auto":
            keep = EDITIONS * self.top_k if self.refiner else 1
        return adaptive_threshold(
            vector_scores,
            start=self.settings.threshold_start,
            step=self.settings.threshold_step,
            floor=self.settings.threshold_floor,
            keep=keep,
        )

    def _load(self, ids: Sequence[str], matches: Iterable[Match]) -> dict[str, Chunk]:
        """Return the passages that are there, by id: those of matches, else from the
        store.
        """
        chunks = {
            match.chunk_id: match.chunk for match in matches if match.chunk is not None
        }
        missing = [id for id in ids if id not in chunks]
        if missing:
            chunks |= {chunk.id: chunk for chunk in self.store.get(missing)}
        return chunks


def settled_search(
    search: Callable[[int], Matches],
    count: int,
    visible: Callable[[], Visible],
    known: Callable[[], Visible] | None = None,
) -> Matches:
    """Search one version of each report: never half of it, never two.

    The store may hold passages of other versions, and of reports that are gone. Their
    matches are dropped after the search, and the search is widened by what was dropped,
    so that no result gets shorter. ``search(n)`` returns up to n matches of each kind;
    ``visible()`` what may be seen now, and ``known()`` what might be seen when it was
    read in this request before.
    """
    before = (known or visible)()
    for _ in range(TRIES):
        matches, dropped = _widened(search, count, before)
        after = visible()
        if after is before:
            return matches
        kept = [match.chunk_id for match in (*matches[0], *matches[1])]
        # What was dropped may have been all there was: its report may have been
        # replaced during the search.
        settled = all(map(after.shows, kept)) and not any(
            before.records.get(id) is not after.records.get(id) for id in dropped
        )
        if settled:
            return matches
        before = after
    # Reports change faster than a search takes: this was true a moment ago.
    near, worded = (
        [match for match in of_kind if before.shows(match.chunk_id)]
        for of_kind in matches
    )
    return near, worded


def _widened(
    search: Callable[[int], Matches], count: int, visible: Visible
) -> tuple[Matches, set[str]]:
    """Return the matches that may be seen, and the reports of those dropped."""
    requested = count
    while True:
        matches = search(requested)
        kept: list[list[Match]] = [[], []]
        dropped: set[str] = set()
        for some, all_ in zip(kept, matches, strict=True):
            for match in all_:
                if visible.shows(match.chunk_id):
                    some.append(match)
                else:
                    dropped.add(Chunk.version_of(match.chunk_id)[0])
        short = any(
            len(all_) >= requested and len(some) < count
            for all_, some in zip(matches, kept, strict=True)
        )
        if not short or requested >= MAX_CANDIDATES:
            near, worded = kept
            return (near[:count], worded[:count]), dropped
        requested = min(2 * requested, MAX_CANDIDATES)


def with_rank(hits: Sequence[SearchHit]) -> tuple[SearchHit, ...]:
    """Rank the hits in their order."""
    return tuple(replace(hit, rank=rank) for rank, hit in enumerate(hits, start=1))


class _Clock:
    def __init__(self) -> None:
        self.laps: list[StepTiming] = []
        self._last = time.perf_counter()

    def lap(self, name: str, usage: Usage = Usage()) -> None:  # noqa: B008  # frozen and zero
        now = time.perf_counter()
        self.laps.append(StepTiming(name, round((now - self._last) * 1000, 2), usage))
        self._last = now
        give_way()


class SummarySentence(NamedTuple):
    """A sentence of a summary, its words, and the id of the passage that is its
    source.
    """

    text: str
    words: frozenset[str]
    chunk_id: str


_SUMMARIES: WeakKeyDictionary[Passages, dict[str, list[SummarySentence]]] = (
    WeakKeyDictionary()
)


def without_summaries(
    hits: Sequence[SearchHit],
    query: str,
    store: Passages,
    analyzer: Analyzer,
    *,
    top_k: int,
) -> tuple[SearchHit, ...]:
    """Replace each summary by its sources, with its scores; those of the sentences
    nearest to ``query`` come first. Return at most ``top_k`` hits. A summary whose
    sentences are in no passage stays: that of a table counts its rows.
    """
    by_id = {hit.chunk.id: hit for hit in hits}
    placed: dict[str, SearchHit] = {}
    for hit in hits:
        chunks = [hit.chunk]
        if hit.chunk.is_summary:
            words = {*analyzer.terms(query)}
            nearest = sorted(
                _sentences(hit.chunk, store, analyzer),
                key=lambda one: -len(words & one.words),
            )
            ids = [*dict.fromkeys(one.chunk_id for one in nearest)][:SUMMARY_SOURCES]
            chunks = store.get(ids) or chunks
            if not ids and hit.chunk.is_empty_summary:
                continue
        for chunk in chunks:
            placed.setdefault(
                chunk.id, by_id.get(chunk.id) or replace(hit, chunk=chunk)
            )
    return with_rank([*placed.values()][:top_k])


def of_whole_report(
    record: DocumentRecord, store: Passages, analyzer: Analyzer, *, top_k: int
) -> tuple[tuple[SearchHit, ...], list[SummarySentence]]:
    """Return at most ``top_k`` passages that say what a report is about, and the
    sentences of its summary. These are its first passage, the sources of its summary,
    and then more of its beginning; of a table the summary itself, which counts its
    rows. A report of an older system has none: its passages have other ids.
    """
    *ids, last = record.chunk_ids()
    if record.part_of:
        ids = [chunk.id for chunk in store.get(ids)]
    summary = [one for one in store.get([last]) if not one.is_empty_summary]
    summarised = [
        sentence for one in summary for sentence in _sentences(one, store, analyzer)
    ]
    sources = [one.chunk_id for one in summarised] or [one.id for one in summary]
    first = ids[:1] if summarised else []
    chunks = store.get(list(dict.fromkeys([*first, *sources, *ids[:top_k]]))[:top_k])
    hits = [
        SearchHit(chunk, found_by=("summary" if chunk.id in sources else "beginning",))
        for chunk in chunks
    ]
    return with_rank(hits), summarised


def _sentences(
    summary: Chunk, store: Passages, analyzer: Analyzer
) -> list[SummarySentence]:
    """Return the sentences of a summary that have a source among the passages of the
    same version of its report.
    """
    kept_by_id = _SUMMARIES.setdefault(store, {})
    if summary.id in kept_by_id:  # the id has a version, so its sources never change
        return kept_by_id[summary.id]
    version = Chunk.version_of(summary.id)
    passages = [
        (chunk.id, {*analyzer.terms(chunk.search_text)})
        for chunk in sorted(
            store.stored(summary.document_id)[0], key=lambda chunk: chunk.ordinal
        )
        if not chunk.is_summary
        and Chunk.version_of(chunk.id) == version
        and chunk.metadata == summary.metadata
    ]
    result: list[SummarySentence] = []
    for text in sentences(summary.text):
        words = frozenset(analyzer.terms(text))
        if words and passages and summary.title not in text:
            id, terms = max(passages, key=lambda one: len(words & one[1]))
            if len(words & terms) >= SOURCE_SHARE * len(words):
                result.append(SummarySentence(text, words, id))
    if len(kept_by_id) >= KEPT_SUMMARIES:
        kept_by_id.clear()
    kept_by_id[summary.id] = result
    return result
