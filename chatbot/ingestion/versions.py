"""Writing a version of a document beside the one that is shown, and showing it in one step.

Questions see the version that the registered report names (`DocumentRecord.visible_version`), whatever else is there.
What a kill leaves behind is never seen, and its vectors are used again by the next try.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from ..errors import CancelledError, ChatbotError, DependencyError, LoadError, StoppedError
from ..protocols import Embedder, Store
from ..schema import Chunk, DocumentRecord, Matrix, Part, Vector
from .watch import Patience, Watch

BATCH = 256
"""Passages embedded and written at a time: what a kill can lose."""


class Registrations(Protocol):
    """Where documents are registered."""

    def get(self, document_id: str) -> DocumentRecord | None: ...

    def put(self, record: DocumentRecord) -> None: ...

    def delete(self, document_id: str) -> bool: ...


class VersionWriter:
    """Replaces what the store has of a document. ``require_current`` raises once the database has another embedder."""

    def __init__(
        self,
        *,
        store: Store,
        embedder: Embedder,
        documents: Registrations,
        require_current: Callable[[], None],
        patience: Patience,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._documents = documents
        self._require_current = require_current
        self._patience = patience

    def write(
        self,
        record: DocumentRecord,
        known: DocumentRecord | None,
        chunks: Sequence[Chunk],
        watch: Watch,
    ) -> None:
        """Make ``chunks`` the document's passages. ``known`` is what was registered before, if anything.

        Raises:
            DependencyError, EmbedderMismatchError, CancelledError: what was shown before is shown still.
        """
        try:
            self._require_wanted(record)
            if known is not None and known.status == "ready":
                self._documents.put(replace(known, replacing=record.version))
            self._store_all(record, chunks, again=known is not None, watch=watch)
        except ChatbotError as error:
            self.undo(record, known, error)
            raise
        self._show(replace(record, status="ready", chunks=len(chunks), several=_parts(chunks, record)), known, chunks)

    def _store_all(self, record: DocumentRecord, chunks: Sequence[Chunk], *, again: bool, watch: Watch) -> None:
        """Embed and store what is not stored yet. ``again``: some of it may be, from this or another version."""
        there, vectors = self._store.stored(record.id) if again else ([], np.empty((0, 0), np.float32))
        written = {chunk.id: chunk for chunk in there}
        reusable = {chunk.search_text: vector for chunk, vector in zip(there, vectors, strict=True)}
        for start in range(0, len(chunks), BATCH):
            batch = [chunk for chunk in chunks[start : start + BATCH] if written.get(chunk.id) != chunk]
            if batch:
                matrix = self._embed(batch, reusable, watch)
                self._require_current()
                self._store.upsert(batch, matrix)
            watch.progress(min(start + BATCH, len(chunks)), len(chunks))
        # What may have changed between a check and its write: then the document must not become ready.
        watch.check()
        self._require_wanted(record)
        self._require_current()

    def _embed(self, batch: Sequence[Chunk], reusable: Mapping[str, Vector], watch: Watch) -> Matrix:
        texts = [chunk.search_text for chunk in batch]
        new = list(dict.fromkeys(text for text in texts if text not in reusable))
        made: dict[str, Vector] = {}
        if new:
            vectors = self._patience.run(lambda: self._embedder.embed_documents(new), watch)
            made = dict(zip(new, vectors, strict=True))
        watch.check()
        return np.stack([made[text] if text in made else reusable[text] for text in texts])

    def _show(self, shown: DocumentRecord, known: DocumentRecord | None, chunks: Sequence[Chunk]) -> None:
        """The step in which questions see the new version; then the old one is removed."""
        if known is not None and (known.version != shown.version or known.replacing):
            self._documents.put(replace(shown, replacing=known.version))
            self._store.delete_document(shown.id, keep=[chunk.id for chunk in chunks])
        self._documents.put(shown)

    def _require_wanted(self, record: DocumentRecord) -> None:
        if self._deleted(record.id):
            raise CancelledError(f"{record.title} was deleted while it was read.")

    def _deleted(self, document_id: str) -> bool:
        found = self._documents.get(document_id)
        return found is None or found.status == "deleting"

    def undo(self, record: DocumentRecord, known: DocumentRecord | None, error: ChatbotError) -> None:
        """Take back what was written: the old version is there again; a new report is marked as failed where trying
        again may help, else forgotten.

        Where the database itself failed this fails too, and the next ingest of the report does it.
        """
        if isinstance(error, StoppedError):
            return
        try:
            if self._deleted(record.id):
                self.delete(record.id)
            elif known is not None and known.status == "ready":
                # By their ids, not by what is found: this model's vectors may be gone, the passages must not.
                self._store.delete_document(record.id, keep=known.chunk_ids())
                self._documents.put(replace(known, replacing=""))
            elif isinstance(error, (LoadError, CancelledError)):
                self.delete(record.id)
            else:
                self._store.delete_document(record.id)
                self._documents.put(replace(record, status="failed", error=error.message))
        except DependencyError:
            return

    def delete(self, document_id: str) -> bool:
        """Remove a document and every passage of it; False when there is no such document.

        Questions see nothing of it from the first step on; broken off, it is finished by calling this again.
        """
        known = self._documents.get(document_id)
        if known is not None and known.version:
            self._documents.put(replace(known, status="deleting"))
        passages = self._store.delete_document(document_id)
        return self._documents.delete(document_id) or passages > 0


def _parts(chunks: Sequence[Chunk], record: DocumentRecord) -> tuple[Part, ...]:
    """Passages counted by metadata; none where all have the document's."""
    counts = Counter(tuple(sorted(chunk.metadata.items())) for chunk in chunks)
    parts = tuple(Part(dict(metadata), count) for metadata, count in sorted(counts.items(), key=str))
    return () if [part.metadata for part in parts] == [record.metadata] else parts
