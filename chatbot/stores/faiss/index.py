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
    MAX_REFINED_PASSAGES,
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
    RowNumbers,
    ShortVectors,
    WholeVectors,
    compared_exactly,
    faiss,
    one_thread,
)

MAX_DELETED_SHARE = 0.2
"""A segment with a larger share of deleted rows is rewritten: a fifth more memory and
time is less than what rewriting at each deletion takes.
"""
MAX_SELECTIONS = 64
"""Scopes whose rows a segment remembers; a question asks in a few."""
EVERYTHING = Scope()
APPROXIMATE_ROWS = 20_000
"""Rows of a segment in scope from which an approximate search is several times as fast
as the exact one.
"""
MAX_SINGLE_READS = 1000
"""Rows of a file, in half a millisecond; more are looked at where they are mapped."""
MAX_APPROXIMATE_SHARE = 0.1
"""Where a larger share of the scope would be compared after an approximate search, all
of it is compared at once: scanning the codes saves too little then.
"""
ScoredIds = list[tuple[float, str]]
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
    def rows(self) -> RowNumbers:
        return np.flatnonzero(self.with_vector)

    @cached_property
    def size(self) -> tuple[int, int]:
        """The number of rows and of their terms."""
        return int(np.count_nonzero(self.mask)), int(self.lengths[self.mask].sum())

    @cached_property
    def _bitmap(self) -> NDArray[np.uint8] | None:
        if len(self.rows) == len(self.with_vector):
            return None
        return np.packbits(self.with_vector, bitorder="little")

    @cached_property
    def _cluster_sizes(self) -> RowNumbers:
        assert self.clusters is not None
        return np.bincount(
            self.clusters.codes[self.with_vector], minlength=self.clusters.index.nlist
        )

    def rows_to_compare(self, vector: Vector, top_k: int) -> RowNumbers:
        """Return all of few rows, and of many those that are near by their codes."""
        if self.clusters is None or len(self.rows) < APPROXIMATE_ROWS:
            return self.rows
        count = compared_exactly(top_k)
        if count > len(self.rows) * MAX_APPROXIMATE_SHARE:
            return self.rows
        nearby = self.clusters.nearby(vector, self._bitmap, self._cluster_sizes, count)
        if len(nearby) < top_k:  # the scanned clusters hold too few rows of the scope
            return self.rows
        return nearby


