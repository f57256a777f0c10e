"""In-process search over the database's chunks: exact vectors in FAISS, keywords in BM25 postings.

The index is derived: the database stays the truth. Before each search the change log is read (one small
document), and only the documents that changed are loaded again, whoever changed them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from ..database import Database
from ..errors import EmbedderMismatchError
from ..protocols import ChangeLog
from ..schema import Match, Scope, Vector
from ..settings import Settings
from ..text import analyzer
from .chunks import EMBEDDING_FIELD, MongoChunks
from .index import ChunkIndex
from .reading import RowReader
from .snapshot import Snapshot, SnapshotKey, read_snapshot, write_snapshot

SNAPSHOT_ROWS = 2_000
"""Rows loaded since the last snapshot that make a new one worth writing."""


RELOAD_PAUSE = 5.0
"""Pause between two full reloads, in multiples of what one takes."""


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
        embedding_field: str = EMBEDDING_FIELD,
        snapshot: Path | None = None,
    ) -> None:
        super().__init__(
            database, changes, collections=collections, filter_fields=filter_fields, embedding_field=embedding_field
        )
        self._dimensions = dimensions
        self._language = language
        self._snapshot = snapshot
        self._index = ChunkIndex()
        self._position = -1
        self._marker = -1
        self._unsaved_rows = 0
        self._reloaded_at = self._reload_seconds = 0.0
        self._lock = threading.Lock()
        self._saving: threading.Thread | None = None

    def vector_search(self, vector: Vector, *, top_k: int, scope: Scope) -> list[Match]:
        if len(vector) != self._dimensions:
            raise EmbedderMismatchError(
                f"The embedding of the question has {len(vector)} dimensions, the index has {self._dimensions}."
            )
        unit = np.asarray(vector, dtype=np.float32) / max(float(np.linalg.norm(vector)), 1e-12)
        return self._fresh().vector_search(unit, top_k=top_k, scope=scope)

    def keyword_search(self, query: str, *, top_k: int, scope: Scope) -> list[Match]:
        return self._fresh().keyword_search(analyzer(self._language).terms(query), top_k=top_k, scope=scope)

    def vector_scores(self, vector: Vector, chunk_ids: Sequence[str]) -> dict[str, float]:
        return self._fresh().vector_scores(vector, chunk_ids) if chunk_ids else {}

    def count(self, scope: Scope) -> int:
        return self._fresh().count(scope)

    def ping(self) -> str:
        """Asks the database only: bringing the index up to date is left to the next question."""
        rows = sum(collection.estimated_count() for collection in self._collections())
        return f"in-process FAISS and BM25, {rows} passages in the database"

    def close(self) -> None:
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
            if self._position < 0:
                self._start_from_snapshot()
            position, changed = self._changes.since(self._position)
            if self._position < 0 or changed is None:
                self._reload()
            elif changed:
                self._follow(changed)
            elif marker != self._marker:
                if not self._may_reload():
                    return self._index
                self._reload()
            self._position, self._marker = position, marker
            self._save_when_due()
            return self._index

    def _read_marker(self) -> int:
        return sum(collection.write_marker() for collection in self._collections())

    def _may_reload(self) -> bool:
        """A count that changed without the log is a foreign write, or one of ours that is not logged yet: under a
        stream of those a large index must not be read again for every question.
        """
        return time.monotonic() - self._reloaded_at >= RELOAD_PAUSE * self._reload_seconds

    def _reload(self) -> None:
        started = time.monotonic()
        index = ChunkIndex()
        rows = self._reader(index).read(self._collections(), {})
        self._index = index.changed(set(), rows)
        self._unsaved_rows += len(self._index)
        self._reloaded_at = time.monotonic()
        self._reload_seconds = self._reloaded_at - started

    def _follow(self, changed: set[str]) -> None:
        reader = self._reader(self._index)
        rows = reader.read_documents(self._collections(), sorted(changed))
        self._index = self._index.changed(changed, rows)
        self._unsaved_rows += len(rows.ids) if rows is not None else 0

    def _reader(self, index: ChunkIndex) -> RowReader:
        return RowReader(
            fields=self._fields,
            embedding_field=self._embedding_field,
            dimensions=self._dimensions,
            terms_of=analyzer(self._language).terms,
            term_ids=index.term_ids,
        )

    def _start_from_snapshot(self) -> None:
        if self._snapshot is None or (found := read_snapshot(self._snapshot, self._key())) is None:
            return
        self._index = ChunkIndex(found.segments, found.vocabulary)
        self._position, self._marker = found.position, found.marker

    def _save_when_due(self) -> None:
        """Write a snapshot beside the searches; at most one at a time."""
        if self._snapshot is None or self._unsaved_rows < max(SNAPSHOT_ROWS, len(self._index) // 10):
            return
        if self._saving is not None and self._saving.is_alive():
            return
        index = self._index
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


def build(
    *,
    settings: Settings,
    database: Database,
    changes: ChangeLog,
    dimensions: int,
    embedding_field: str = EMBEDDING_FIELD,
) -> FaissStore:
    return FaissStore(
        database=database,
        changes=changes,
        collections=settings.chunk_collections,
        filter_fields=settings.filter_fields,
        dimensions=dimensions,
        language=settings.language,
        embedding_field=embedding_field,
        snapshot=settings.data_dir / f"index{embedding_field.removeprefix(EMBEDDING_FIELD)}.npz",
    )
