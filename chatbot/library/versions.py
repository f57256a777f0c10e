"""Writing a version of a document beside the visible one, which the registered report
names, and making it visible in one step. The passages that a killed process leaves are
never visible; the next try uses their vectors again.
"""

import hashlib
import json
import logging
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Collection as AnyOf
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any, NoReturn

import numpy as np

from ..database.changes import (
    CATALOG,
    FIGURES,
    GLOSSARY,
    PASSAGES,
    new_token,
    revoked,
)
from ..database.repositories.documents import DocumentRepository
from ..database.repositories.figures import (
    FigureRepository,
    GlossaryRepository,
    VersionFigures,
)
from ..domain import Cancellation, Chunk, DocumentRecord, Scope, Vector, errors
from ..domain.differences import TextDifferences
from ..domain.documents import Deletion, HeadingCounts, Matrix, Part, overview_line
from ..domain.protocols import Embedder, LateStore, Store
from ..domain.scope import YEAR_IN_REVIEW, Value
from ..domain.tables import Stated
from ..language.country_names import keys_in
from ..language.reported_figures import stated
from .control import NO_RETRIES, JobControl, Retries
from .derived import listed_terms
from .differences import text_differences
from .sources import METADATA, typed

log = logging.getLogger(__name__)
BATCH = 256
"""Passages embedded and stored at a time: the work that a kill can lose."""
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0
"""Seconds between two checks of how far the searches have followed."""
NO_DIFFERENCES = TextDifferences()
SUPERSEDED = "A newer version of this file was uploaded after it."


Metadata = tuple[tuple[str, Value], ...]


def with_parts(record: DocumentRecord, parts: tuple[Part, ...]) -> DocumentRecord:
    """Return a record with its parts; none of its own where all passages have the
    metadata of the document.
    """
    if [part.metadata for part in parts] == [record.metadata]:
        return replace(record, several=(), mentions=parts[0].mentions)
    return replace(record, several=parts, mentions=None)


def _edited_metadata(
    old: DocumentRecord, stated: Mapping[str, Any], overrides: Mapping[str, Any]
) -> dict[str, Value]:
    """Return the metadata of a report with the values that an edit states, of which
    null removes one. ``overrides``: those of earlier edits, too.
    """
    metadata = dict(old.metadata)
    for name in METADATA:
        if name not in stated:
            continue
        metadata.pop(name, None)
        if stated[name] is not None:
            metadata[name] = stated[name]
    if old.several:
        return metadata
    was_review = (
        old.metadata.get("type") == YEAR_IN_REVIEW
        and "country_name" not in old.metadata
    )
    if was_review and "type" not in overrides:
        # Set because it had no country; it may have one now.
        del metadata["type"]
    return typed(metadata, overrides, old.proposed)


def heading_counts(
    chunks: Iterable[Chunk], figures: AnyOf[tuple[str, str]]
) -> HeadingCounts:
    """Count the headings of a document's passages, and those of tables. ``figures``:
    the passage and the heading of each figure.
    """
    headings = set[str]()
    indicators = set[str]()
    tables = 0
    for chunk in chunks:
        if chunk.statements:
            tables += 1
        if chunk.heading and not chunk.is_summary:
            headings.add(chunk.heading)
            if (chunk.id, chunk.heading) in figures:
                indicators.add(chunk.heading)
    return HeadingCounts(len(headings), len(indicators), tables)


def read_figures(
    chunks: Sequence[Chunk],
    read_texts: Callable[..., Iterable[Any]],
    name: str,
    cancel: Cancellation | None = None,
) -> Iterator[tuple[Chunk, Iterable[Stated]]]:
    """Yield passages with their figures: of the cells of its table, else of its text.
    ``read_texts`` as `LoaderPool.read_texts`; ``name``: of the report.
    """
    texts = [chunk.text for chunk in chunks if chunk.statements is None]
    read = iter(read_texts(stated, texts, name, cancel))
    for chunk in chunks:
        if chunk.statements is None:
            yield chunk, next(read)
        else:
            yield chunk, chunk.statements


