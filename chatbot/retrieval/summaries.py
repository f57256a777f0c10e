"""A summary leads to pages and is no source itself: the passages that it says something from stand in its place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple
from weakref import WeakKeyDictionary

from ..protocols import Store
from ..schema import Chunk, DocumentRecord, SearchHit
from ..text import Analyzer, sentences
from .pipeline import with_rank

SOURCES = 2
"""Passages in place of a summary."""
SHARE = 0.5
"""The share of a sentence's words that a passage must have to be its source: a model writes in words of its own."""
KEPT = 2_000
"""Summaries of a store whose sources are known: their whole report is read once to find them."""


class Said(NamedTuple):
    """A sentence of a summary, its words, and the id of the passage that it is said from."""

    text: str
    words: frozenset[str]
    chunk_id: str


_KNOWN: WeakKeyDictionary[Store, dict[str, list[Said]]] = WeakKeyDictionary()


def without_summaries(
    hits: Sequence[SearchHit], query: str, store: Store, analyzer: Analyzer, *, top_k: int
) -> tuple[SearchHit, ...]:
    """At most ``top_k`` hits, with each summary replaced by the passages that it was made from; these have its scores,
    and the sentences nearest to ``query`` come first.

    One stays whose sentences no passage has: that of a table counts its rows.
    """
    found = {hit.chunk.id: hit for hit in hits}
    placed: dict[str, SearchHit] = {}
    for hit in hits:
        for chunk in (_sources(hit.chunk, query, store, analyzer) if hit.chunk.is_summary else []) or [hit.chunk]:
            placed.setdefault(chunk.id, found.get(chunk.id) or replace(hit, chunk=chunk))
    return with_rank([*placed.values()][:top_k])


def of_whole_report(
    record: DocumentRecord, store: Store, analyzer: Analyzer, *, top_k: int
) -> tuple[tuple[SearchHit, ...], list[Said]]:
    """At most ``top_k`` passages that say what a report is about, and the sentences of its summary.

    Its first passage, those that the summary is said from, and where these are fewer more of its beginning; of a table,
    whose summary counts its rows, that itself. None of a report of an older system, whose passages have other ids.
    """
    *ids, last = record.chunk_ids()
    summary = store.get([last])
    said = [sentence for one in summary for sentence in _sentences(one, store, analyzer)]
    leading = [one.chunk_id for one in said] or [one.id for one in summary]
    wanted = list(dict.fromkeys([*ids[: len(said)][:1], *leading, *ids[:top_k]]))[:top_k]
    hits = [
        SearchHit(chunk, found_by=("summary" if chunk.id in leading else "beginning",)) for chunk in store.get(wanted)
    ]
    return with_rank(hits), said


def _sources(summary: Chunk, query: str, store: Store, analyzer: Analyzer) -> list[Chunk]:
    asked = {*analyzer.terms(query)}
    nearest = sorted(_sentences(summary, store, analyzer), key=lambda said: -len(asked & said.words))
    return store.get([*dict.fromkeys(one.chunk_id for one in nearest)][:SOURCES])


def _sentences(summary: Chunk, store: Store, analyzer: Analyzer) -> list[Said]:
    known = _KNOWN.setdefault(store, {})
    if summary.id not in known:  # an id has a version: what it names never changes
        if len(known) >= KEPT:
            known.clear()
        known[summary.id] = _said_from(summary, store, analyzer)
    return known[summary.id]


def _said_from(summary: Chunk, store: Store, analyzer: Analyzer) -> list[Said]:
    version = Chunk.version_of(summary.id)
    passages = [
        (chunk.id, {*analyzer.terms(chunk.search_text)})
        for chunk in sorted(store.stored(summary.document_id)[0], key=lambda chunk: chunk.ordinal)
        if not chunk.is_summary and Chunk.version_of(chunk.id) == version and chunk.metadata == summary.metadata
    ]
    found = list[Said]()
    for text in sentences(summary.text):
        words = frozenset(analyzer.terms(text))
        if words and summary.title not in text:
            id, own = max(passages, key=lambda one: len(words & one[1]), default=("", set[str]()))
            if id and len(words & own) >= SHARE * len(words):
                found.append(Said(text, words, id))
    return found
