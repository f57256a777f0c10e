"""Writing a version of a document beside the one that is shown, and showing it in one step.

Questions see the version that the registered report names (`DocumentRecord.visible_version`), whatever else is there.
What a kill leaves behind is never seen, and its vectors are used again by the next try.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Collection as AnyOf
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NoReturn

import numpy as np

from ..errors import (
    CancelledError,
    ChatbotError,
    DependencyError,
    InvalidRequestError,
    LoadError,
    NotFoundError,
    SearchEngineError,
    StoppedError,
    SupersededError,
)
from ..protocols import Embedder, LateStore, Store
from ..repositories.corpus import CorpusFacts
from ..repositories.documents import DocumentRepository
from ..schema import YEAR_IN_REVIEW, Chunk, DocumentRecord, Matrix, Part, Value, Vector
from .sources import METADATA, typed
from .watch import Retries, Watch, lease

BATCH = 256
"""Passages embedded and written at a time: what a kill can lose."""
LOCAL_BATCH = 8
"""Passages that are embedded in this process between two looks at the cancellation: less than a second's work."""
LONGEST_WAIT = 3.0
"""Seconds that a request waits for another edit; a report that is being read takes longer."""
EDIT_PATIENCE = 60.0
"""Seconds that a request waits for the searches to follow."""
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0
"""Seconds between two looks at how far the searches have followed."""
PATIENT = Watch()
SUPERSEDED = "A newer version of this file was uploaded after it."