@dataclass(frozen=True, kw_only=True, eq=False)
class VersionWriter:
    """Replaces the passages of a document. ``require_current`` raises once the database
    has another embedding model.
    """

    store: Store
    embedder: Embedder
    documents: DocumentRepository
    glossary: GlossaryRepository
    figures: FigureRepository
    collections: Sequence[str]
    """That of documents without country and year, that of the others, and further
    searched ones.
    """
    require_current: Callable[[], None] = lambda: None
    read_texts: Callable[..., Iterable[Any]] = lambda read, texts, name, cancel: map(
        read, texts
    )
    """As `LoaderPool.read_texts`."""
    retries: Retries = NO_RETRIES

    def write(
        self,
        record: DocumentRecord,
        old: DocumentRecord | None,
        chunks: Sequence[Chunk],
        control: JobControl,
        registered: DocumentRecord,
        vectors: Mapping[str, Vector] = MappingProxyType({}),
    ) -> None:
        """Make ``chunks`` the document's passages. ``old`` was registered before, if
        anything; ``registered`` is now. ``vectors``: those that are known already, by
        `Chunk.search_text`.

        Raises DependencyError, EmbedderMismatchError, CancelledError, SupersededError:
        the previous version is visible.
        """
        shown = with_parts(record, self._parts(record, chunks, control))
        shown = replace(shown, status="ready", chunks=len(chunks))
        replaces = old is not None and (
            old.version != shown.version or bool(old.replacing)
        )
        served = old if old is not None and old.status == "ready" else None
        is_reading = served is not None and shown.is_reading_of(served)
        former = None if is_reading else served
        with self.documents.changes.work(record.writer):
            if (
                served is not None and served.replacing
            ):  # its writer was killed before it removed the previous version
                self.figures.record_changes(served.id, served.replacing, served.version)
            try:
                if served is not None:
                    marked = replace(
                        served, replacing=record.version, writer=record.writer
                    )
                    registered = self._swap(marked, registered, is_update=False)
                figures = self._store_all(
                    record, chunks, vectors, again=old is not None, control=control
                )
                differences = self._differences(former, chunks, control)
                counts = heading_counts(chunks, figures.headings())
                shown = replace(shown, heading_counts=counts)
                figures = self.figures.store_ahead(figures)
                # From this step on questions see the new version; then the old one is
                # removed.
                if old is not None and replaces:
                    shown = replace(shown, replacing=old.version)
                registered = self._show(
                    shown,
                    registered,
                    figures,
                    chunks,
                    is_update=not is_reading,
                    differences=differences,
                )
            except errors.ChatbotError as error:
                self.undo(record, old, error)
                raise
            if replaces:
                self._clean_up(registered, former, chunks, control)

    def _parts(
        self, record: DocumentRecord, chunks: Sequence[Chunk], control: JobControl
    ) -> tuple[Part, ...]:
        """Return the passages of a document by their metadata, with the countries that
        they name.
        """
        named = self.read_texts(
            keys_in,
            [f"{chunk.section}\n{chunk.text}" for chunk in chunks],
            record.name,
            control.cancel,
        )
        passages: Counter[Metadata] = Counter()
        mentions: defaultdict[Metadata, Counter[str]] = defaultdict(Counter)
        for chunk, codes in zip(chunks, named, strict=True):
            metadata = tuple(sorted(chunk.metadata.items()))
            passages[metadata] += 1
            if not chunk.is_summary:  # which repeats what other passages say
                mentions[metadata].update(codes)
        return tuple(
            Part(
                dict(metadata), count, mentions=dict(sorted(mentions[metadata].items()))
            )
            for metadata, count in sorted(passages.items(), key=str)
        )

    def _differences(
        self,
        former: DocumentRecord | None,
        chunks: Sequence[Chunk],
        control: JobControl,
    ) -> TextDifferences:
        """Return what passages say otherwise than those of a former version; nothing
        where there is none, or it is of an older system. Raises CancelledError.
        """
        if former is None or not former.version:
            return NO_DIFFERENCES
        return text_differences(
            self.store.get(former.chunk_ids()), chunks, control.check
        )

    def _show(
        self,
        shown: DocumentRecord,
        registered: DocumentRecord,
        figures: VersionFigures,
        chunks: Sequence[Chunk],
        *,
        is_update: bool,
        differences: TextDifferences = NO_DIFFERENCES,
    ) -> DocumentRecord:
        """Make a version visible together with its figures, its terms and its
        ``differences`` from the one before it; return what is registered now.
        """
        terms = listed_terms(chunks)
        kinds = [CATALOG, FIGURES]
        # A change of the glossary makes each process read it again.
        if terms or (shown.replacing and self.glossary.has_entries(shown.id)):
            kinds.append(GLOSSARY)
        with self.documents.changes.of([shown.id], *kinds):
            self.figures.put(figures)
            self.figures.record_text_changes(shown.id, differences)
            if GLOSSARY in kinds:
                self.glossary.put(shown.id, terms, replace_all=True)
            return self._swap(shown, registered, is_update=is_update)

    def _clean_up(
        self,
        registered: DocumentRecord,
        former: DocumentRecord | None,
        chunks: Sequence[Chunk],
        control: JobControl,
    ) -> None:
        """Remove what a version has replaced, and note what it states otherwise than
        ``former``. The version is visible, so nothing that happens here fails the
        upload: the purge removes what is left.
        """
        kept = [chunk.id for chunk in chunks]
        shown = replace(registered, replacing="")
        try:
            self._retire(shown.id, control, kept)
            self.store.delete_document(shown.id, keep=kept)
            # In this order, none of them in one change: until the last step the report
            # says that there is something to clean up.
            if former is not None:
                self.figures.record_changes(shown.id, former.version, shown.version)
            self.figures.remove(shown.id, keep=[shown.version])
            self.documents.replace(shown, registered, is_update=False)
        except errors.DependencyError as error:
            log.warning(
                "The previous version of %s is removed later: %s",
                shown.title,
                error.message,
            )

    def _swap(
        self,
        record: DocumentRecord,
        registered: DocumentRecord,
        *,
        is_update: bool = True,
    ) -> DocumentRecord:
        """Register ``record`` in place of ``registered``, as `replace` of the
        repository does; return it. Raises like `_raise_changed`.
        """
        if not self.documents.replace(record, registered, is_update=is_update):
            self._raise_changed(record)
        return record

    def _raise_changed(self, record: DocumentRecord) -> NoReturn:
        """Raise what another worker's change of the registered report means for this
        one: CancelledError (deleted), SupersededError (a newer upload), or StoppedError
        (another worker goes on with this upload).
        """
        current = self.documents.get(record.id)
        if current is None or current.status == "deleting":
            raise errors.CancelledError(
                f"{record.title} was deleted while it was read."
            )
        if current.upload_number > record.upload_number:
            raise errors.SupersededError(SUPERSEDED)
        raise errors.StoppedError(
            "Stopped here: another worker goes on with this report."
        )

    def _store_all(
        self,
        record: DocumentRecord,
        chunks: Sequence[Chunk],
        given: Mapping[str, Vector],
        *,
        again: bool,
        control: JobControl,
    ) -> VersionFigures:
        """Embed and store the passages that are missing; return the figures of all.
        ``again``: some passages may be stored, of this or another version.
        """
        stored, vectors = (
            self.store.stored(record.id)
            if again
            else ([], np.empty((0, 0), np.float32))
        )
        written = {chunk.id: chunk for chunk in stored}
        reusable = {
            **{
                chunk.search_text: one
                for chunk, one in zip(stored, vectors, strict=True)
            },
            **given,
        }
        for start in (*range(0, len(chunks), BATCH), len(chunks)):
            control.progress(start, len(chunks))
            batch = [
                chunk
                for chunk in chunks[start : start + BATCH]
                if written.get(chunk.id) != chunk
            ]
            if batch:
                matrix = self._embed(batch, reusable, control)
                self.require_current()
                self.store.upsert(batch, matrix)
        if not self._followed(
            record.id, control, written=[chunk.id for chunk in chunks]
        ):
            raise errors.SearchEngineError(
                (
                    f"The search engine has not indexed all passages of {record.title} "
                    f"within {control.patience:.0f} s."
                ),
                remedy="See: python -m chatbot doctor. Then ingest it again.",
            )
        # The last check may have been before a write: then the document must not become
        # ready.
        control.check()
        self.require_current()
        read_chunks = read_figures(chunks, self.read_texts, record.name, control.cancel)
        return self.figures.of_version(record.id, record.version, read_chunks)

    def _followed(
        self,
        document_id: str,
        control: JobControl,
        *,
        written: AnyOf[str] = (),
        retired: AnyOf[str] = (),
    ) -> bool:
        """Wait until searches know the new chunks and not the old; False when it takes
        too long or is cancelled.
        """
        if not isinstance(self.store, LateStore):
            return True
        until = time.monotonic() + control.patience
        pause = FIRST_PAUSE
        total = len(written) + len(retired)
        behind = {*written, *retired}
        while behind:
            # Only what was behind at the last look: each look reads these rows.
            behind = self._still_behind(
                self.store,
                document_id,
                control,
                written=behind.intersection(written),
                retired=behind.intersection(retired),
            )
            if not behind:
                return True
            control.indexing(total - len(behind), total)
            is_late = time.monotonic() >= until
            if is_late or (retired and control.cancel.cancelled):
                return False
            with control.aside():
                control.cancel.wait(pause)
            if written:
                control.check()
            pause = min(2 * pause, LONGEST_PAUSE)
        return True

    def _still_behind(
        self,
        store: LateStore,
        document_id: str,
        control: JobControl,
        *,
        written: AnyOf[str],
        retired: AnyOf[str],
    ) -> set[str]:
        """Return the passages among these that searches do not know yet, or still know;
        all of them while the search engine says when to ask again.
        """
        try:
            return store.unfollowed(document_id, written=written, retired=retired)
        except errors.SearchEngineError as error:
            if error.retry_after is not None:
                control.waiting(error.finding)
                return {*written, *retired}
            if written:
                raise
            return set()  # unknown: the rows are removed without waiting

    def _retire(
        self, document_id: str, control: JobControl, keep: Sequence[str] = ()
    ) -> bool:
        """Remove passages from the searches before they are deleted, and wait as
        `_followed` does.
        """
        if not isinstance(self.store, LateStore):
            return True
        return self._followed(
            document_id, control, retired=self.store.retire(document_id, keep=keep)
        )

    def _embed(
        self,
        batch: Sequence[Chunk],
        reusable: Mapping[str, Vector],
        control: JobControl,
    ) -> Matrix:
        texts = [chunk.search_text for chunk in batch]
        new = list(dict.fromkeys(text for text in texts if text not in reusable))
        vectors = dict(reusable)
        # Passages that are embedded between two checks of the cancellation: work of a
        # moment.
        step = 4 if self.embedder.local else len(new) or 1
        for start in range(0, len(new), step):
            part = new[start : start + step]
            with nullcontext() if self.embedder.local else control.aside():
                made = self.retries.run(
                    partial(self.embedder.embed_documents, part), control
                )
            vectors.update(zip(part, made, strict=True))
        control.check()
        return np.stack([vectors[text] for text in texts])

    def undo(
        self,
        record: DocumentRecord,
        old: DocumentRecord | None,
        error: errors.ChatbotError,
    ) -> None:
        """Remove what was written: a previous version stays; a new report is marked as
        failed where a retry may help, else deleted. After an outage of the database the
        next ingest of the report does it.
        """
        if isinstance(error, errors.StoppedError):
            return
        try:
            self._undo(record, old, error)
        except errors.DependencyError:
            return

    def _undo(
        self,
        record: DocumentRecord,
        old: DocumentRecord | None,
        error: errors.ChatbotError,
    ) -> None:
        current = self.documents.registered(record.id)
        if current is None or current.status == "deleting":
            self._forget(record.id)
            return
        if current.is_hidden:
            self.keep_hidden(current)
            return
        if current.upload_number > record.upload_number:
            self._remove_overtaken(record, current)
            return
        own = {record.writer, revoked(record.writer), old.writer if old else ""}
        if current.writer not in own:
            return  # another worker goes on with it
        is_other_version = old is None or current.version != old.version
        if current.status == "ready" and is_other_version:
            return  # it was finished
        if old is not None and old.status == "ready":
            self._return_to(old, current)
            return
        if old is not None and old.is_hidden:
            self.keep_hidden(old)
            self.documents.replace(old, current, is_update=False)
            return
        if isinstance(error, (errors.LoadError, errors.CancelledError)):
            self._forget(record.id)
            return
        self.store.delete_document(record.id)
        self.figures.remove(record.id)
        self.documents.replace(
            replace(record, status="failed", error=error.message), current
        )

    def _remove_overtaken(
        self, record: DocumentRecord, current: DocumentRecord
    ) -> None:
        """Remove what was written of a version after which a newer one was uploaded."""
        if record.version in {current.version, current.replacing}:
            return
        others = []
        for chunk in self.store.stored(record.id)[0]:
            _, version = Chunk.version_of(chunk.id)
            if version != record.version:
                others.append(chunk.id)
        self.store.delete_document(record.id, keep=others)
        self.figures.remove(record.id, keep=[current.version, current.replacing])

    def _return_to(self, old: DocumentRecord, current: DocumentRecord) -> None:
        """Remove all but the previous version, and register that again."""
        # By ids, not by the stored chunks: this model's vectors may be gone, the
        # passages must not.
        self.store.delete_document(current.id, keep=old.chunk_ids())
        if old.replacing:
            self.figures.record_changes(old.id, old.replacing, old.version)
        self.figures.remove(current.id, keep=[old.version])
        self.documents.replace(replace(old, replacing=""), current, is_update=False)

    def collection_of(
        self, described: Iterable[Mapping[str, Value]], chosen: str | None = None
    ) -> str:
        """Return the chosen collection; else that of reports if a part has a country or
        a year, or the general one.
        """
        if chosen:
            return chosen
        general, reports, *_ = self.collections
        for part in described:
            if "country_name" in part or "year" in part:
                return reports
        return general

    def plan_edit(
        self,
        old: DocumentRecord,
        stated: Mapping[str, Any],
        unconfirmed: AnyOf[str],
        limit: Scope,
    ) -> DocumentRecord:
        """Return the report as `edit` would write it; ``old`` itself where nothing
        changes. Raises ForbiddenError: it would leave the limit.
        """
        overrides = {**old.overrides, **stated}
        metadata = _edited_metadata(old, stated, overrides)
        for name in unconfirmed:
            overrides.pop(name, None)
        title = stated.get("title", old.title)
        labels = old.labels
        if "labels" in stated:
            labels = tuple(stated["labels"] or ())
        description = stated.get("description", old.description) or ""
        parts = [metadata, *(part.metadata for part in old.several)]
        collection = self.collection_of(parts, overrides.get("collection"))
        if collection != old.collection and old.collection not in self.collections[:2]:
            collection = old.collection  # of an older setting
        if not limit.holds(collection):
            raise errors.ForbiddenError(
                f"With this metadata the report moves to {collection}, outside of "
                "this key's limit."
            )
        edited = replace(
            old,
            title=title,
            name=title,
            metadata=metadata,
            labels=labels,
            description=description,
            collection=collection,
        )
        publication = old.publication.described_by(stated)
        if edited == old:
            if overrides == old.overrides and publication == old.publication:
                return old
            # Passages do not have the publication, nor who stated a value.
            return replace(
                old,
                publication=publication,
                overrides=overrides,
                fingerprint="",
                writer=new_token(),
            )
        # The passages get a version of their own: questions see all of the old ones or
        # all of these.
        shown = [
            old.version,
            title,
            sorted(metadata.items()),
            labels,
            description,
            collection,
        ]
        version = hashlib.sha256(json.dumps(shown).encode()).hexdigest()[:12]
        return replace(
            edited,
            version=version,
            former_versions=(*old.former_versions, old.version),
            overrides=overrides,
            fingerprint="",
            replacing="",
            writer=new_token(),
            publication=publication,
        )

    def edit(
        self, old: DocumentRecord, edited: DocumentRecord, control: JobControl
    ) -> None:
        """Store a report as `plan_edit` returned it, and rewrite the passages if their
        title or metadata changed; unchanged texts keep their vectors.
        """
        if edited == old:
            return
        if edited.version == old.version:
            self._swap(edited, old)
            return
        chunks = []
        before = overview_line(old.title, old.metadata)
        after = overview_line(edited.title, edited.metadata)
        for chunk in self.store.stored(old.id)[0]:
            if Chunk.version_of(chunk.id)[1] == old.version:
                # A table's row keeps the metadata that differs from its document's.
                metadata = dict(edited.metadata)
                for name, value in chunk.metadata.items():
                    if old.metadata.get(name) != value:
                        metadata[name] = value
                text = chunk.text
                if chunk.is_summary:
                    text = text.replace(before, after, 1)
                id = Chunk.make_id(old.id, edited.version, chunk.ordinal)
                chunks.append(
                    replace(
                        chunk,
                        id=id,
                        title=edited.title,
                        text=text,
                        document_name=edited.title,
                        labels=edited.labels,
                        description=edited.description,
                        collection=edited.collection,
                        metadata=metadata,
                    )
                )
        chunks.sort(key=lambda chunk: chunk.ordinal)
        self.write(edited, old, chunks, control, old)

    def hide(self, record: DocumentRecord, deletion: Deletion) -> None:
        """Put a report into the bin: questions see nothing of it from now on, and its
        passages stay. Raises ConflictError: it cannot be searched any more.
        """
        token = new_token()
        changes = self.documents.changes
        current: DocumentRecord | None = record
        while current is not None and current.status == "ready":
            hidden = replace(current, status="deleted", deletion=deletion, writer=token)
            is_hidden = False
            with (
                changes.work(token),
                changes.of([record.id], PASSAGES, CATALOG, FIGURES, GLOSSARY),
            ):
                if self.documents.replace(hidden, current, is_update=False):
                    is_hidden = True
                    self.glossary.put(record.id, (), replace_all=True)
                    retired = self.figures.retire(record.id)
            if is_hidden:
                self.figures.sweep(record.id, retired)
                return
            # A worker goes on with an upload of it.
            current = self.documents.registered(record.id)
        raise errors.ConflictError(
            "This report is being read or deleted. Try again when that is done."
        )

    def restore(self, record: DocumentRecord) -> DocumentRecord:
        """Take a report out of the bin; questions see it as it was. Its figures and
        terms are read again from its passages. Raises NotFoundError: these are gone;
        otherwise like `_raise_changed`.
        """
        chunks = [
            chunk
            for chunk in self.store.stored(record.id)[0]
            if Chunk.version_of(chunk.id)[1] == record.version
        ]
        if len(chunks) < record.chunks:
            raise errors.NotFoundError(
                f"Passages of {record.title!r} are missing. Add its file again."
            )
        chunks.sort(key=lambda chunk: chunk.ordinal)
        read_chunks = read_figures(chunks, self.read_texts, record.name)
        figures = self.figures.of_version(record.id, record.version, read_chunks)
        figures = self.figures.store_ahead(figures)
        shown = replace(record, status="ready", deletion=None, writer=new_token())
        changes = self.documents.changes
        with (
            changes.work(shown.writer),
            changes.of([record.id], PASSAGES, CATALOG, FIGURES, GLOSSARY),
        ):
            return self._show(shown, record, figures, chunks, is_update=False)

    def keep_hidden(self, record: DocumentRecord) -> None:
        """Remove what an upload wrote beside a report in the bin, or a tombstone."""
        kept = record.chunk_ids() if record.status == "deleted" else []
        self.store.delete_document(record.id, keep=kept)
        self.figures.remove(record.id)

    def delete(
        self,
        document_id: str,
        control: JobControl | None = None,
        deletion: Deletion | None = None,
    ) -> bool:
        """Remove a document and all its passages; False when there is no such document.
        Questions see nothing of it from the first step on. If it is interrupted, it
        stays "deleting"; calling this again finishes it.

        A ``deletion`` by a person leaves a tombstone, and so does one that was begun
        with it; None: of nobody, as after an ingestion that is given up.
        """
        record = self.documents.registered(document_id)
        with self.documents.changes.work(new_token()):
            tombstone = None
            if record is not None and record.version:
                deletion = deletion or record.deletion
                record = replace(record, deletion=deletion)
                if deletion is not None and not deletion.is_absence:
                    tombstone = record
                try:
                    if not self._withdraw(record, control or JobControl()):
                        return True
                except errors.DiskFullError:
                    # Without space for a mark the row goes first: passages without a
                    # row are shown by nobody.
                    self.documents.delete(document_id)
            return self._forget(document_id, tombstone) or record is not None

    def _withdraw(self, record: DocumentRecord, control: JobControl) -> bool:
        """Hide a report and its passages; return whether its rows may be deleted
        now.
        """
        if record.status != "deleting":
            self.documents.withdraw(record.id, new_token(), record.deletion)
        if not self._retire(record.id, control):
            return False
        current = self.documents.registered(record.id)
        return current is None or current.status == "deleting"

    def _forget(
        self, document_id: str, tombstone: DocumentRecord | None = None
    ) -> bool:
        """Remove all of a report but its tombstone: the given one, or that of a
        deletion that its row names.
        """
        passages = self.store.delete_document(document_id)
        self.figures.remove(document_id)
        with self.documents.changes.of(
            [document_id], CATALOG, FIGURES, GLOSSARY, frees_space=True
        ):
            self.glossary.put(document_id, (), replace_all=True)
            self.figures.forget(document_id)
            current = self.documents.registered(document_id)
            deletion = current.deletion if current else None
            if deletion is not None and not deletion.is_absence:
                tombstone = tombstone or current
            if tombstone is None:
                return self.documents.delete(document_id) or passages > 0
            self._bury(tombstone)
            return True

    def _bury(self, tombstone: DocumentRecord) -> None:
        """Leave a tombstone, also in a full database, which has space once its row is
        gone.
        """
        try:
            self.documents.erase(tombstone)
        except errors.DiskFullError:
            self.documents.delete(tombstone.id)
            try:
                self.documents.erase(tombstone)
            except errors.DiskFullError as error:
                log.warning(
                    "Nothing notes that %s was deleted: %s",
                    tombstone.source,
                    error.message,
                )