@dataclass(frozen=True)
class Segment:
    """Rows that are searched together. ``alive`` is False for deleted rows; ``by_id``
    has the row numbers by id.

    ``unclustered``: clusters were tried and found too little. ``file``: the name of the
    snapshot file that holds it, "" for none; ``short`` and ``stored``: of one with many
    vectors. The selections belong to this ``alive``.
    """

    rows: Rows
    by_id: RowNumbers
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
        if bool(self.alive.all()):
            return self.rows
        return self.rows.select(self.alive)

    def without_documents(self, document_ids: set[str]) -> "Segment":
        """Return this segment with the documents' rows deleted; itself where it has
        none of them.
        """
        deleted = self.alive & self.rows.documents.among(document_ids)
        if not bool(deleted.any()):
            return self
        return replace(self, alive=self.alive & ~deleted, _selections={})

    def without(self, chunk_ids: Sequence[str]) -> "Segment":
        """Return this segment with these rows deleted; itself where it has none of
        them.
        """
        deleted = list(self._live_rows_of(chunk_ids).values())
        if not deleted:
            return self
        alive = self.alive.copy()
        alive[deleted] = False
        return replace(self, alive=alive, _selections={})

    def selection(self, scope: Scope) -> Selection:
        """Return the live rows in a scope, which is remembered for the next search."""
        selection = self._selections.get(scope)
        if selection is not None:
            return selection
        mask = self._mask(scope)
        selection = Selection(
            mask, mask & self.rows.has_vector, self.clusters, self.rows.lengths
        )
        if len(self._selections) >= MAX_SELECTIONS:
            self._selections.clear()
        self._selections[scope] = selection
        return selection

    def _mask(self, scope: Scope) -> Mask:
        mask = self.alive.copy()
        if scope.collections:
            collections = self.rows.values[COLLECTION]
            mask &= collections.where(lambda name: name in scope.collections)
        for name, condition in scope.conditions:
            column = self.rows.values.get(name)
            if column is None:  # no filter field: nothing has a value of it
                mask[:] = False
                break
            mask &= column.where(condition.matches)
        return mask

    def nearest(self, vector: Vector, *, top_k: int, scope: Scope) -> ScoredIds:
        """Ties at the cut are resolved by id, so that an exact answer is a function of
        the data.
        """
        rows = self.selection(scope).rows_to_compare(vector, top_k)
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
    ) -> ScoredIds:
        """By BM25; rows with none of the terms are left out."""
        mask = self.selection(scope).mask
        # Scoring all rows is faster than asking for each whether it is in scope. For a
        # limited caller the time would tell of rows that it may not see.
        rows_to_score = mask if scope.is_limited else None
        scores: Floats = bm25_scores(
            self.postings,
            self.rows.lengths,
            terms,
            idf,
            average_length,
            bm25,
            rows_to_score,
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
        rows: RowNumbers,
        top_k: int,
        convert: Callable[[float], float],
    ) -> ScoredIds:
        """Return the best of these rows; ``convert`` makes a score of each number."""
        if len(rows) > top_k:
            # All that tie with the last one stay, as the order of ties is by id.
            is_candidate = scores >= np.partition(scores, -top_k)[-top_k]
            scores = scores[is_candidate]
            rows = rows[is_candidate]
        ids = self.rows.ids[rows].tolist()
        ranked = sorted(zip((-scores).tolist(), ids, strict=True))
        return [
            (convert(-negative), chunk_id.decode())
            for negative, chunk_id in ranked[:top_k]
        ]

    def _cosines(self, vector: Vector, rows: RowNumbers) -> Floats:
        """Computed in place: rows are not copied together. Few rows of a file are read
        instead of mapped.
        """
        vectors = self.rows.vectors
        if self.stored is not None and len(rows) <= MAX_SINGLE_READS:
            vectors = self.stored.read(rows)
            rows = np.arange(len(rows))
        cosines = np.empty(len(rows), dtype=np.float32)
        vector = np.ascontiguousarray(vector, dtype=np.float32)
        with one_thread():
            faiss.fvec_inner_products_by_idx(
                faiss.swig_ptr(cosines),
                faiss.swig_ptr(vector),
                faiss.swig_ptr(vectors),
                faiss.swig_ptr(rows),
                len(vector),
                1,
                len(rows),
            )
        return cosines

    def terms_of(self, chunk_ids: Sequence[str]) -> dict[str, Ints]:
        """Return the term ids, in text order, of those of the chunks that live here."""
        ends = self._ends
        lengths = self.rows.lengths
        return {
            chunk_id: self.rows.terms[ends[row] - lengths[row] : ends[row]]
            for chunk_id, row in self._live_rows_of(chunk_ids).items()
        }

    @cached_property
    def _ends(self) -> NDArray[np.int64]:
        return np.cumsum(self.rows.lengths, dtype=np.int64)

    def _live_rows_of(self, chunk_ids: Sequence[str]) -> dict[str, int]:
        """Return the rows of those of the chunks that live here, by id."""
        ids = self.rows.ids
        # Longer ids than any that is stored would be cut to the width of the array.
        encoded = [id.encode() for id in chunk_ids if len(id.encode()) <= ids.itemsize]
        if not len(ids) or not encoded:
            return {}
        # Of the same width, or searchsorted copies all ids.
        searched = np.asarray(encoded, ids.dtype)
        positions = np.searchsorted(ids, searched, sorter=self.by_id)
        rows = self.by_id[np.minimum(positions, len(ids) - 1)]
        matches = (ids[rows] == searched) & self.alive[rows]
        return {
            chunk_id.decode(): row
            for chunk_id, row, matches_row in zip(
                encoded, rows.tolist(), matches.tolist(), strict=True
            )
            if matches_row
        }

    def scores_of(self, vector: Vector, chunk_ids: Sequence[str]) -> dict[str, float]:
        """Return the vector scores of those of the chunks that live here and have a
        vector.
        """
        rows_by_id = {
            chunk_id: row
            for chunk_id, row in self._live_rows_of(chunk_ids).items()
            if self.rows.has_vector[row]
        }
        rows = np.asarray(list(rows_by_id.values()), dtype=np.int64)
        cosines = self._cosines(vector, rows)
        return {
            chunk_id: to_score(cosine)
            for chunk_id, cosine in zip(rows_by_id, cosines, strict=True)
        }


