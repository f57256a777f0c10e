"""In-process search over the database's chunks: exact vectors in FAISS, keywords in BM25 postings.

The index is derived: the database stays the truth. Before each search the change log is read (one small
document), and only the documents that changed are loaded again, whoever changed them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

import numpy as np

from ...database.core import Database
from ...errors import EmbedderMismatchError
from ...protocols import ChangeLog
from ...schema import Match, Scope, Vector
from ...settings import Settings
from ...text import analyzer
from .. import StoreTraits
from ..chunks import MongoChunks
from ..keywords import Bm25
from .index import ChunkIndex
from .rows import RowReader
from .snapshot import Snapshot, SnapshotKey, read_snapshot, write_snapshot

SNAPSHOT_ROWS = 2_000
"""Rows loaded since the last snapshot that make a new one worth writing."""


RELOAD_PAUSE = 5.0
"""Pause between two full reloads, in multiples of what one takes."""


class FaissStore(MongoChunks):
    """Exact search; filters are masks applied before the search, so a filter never shortens a result."""

    def __init__(
        self, *, settings: Settings, database: Database, changes: ChangeLog, dimensions: int, slot: str = ""
    ) -> None:
        super().__init__(settings=settings, database=database, changes=changes, dimensions=dimensions, slot=slot)
        self._language = settings.language
        self._bm25 = Bm25(settings.bm25_k1, settings.bm25_b)
        self._snapshot = settings.data_dir / f"index{slot}.npz"
        self._index = ChunkIndex()
        self._position = -1
        self._marker = -1
        self._unsaved_rows = 0
        self._reloaded_at = self._reload_seconds = 0.0
        self._lock = threading.Lock()
        self._saving: threading.Thread | None = None

    def vector_search(self, vector: Vector, *, top_k: int, scope: Scope) -> list[Match]:
        """Raises EmbedderMismatchError: the vector is of another model."""
        if len(vector) != self._dimensions:
            raise EmbedderMismatchError(
                f"The embedding of the question has {len(vector)} dimensions, the index has {self._dimensions}."
            )
        unit = np.asarray(vector, dtype=np.float32) / max(float(np.linalg.norm(vector)), 1e-12)
        return self._fresh().vector_search(unit, top_k=top_k, scope=scope)

    def keyword_search(self, query: str, *, top_k: int, scope: Scope) -> list[Match]:
        """BM25 and proximity (`keywords`)."""
        terms = analyzer(self._language).terms(query)
        return self._fresh().keyword_search(terms, top_k=top_k, scope=scope, bm25=self._bm25)

    def vector_scores(self, vector: Vector, chunk_ids: Sequence[str]) -> dict[str, float]:
        """(1 + cosine) / 2 by chunk id."""
        return self._fresh().vector_scores(vector, chunk_ids) if chunk_ids else {}

    def count(self, scope: Scope) -> int:
        """From the index, so that deleted rows are gone at once."""
        return self._fresh().count(scope)

    def ping(self) -> str:
        """Asks the database only: bringing the index up to date is left to the next question."""
        rows = sum(collection.estimated_count() for collection in self._collections())
        return f"in-process FAISS and BM25, {rows} passages in the database"

    def close(self) -> None:
        """Waits for a snapshot that is being written."""
        if self._saving is not None:
            self._saving.join()

    def _fresh(self) -> ChunkIndex:
        """The index as of now: follows the change log, and foreign writes as far as their marker betrays them."""
        # Looked up without the lock: searches must not queue up for a slow server, nor each follow what one has.
        marker, position = self._read_marker(), self._changes.position()
        if (marker, position) == (self._marker, self._position):
            return self._index
        with self._lock:
            marker, position = self._read_marker(), self._changes.position()
            if (marker, position) == (self._marker, self._position):
                return self._index  # another search was faster
            if self._position < 0 and (found := read_snapshot(self._snapshot, self._key())) is not None:
                self._index = ChunkIndex(found.segments, found.vocabulary)
                self._position, self._marker = found.position, found.marker
            position, changed = self._changes.since(self._position)
            if self._position < 0 or changed is None:
                self._reload()
            elif changed:
                rows = self._reader(self._index).read(self._collections(), sorted(changed))
                self._index = self._index.replace_documents(changed, rows)
                self._unsaved_rows += len(rows.ids) if rows is not None else 0
            elif marker != self._marker:
                # A count that changed without the log is a foreign write, or one of ours that is not logged yet:
                # under a stream of those a large index must not be read again for every question.
                if time.monotonic() - self._reloaded_at < RELOAD_PAUSE * self._reload_seconds:
                    return self._index
                self._reload()
            self._position, self._marker = position, marker
            self._save_when_due()
            return self._index

    def _read_marker(self) -> int:
        return sum(collection.write_marker() for collection in self._collections())

    def _reload(self) -> None:
        started = time.monotonic()
        index = ChunkIndex()
        self._index = index.replace_documents(set(), self._reader(index).read(self._collections()))
        self._unsaved_rows += len(self._index)
        self._reloaded_at = time.monotonic()
        self._reload_seconds = self._reloaded_at - started

    def _reader(self, index: ChunkIndex) -> RowReader:
        return RowReader(
            fields=self._fields,
            embedding_field=self._embedding_field,
            dimensions=self._dimensions,
            terms_of=analyzer(self._language).terms,
            term_ids=index.term_ids,
        )

    def _save_when_due(self) -> None:
        """Write a snapshot beside the searches; at most one at a time."""
        index, saving = self._index, self._saving is not None and self._saving.is_alive()
        if saving or self._unsaved_rows < max(SNAPSHOT_ROWS, len(index) // 10):
            return
        snapshot = Snapshot(self._position, self._marker, dict(index.vocabulary), index.segments)
        self._unsaved_rows = 0
        arguments = (self._snapshot, self._key(), snapshot)
        self._saving = threading.Thread(target=write_snapshot, args=arguments, name="snapshot", daemon=True)
        self._saving.start()

    def _key(self) -> SnapshotKey:
        return SnapshotKey(
            corpus=self._changes.corpus_id(),
            collections=self._names,
            fields=self._fields,
            embedding_field=self._embedding_field,
            dimensions=self._dimensions,
            language=self._language,
        )


TRAITS = StoreTraits()


build = FaissStore
