"""A segment of the in-process index: rows that are searched together. Immutable; a change makes a new one.

Vectors and postings are plain arrays, in memory or mapped from a snapshot file, which the workers then share. Where
few rows are in scope all of them are compared exactly; where many are, those that `Clusters` finds near. Of many that
are in a file the short vectors are compared first, and the whole ones of the few that are left are read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...schema import Scope, Vector
from ...scores import to_score
from ..keywords import Bm25, Floats, Ints, Postings, WeightedTerm, bm25_scores
from .clusters import Clusters, Places, candidates, faiss, one_thread
from .rows import COLLECTION, Mask, Rows
from .short_vectors import ShortVectors, WholeVectors

SCOPES_KEPT = 64
APPROXIMATE_ROWS = 20_000
"""Where a scope has so many rows of a segment, an approximate search is several times as fast as the exact one."""
READ_ONE_BY_ONE = 1000
"""Rows of a file, in half a millisecond; more are looked at where they are mapped."""
WORTHWHILE = 0.1
"""Where more than this share of the scope had to be compared exactly, all of it is."""
Found = list[tuple[float, str]]
"""(score, chunk id), best first, ties by id."""


@dataclass(frozen=True)
class Selection:
    """The live rows of a segment in one scope."""

    mask: Mask
    """Shape (rows,)."""
    with_vector: Mask
    clusters: Clusters | None

    @cached_property
    def count(self) -> int:
        """How many have a vector."""
        return int(np.count_nonzero(self.with_vector))

    @cached_property
    def rows(self) -> Places:
        """Those that have a vector."""
        return np.flatnonzero(self.with_vector)

    @cached_property
    def _bitmap(self) -> NDArray[np.uint8] | None:
        everything = self.count == len(self.with_vector)
        return None if everything else np.packbits(self.with_vector, bitorder="little")

    @cached_property
    def _sizes(self) -> Places:
        assert self.clusters is not None
        return np.bincount(self.clusters.codes[self.with_vector], minlength=self.clusters.index.nlist)

    def near(self, vector: Vector, top_k: int) -> Places:
        """The rows to compare: all of few, of many those that are near by their codes."""
        wanted, clusters = candidates(top_k), self.clusters
        if clusters is None or self.count < APPROXIMATE_ROWS or wanted > self.count * WORTHWHILE:
            return self.rows
        found = clusters.near(vector, self._bitmap, self._sizes, wanted)
        return found if len(found) >= top_k else self.rows


@dataclass(frozen=True)
class Segment:
    """``alive`` is False for deleted rows; ``by_id`` has the row numbers in the order of the ids.

    ``unclustered``: clusters were tried and found too little. ``file``: the name of the snapshot file that holds it,
    "" for none; ``short`` and ``stored``: of one with many vectors. The selections belong to this ``alive``.
    """

    rows: Rows
    by_id: Places
    postings: Postings
    alive: Mask
    clusters: Clusters | None = None
    unclustered: bool = False
    file: str = ""
    short: ShortVectors | None = None
    stored: WholeVectors | None = None
    _selections: dict[Scope, Selection] = field(default_factory=dict, repr=False)

    @classmethod
    def build(cls, rows: Rows) -> Segment:
        """Searched exactly until it gets clusters."""
        alive = np.ones(len(rows.ids), dtype=np.bool_)
        postings = Postings.build(rows.terms, rows.lengths)
        return cls(rows, np.argsort(rows.ids, kind="stable"), postings, alive)

    def __len__(self) -> int:
        return len(self.rows.ids)

    @property
    def awaits_clusters(self) -> bool:
        """Whether it is large enough to be searched approximately, and is not yet."""
        return len(self) >= APPROXIMATE_ROWS and self.clusters is None and not self.unclustered

    def clustered(self) -> Segment:
        """The same rows with clusters, where those find enough; takes seconds to minutes."""
        clusters = Clusters.build(self.rows.vectors)
        return Segment(self.rows, self.by_id, self.postings, self.alive, clusters, unclustered=clusters is None)

    @property
    def live_rows(self) -> int:
        """How many are not deleted."""
        return int(np.count_nonzero(self.alive))

    def live(self) -> Rows:
        """The rows that are not deleted, to build a merged segment from."""
        return self.rows if bool(self.alive.all()) else self.rows.kept(self.alive)

    def without_documents(self, document_ids: set[str]) -> Segment:
        """This segment with the documents' rows deleted; itself where it has none of them."""
        doomed = self.alive & self.rows.documents.among(document_ids)
        if not bool(doomed.any()):
            return self
        return replace(self, alive=self.alive & ~doomed, _selections={})

    def selection(self, scope: Scope) -> Selection:
        """Live rows inside the scope."""
        found = self._selections.get(scope)
        if found is None:
            mask = self.alive.copy()
            if scope.collections:
                mask &= self.rows.values[COLLECTION].where(scope.collections.__contains__)
            for name, condition in scope.conditions:
                column = self.rows.values.get(name)
                mask &= column.where(condition.matches) if column is not None else False
            if len(self._selections) >= SCOPES_KEPT:
                self._selections.clear()
            found = self._selections[scope] = Selection(mask, mask & self.rows.has_vector, self.clusters)
        return found

    def nearest(self, vector: Vector, *, top_k: int, scope: Scope) -> Found:
        """Ties at the cut are resolved by id, so that an exact answer is a function of the data."""
        rows = self.selection(scope).near(vector, top_k)
        if self.short is not None:
            rows = self.short.nearest(vector, rows, top_k)
        return self._best(self._cosines(vector, rows), rows, top_k, to_score)

    def best_keywords(
        self, query: list[WeightedTerm], *, average_length: float, top_k: int, scope: Scope, bm25: Bm25
    ) -> Found:
        """By BM25; rows with no query term are left out."""
        scores: Floats = bm25_scores(self.postings, self.rows.lengths, query, average_length, bm25)
        rows = np.flatnonzero((scores > 0) & self.selection(scope).mask)
        return self._best(scores[rows], rows, top_k, float)

    def _best(self, scores: Floats, rows: Places, top_k: int, convert: Callable[[float], float]) -> Found:
        if len(rows) > top_k:
            kept = scores >= np.partition(scores, -top_k)[-top_k]
            scores, rows = scores[kept], rows[kept]
        best = sorted(zip((-scores).tolist(), self.rows.ids[rows].tolist(), strict=True))[:top_k]
        return [(convert(-negative), chunk_id.decode()) for negative, chunk_id in best]

    def _cosines(self, vector: Vector, rows: Places) -> Floats:
        """Computed in place: rows are not copied together. Few of a file are read instead of mapped."""
        vectors = self.rows.vectors
        if self.stored is not None and len(rows) <= READ_ONE_BY_ONE:
            vectors, rows = self.stored.read(rows), np.arange(len(rows))
        cosines, vector = np.empty(len(rows), dtype=np.float32), np.ascontiguousarray(vector, dtype=np.float32)
        pointers = map(faiss.swig_ptr, (cosines, vector, vectors, rows))
        with one_thread():
            faiss.fvec_inner_products_by_idx(*pointers, len(vector), 1, len(rows))
        return cosines

    def terms_of(self, chunk_ids: Sequence[str]) -> dict[str, Ints]:
        """The term ids, in text order, of those of the chunks that live here."""
        ends, lengths = self._ends, self.rows.lengths
        return {id: self.rows.terms[ends[row] - lengths[row] : ends[row]] for id, row in self._places(chunk_ids)}

    @cached_property
    def _ends(self) -> NDArray[np.int64]:
        return np.cumsum(self.rows.lengths, dtype=np.int64)

    def _places(self, chunk_ids: Sequence[str]) -> list[tuple[str, int]]:
        """Those of the chunks that live here, and their rows, in the order asked for."""
        ids = self.rows.ids
        known = [id for id in chunk_ids if len(id.encode()) <= ids.itemsize]
        if not len(ids) or not known:
            return []
        encoded = np.asarray([id.encode() for id in known], dtype=ids.dtype)  # the same width, or all ids are copied
        rows = self.by_id[np.minimum(np.searchsorted(ids, encoded, sorter=self.by_id), len(ids) - 1)]
        found = zip(known, encoded.tolist(), ids[rows].tolist(), rows.tolist(), strict=True)
        return [(id, row) for id, wanted, stored, row in found if stored == wanted and self.alive[row]]

    def scores_of(self, vector: Vector, chunk_ids: Sequence[str]) -> dict[str, float]:
        """Vector scores of those of the chunks that live here and have a vector."""
        places = [(id, row) for id, row in self._places(chunk_ids) if self.rows.has_vector[row]]
        cosines = self._cosines(vector, np.asarray([row for _, row in places], dtype=np.int64))
        return {id: to_score(cosine) for (id, _), cosine in zip(places, cosines, strict=True)}

    def live_ids(self) -> dict[str, set[bytes]]:
        """The ids of the live rows by document."""
        found: dict[str, set[bytes]] = {}
        rows = np.flatnonzero(self.alive)
        documents = self.rows.documents
        for id, code in zip(self.rows.ids[rows].tolist(), documents.codes[rows].tolist(), strict=True):
            found.setdefault(str(documents.values[code]), set()).add(id)
        return found
