"""The in-process index: immutable segments and the vocabulary they share. Knows nothing
of the database.

A segment has vectors, keywords in postings, filter values in columns: plain arrays, in
memory or mapped from a snapshot file, which the workers then share. Searches read
segments without a lock; a change makes new ones (as in a search engine such as Lucene).

Where few rows are in scope all of them are compared exactly; where many are, those that
`Clusters` finds near. Of many that are in a file the short vectors are compared first,
and the whole ones of the few that are left are read.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...domain import Match, Scope, Vector
from ...domain.documents import to_score
from ..keywords import (
    POOL,
    Bm25,
    Floats,
    Ints,
    Postings,
    bm25_scores,
    inverse_document_frequency,
    with_proximity,
)
from .rows import COLLECTION, Mask, Rows
from .vectors import (
    Clusters,
    Places,
    ShortVectors,
    WholeVectors,
    candidates,
    faiss,
    one_thread,
)

DEAD_SHARE = 0.2
"""A segment with more deleted rows than this is rewritten."""
SCOPES_KEPT = 64
EVERYTHING = Scope()
APPROXIMATE_ROWS = 20_000
"""Rows of a segment in scope from which an approximate search is several times as fast
as the exact one.
"""
MAX_SINGLE_READS = 1000
"""Rows of a file, in half a millisecond; more are looked at where they are mapped."""
WORTHWHILE = 0.1
"""Share of the scope from which all of it is compared exactly."""
Found = list[tuple[float, str]]
"""(score, chunk id), best first, ties by id."""


@dataclass(frozen=True)
class Selection:
    """The live rows of a segment in one scope, as a ``mask`` of shape (rows,)."""

    mask: Mask
    with_vector: Mask
    clusters: Clusters | None
    lengths: Ints
    """The number of terms of each row of the segment."""

    @cached_property
    def rows(self) -> Places:
        return np.flatnonzero(self.with_vector)

    @cached_property
    def size(self) -> tuple[int, int]:
        """The number of rows and of their terms."""
        return int(np.count_nonzero(self.mask)), int(self.lengths[self.mask].sum())

    @cached_property
    def _bitmap(self) -> NDArray[np.uint8] | None:
        everything = len(self.rows) == len(self.with_vector)
        return None if everything else np.packbits(self.with_vector, bitorder="little")

    @cached_property
    def _sizes(self) -> Places:
        assert self.clusters is not None
        return np.bincount(
            self.clusters.codes[self.with_vector], minlength=self.clusters.index.nlist
        )

    def near(self, vector: Vector, top_k: int) -> Places:
        """Return the rows to compare: all of few, of many those that are near by their
        codes.
        """
        count, clusters = candidates(top_k), self.clusters
        if (
            clusters is None
            or len(self.rows) < APPROXIMATE_ROWS
            or count > len(self.rows) * WORTHWHILE
        ):
            return self.rows
        near = clusters.near(vector, self._bitmap, self._sizes, count)
        return near if len(near) >= top_k else self.rows


@dataclass(frozen=True)
class Segment:
    """Rows that are searched together. ``alive`` is False for deleted rows; ``by_id``
    has the row numbers by id.

    ``unclustered``: clusters were tried and found too little. ``file``: the name of the
    snapshot file that holds it, "" for none; ``short`` and ``stored``: of one with many
    vectors. The selections belong to this ``alive``.
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
    def build(cls, rows: Rows) -> "Segment":
        """Return a segment that is searched exactly until it gets clusters."""
        alive = np.ones(len(rows.ids), dtype=np.bool_)
        postings = Postings.build(rows.terms, rows.lengths)
        return cls(rows, np.argsort(rows.ids, kind="stable"), postings, alive)

    def __len__(self) -> int:
        return len(self.rows.ids)

    @property
    def awaits_clusters(self) -> bool:
        """Return whether it is large enough to be searched approximately, and is not
        yet.
        """
        return (
            len(self) >= APPROXIMATE_ROWS
            and self.clusters is None
            and not self.unclustered
        )

    def clustered(self) -> "Segment":
        """Return the same rows with clusters, where those find enough; takes seconds to
        minutes.
        """
        clusters = Clusters.build(self.rows.vectors)
        return Segment(
            self.rows,
            self.by_id,
            self.postings,
            self.alive,
            clusters,
            unclustered=clusters is None,
        )

    @property
    def live_rows(self) -> int:
        return int(np.count_nonzero(self.alive))

    def live(self) -> Rows:
        """Return the rows that are not deleted, to build a merged segment from."""
        return self.rows if bool(self.alive.all()) else self.rows.kept(self.alive)

    def without_documents(self, document_ids: set[str]) -> "Segment":
        """Return this segment with the documents' rows deleted; itself where it has
        none of them.
        """
        doomed = self.alive & self.rows.documents.among(document_ids)
        return (
            replace(self, alive=self.alive & ~doomed, _selections={})
            if bool(doomed.any())
            else self
        )

    def without(self, chunk_ids: Sequence[str]) -> "Segment":
        """Return this segment with these rows deleted; itself where it has none of
        them.
        """
        if not (doomed := [row for _, row in self._places(chunk_ids)]):
            return self
        alive = self.alive.copy()
        alive[doomed] = False
        return replace(self, alive=alive, _selections={})

    def selection(self, scope: Scope) -> Selection:
        selection = self._selections.get(scope)
        if selection is None:
            mask = self.alive.copy()
            if scope.collections:
                mask &= self.rows.values[COLLECTION].where(
                    scope.collections.__contains__
                )
            for name, condition in scope.conditions:
                column = self.rows.values.get(name)
                mask &= column.where(condition.matches) if column is not None else False
            if len(self._selections) >= SCOPES_KEPT:
                self._selections.clear()
            selection = self._selections[scope] = Selection(
                mask, mask & self.rows.has_vector, self.clusters, self.rows.lengths
            )
        return selection

    def nearest(self, vector: Vector, *, top_k: int, scope: Scope) -> Found:
        """Ties at the cut are resolved by id, so that an exact answer is a function of
        the data.
        """
        rows = self.selection(scope).near(vector, top_k)
        if self.short is not None:
            rows = self.short.nearest(vector, rows, top_k)
        return self._best(self._cosines(vector, rows), rows, top_k, to_score)

    def best_keywords(
        self,
        terms: Sequence[int],
        idf: dict[int, float],
        average_length: float,
        top_k: int,
        scope: Scope,
        bm25: Bm25,
    ) -> Found:
        """By BM25; rows with none of the terms are left out."""
        mask = self.selection(scope).mask
        scores: Floats = bm25_scores(
            self.postings,
            self.rows.lengths,
            terms,
            idf,
            average_length,
            bm25,
            inside=mask if scope.is_limited else None,
        )
        rows = np.flatnonzero((scores > 0) & mask)
        return self._best(scores[rows], rows, top_k, float)

    def frequency(self, term: int, limit: Scope) -> int:
        """Return how many rows have a term; with a ``limit`` only those inside of
        it.
        """
        rows = self.postings.of(term)[0]
        if not limit:
            return len(rows)
        return int(np.count_nonzero(self.selection(limit).mask[rows]))

    def size(self, limit: Scope) -> tuple[int, int]:
        """Return the number of rows and of their terms; with a ``limit`` of those
        inside of it.
        """
        if not limit:
            return len(self), len(self.rows.terms)
        return self.selection(limit).size

    def _best(
        self,
        scores: Floats,
        rows: Places,
        top_k: int,
        convert: Callable[[float], float],
    ) -> Found:
        if len(rows) > top_k:
            kept = scores >= np.partition(scores, -top_k)[-top_k]
            scores, rows = scores[kept], rows[kept]
        best = sorted(
            zip((-scores).tolist(), self.rows.ids[rows].tolist(), strict=True)
        )[:top_k]
        return [(convert(-negative), chunk_id.decode()) for negative, chunk_id in best]

    def _cosines(self, vector: Vector, rows: Places) -> Floats:
        """Computed in place: rows are not copied together. Few rows of a file are read
        instead of mapped.
        """
        vectors = self.rows.vectors
        if self.stored is not None and len(rows) <= MAX_SINGLE_READS:
            vectors, rows = self.stored.read(rows), np.arange(len(rows))
        cosines, vector = (
            np.empty(len(rows), dtype=np.float32),
            np.ascontiguousarray(vector, dtype=np.float32),
        )
        pointers = map(faiss.swig_ptr, (cosines, vector, vectors, rows))
        with one_thread():
            faiss.fvec_inner_products_by_idx(*pointers, len(vector), 1, len(rows))
        return cosines

    def terms_of(self, chunk_ids: Sequence[str]) -> dict[str, Ints]:
        """Return the term ids, in text order, of those of the chunks that live here."""
        ends, lengths = self._ends, self.rows.lengths
        return {
            id: self.rows.terms[ends[row] - lengths[row] : ends[row]]
            for id, row in self._places(chunk_ids)
        }

    @cached_property
    def _ends(self) -> NDArray[np.int64]:
        return np.cumsum(self.rows.lengths, dtype=np.int64)

    def _places(self, chunk_ids: Sequence[str]) -> list[tuple[str, int]]:
        """Those of the chunks that live here, and their rows, in the order asked
        for.
        """
        ids = self.rows.ids
        possible = [id for id in chunk_ids if len(id.encode()) <= ids.itemsize]
        if not len(ids) or not possible:
            return []
        encoded = np.asarray(
            [id.encode() for id in possible], ids.dtype
        )  # the same width, or all ids are copied
        rows = self.by_id[
            np.minimum(np.searchsorted(ids, encoded, sorter=self.by_id), len(ids) - 1)
        ]
        pairs = zip(
            possible, encoded.tolist(), ids[rows].tolist(), rows.tolist(), strict=True
        )
        return [
            (id, row)
            for id, requested, stored, row in pairs
            if stored == requested and self.alive[row]
        ]

    def scores_of(self, vector: Vector, chunk_ids: Sequence[str]) -> dict[str, float]:
        """Return the vector scores of those of the chunks that live here and have a
        vector.
        """
        places = [
            (id, row)
            for id, row in self._places(chunk_ids)
            if self.rows.has_vector[row]
        ]
        cosines = self._cosines(
            vector, np.asarray([row for _, row in places], dtype=np.int64)
        )
        return dict(zip(dict(places), map(to_score, cosines), strict=True))


