"""A summary leads to pages and is no source itself: the passages that it says something from stand in its place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..protocols import Store
from ..schema import SUMMARY_ORDINAL, Chunk, SearchHit
from ..text import Analyzer, sentences
from .pipeline import with_rank

SOURCES = 2
"""Passages in place of a summary."""
SHARE = 0.5
"""Of a sentence's words a passage has that it is said from: a model writes in words of its own."""


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
        sources = {chunk.id: chunk for chunk in _sources(hit.chunk, query, store, analyzer)} if is_summary else {}
        for chunk in [*sources.values()][:SOURCES] or [hit.chunk]:
            placed.setdefault(chunk.id, found.get(chunk.id) or replace(hit, chunk=chunk))
    return with_rank([*placed.values()][:top_k])


def _sources(summary: Chunk, query: str, store: Store, analyzer: Analyzer) -> Iterator[Chunk]:
    version = Chunk.version_of(summary.id)
    passages = [
        (chunk, {*analyzer.terms(chunk.search_text)})
        for chunk in sorted(store.stored(summary.document_id)[0], key=lambda chunk: chunk.ordinal)
        if chunk.ordinal != SUMMARY_ORDINAL
        and Chunk.version_of(chunk.id) == version
        and chunk.metadata == summary.metadata
    ]
    said = [{*analyzer.terms(sentence)} for sentence in sentences(summary.text) if summary.title not in sentence]
    asked = {*analyzer.terms(query)}
    for terms in sorted(said, key=lambda terms: -len(asked & terms)):
        chunk, own = max(passages, key=lambda passage: len(terms & passage[1]), default=(summary, set[str]()))
        if terms and len(terms & own) >= SHARE * len(terms):
            yield chunk
