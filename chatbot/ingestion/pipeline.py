"""load -> chunk -> embed -> store, one document at a time. Repeatable: the same again does nothing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from ..errors import ChatbotError, DependencyError, InvalidRequestError, LoadError
from ..protocols import Chunker, Embedder, Store
from ..schema import Chunk, Document, DocumentRecord

BATCH = 256
"""Passages embedded and written at a time: what a kill can lose."""


class Registrations(Protocol):
    """Where documents are registered."""

    def get(self, document_id: str) -> DocumentRecord | None: ...

    def put(self, record: DocumentRecord) -> None: ...

    def delete(self, document_id: str) -> bool: ...


@dataclass(frozen=True, slots=True)
class Ingested:
    """What became of a document."""

    document_id: str
    outcome: Literal["added", "replaced", "unchanged"]
    chunks: int


class Ingestor:
    """Writes documents into one store. ``settings_key`` = everything besides the text that shapes the chunks.

    ``require_current`` raises once the database has another embedding model than this ingestor's.
    """

    def __init__(
        self,
        *,
        store: Store,
        embedder: Embedder,
        chunker: Chunker,
        documents: Registrations,
        collections: tuple[str, str],
        settings_key: str,
        require_current: Callable[[], None] = lambda: None,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._chunker = chunker
        self._documents = documents
        self._general, self._reports = collections
        self._settings_key = settings_key
        self._require_current = require_current

    def register(self, document: Document, *, collection: str | None = None, sample: bool = False) -> bool:
        """Announce a document before its passages; False when this very version is already searchable."""
        known = self._documents.get(document.id)
        version = self.version(document)
        if known is not None and known.status == "ready" and known.version == version and not known.replacing:
            return False
        if known is None:
            self._documents.put(self._record(document, version, collection, sample))
        return True

    def ingest(
        self,
        document: Document,
        *,
        collection: str | None = None,
        sample: bool = False,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> Ingested:
        """Make a document searchable; ``progress(done, total)`` counts passages.

        Raises:
            LoadError: the document has no text; the old version, if any, stays.
            InvalidRequestError: no question searches that collection.
            DependencyError: the embedder or the database failed; the old version, if any, stays.
            EmbedderMismatchError: the database has another embedding model by now.
        """
        known = self._documents.get(document.id)
        if not self.register(document, collection=collection, sample=sample):
            assert known is not None
            return Ingested(document.id, "unchanged", known.chunks)
        version = self.version(document)
        record = self._record(document, version, collection, sample)
        chunks = self._chunker.chunk(document, version=version, collection=record.collection)
        if not chunks:
            if known is None or known.status != "ready":
                self.delete(document.id)
            raise LoadError(f"{document.name}: no text was found in it.")
        if known is not None and known.status == "ready":
            self._documents.put(replace(known, replacing=version))
        try:
            self._write(chunks, progress)
        except ChatbotError as error:
            self._undo(document, record, known, error)
            raise
        # Passages of this version, also those of an interrupted run, have these very ids: only others can be stale.
        if known is not None and (known.version != version or known.replacing):
            self._store.delete_document(document.id, keep=[chunk.id for chunk in chunks])
        self._documents.put(self._record(document, version, collection, sample, chunks=len(chunks)))
        replaced = known is not None and known.status == "ready"
        return Ingested(document.id, "replaced" if replaced else "added", len(chunks))

    def delete(self, document_id: str) -> bool:
        """Remove a document and every passage of it; False when there is no such document."""
        passages = self._store.delete_document(document_id)
        return self._documents.delete(document_id) or passages > 0

    def version(self, document: Document) -> str:
        """Changes when the text, the metadata or the chunking does."""
        parts = {
            "settings": self._settings_key,
            "title": document.title,
            "name": document.name,
            "metadata": dict(sorted(document.metadata.items())),
            "sections": [[list(section.path), section.text, section.page] for section in document.sections],
        }
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:12]

    def _write(self, chunks: list[Chunk], progress: Callable[[int, int], None]) -> None:
        for start in range(0, len(chunks), BATCH):
            batch = chunks[start : start + BATCH]
            vectors = self._embedder.embed_documents([chunk.search_text for chunk in batch])
            self._require_current()
            self._store.upsert(batch, vectors)
            progress(start + len(batch), len(chunks))
        # The model may have changed between a check and its write: then the document must not become ready.
        self._require_current()

    def _undo(
        self, document: Document, record: DocumentRecord, known: DocumentRecord | None, error: ChatbotError
    ) -> None:
        """Take back what was written: the old version is there again, or the report is marked as failed.

        Where the database itself failed this fails too, and the next ingest of the report does it.
        """
        try:
            if known is not None and known.status == "ready":
                kept = [Chunk.make_id(document.id, known.version, ordinal) for ordinal in range(known.chunks)]
                self._store.delete_document(document.id, keep=kept)
                self._documents.put(known)
            else:
                self._store.delete_document(document.id)
                self._documents.put(replace(record, status="failed", error=error.message))
        except DependencyError:
            return

    def _record(
        self, document: Document, version: str, collection: str | None, sample: bool, *, chunks: int = 0
    ) -> DocumentRecord:
        searched = (self._general, self._reports)
        if collection is not None and collection not in searched:
            message = f"{collection!r} is not searched. Valid: {', '.join(searched)}."
            raise InvalidRequestError.for_field("collection", message, searched)
        scoped = "country_name" in document.metadata or "year" in document.metadata
        return DocumentRecord(
            id=document.id,
            name=document.name,
            title=document.title,
            source=document.source,
            collection=collection or (self._reports if scoped else self._general),
            status="ready" if chunks else "pending",
            version=version,
            metadata=document.metadata,
            chunks=chunks,
            pages=document.pages,
            sample=sample,
        )
