"""An immutable part of the in-process index: vectors in FAISS, keywords in postings, filter values in columns.

Searches read segments without a lock; a change makes new segments (as in a search engine such as Lucene).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import faiss as _faiss
import numpy as np
from numpy.typing import NDArray

from ..schema import Scope, Vector
from .clusters import Clusters
from .columns import COLLECTION, Column, Mask
from .postings import Floats, Ints, Postings, WeightedTerm, bm25_scores
from .rows import Rows

faiss: Any = _faiss
"""Its own type hints do not know its SWIG half."""
MASKS_KEPT = 64
APPROXIMATE_ROWS = 150_000
"""A segment this large is searched through its clusters where no scope narrows the search."""


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
        self, query: list[WeightedTerm], *, average_length: float, top_k: int, scope: Scope
    ) -> list[tuple[float, str]]:
        """(BM25 score, id) best first, ties by id; rows with no query term are left out."""
        scores: Floats = bm25_scores(self.postings, self.lengths, query, average_length)
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


def to_score(cosine: float) -> float:
    """The Atlas `vectorSearchScore` for cosine; rounding never takes it outside [0, 1]."""
    return min(1.0, max(0.0, (1.0 + float(cosine)) / 2.0))
