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
from .rows import read_rows, stored_ids
from .snapshot import Key, Snapshot, only_one, read_snapshot, write_snapshot

log = logging.getLogger(__name__)
SNAPSHOT_ROWS = 2_000
"""Rows loaded since the last snapshot that make a new one worth writing."""
RELOAD_PAUSE = 5.0
"""Pause between two comparisons with the database, in multiples of the time that one
takes.
"""
ID_ONLY, READ_AT_ONCE = {"_id": 1}, 500
MAX_KEPT_PASSAGES = 10_000
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
        self._compared_at = self._compare_seconds = 0.0
        self._lock = threading.Lock()
        self._upkeep: threading.Thread | None = None
        self._kept: tuple[int, dict[tuple[str, str], Chunk | None]] = (-1, {})
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
        number, kept, name = (
            self.changes.state().of(PASSAGES),
            self._kept,
            collection.name,
        )
        if kept[0] != number or len(kept[1]) > MAX_KEPT_PASSAGES:
            kept = self._kept = (number, {})
        passages = kept[1]
        if missing := [id for id in chunk_ids if (name, id) not in passages]:
            chunks = super()._read(missing, collection)
            for id in missing:
                passages[name, id] = chunks.get(id)
        return {
            id: chunk
            for id in chunk_ids
            if (chunk := passages.get((name, id))) is not None
        }

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
        unit = np.asarray(vector, dtype=np.float32) / max(
            float(np.linalg.norm(vector)), 1e-12
        )
        return self._fresh().vector_search(unit, top_k=top_k, scope=scope)

    def keyword_search(self, query: str, *, top_k: int, scope: Scope) -> list[Match]:
        return self._fresh().keyword_search(
            self.terms_of(query), top_k=top_k, scope=scope, bm25=self._bm25
        )

    def vector_scores(
        self, vector: Vector, chunk_ids: Sequence[str]
    ) -> dict[str, float]:
        return self._fresh().vector_scores(vector, chunk_ids) if chunk_ids else {}

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
        if self._is_current():
            return self._state.index
        with self._lock, ExitStack() as turn:
            if self._is_current():
                return self._state.index  # another search was faster
            if self._state.position < 0 and not self._adopt_snapshot():
                # Locked until it is written: others take it from there, which saves
                # their memory and time.
                turn.enter_context(only_one(self._snapshot))
                self._adopt_snapshot()
            # The marker and the state before the rows: what is written meanwhile is
            # seen later.
            marker = self._marker()
            changed = self.changes.since(self._state.position, PASSAGES)
            if (
                changed.ids is None and self._adopt_snapshot()
            ):  # of a process that is not so far behind
                changed = self.changes.since(self._state.position, PASSAGES)
            if not self._follow(changed, marker):
                return self._state.index
            state = changed.state
            self._state = replace(
                self._state,
                position=state.position,
                marker=marker,
                passages=state.of(PASSAGES),
                in_place=state.of(IN_PLACE),
            )
            running = self._upkeep is not None and self._upkeep.is_alive()
            if not running and (
                self._save_is_due()
                or any(s.awaits_clusters for s in self._state.index.segments)
            ):
                arguments = (turn.pop_all(),)
                self._upkeep = threading.Thread(
                    target=self._keep_up,
                    args=arguments,
                    name="index upkeep",
                    daemon=True,
                )
                self._upkeep.start()
            return self._state.index

    def _follow(self, changed: Changed, marker: int) -> bool:
        """Load what has changed; return False if that has to wait."""
        state = changed.state
        moved = state.of(PASSAGES) != self._state.passages
        unknown = changed.ids is None
        if self._state.position < 0 or (
            unknown and state.of(IN_PLACE) != self._state.in_place
        ):
            self._load_all()
        elif changed.ids:
            self._load(changed.ids, changed.in_place)
        elif unknown or marker != self._state.marker:
            # A count that changed alone is a foreign write, or one of ours that is not
            # finished yet: under a stream of those a large collection must not be
            # walked through for every question.
            since_last = time.monotonic() - self._compared_at
            if not moved and since_last < RELOAD_PAUSE * self._compare_seconds:
                return False
            self._compare()
        return True

    def _is_current(self) -> bool:
        """Return whether nothing was written since the index was read, and nothing is
        being written.
        """
        state, index = self.changes.state(), self._state
        if state.is_open(PASSAGES) or state.of(PASSAGES) != index.passages:
            return False
        return self._marker() == index.marker

    def _marker(self) -> int:
        """Return a number that changes with most writes of other programs."""
        if self.database.embedded:
            return 0
        return sum(one.estimated_count() for one in self.collections())

    def _load_all(self) -> None:
        index = ChunkIndex()
        self._state = replace(
            self._state,
            index=index.replace_documents(set(), read_rows(self, index.term_ids)),
        )
        self._unsaved_rows += len(self._state.index)

    def _load(self, documents: AnyOf[str], in_place: AnyOf[str]) -> None:
        """Load the passages of documents whose ids are new, and all of those that
        changed ``in_place``.
        """
        if any(
            document_id.startswith(forms.OLDER_PREFIX) for document_id in documents
        ):  # their rows do not name them
            self._load_all()
            return
        index = self._state.index
        compared = set(documents) - set(in_place)
        stored: dict[str, object] = {}
        for document_id in sorted(compared):
            # One query for each: only equality uses the index on every database.
            query = forms.of_document(document_id, embedded=self.database.embedded)
            for collection in self.collections():
                for row in collection.find(query, ID_ONLY):
                    stored[forms.id_text(row["_id"])] = row["_id"]
        indexed = index.ids_of(compared)
        new = [stored[id] for id in stored.keys() - indexed]
        queries: list[Json] = [
            {"_id": {"$in": new[at : at + READ_AT_ONCE]}}
            for at in range(0, len(new), READ_AT_ONCE)
        ]
        queries += [
            forms.of_document(id, embedded=self.database.embedded)
            for id in sorted(in_place)
        ]
        rows = read_rows(self, index.term_ids, queries)
        self._state = replace(
            self._state,
            index=index.replace_documents(
                set(in_place), rows, gone=list(indexed - stored.keys())
            ),
        )
        self._unsaved_rows += len(rows.ids) if rows is not None else 0

    def _compare(self) -> None:
        """Load the documents whose passages have other ids than the index; an id
        changes with its passage.
        """
        started = time.monotonic()
        indexed, stored = self._state.index.live_ids(), stored_ids(self.collections())
        self._load(
            {
                id
                for id in indexed.keys() | stored.keys()
                if indexed.get(id) != stored.get(id)
            },
            (),
        )
        self._compared_at = time.monotonic()
        self._compare_seconds = self._compared_at - started

    def _adopt_snapshot(self) -> bool:
        """Use the snapshot, if there is one that is newer than this index."""
        self._corpus = self.changes.corpus_id()
        snapshot = read_snapshot(self._snapshot, self._key())
        if snapshot is None or snapshot.position <= self._state.position:
            return False
        self._state, self._unsaved_rows = snapshot, 0
        return True

    def _save_is_due(self) -> bool:
        return self._unsaved_rows >= SNAPSHOT_ROWS

    def _keep_up(self, turn: ExitStack) -> None:
        """Make clusters and the snapshot where they are due, beside the searches;
        ``turn`` ends with it.
        """
        with turn:
            while waiting := [
                segment
                for segment in self._state.index.segments
                if segment.awaits_clusters
            ]:
                segment = waiting[0].clustered()
                self._exchange([(waiting[0], segment)])
                way = (
                    f"approximately ({segment.clusters.share:.0%} of a scope)"
                    if segment.clusters
                    else "exactly"
                )
                log.info("%d passages are searched %s from now on.", len(segment), way)
            self._save()

    def _save(self) -> None:
        with self._lock:
            index, due = self._state.index, self._save_is_due()
            snapshot = replace(
                self._state, index=replace(index, vocabulary=dict(index.vocabulary))
            )
            self._unsaved_rows = 0 if due else self._unsaved_rows
        if not due:
            return
        try:
            written = write_snapshot(self._snapshot, self._key(), snapshot)
        except OSError as error:
            log.warning(
                (
                    "The index snapshot %s cannot be written (%s): the next start "
                    "takes longer."
                ),
                self._snapshot,
                error,
            )
            return
        self._exchange(list(zip(index.segments, written, strict=True)))

    def _exchange(self, pairs: list[tuple[Segment, Segment]]) -> None:
        """Replace old by new segments; what was deleted meanwhile stays deleted."""
        with self._lock:
            for old, new in pairs:
                self._state = replace(
                    self._state, index=self._state.index.exchange(old, new)
                )

    def _key(self) -> Key:
        settings = (
            self._names,
            self.fields,
            self.embedding_field,
            self.dimensions,
            self.settings.language,
        )
        return (self._corpus, *settings)


TRAITS = StoreTraits()
build = FaissStore