@dataclass(frozen=True, slots=True)
class ChunkIndex:
    """Immutable but for the vocabulary, which only grows; a change returns a new
    index.
    """

    segments: tuple[Segment, ...] = ()
    vocabulary: dict[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return sum(len(segment) for segment in self.segments)

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
        to_merge: list[Rows] = []
        merged_rows = 0
        if rows is not None:
            to_merge.append(rows)
            merged_rows = len(rows.ids)
        left = [
            segment.without_documents(documents).without(gone)
            for segment in self.segments
        ]
        segments: list[Segment] = []
        for segment in sorted(left, key=len):
            live_rows = segment.live_rows
            of_its_size = live_rows <= 2 * merged_rows
            if of_its_size or live_rows < (1 - MAX_DELETED_SHARE) * len(segment):
                to_merge.append(segment.live())
                merged_rows += live_rows
            else:
                segments.append(segment)
        if merged_rows:
            segments.append(Segment.build(Rows.concat(to_merge)))
        return ChunkIndex(tuple(segments), self.vocabulary)

    def exchange(self, old: Segment, new: Segment) -> "ChunkIndex":
        """Return the index with ``new``, which has the same rows in the same order, in
        the place of ``old``.
        """
        segments = list(self.segments)
        for index, segment in enumerate(segments):
            if segment.rows is old.rows:
                segments[index] = replace(new, alive=segment.alive, _selections={})
        return ChunkIndex(tuple(segments), self.vocabulary)

    def vector_search(self, vector: Vector, *, top_k: int, scope: Scope) -> list[Match]:
        """``vector`` has length 1."""
        scored: ScoredIds = []
        for segment in self.segments:
            scored += segment.nearest(vector, top_k=top_k, scope=scope)
        return _ranked(scored, top_k)

    def keyword_search(
        self, terms: Iterable[str], *, top_k: int, scope: Scope, bm25: Bm25
    ) -> list[Match]:
        """By BM25; then the best of them by how close together they have the words.
        Words are weighed by all rows, for a limited caller by those that it may see.
        """
        limit = scope.widest() if scope.is_limited else EVERYTHING
        numbers = [self.vocabulary[term] for term in terms if term in self.vocabulary]
        sizes = [segment.size(limit) for segment in self.segments]
        rows = sum(count for count, _ in sizes)
        if not numbers or not rows:
            return []
        average_length = max(sum(terms for _, terms in sizes) / rows, 1.0)
        idf = self._weights(numbers, rows, limit)
        numbers = [number for number in numbers if number in idf]
        if not numbers:
            return []
        count = max(top_k, MAX_REFINED_PASSAGES)
        scored: ScoredIds = []
        for segment in self.segments:
            scored += segment.best_keywords(
                numbers, idf, average_length, count, scope, bm25
            )
        return self._by_proximity(_ranked(scored, count), idf, top_k)

    def _by_proximity(
        self, matches: Sequence[Match], idf: Mapping[int, float], top_k: int
    ) -> list[Match]:
        """Return the best matches by how close together they have the words."""
        ids = [match.chunk_id for match in matches]
        texts: dict[str, Ints] = {}
        for segment in self.segments:
            texts |= segment.terms_of(ids)
        scores = np.asarray([match.score for match in matches], dtype=np.float64)
        refined = with_proximity(scores, [texts[chunk_id] for chunk_id in ids], idf)
        return _ranked(zip(refined.tolist(), ids, strict=True), top_k)

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
        """Return the ids of the live passages of these documents."""
        ids: set[str] = set()
        for segment in self.segments:
            mask = segment.alive & segment.rows.documents.among(documents)
            ids.update(id.decode() for id in segment.rows.ids[mask].tolist())
        return ids

    def live_ids(self) -> dict[str, set[bytes]]:
        """Return the ids of the live passages by document."""
        ids: dict[str, set[bytes]] = {}
        for segment in self.segments:
            alive = np.flatnonzero(segment.alive)
            documents = segment.rows.documents
            codes = documents.codes[alive].tolist()
            for id, code in zip(segment.rows.ids[alive].tolist(), codes, strict=True):
                ids.setdefault(str(documents.values[code]), set()).add(id)
        return ids

    def count(self, scope: Scope) -> int:
        masks = (segment.selection(scope).mask for segment in self.segments)
        return sum(int(np.count_nonzero(mask)) for mask in masks)


def _ranked(scored: Iterable[tuple[float, str]], top_k: int) -> list[Match]:
    """Return the best of some scored ids, ties by id."""
    ranked = sorted((-score, chunk_id) for score, chunk_id in scored)
    return [Match(chunk_id, -negative) for negative, chunk_id in ranked[:top_k]]
