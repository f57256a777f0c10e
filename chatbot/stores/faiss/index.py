"""The in-process index: immutable segments and the vocabulary they share. Knows nothing of the database.

A segment has vectors, keywords in postings, filter values in columns. Searches read segments without a lock; a change
makes new ones (as in a search engine such as Lucene).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ...schema import Match, Scope, Vector
from ..keywords import POOL, Bm25, WeightedTerm, inverse_document_frequency, with_proximity
from .rows import Rows
from .segment import Found, Segment

DEAD_SHARE = 0.2
"""A segment with more deleted rows than this is rewritten."""


@dataclass(frozen=True, slots=True)
class ChunkIndex:
    """Immutable but for the vocabulary, which only grows; a change returns a new index."""

    segments: tuple[Segment, ...] = ()
    vocabulary: dict[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return sum(len(segment) for segment in self.segments)

    def term_ids(self, terms: Iterable[str]) -> list[int]:
        """Ids of index terms, new ones are added."""
        vocabulary = self.vocabulary
        return [vocabulary.setdefault(term, len(vocabulary)) for term in terms]

    def replace_documents(self, documents: set[str], rows: Rows | None) -> ChunkIndex:
        """Without the documents' old rows, with ``rows``: as a segment that takes in those of its size.

        So there are never many segments, and a row is copied a logarithmic number of times.
        """
        parts = [rows] if rows is not None else []
        size = len(rows.ids) if rows is not None else 0
        kept: list[Segment] = []
        for segment in sorted((s.without_documents(documents) for s in self.segments), key=len):
            if segment.live_rows <= 2 * size or segment.live_rows < (1 - DEAD_SHARE) * len(segment):
                parts.append(segment.live())
                size += segment.live_rows
            else:
                kept.append(segment)
        merged = (Segment.build(Rows.concat(parts)),) if size else ()
        return ChunkIndex((*kept, *merged), self.vocabulary)

    def exchange(self, old: Segment, new: Segment) -> ChunkIndex:
        """With ``new``, which has the same rows in the same order, in the place of ``old``, if that is still there."""
        segments = (replace(new, alive=s.alive, _selections={}) if s.rows is old.rows else s for s in self.segments)
        return ChunkIndex(tuple(segments), self.vocabulary)

    def vector_search(self, vector: Vector, *, top_k: int, scope: Scope) -> list[Match]:
        """``vector`` has length 1."""
        return _merge((segment.nearest(vector, top_k=top_k, scope=scope) for segment in self.segments), top_k)

    def keyword_search(
        self,
        terms: Iterable[str],
        *,
        top_k: int,
        scope: Scope,
        bm25: Bm25 = Bm25(),  # noqa: B008  # frozen
    ) -> list[Match]:
        """By BM25; then the best of them by how close together they have the words."""
        known = [number for term in terms if (number := self.vocabulary.get(term)) is not None]
        if not known or not len(self):
            return []
        rows = len(self)
        average_length = max(sum(len(segment.rows.terms) for segment in self.segments) / rows, 1.0)
        weighted = [WeightedTerm(term, self._inverse_frequency(term, rows)) for term in known]
        found = (
            segment.best_keywords(
                weighted, average_length=average_length, top_k=max(top_k, POOL), scope=scope, bm25=bm25
            )
            for segment in self.segments
        )
        pool = _merge(found, max(top_k, POOL))
        ids = [match.chunk_id for match in pool]
        texts = {chunk_id: terms for segment in self.segments for chunk_id, terms in segment.terms_of(ids).items()}
        scores = np.asarray([match.score for match in pool], dtype=np.float64)
        weights = {word.term: word.idf for word in weighted}
        refined = with_proximity(scores, [texts[chunk_id] for chunk_id in ids], weights)
        return _merge([list(zip(refined.tolist(), ids, strict=True))], top_k)

    def vector_scores(self, vector: Vector, chunk_ids: Sequence[str]) -> dict[str, float]:
        """Of those of the chunks that are here and have a vector."""
        found = (segment.scores_of(vector, chunk_ids) for segment in self.segments)
        return {chunk_id: score for part in found for chunk_id, score in part.items()}

    def live_ids(self) -> dict[str, set[bytes]]:
        """The ids of the live chunks by document."""
        found: dict[str, set[bytes]] = {}
        for segment in self.segments:
            for document_id, ids in segment.live_ids().items():
                found.setdefault(document_id, set()).update(ids)
        return found

    def count(self, scope: Scope) -> int:
        """Live rows inside the scope."""
        return sum(int(np.count_nonzero(segment.selection(scope).mask)) for segment in self.segments)

    def _inverse_frequency(self, term: int, rows: int) -> float:
        return inverse_document_frequency(rows, sum(s.postings.document_frequency(term) for s in self.segments))


def _merge(found: Iterable[Found], top_k: int) -> list[Match]:
    ranked = ((-score, chunk_id) for part in found for score, chunk_id in part)
    return [Match(chunk_id, -negative) for negative, chunk_id in sorted(ranked)[:top_k]]
