"""The in-process index: immutable segments and the vocabulary they share. Knows nothing of the database.

A segment has vectors in FAISS, keywords in postings, filter values in columns. Searches read segments without a lock;
a change makes new ones (as in a search engine such as Lucene). A large one is searched approximately, as one more
mask: only the clusters nearest to the question are scanned (IVF, Jégou et al., 2011). The vectors stay where they are;
a cluster number for each row is all that is added. Worth it for large segments only: see
`benchmarks/approximate_search.py`.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import faiss as _faiss
import numpy as np
from numpy.typing import NDArray

from ...schema import Match, Matrix, Scope, Vector
from ..chunks import to_score
from ..keywords import (
    POOL,
    Bm25,
    Floats,
    Ints,
    Postings,
    WeightedTerm,
    bm25_scores,
    inverse_document_frequency,
    with_proximity,
)
from .rows import COLLECTION, Codes, Column, Mask, Rows

faiss: Any = _faiss
"""Its own type hints do not know its SWIG half."""
MASKS_KEPT = 64
APPROXIMATE_ROWS = 150_000
"""A segment this large is searched through its clusters where no scope narrows the search."""
PROBED_SHARE = 0.04
"""Share of the clusters that is scanned."""
ITERATIONS = 8
POINTS_PER_CLUSTER = 64


@dataclass(frozen=True, slots=True)
class Clusters:
    """``centroids`` has shape (clusters, dimensions), ``codes`` the cluster of each row."""

    centroids: Matrix
    codes: Codes

    @classmethod
    def build(cls, vectors: Matrix) -> Clusters:
        """Square root of the rows many clusters, by spherical k-means on a sample; deterministic."""
        count = max(int(len(vectors) ** 0.5), 1)
        kmeans = faiss.Kmeans(
            vectors.shape[1],
            count,
            niter=ITERATIONS,
            seed=1,
            spherical=True,
            max_points_per_centroid=POINTS_PER_CLUSTER,
            min_points_per_centroid=1,
        )
        kmeans.train(vectors)
        _, nearest = kmeans.index.search(vectors, 1)
        return cls(np.asarray(kmeans.centroids, dtype=np.float32), nearest[:, 0].astype(np.int32))

    def near(self, vector: Vector) -> Mask:
        """Rows of the clusters nearest to ``vector``, shape (rows,)."""
        probed = max(int(len(self.centroids) * PROBED_SHARE), 1)
        chosen = np.zeros(len(self.centroids), dtype=np.bool_)
        chosen[np.argpartition(-(self.centroids @ vector), probed - 1)[:probed]] = True
        found: Mask = chosen[self.codes]
        return found


@dataclass(frozen=True)
class Segment:
    """Searchable rows. ``alive`` is False for deleted ones; the mask cache belongs to this ``alive``."""

    ids: NDArray[np.object_]
    documents: Column
    values: Mapping[str, Column]
    index: Any
    has_vector: Mask
    terms: Ints
    lengths: Ints
    postings: Postings
    alive: Mask
    clusters: Clusters | None = None
    _masks: dict[Scope, Mask] = field(default_factory=dict, repr=False)

    @classmethod
    def build(
        cls, rows: Rows, postings: Postings | None = None, alive: Mask | None = None, clusters: Clusters | None = None
    ) -> Segment:
        """A segment of these rows; the rest is given where it is known (a snapshot)."""
        vectors = np.ascontiguousarray(rows.vectors)
        index = faiss.IndexFlatIP(vectors.shape[1])
        index.add(vectors)
        if clusters is None and len(vectors) >= APPROXIMATE_ROWS:
            clusters = Clusters.build(vectors)
        return cls(
            ids=rows.ids,
            documents=rows.documents,
            values=rows.values,
            index=index,
            has_vector=np.asarray(rows.vectors.any(axis=1), dtype=np.bool_),
            terms=rows.terms,
            lengths=rows.lengths,
            postings=postings or Postings.build(rows.terms, rows.lengths),
            alive=np.ones(len(rows.ids), dtype=np.bool_) if alive is None else alive,
            clusters=clusters,
        )

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def live_rows(self) -> int:
        """How many are not deleted."""
        return int(self.alive.sum())

    def all_rows(self) -> Rows:
        """Everything, deleted rows too: what a snapshot keeps."""
        vectors = self.index.reconstruct_n(0, len(self)) if len(self) else np.empty((0, self.index.d), np.float32)
        return Rows(self.ids, self.documents, self.values, vectors, self.terms, self.lengths)

    def live(self) -> Rows:
        """The rows that are not deleted, to build a merged segment from."""
        rows = self.all_rows()
        return rows if bool(self.alive.all()) else rows.take(np.flatnonzero(self.alive))

    def without_documents(self, document_ids: set[str]) -> Segment:
        """This segment with the documents' rows deleted; itself where it has none of them."""
        doomed = self.alive & self.documents.where(lambda document_id: document_id in document_ids)
        if not bool(doomed.any()):
            return self
        return replace(self, alive=self.alive & ~doomed, _masks={})

    def mask(self, scope: Scope) -> Mask:
        """Live rows inside the scope, shape (rows,)."""
        if not scope:
            return self.alive
        cached = self._masks.get(scope)
        if cached is None:
            cached = self.alive.copy()
            if scope.collections:
                cached &= self.values[COLLECTION].where(scope.collections.__contains__)
            for name, condition in scope.conditions:
                column = self.values.get(name)
                cached &= column.where(condition.matches) if column is not None else False
            if len(self._masks) >= MASKS_KEPT:
                self._masks.clear()
            self._masks[scope] = cached
        return cached

    def nearest(self, vector: Vector, *, top_k: int, scope: Scope) -> list[tuple[float, str]]:
        """(score, id) best first; ties at the cut are resolved by id, so the answer is a function of the data.

        Exact under a scope, and without one below APPROXIMATE_ROWS.
        """
        mask = self.mask(scope) & self.has_vector
        if self.clusters is not None and not scope:
            near = mask & self.clusters.near(vector)
            mask = near if int(near.sum()) >= top_k else mask
        wanted = min(top_k, int(mask.sum()))
        if not wanted:
            return []
        bitmap = np.packbits(mask, bitorder="little")
        selector = faiss.IDSelectorBitmap(len(bitmap), faiss.swig_ptr(bitmap))
        parameters = None if bool(mask.all()) else faiss.SearchParameters(sel=selector)
        fetch = wanted
        while True:
            fetch = min(fetch + 8, len(self))
            cosines, rows = self.index.search(vector[None, :], fetch, params=parameters)
            found = rows[0] >= 0
            cosines, rows = cosines[0][found], rows[0][found]
            # Stop once the last fetched row is worse than the last wanted one: no tie is cut apart.
            if len(rows) < fetch or fetch == len(self) or cosines[-1] < cosines[wanted - 1]:
                break
            fetch *= 2
        best = sorted(zip(-cosines, self.ids[rows], strict=True))[:wanted]
        return [(to_score(-negative), str(chunk_id)) for negative, chunk_id in best]

    def best_keywords(
        self, query: list[WeightedTerm], *, average_length: float, top_k: int, scope: Scope, bm25: Bm25
    ) -> list[tuple[float, str]]:
        """(BM25 score, id) best first, ties by id; rows with no query term are left out."""
        scores: Floats = bm25_scores(self.postings, self.lengths, query, average_length, bm25)
        candidates = np.flatnonzero((scores > 0) & self.mask(scope))
        if len(candidates) > top_k:
            cut = np.partition(scores[candidates], -top_k)[-top_k]
            candidates = candidates[scores[candidates] >= cut]
        best = sorted(zip(-scores[candidates], self.ids[candidates], strict=True))[:top_k]
        return [(float(-negative), str(chunk_id)) for negative, chunk_id in best]

    def terms_of(self, chunk_ids: Sequence[str]) -> dict[str, Ints]:
        """The term ids, in text order, of those of the chunks that live here."""
        ends, lengths = self._ends, self.lengths
        rows = self._rows(chunk_ids)
        return {str(self.ids[row]): self.terms[ends[row] - lengths[row] : ends[row]] for row in rows}

    @cached_property
    def _ends(self) -> NDArray[np.int64]:
        return np.cumsum(self.lengths, dtype=np.int64)

    def _rows(self, chunk_ids: Sequence[str]) -> NDArray[np.int64]:
        """Where those of the chunks are that live here, in the order asked for."""
        if not len(self):
            return np.empty(0, dtype=np.int64)
        wanted = np.asarray(chunk_ids, dtype=object)
        rows = np.minimum(np.searchsorted(self.ids, wanted), len(self) - 1)
        found: NDArray[np.int64] = rows[(self.ids[rows] == wanted) & self.alive[rows]]
        return found

    def scores_of(self, vector: Vector, chunk_ids: Sequence[str]) -> dict[str, float]:
        """Vector scores of those of the chunks that live here and have a vector."""
        rows = self._rows(chunk_ids)
        rows = rows[self.has_vector[rows]]
        if not len(rows):
            return {}
        cosines = self.index.reconstruct_batch(rows) @ vector
        return {str(self.ids[row]): to_score(cosine) for row, cosine in zip(rows, cosines, strict=True)}


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
        average_length = max(sum(int(segment.lengths.sum()) for segment in self.segments) / rows, 1.0)
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

    def count(self, scope: Scope) -> int:
        """Live rows inside the scope."""
        return sum(int(segment.mask(scope).sum()) for segment in self.segments)

    def _inverse_frequency(self, term: int, rows: int) -> float:
        return inverse_document_frequency(rows, sum(s.postings.document_frequency(term) for s in self.segments))


def _merge(found: Iterable[list[tuple[float, str]]], top_k: int) -> list[Match]:
    ranked = ((-score, chunk_id) for part in found for score, chunk_id in part)
    return [Match(chunk_id, -negative) for negative, chunk_id in heapq.nsmallest(top_k, ranked)]