@dataclass(frozen=True, slots=True)
class ChunkIndex:
    """Immutable but for the vocabulary, which only grows; a change returns a new
    index.
    """

    segments: tuple[Segment, ...] = ()
    vocabulary: dict[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return sum(map(len, self.segments))

    @property
    def approximate(self) -> int:
        """Passages of segments that have clusters."""
        return sum(len(segment) for segment in self.segments if segment.clusters)

    def term_ids(self, terms: Iterable[str]) -> list[int]:
        """Return the ids of index terms; new terms get one."""
        vocabulary = self.vocabulary
        return [vocabulary.setdefault(term, len(vocabulary)) for term in terms]

    def replace_documents(
        self, documents: set[str], rows: Rows | None, *, gone: Sequence[str] = ()
    ) -> "ChunkIndex":
        """Return the index without the documents' old rows and those ``gone``, with
        ``rows`` in a segment that takes in those of its size. So there are never many
        segments, and a row is copied a logarithmic number of times.
        """
        parts = [rows] if rows is not None else []
        size = len(rows.ids) if rows is not None else 0
        kept: list[Segment] = []
        for segment in sorted(
            (s.without_documents(documents).without(gone) for s in self.segments),
            key=len,
        ):
            if segment.live_rows <= 2 * size or segment.live_rows < (
                1 - DEAD_SHARE
            ) * len(segment):
                parts.append(segment.live())
                size += segment.live_rows
            else:
                kept.append(segment)
        merged = (Segment.build(Rows.concat(parts)),) if size else ()
        return ChunkIndex((*kept, *merged), self.vocabulary)

    def exchange(self, old: Segment, new: Segment) -> "ChunkIndex":
        """Return the index with ``new``, which has the same rows in the same order, in
        the place of ``old``.
        """
        segments = (
            replace(new, alive=s.alive, _selections={}) if s.rows is old.rows else s
            for s in self.segments
        )
        return ChunkIndex(tuple(segments), self.vocabulary)

    def vector_search(self, vector: Vector, *, top_k: int, scope: Scope) -> list[Match]:
        """``vector`` has length 1."""
        return _merge(
            (
                segment.nearest(vector, top_k=top_k, scope=scope)
                for segment in self.segments
            ),
            top_k,
        )

    def keyword_search(
        self, terms: Iterable[str], *, top_k: int, scope: Scope, bm25: Bm25
    ) -> list[Match]:
        """By BM25; then the best of them by how close together they have the words.
        Words are weighed by all rows, for a limited caller by those that it may see.
        """
        limit = scope.widest() if scope.is_limited else EVERYTHING
        numbers = [
            number
            for term in terms
            if (number := self.vocabulary.get(term)) is not None
        ]
        sizes = [segment.size(limit) for segment in self.segments]
        rows = sum(count for count, _ in sizes)
        if not numbers or not rows:
            return []
        average_length = max(sum(terms for _, terms in sizes) / rows, 1.0)
        idf = self._weights(numbers, rows, limit)
        numbers = [number for number in numbers if number in idf]
        if not numbers:
            return []
        size = max(top_k, POOL)
        best = (
            s.best_keywords(numbers, idf, average_length, size, scope, bm25)
            for s in self.segments
        )
        return self._by_proximity(_merge(best, size), idf, top_k)

    def _by_proximity(
        self, pool: Sequence[Match], idf: Mapping[int, float], top_k: int
    ) -> list[Match]:
        """Return the best of the pool by how close together they have the words."""
        ids = [match.chunk_id for match in pool]
        texts: dict[str, Ints] = {}
        for segment in self.segments:
            texts |= segment.terms_of(ids)
        scores = np.asarray([match.score for match in pool], dtype=np.float64)
        refined = with_proximity(scores, [texts[chunk_id] for chunk_id in ids], idf)
        return _merge([list(zip(refined.tolist(), ids, strict=True))], top_k)

    def _weights(
        self, numbers: Iterable[int], rows: int, limit: Scope
    ) -> dict[int, float]:
        """Return the inverse document frequency of each term among the ``rows`` inside
        the limit.
        """
        idf: dict[int, float] = {}
        for number in numbers:
            holding = sum(segment.frequency(number, limit) for segment in self.segments)
            # A word that only others have counts as one that nobody has.
            if holding or not limit:
                idf[number] = inverse_document_frequency(rows, holding)
        return idf

    def vector_scores(
        self, vector: Vector, chunk_ids: Sequence[str]
    ) -> dict[str, float]:
        """Leave out chunks that are gone or have no vector."""
        scores: dict[str, float] = {}
        for segment in self.segments:
            scores |= segment.scores_of(vector, chunk_ids)
        return scores

    def ids_of(self, documents: set[str]) -> set[str]:
        masks = (
            (segment.rows, segment.alive & segment.rows.documents.among(documents))
            for segment in self.segments
        )
        return {id.decode() for rows, mask in masks for id in rows.ids[mask].tolist()}

    def live_ids(self) -> dict[str, set[bytes]]:
        ids: dict[str, set[bytes]] = {}
        for rows, alive in (
            (segment.rows, np.flatnonzero(segment.alive)) for segment in self.segments
        ):
            codes = rows.documents.codes[alive].tolist()
            for id, code in zip(rows.ids[alive].tolist(), codes, strict=True):
                ids.setdefault(str(rows.documents.values[code]), set()).add(id)
        return ids

    def count(self, scope: Scope) -> int:
        return sum(
            int(np.count_nonzero(segment.selection(scope).mask))
            for segment in self.segments
        )


def _merge(parts: Iterable[Found], top_k: int) -> list[Match]:
    ranked = sorted((-score, chunk_id) for part in parts for score, chunk_id in part)
    return [Match(chunk_id, -negative) for negative, chunk_id in ranked[:top_k]]
