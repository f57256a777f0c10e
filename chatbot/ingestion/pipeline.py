"""register -> chunk -> embed -> store, one document at a time. Repeatable: the same again does nothing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ..errors import ChatbotError, LoadError, SupersededError
from ..grounding.reported_figures import figure_years
from ..protocols import Chunker, Embedder, Store
from ..repositories.documents import DocumentRepository
from ..schema import SUMMARY_ORDINAL, Chunk, Chunking, Document, DocumentRecord, Section, Value, lay_out
from .overrides import check_collection
from .summaries import NONE, Summary
from .versions import PATIENT, SUPERSEDED, VersionWriter
from .watch import NO_RETRIES, Retries, Watch

SUMMARY_HEADING = "Summary"
READING = "5"
"""Raise it when a file is read or its passages are made differently: then every known file is read again; what is
embedded is kept where its text is."""


@dataclass(frozen=True, slots=True)
class Ingested:
    """What ingesting a document has changed, and how many chunks it has now."""

    document_id: str
    outcome: Literal["added", "replaced", "unchanged"]
    chunks: int


@dataclass(frozen=True, slots=True)
class Registration:
    """What is kept of a document besides what it holds itself; see `DocumentRecord`."""

    collection: str | None = None
    sample: bool = False
    file_id: str = ""
    fingerprint: str = ""
    overrides: Mapping[str, Any] = field(default_factory=dict)
    summary: Summary = NONE
    owner: str = ""
    upload_number: int = 0


PLAIN = Registration()


class Ingestor:
    """Writes documents into one store, cut in one way.

    ``collections``: that of what has no country and no year, that of what has, and the others that are searched.
    ``settings_key`` = everything besides the document that shapes the passages. ``require_current`` raises once the
    database has another embedding model than this ingestor's.
    """

    def __init__(
        self,
        *,
        store: Store,
        embedder: Embedder,
        chunker: Chunker,
        chunking: Chunking,
        documents: DocumentRepository,
        collections: Sequence[str],
        settings_key: str,
        require_current: Callable[[], None] = lambda: None,
        retries: Retries = NO_RETRIES,
    ) -> None:
        self.writer = VersionWriter(
            store=store, embedder=embedder, documents=documents, require_current=require_current, retries=retries
        )
        self._chunker = chunker
        self.chunking = chunking
        self._documents = documents
        self._general, self._reports, *_ = self._collections = tuple(collections)
        self.settings_key = settings_key
        self._retries = retries

    def register(self, document: Document, about: Registration = PLAIN) -> bool:
        """Announce a document before its passages; False when this very version is already searchable."""
        return self._register(self._record(document, about), self._documents.get(document.id), Watch()) is not None

    def _register(self, record: DocumentRecord, known: DocumentRecord | None, watch: Watch) -> DocumentRecord | None:
        """Return what is registered now; None where ``known`` is this very version.

        Raises:
            SupersededError: ``known`` is of a newer upload.
            CancelledError: the report was deleted after the upload.
        """
        require_newest(known, record.upload_number)
        if known is None or known.status == "deleting":
            # A deletion cancels the uploads before it removes the report, so that this sees every one before `known`.
            watch.confirm()
        if known is None:
            self._documents.put(record)
            return record
        if known.status == "ready":
            if known.version != record.version or known.replacing:
                return known
            same = replace(known, overrides=record.overrides, file_id=record.file_id, fingerprint=record.fingerprint)
            if same != known:
                self.writer.register(replace(same, upload_number=record.upload_number), known)
            elif not self._documents.note_upload(known, record.upload_number):
                self.writer.raise_changed(record)
            return None
        if (known.status, known.version) == ("pending", record.version):
            return known
        begun = replace(record, replacing=known.version)
        self.writer.register(begun, known)
        return begun

    def ingest(self, document: Document, about: Registration = PLAIN, *, watch: Watch | None = None) -> Ingested:
        """Make a document searchable.

        Raises:
            LoadError: the document has no text; the old version, if any, stays, as it does with every other error.
            InvalidRequestError: no question searches that collection.
            DependencyError: the embedder, the chat model or the database failed, also when tried again.
            EmbedderMismatchError: the database has another embedding model by now.
            CancelledError: the watch was cancelled.
        """
        watch = watch or Watch()
        known = self._documents.get(document.id)
        record = self._record(document, about)
        registered = self._register(record, known, watch)
        if registered is None:
            assert known is not None
            return Ingested(document.id, "unchanged", known.chunks)
        try:
            summary = self._retries.run(lambda: about.summary.make(document, watch.cancel), watch)
            chunks = self.cut(document, summary, record, watch)
        except ChatbotError as error:
            self.writer.undo(record, known, error)
            raise
        self.writer.write(record, known, chunks, watch, registered)
        replaced = known is not None and known.status == "ready"
        return Ingested(document.id, "replaced" if replaced else "added", len(chunks))

    def overrides(self, document_id: str) -> Mapping[str, Any]:
        """What a person has said of a document."""
        known = self._documents.get(document_id)
        return known.overrides if known else {}

    def delete(self, document_id: str, watch: Watch = PATIENT) -> bool:
        """Remove a document and every passage of it; see `VersionWriter.delete`."""
        return self.writer.delete(document_id, watch)

    def version(self, document: Document, summary: str, collection: str | None = None) -> str:
        """Changes when the text, the metadata, the chunking, the kind of summary or a chosen collection does, and
        when passages are made differently."""
        parts = {
            "reading": READING,
            "settings": self.settings_key,
            "summary": summary,
            "collection": collection,
            "title": document.title,
            "name": document.name,
            "metadata": _sorted(document.metadata),
            "labels": list(document.labels),
            "description": document.description,
            "sections": [[list(s.path), s.text, s.page, _sorted(s.metadata)] for s in document.sections],
        }
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:12]

    def cut(
        self, document: Document, summary: str, record: DocumentRecord | None = None, watch: Watch | None = None
    ) -> list[Chunk]:
        """The document's passages, its summary last; without a record their ids mean nothing.

        Raises:
            LoadError: there are none, or too many.
            CancelledError: the watch was cancelled.
        """
        watch = watch or Watch()

        def check(made: int) -> None:
            watch.check()
            if made > SUMMARY_ORDINAL // 2:
                raise LoadError(f"{document.name} has more than {made:,} passages. Split the file.")

        version, collection = (record.version, record.collection) if record else ("", "")
        chunks = [
            replace(chunk, figure_years=figure_years(chunk.text))
            for chunk in self._chunker.chunk(document, version=version, collection=collection, check=check)
        ]
        if not chunks:
            raise LoadError(f"{document.name}: no text was found in it.")
        # One passage at most: what of the summary the embedder reads (R-D7).
        alone = replace(document, sections=lay_out([Section((SUMMARY_HEADING,), summary)]))
        ends = self._chunker.chunk(alone, version=version, collection=collection)[:1]
        chunk_id = Chunk.make_id(document.id, version, SUMMARY_ORDINAL)
        return chunks + [replace(chunk, id=chunk_id, ordinal=SUMMARY_ORDINAL, start=0, end=0) for chunk in ends]

    def _record(self, document: Document, about: Registration) -> DocumentRecord:
        check_collection(about.collection, self._collections)
        scoped = any(
            name in metadata
            for metadata in (document.metadata, *(section.metadata for section in document.sections))
            for name in ("country_name", "year")
        )
        return DocumentRecord(
            id=document.id,
            name=document.name,
            title=document.title,
            source=document.source,
            collection=about.collection or (self._reports if scoped else self._general),
            status="pending",
            version=self.version(document, about.summary.kind, about.collection),
            metadata=dict(document.metadata),
            pages=document.pages,
            sample=about.sample,
            labels=document.labels,
            description=document.description,
            file_id=about.file_id,
            fingerprint=about.fingerprint,
            overrides=dict(about.overrides),
            chunking=self.chunking,
            owner=about.owner,
            upload_number=about.upload_number,
        )


def require_newest(known: DocumentRecord | None, upload_number: int) -> None:
    """Raises SupersededError: a newer upload is registered, and has not failed."""
    if known is not None and known.status not in {"failed", "deleting"} and known.upload_number > upload_number:
        raise SupersededError(SUPERSEDED)


def passages(store: Store, record: DocumentRecord, *, offset: int, limit: int) -> list[Chunk]:
    """Passages of the version that is shown, in reading order, the summary last."""
    if not record.version:  # of an older system, whose ids say nothing
        return sorted(store.stored(record.id)[0], key=lambda chunk: (chunk.ordinal, chunk.id))[offset : offset + limit]
    if offset >= record.chunks:
        return []
    last = offset + limit >= record.chunks
    return store.get(record.chunk_ids()[offset : None if last else offset + limit])


def _sorted(metadata: Mapping[str, Value]) -> dict[str, Value]:
    return dict(sorted(metadata.items()))
