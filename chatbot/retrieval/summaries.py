"""A summary leads to pages and is no source itself: the passages that it says something from stand in its place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from weakref import WeakKeyDictionary

from ..protocols import Store
from ..schema import SUMMARY_ORDINAL, Chunk, SearchHit
from ..text import Analyzer, sentences
from .pipeline import with_rank

SOURCES = 2
"""Passages in place of a summary."""
SHARE = 0.5
"""Of a sentence's words a passage has that it is said from: a model writes in words of its own."""
KEPT = 2_000
"""Summaries of a store whose sources are known: their whole report is read once to find them."""
Said = tuple[frozenset[str], str]
"""The words of a sentence, and the id of the passage that it is said from."""
_KNOWN: WeakKeyDictionary[Store, dict[str, list[Said]]] = WeakKeyDictionary()


def without_summaries(
    hits: Sequence[SearchHit], query: str, store: Store, analyzer: Analyzer, *, top_k: int
) -> tuple[SearchHit, ...]:
    """At most ``top_k`` hits, those in place of a summary with its scores, the sentences nearest to ``query`` first.

    One stays whose sentences no passage has: that of a table counts its rows.
    """
    found = {hit.chunk.id: hit for hit in hits}
    placed: dict[str, SearchHit] = {}
    for hit in hits:
        is_summary = hit.chunk.ordinal == SUMMARY_ORDINAL
        for chunk in (_sources(hit.chunk, query, store, analyzer) if is_summary else []) or [hit.chunk]:
            placed.setdefault(chunk.id, found.get(chunk.id) or replace(hit, chunk=chunk))
    return with_rank([*placed.values()][:top_k])


def _sources(summary: Chunk, query: str, store: Store, analyzer: Analyzer) -> list[Chunk]:
    known = _KNOWN.setdefault(store, {})
    if summary.id not in known:  # an id has a version: what it names never changes
        if len(known) >= KEPT:
            known.clear()
        known[summary.id] = _said_from(summary, store, analyzer)
    asked = {*analyzer.terms(query)}
    nearest = sorted(known[summary.id], key=lambda said: -len(asked & said[0]))
    return store.get([*dict.fromkeys(id for _, id in nearest)][:SOURCES])


def _said_from(summary: Chunk, store: Store, analyzer: Analyzer) -> list[Said]:
    version = Chunk.version_of(summary.id)
    passages = [
        (chunk.id, {*analyzer.terms(chunk.search_text)})
        for chunk in sorted(store.stored(summary.document_id)[0], key=lambda chunk: chunk.ordinal)
        if chunk.ordinal != SUMMARY_ORDINAL
        and Chunk.version_of(chunk.id) == version
        and chunk.metadata == summary.metadata
    ]
    said = [frozenset(analyzer.terms(text)) for text in sentences(summary.text) if summary.title not in text]
    found = [
        (terms, max(passages, key=lambda one: len(terms & one[1]), default=("", terms))) for terms in said if terms
    ]
    return [(terms, id) for terms, (id, own) in found if id and len(terms & own) >= SHARE * len(terms)]
