"""In-process search over the database's chunks: exact vectors in FAISS, keywords in BM25 postings.

The index is derived: the database stays the truth. Before each search the change log is read (one small
document), and only the documents that changed are loaded again, whoever changed them.
"""

from __future__ import annotations

import heapq
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..database import Database, Json, decode_vector
from ..errors import EmbedderMismatchError
from ..protocols import ChangeLog
from ..schema import Match, Scope, Vector
from ..settings import Settings
from ..text import analyzer
from .chunks import EMBEDDING_FIELD, TEXT_FIELD, MongoChunks
from .postings import WeightedTerm, inverse_document_frequency
from .segment import Rows, Segment

DEAD_SHARE = 0.2
"""A segment with more deleted rows than this is rewritten."""


class FaissStore(MongoChunks):
    """Exact search; filters are masks applied before the search, so a filter never shortens a result."""

    def __init__(
        self,
        *,
        database: Database,
        changes: ChangeLog,
        collections: Sequence[str],
        filter_fields: Iterable[str],
        dimensions: int,
        language: str,
    ) -> None:
        super().__init__(database, changes, collections=collections, filter_fields=filter_fields)
        self._dimensions = dimensions
        self._terms_of = analyzer(language).terms
        self._vocabulary: dict[str, int] = {}
        self._segments: tuple[Segment, ...] = ()
        self._position = -1
        self._rows_in_database = -1
        self._lock = threading.Lock()

    def vector_search(self, vector: Vector, *, top_k: int, scope: Scope) -> list[Match]:
        self._check_dimensions(len(vector), "the question")
        unit = np.asarray(vector, dtype=np.float32) / max(float(np.linalg.norm(vector)), 1e-12)
        found = (segment.nearest(unit, top_k=top_k, scope=scope) for segment in self._fresh_segments())
        return _merge(found, top_k)

    def keyword_search(self, query: str, *, top_k: int, scope: Scope) -> list[Match]:
        segments = self._fresh_segments()
        rows = sum(len(segment) for segment in segments)
        terms = [term for word in self._terms_of(query) if (term := self._vocabulary.get(word)) is not None]
        if not rows or not terms:
            return []
        average_length = max(sum(int(segment.lengths.sum()) for segment in segments) / rows, 1.0)
        weighted = [
            WeightedTerm(
                term, inverse_document_frequency(rows, sum(s.postings.document_frequency(term) for s in segments))
            )
            for term in terms
        ]
        found = (
            segment.best_keywords(weighted, average_length=average_length, top_k=top_k, scope=scope)
            for segment in segments
        )
        return _merge(found, top_k)

    def vector_scores(self, vector: Vector, chunk_ids: Sequence[str]) -> dict[str, float]:
        scores: dict[str, float] = {}
        for segment in self._fresh_segments() if chunk_ids else ():
            scores.update(segment.scores_of(vector, chunk_ids))
        return scores

    def count(self, scope: Scope) -> int:
        return sum(int(segment.mask(scope).sum()) for segment in self._fresh_segments())

    def ping(self) -> str:
        """Asks the database only: bringing the index up to date is left to the next question."""
        rows = sum(collection.estimated_count() for collection in self._collections())
        return f"in-process FAISS and BM25, {rows} passages in the database"

    def _fresh_segments(self) -> tuple[Segment, ...]:
        """The index as of now: follows the change log, and foreign writes as far as counts betray them."""
        with self._lock:
            rows_in_database = sum(collection.estimated_count() for collection in self._collections())
            if rows_in_database == self._rows_in_database and self._position == self._changes.position():
                return self._segments
            position, changed = self._changes.since(self._position)
            if self._position < 0 or changed is None or (not changed and rows_in_database != self._rows_in_database):
                self._segments = self._merged([], self._load({}))
            elif changed:
                kept = [segment.without_documents(changed) for segment in self._segments]
                rows = [part for document_id in sorted(changed) if (part := self._load({"document_id": document_id}))]
                self._segments = self._merged(kept, Rows.concat(rows) if rows else None)
            self._position, self._rows_in_database = position, rows_in_database
            return self._segments

    def _merged(self, segments: list[Segment], rows: Rows | None) -> tuple[Segment, ...]:
        """Add rows as a segment, folding in segments of their size and those with many deleted rows."""
        parts = [rows] if rows is not None else []
        kept: list[Segment] = []
        size = len(rows.ids) if rows is not None else 0
        for segment in sorted(segments, key=len):
            if segment.live_rows <= 2 * size or segment.live_rows < (1 - DEAD_SHARE) * len(segment):
                parts.append(segment.rows())
                size += segment.live_rows
            else:
                kept.append(segment)
        return (*kept, Segment.build(Rows.concat(parts))) if size else tuple(kept)

    def _load(self, filter: Json) -> Rows | None:
        """Read chunks from the database; None when there are none."""
        ids: list[str] = []
        document_ids: list[str] = []
        values: dict[str, list[Any]] = {name: [] for name in self._fields}
        vectors: list[Vector] = []
        terms: list[list[int]] = []
        for collection in self._collections():
            for row in collection.find(filter):
                ids.append(str(row["_id"]))
                document_ids.append(str(row.get("document_id") or ""))
                for name, column in values.items():
                    column.append(row.get(name))
                vectors.append(self._vector(row))
                terms.append(self._term_ids(row))
        if not ids:
            return None
        rows = Rows(
            np.asarray(ids, dtype=object),
            np.asarray(document_ids, dtype=object),
            {name: np.asarray(column, dtype=object) for name, column in values.items()},
            np.vstack(vectors),
            np.asarray([term for row_terms in terms for term in row_terms], dtype=np.int32),
            np.asarray([len(row_terms) for row_terms in terms], dtype=np.int32),
        )
        return Rows.concat([rows])

    def _vector(self, row: Mapping[str, Any]) -> Vector:
        stored = row.get(EMBEDDING_FIELD)
        if stored is None:
            return np.zeros(self._dimensions, dtype=np.float32)
        vector = decode_vector(stored)
        self._check_dimensions(len(vector), f"the stored passage {row['_id']}")
        return np.asarray(vector / max(float(np.linalg.norm(vector)), 1e-12), dtype=np.float32)

    def _term_ids(self, row: Mapping[str, Any]) -> list[int]:
        text = "\n".join(str(row.get(name) or "") for name in ("report_title", "document_title", TEXT_FIELD))
        vocabulary = self._vocabulary
        return [vocabulary.setdefault(term, len(vocabulary)) for term in self._terms_of(text)]

    def _check_dimensions(self, found: int, whose: str) -> None:
        if found != self._dimensions:
            raise EmbedderMismatchError(
                f"The embedding of {whose} has {found} dimensions, the configured model has {self._dimensions}. "
                "The collection was written with another embedding model: use that model, or embed the reports again."
            )


def _merge(found: Iterable[list[tuple[float, str]]], top_k: int) -> list[Match]:
    ranked = ((-score, chunk_id) for part in found for score, chunk_id in part)
    return [Match(chunk_id, -negative) for negative, chunk_id in heapq.nsmallest(top_k, ranked)]


def build(*, settings: Settings, database: Database, changes: ChangeLog, dimensions: int) -> FaissStore:
    return FaissStore(
        database=database,
        changes=changes,
        collections=(settings.mongodb_collection, settings.report_collection),
        filter_fields=settings.filter_fields,
        dimensions=dimensions,
        language=settings.language,
    )
