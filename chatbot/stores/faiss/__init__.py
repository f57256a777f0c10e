"""In-process search over the database's chunks: vectors compared by FAISS, keywords in
BM25 postings.

Before each search the state of the changes is read (one small document), and only the
passages of changed documents that have new ids are loaded, whichever process wrote
them. A thread does what takes longer: clusters for large segments, which are searched
exactly until then, and the snapshot, whose mapped files then replace the arrays in
memory.
"""

import logging
import threading
import time
from collections.abc import Collection as AnyOf
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace

import numpy as np

from ...database import rows as forms
from ...database.changes import IN_PLACE, PASSAGES, Changed
from ...database.core import Collection, Json
from ...domain import Chunk, Match, Scope, Vector
from .. import StoreTraits
from ..chunks import MongoChunks
from .index import ChunkIndex, Segment
from .rows import MIN_VECTOR_LENGTH, read_rows, stored_ids
from .snapshot import Key, Snapshot, one_builder, read_snapshot, write_snapshot

log = logging.getLogger(__name__)
SNAPSHOT_ROWS = 2_000
"""Rows loaded since the last snapshot that make a new one worth writing: reading so
many delays a start by some tenths of a second.
"""
COMPARE_PAUSE_FACTOR = 5.0
"""Pause between two comparisons with the database, in multiples of the time that one
takes: under a stream of foreign writes at most a sixth of the time goes into them.
"""
ID_ONLY = {"_id": 1}
MAX_IDS_PER_QUERY = 500
"""Ids of one query, so that it stays far below the 16 MB that MongoDB takes."""
MAX_CACHED_PASSAGES = 10_000
"""About 25 MB. A question reads some 70: those found, and their neighbours."""