@dataclass(frozen=True, kw_only=True)
class VersionWriter:
    """Replaces what the store has of a document. ``require_current`` raises once the database has another embedder."""

    store: Store
    embedder: Embedder
    documents: DocumentRepository
    require_current: Callable[[], None]
    retries: Retries

    def write(
        self,
        record: DocumentRecord,
        known: DocumentRecord | None,
        chunks: Sequence[Chunk],
        watch: Watch,
        registered: DocumentRecord,
    ) -> None:
        """Make ``chunks`` the document's passages. ``known`` is what was registered before, if anything;
        ``registered`` is what is registered now.

        Raises:
            DependencyError, EmbedderMismatchError, CancelledError, SupersededError: what was shown before is shown
                still.
        """
        shown = replace(record, status="ready", chunks=len(chunks), several=_parts(chunks, record))
        replaces = known is not None and (known.version != shown.version or bool(known.replacing))
        try:
            if known is not None and known.status == "ready":
                registered = self.register(replace(known, replacing=record.version), registered)
            self._store_all(record, chunks, again=known is not None, watch=watch)
            # From this step on questions see the new version; then the old one is removed.
            registered = self.register(
                replace(shown, replacing=known.version) if known is not None and replaces else shown, registered
            )
        except ChatbotError as error:
            self.undo(record, known, error)
            raise
        if replaces:
            kept = [chunk.id for chunk in chunks]
            self._retire(shown.id, watch, kept)
            self.store.delete_document(shown.id, keep=kept)
            self.register(shown, registered)

    def register(self, record: DocumentRecord, registered: DocumentRecord) -> DocumentRecord:
        """Register ``record`` in place of ``registered``; return it. Raises like `raise_changed`."""
        if not self.documents.replace(record, registered):
            self.raise_changed(record)
        return record

    def raise_changed(self, record: DocumentRecord) -> NoReturn:
        """Raise what another worker's change of the registered report means for this one.

        Raises:
            CancelledError: the report was deleted.
            SupersededError: a newer upload is registered.
            StoppedError: another worker goes on with this upload.
        """
        current = self.documents.get(record.id)
        if current is None or current.status == "deleting":
            raise CancelledError(f"{record.title} was deleted while it was read.")
        if current.upload_number > record.upload_number:
            raise SupersededError(SUPERSEDED)
        raise StoppedError("Stopped here: another worker goes on with this report.")

    def _store_all(self, record: DocumentRecord, chunks: Sequence[Chunk], *, again: bool, watch: Watch) -> None:
        """Embed and store what is not stored yet. ``again``: some of it may be, from this or another version."""
        there, vectors = self.store.stored(record.id) if again else ([], np.empty((0, 0), np.float32))
        written = {chunk.id: chunk for chunk in there}
        reusable = {chunk.search_text: vector for chunk, vector in zip(there, vectors, strict=True)}
        for start in range(0, len(chunks), BATCH):
            batch = [chunk for chunk in chunks[start : start + BATCH] if written.get(chunk.id) != chunk]
            if batch:
                matrix = self._embed(batch, reusable, watch)
                self.require_current()
                self.store.upsert(batch, matrix)
            watch.progress(min(start + BATCH, len(chunks)), len(chunks))
        if not self._followed(record.id, watch, there=[chunk.id for chunk in chunks]):
            raise SearchEngineError(
                f"The search engine has not indexed all passages of {record.title} within {watch.patience:.0f} s.",
                remedy="See: python -m chatbot doctor. Then ingest it again.",
            )
        # What may have changed between a check and its write: then the document must not become ready.
        watch.check()
        self.require_current()

    def _followed(self, document_id: str, watch: Watch, *, there: AnyOf[str] = (), gone: AnyOf[str] = ()) -> bool:
        """Wait until searches know what was written and retired; False when that takes too long or is broken off."""
        until, pause, total = time.monotonic() + watch.patience, FIRST_PAUSE, len(there) + len(gone)
        while behind := self._behind(document_id, watch, there, gone):
            watch.indexing(total - behind, total)
            if time.monotonic() >= until or (gone and watch.cancel.cancelled):
                return False
            watch.cancel.wait(pause)
            if there:
                watch.check()
            pause = min(2 * pause, LONGEST_PAUSE)
        return True

    def _behind(self, document_id: str, watch: Watch, there: AnyOf[str], gone: AnyOf[str]) -> int:
        """How many chunks the searches do not know yet; all, while they do not answer."""
        if not isinstance(self.store, LateStore) or not (there or gone):
            return 0
        try:
            return self.store.unfollowed(document_id, there=there, gone=gone)
        except SearchEngineError as error:
            if error.retry_after is None:
                if there:
                    raise
                return 0  # nobody can tell: the rows go, as they did before they could be waited for
            watch.waiting(error.finding)
            return len(there) + len(gone)

    def _retire(self, document_id: str, watch: Watch, keep: Sequence[str] = ()) -> bool:
        """Take out of the searches what is about to be deleted, and wait for it as `_followed` does."""
        if not isinstance(self.store, LateStore):
            return True
        return self._followed(document_id, watch, gone=self.store.retire(document_id, keep=keep))

    def _embed(self, batch: Sequence[Chunk], reusable: Mapping[str, Vector], watch: Watch) -> Matrix:
        texts = [chunk.search_text for chunk in batch]
        new = list(dict.fromkeys(text for text in texts if text not in reusable))
        made: dict[str, Vector] = {}
        if new:
            step = LOCAL_BATCH if self.embedder.local else len(new)
            for start in range(0, len(new), step):
                part = new[start : start + step]
                vectors = self.retries.run(partial(self.embedder.embed_documents, part), watch)
                made |= dict(zip(part, vectors, strict=True))
        watch.check()
        return np.stack([made[text] if text in made else reusable[text] for text in texts])

    def _deleted(self, document_id: str) -> bool:
        found = self.documents.get(document_id)
        return found is None or found.status == "deleting"

    def undo(self, record: DocumentRecord, known: DocumentRecord | None, error: ChatbotError) -> None:
        """Take back what was written: the old version is there again; a new report is marked as failed where trying
        again may help, else forgotten.

        Where the database itself failed this fails too, and the next ingest of the report does it.
        """
        if isinstance(error, StoppedError):
            return
        try:
            current = self.documents.get(record.id)
            if current is None or current.status == "deleting":
                self._forget(record.id)
            elif current.upload_number > record.upload_number:
                stored = [chunk.id for chunk in self.store.stored(record.id)[0]]
                others = [id for id in stored if Chunk.version_of(id)[1] != record.version]
                if record.version not in {current.version, current.replacing}:
                    self.store.delete_document(record.id, keep=others)
            elif current.status == "ready" and (known is None or current.version != known.version):
                return  # another worker has finished it
            elif known is not None and known.status == "ready":
                # By their ids, not by what is found: this model's vectors may be gone, the passages must not.
                self.store.delete_document(record.id, keep=known.chunk_ids())
                self.documents.replace(replace(known, replacing=""), current)
            elif isinstance(error, (LoadError, CancelledError)):
                self._forget(record.id)
            else:
                self.store.delete_document(record.id)
                self.documents.replace(replace(record, status="failed", error=error.message), current)
        except DependencyError:
            return

    def delete(self, document_id: str, watch: Watch = PATIENT) -> bool:
        """Remove a document and every passage of it; False when there is no such document.

        Questions see nothing of it from the first step on. Broken off, or where the searches do not let go of it in
        time, it stays "deleting", and is finished by calling this again.
        """
        known = self.documents.get(document_id)
        if known is not None and known.version:
            self.documents.put(replace(known, status="deleting"))
            if not self._retire(document_id, watch) or not self._deleted(document_id):
                return True
        return self._forget(document_id)

    def _forget(self, document_id: str) -> bool:
        passages = self.store.delete_document(document_id)
        return self.documents.delete(document_id) or passages > 0


