"""`IngestionService`: a file becomes a searchable document. One path for uploads, URLs and the command line."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..cancellation import Cancellation
from ..errors import CancelledError, ConflictError, LoadError
from ..repositories.corpus import CorpusFacts
from ..repositories.documents import DocumentRepository
from ..schema import Chunking, Document, DocumentRecord, Loaded
from .pipeline import READING, Ingested, Ingestor, Registration, require_newest
from .sources import Source, document_id, make_document
from .summaries import Summary
from .watch import Watch, lease


@dataclass(frozen=True, slots=True)
class Planned:
    """What ingesting a file would do: a dry run."""

    document: Document
    outcome: str
    chunking: Chunking


@dataclass(frozen=True, kw_only=True)
class IngestionService:
    """``ingestors(overrides)`` gives the ingestor for the chunking that a person or the settings ask for."""

    documents: DocumentRepository
    ingestors: Callable[[Mapping[str, Any]], Ingestor]
    load: Callable[[Path, Cancellation], Loaded]
    leases: CorpusFacts
    summary: Summary

    def ingest(
        self,
        source: Source,
        *,
        overrides: Mapping[str, Any] | None = None,
        file_id: str = "",
        owner: str = "",
        upload_number: int | None = None,
        watch: Watch | None = None,
    ) -> Ingested:
        """Read a file and make it searchable; the same again does nothing.

        ``overrides`` (see `check_overrides`) are kept: they hold until others are given. A new report is ``owner``'s;
        a known one stays its own's. ``upload_number``: when it was sent, None = now; see `DocumentRecord`.

        Raises:
            SupersededError: a newer upload of this file is registered.
            LoadError: the file cannot be read as a document.
            InvalidRequestError: a chunk size or collection that cannot be.
            DependencyError, EmbedderMismatchError, CancelledError: see `Ingestor.ingest`.
        """
        seen = self._look(source, overrides or {}, file_id, upload_number)
        if isinstance(seen, Ingested):
            return seen  # without a lease: no passage is written
        with lease(self.leases, f"document:{document_id(source.identity)}", watch or Watch()) as mine:
            seen = self._look(source, overrides or {}, file_id, upload_number)  # who had the lease may have done it
            if isinstance(seen, Ingested):
                return seen
            said, ingestor, fingerprint = seen
            known = self.documents.get(document_id(source.identity))
            number = self.leases.next_upload_number() if upload_number is None else upload_number
            document = self._document(source, said, mine)
            mine.check()
            about = Registration(
                said.get("collection"),
                file_id=file_id,
                fingerprint=fingerprint,
                overrides=said,
                summary=self.summary,
                owner=known.owner if known else owner,
                upload_number=number,
            )
            return ingestor.ingest(document, about, watch=mine)

    def _look(
        self, source: Source, overrides: Mapping[str, Any], file_id: str, upload_number: int | None
    ) -> Ingested | tuple[dict[str, Any], Ingestor, str]:
        """What there is where nothing has changed; else what is said of the document, its ingestor, its fingerprint."""
        known, said, ingestor = self._known(source, overrides)
        if upload_number is not None:
            require_newest(known, upload_number)
        fingerprint = _fingerprint(source, said, f"{ingestor.settings_key}:{self.summary.kind}")
        same = known is not None and _settled(known) and (known.fingerprint, known.file_id) == (fingerprint, file_id)
        if same and known is not None and self.documents.note_upload(known, upload_number or 0):
            return Ingested(known.id, "unchanged", known.chunks)
        return said, ingestor, fingerprint

    def abandon(self, identity: str) -> None:
        """Take back what an ingestion has begun that nobody goes on with. Raises DependencyError."""
        self._take_back(document_id(identity), longest=None)

    def settle(self, document_id: str) -> None:
        """`abandon` for what a process that died has left; does nothing where somebody works on the report."""
        with suppress(ConflictError):
            self._take_back(document_id, longest=0)

    def _take_back(self, document_id: str, *, longest: float | None) -> None:
        with lease(self.leases, f"document:{document_id}", Watch(), longest=longest):
            known = self.documents.get(document_id)
            if known is None:
                self.ingestors({}).delete(document_id)  # passages that a worker wrote after the deletion
            elif known is not None and (known.status == "pending" or known.replacing):
                self.ingestors({}).writer.undo(known, known, CancelledError("Given up."))

    def plan(self, source: Source, *, overrides: Mapping[str, Any] | None = None) -> Planned:
        """What `ingest` would do, without doing it. Raises as it does."""
        known, said, ingestor = self._known(source, overrides or {})
        document = self._document(source, said, Watch())
        if known is None or not _settled(known):
            outcome = "new"
        else:
            version = ingestor.version(document, self.summary.kind, said.get("collection"))
            outcome = "unchanged" if known.version == version else "changed"
        return Planned(document, outcome, ingestor.chunking)

    def _known(
        self, source: Source, overrides: Mapping[str, Any]
    ) -> tuple[DocumentRecord | None, dict[str, Any], Ingestor]:
        known = self.documents.get(document_id(source.identity))
        said = {**(known.overrides if known else {}), **overrides}
        return known, said, self.ingestors(said)

    def _document(self, source: Source, said: Mapping[str, Any], watch: Watch) -> Document:
        loaded = self.load(source.path, watch.cancel)
        return make_document(source, loaded, overrides=said, countries=self.documents.values("country_name"))


def _settled(known: DocumentRecord) -> bool:
    return known.status == "ready" and not known.replacing


def _fingerprint(source: Source, said: Mapping[str, Any], settings_key: str) -> str:
    """A digest of the file, what is said of it and the settings.

    Raises LoadError: the file is gone or may not be read.
    """
    try:
        with source.path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise LoadError(f"{source.path.name} cannot be read: {error.strerror}.") from error
    about = [source.path.suffix.lower(), source.path.stem, source.title, dict(source.metadata), source.listed]
    parts = [READING, content, settings_key, about, list(source.labels), source.description, dict(said)]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:24]