class FaissStore(MongoChunks):
    """Exact in small scopes; filters are masks applied before the search, so a filter
    never shortens a result.
    """

    expected = "the index has {dimensions}."

    def __post_init__(self) -> None:
        super().__post_init__()
        self._snapshot = self.settings.data_dir / f"index{self.slot}"
        self._state = Snapshot(ChunkIndex())
        self._corpus = ""
        self._unsaved_rows = 0
        self._compared_at = 0.0
        self._compare_seconds = 0.0
        self._lock = threading.Lock()
        self._upkeep: threading.Thread | None = None
        self._cache: tuple[int, dict[tuple[str, str], Chunk | None]] = (-1, {})
        """Passages by collection and id, read at a number of changes of passages; None
        = there is no such passage.
        """

    def _read(
        self, chunk_ids: Sequence[str], collection: Collection
    ) -> dict[str, Chunk]:
        """Keep passages of the embedded file, which nobody else writes, until passages
        change.
        """
        if not self.database.embedded:
            return super()._read(chunk_ids, collection)
        number = self.changes.state().of(PASSAGES)
        # Taken once: another thread may exchange it at any moment.
        cached_at, passages = self._cache
        if cached_at != number or len(passages) > MAX_CACHED_PASSAGES:
            passages = {}
            self._cache = (number, passages)
        name = collection.name
        missing = [id for id in chunk_ids if (name, id) not in passages]
        if missing:
            chunks = super()._read(missing, collection)
            for id in missing:
                passages[name, id] = chunks.get(id)
        found: dict[str, Chunk] = {}
        for id in chunk_ids:
            chunk = passages.get((name, id))
            if chunk is not None:
                found[id] = chunk
        return found

    def vector_search(
        self,
        vector: Vector,
        *,
        top_k: int,
        scope: Scope,
        num_candidates: int | None = None,
    ) -> list[Match]:
        """Raises EmbedderMismatchError: the vector is of another model."""
        self.check_length(vector, "question")
        length = max(float(np.linalg.norm(vector)), MIN_VECTOR_LENGTH)
        unit = np.asarray(vector, dtype=np.float32) / length
        return self._fresh().vector_search(unit, top_k=top_k, scope=scope)

    def keyword_search(self, query: str, *, top_k: int, scope: Scope) -> list[Match]:
        return self._fresh().keyword_search(
            self.terms_of(query), top_k=top_k, scope=scope, bm25=self._bm25
        )

    def vector_scores(
        self, vector: Vector, chunk_ids: Sequence[str]
    ) -> dict[str, float]:
        if not chunk_ids:
            return {}
        return self._fresh().vector_scores(vector, chunk_ids)

    def count(self, scope: Scope) -> int:
        """Count in the index, so that deleted rows are gone at once."""
        return self._fresh().count(scope)

    def ping(self) -> str:
        """Ask only the database; the next question updates the index."""
        answer = self.database.ping()
        index = self._state.index
        return (
            f"in-process FAISS and BM25 over {answer}; {index.approximate} of "
            f"{len(index)} passages that are loaded are searched approximately"
        )

    def close(self) -> None:
        """Wait for clusters and a snapshot that are being made."""
        if self._upkeep is not None:
            self._upkeep.join()

    def _fresh(self) -> ChunkIndex:
        """Return the index as of now; writes of other programs are noticed where they
        change the marker.
        """
        # Read without the lock: searches must not queue up for a slow server, nor each
        # repeat the same update.
        if not self._is_current():
            with self._lock, ExitStack() as build_lock:
                if not self._is_current():  # else another search was faster
                    self._update(build_lock)
        return self._state.index

    def _update(self, build_lock: ExitStack) -> None:
        """Bring the index to the state of the database. ``build_lock`` takes the lock
        of a first build, and is emptied where a thread goes on with it.
        """
        if self._state.position < 0 and not self._adopt_snapshot():
            # Locked until it is written: others take it from there, which saves their
            # memory and time.
            build_lock.enter_context(one_builder(self._snapshot))
            self._adopt_snapshot()
        # The marker and the state before the rows: what is written meanwhile is seen
        # later.
        marker = self._marker()
        changed = self.changes.since(self._state.position, PASSAGES)
        # A snapshot may be of a process that is not so far behind.
        if changed.ids is None and self._adopt_snapshot():
            changed = self.changes.since(self._state.position, PASSAGES)
        if not self._follow(changed, marker):
            return
        state = changed.state
        self._state = replace(
            self._state,
            position=state.position,
            marker=marker,
            passages=state.of(PASSAGES),
            in_place=state.of(IN_PLACE),
        )
        self._start_upkeep(build_lock)

    def _start_upkeep(self, build_lock: ExitStack) -> None:
        """Let a thread make clusters and the snapshot where they are due. It holds the
        lock of a first build until then.
        """
        if self._upkeep is not None and self._upkeep.is_alive():
            return
        if self._save_is_due() or self._unclustered_segment() is not None:
            self._upkeep = threading.Thread(
                target=self._keep_up,
                args=(build_lock.pop_all(),),
                name="index upkeep",
                daemon=True,
            )
            self._upkeep.start()

    def _follow(self, changed: Changed, marker: int) -> bool:
        """Load what has changed; return False if that has to wait."""
        state = changed.state
        log_is_too_short = changed.ids is None
        rewritten = state.of(IN_PLACE) != self._state.in_place
        if self._state.position < 0 or (log_is_too_short and rewritten):
            self._load_all()
        elif changed.ids:
            self._load(changed.ids, changed.in_place)
        elif log_is_too_short or marker != self._state.marker:
            # A count that changed alone is a foreign write, or one of ours that is not
            # finished yet: under a stream of those a large collection must not be
            # walked through for every question.
            noted = state.of(PASSAGES) != self._state.passages
            pause = COMPARE_PAUSE_FACTOR * self._compare_seconds
            if not noted and time.monotonic() - self._compared_at < pause:
                return False
            self._compare()
        return True

    def _is_current(self) -> bool:
        """Return whether nothing was written since the index was read, and nothing is
        being written.
        """
        state = self.changes.state()
        indexed = self._state
        if state.is_open(PASSAGES) or state.of(PASSAGES) != indexed.passages:
            return False
        return self._marker() == indexed.marker

    def _marker(self) -> int:
        """Return a number that changes with most writes of other programs."""
        if self.database.embedded:
            return 0
        return sum(collection.estimated_count() for collection in self.collections())

    def _load_all(self) -> None:
        index = ChunkIndex()
        rows = read_rows(self, index.term_ids)
        self._state = replace(self._state, index=index.replace_documents(set(), rows))
        self._unsaved_rows += len(self._state.index)

    def _load(self, documents: AnyOf[str], in_place: AnyOf[str]) -> None:
        """Load the passages of documents whose ids are new, and all of those that
        changed ``in_place``.
        """
        for document_id in documents:
            if document_id.startswith(forms.OLDER_PREFIX):  # its rows do not name it
                self._load_all()
                return
        index = self._state.index
        compared = set(documents) - set(in_place)
        stored: dict[str, object] = {}
        for document_id in sorted(compared):
            # One query for each: only equality uses the index on every database.
            for collection in self.collections():
                for row in collection.find(self._of_document(document_id), ID_ONLY):
                    stored[forms.id_text(row["_id"])] = row["_id"]
        indexed = index.ids_of(compared)
        new = [stored[id] for id in stored.keys() - indexed]
        queries: list[Json] = [
            {"_id": {"$in": new[start : start + MAX_IDS_PER_QUERY]}}
            for start in range(0, len(new), MAX_IDS_PER_QUERY)
        ]
        queries.extend(
            self._of_document(document_id) for document_id in sorted(in_place)
        )
        rows = read_rows(self, index.term_ids, queries)
        gone = list(indexed - stored.keys())
        index = index.replace_documents(set(in_place), rows, gone=gone)
        self._state = replace(self._state, index=index)
        if rows is not None:
            self._unsaved_rows += len(rows.ids)

    def _of_document(self, document_id: str) -> Json:
        return forms.of_document(document_id, embedded=self.database.embedded)

    def _compare(self) -> None:
        """Load the documents whose passages have other ids than the index; an id
        changes with its passage.
        """
        started = time.monotonic()
        indexed = self._state.index.live_ids()
        stored = stored_ids(self.collections())
        changed = {
            document_id
            for document_id in indexed.keys() | stored.keys()
            if indexed.get(document_id) != stored.get(document_id)
        }
        self._load(changed, in_place=())
        self._compared_at = time.monotonic()
        self._compare_seconds = self._compared_at - started

    def _adopt_snapshot(self) -> bool:
        """Use the snapshot, if there is one that is newer than this index."""
        self._corpus = self.changes.corpus_id()
        snapshot = read_snapshot(self._snapshot, self._key())
        if snapshot is None or snapshot.position <= self._state.position:
            return False
        self._state = snapshot
        self._unsaved_rows = 0
        return True

    def _save_is_due(self) -> bool:
        return self._unsaved_rows >= SNAPSHOT_ROWS

    def _unclustered_segment(self) -> Segment | None:
        for segment in self._state.index.segments:
            if segment.awaits_clusters:
                return segment
        return None

    def _keep_up(self, build_lock: ExitStack) -> None:
        """Make clusters and the snapshot where they are due, beside the searches;
        ``build_lock`` is released at the end.
        """
        with build_lock:
            segment = self._unclustered_segment()
            while segment is not None:
                clustered = segment.clustered()
                self._exchange(segment, clustered)
                method = "exactly"
                if clustered.clusters:
                    share = clustered.clusters.share
                    method = f"approximately ({share:.0%} of a scope)"
                log.info(
                    "%d passages are searched %s from now on.", len(segment), method
                )
                segment = self._unclustered_segment()
            self._save()

    def _save(self) -> None:
        """Write a snapshot where one is due, and search its mapped files."""
        with self._lock:
            if not self._save_is_due():
                return
            # The vocabulary grows while this is written.
            index = self._state.index
            index = replace(index, vocabulary=dict(index.vocabulary))
            snapshot = replace(self._state, index=index)
            self._unsaved_rows = 0
        try:
            written = write_snapshot(self._snapshot, self._key(), snapshot)
        except OSError as error:
            log.warning(
                "The index snapshot %s cannot be written (%s): the next start takes "
                "longer.",
                self._snapshot,
                error,
            )
            return
        for segment, mapped in zip(index.segments, written, strict=True):
            self._exchange(segment, mapped)

    def _exchange(self, old: Segment, new: Segment) -> None:
        """Replace a segment; what was deleted meanwhile stays deleted."""
        with self._lock:
            index = self._state.index.exchange(old, new)
            self._state = replace(self._state, index=index)

    def _key(self) -> Key:
        return (
            self._corpus,
            self._names,
            self.fields,
            self.embedding_field,
            self.dimensions,
            self.settings.language,
        )


TRAITS = StoreTraits()
build = FaissStore