def _parts(chunks: Sequence[Chunk], record: DocumentRecord) -> tuple[Part, ...]:
    """Passages counted by metadata; none where all have the document's."""
    counts = Counter(tuple(sorted(chunk.metadata.items())) for chunk in chunks)
    parts = tuple(Part(dict(metadata), count) for metadata, count in sorted(counts.items(), key=str))
    return () if [part.metadata for part in parts] == [record.metadata] else parts


@dataclass(frozen=True, kw_only=True)
class Editor:
    """Rewrites the passages of a report with another title or metadata; vectors are kept where the text is."""

    store: Store
    writer: VersionWriter
    documents: DocumentRepository
    leases: CorpusFacts

    def edit(self, document_id: str, said: Mapping[str, Any]) -> DocumentRecord:
        """``said``: checked overrides (`check_overrides`), kept with the report.

        Raises:
            NotFoundError: no such report.
            ConflictError: it is being read or edited by somebody else.
            InvalidRequestError: it is not ready to be edited.
            DependencyError: what was shown before is shown still.
        """
        patient = Watch(patience=EDIT_PATIENCE)
        with lease(self.leases, f"document:{document_id}", patient, longest=LONGEST_WAIT) as watch:
            known = self.documents.get(document_id)
            if known is None:
                raise NotFoundError(f"There is no report {document_id!r}.")
            if known.status != "ready" or not known.version:
                raise InvalidRequestError.for_field(
                    "document_id", f"this report cannot be edited: it is {known.status}."
                )
            edited = _described(known, said)
            if edited != known:
                stored = [c for c in self.store.stored(known.id)[0] if Chunk.version_of(c.id)[1] == known.version]
                chunks = [_rewritten(chunk, known, edited) for chunk in sorted(stored, key=lambda c: c.ordinal)]
                self.writer.write(edited, known, chunks, watch, known)
            return self.documents.get(document_id) or edited  # as it is registered: with the time of the change


def _described(known: DocumentRecord, said: Mapping[str, Any]) -> DocumentRecord:
    metadata: dict[str, Value] = {**known.metadata, **{name: said[name] for name in METADATA if name in said}}
    metadata = {name: value for name, value in metadata.items() if value is not None}
    overrides = {**known.overrides, **said}
    if not known.several:
        was_review = known.metadata.get("type") == YEAR_IN_REVIEW and "country_name" not in known.metadata
        if was_review and "type" not in overrides:
            del metadata["type"]  # for want of a country, which it may have now
        metadata = typed(metadata, overrides)
    title = said.get("title", known.title)
    labels = tuple(said["labels"] or ()) if "labels" in said else known.labels
    description = (said["description"] or "") if "description" in said else known.description
    edited = replace(known, title=title, name=title, metadata=metadata, labels=labels, description=description)
    if edited == known:
        return known
    # The passages get a version of their own: questions see all of the old ones or all of these.
    parts = [known.version, title, sorted(metadata.items()), labels, description]
    version = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:12]
    return replace(edited, version=version, overrides=overrides, fingerprint="", replacing="")


def _rewritten(chunk: Chunk, known: DocumentRecord, edited: DocumentRecord) -> Chunk:
    """A table's row keeps what it has of its own."""
    own = {name: value for name, value in chunk.metadata.items() if known.metadata.get(name) != value}
    return replace(
        chunk,
        id=Chunk.make_id(chunk.document_id, edited.version, chunk.ordinal),
        document_name=edited.name,
        title=edited.title,
        metadata={**edited.metadata, **own},
        labels=edited.labels,
        description=edited.description,
    )
