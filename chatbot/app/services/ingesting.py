"""Adding, changing and deleting reports."""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ...config import SAMPLE_DATA
from ...config.settings import Settings
from ...config.settings_types import CHUNKING
from ...database.reader import Reader
from ...database.repositories.caches import request_cache
from ...database.repositories.documents import OWN_ID
from ...database.rows import now
from ...domain import Chunk, DocumentRecord, Scope
from ...domain.documents import Chunking, Deletion
from ...domain.errors import (
    ConflictError,
    DatabaseError,
    DependencyError,
    DiskFullError,
    MissingPackageError,
)
from ...domain.packages import install_command
from ...domain.protocols import ListingStore
from ...jobs.worker import IngestionWorker, Originals, filed_as
from ...library.chunkers import CHUNKERS
from ...library.control import JobControl, lease
from ...library.derived import EXTRACTIVE, NONE, ModelSummary, Summary
from ...library.loaders import suffixes
from ...library.loaders.isolation import UPLOAD_LIMITS, LoaderPool
from ...library.pipeline import READING, Ingested, IngestionService, Ingestor
from ...library.samples import SampleReports
from ...library.sources import (
    WEB,
    About,
    Cutting,
    Source,
    check_collection,
    check_overrides,
)
from ...library.versions import read_figures
from .chat_models import ChatModels
from .once import Once
from .retention import PURGE_SECONDS
from .runtime import Runtime
from .storage import Storage

log = logging.getLogger(__name__)


class Ingesting:
    """Adds, changes and deletes reports."""

    def __init__(
        self,
        settings: Settings,
        storage: Storage,
        models: ChatModels,
        runtime: Callable[[], Runtime],
        closing: ExitStack,
    ) -> None:
        """``runtime`` is asked at each use: the embedding model may change while this
        process serves.
        """
        self.settings = settings
        self._storage = storage
        self._models = models
        self._runtime = runtime
        self._orphans: set[str] = set()
        self._service = Once(self._build_service)
        self.loader = LoaderPool(
            settings.ingestion_workers,
            time_limit=300.0,
            folder=settings.data_dir / "readers" / "uploads",
            limits=replace(UPLOAD_LIMITS, ocr_pages=settings.ocr_pages),
        )
        """Reads files, and the figures of many passages."""
        closing.callback(self.loader.close)
        self.originals = Originals(
            files=storage.files,
            queue=storage.ingestions,
            documents=storage.documents,
            uploads=storage.uploads,
            settings=settings,
        )
        self.worker = IngestionWorker(
            storage.ingestions,
            service=lambda: self.service,
            fetch=self.originals.fetch,
            tidy=self.originals.tidy_after,
            idle=self.finish_deletions,
            at_once=settings.ingestion_workers,
        )

    @property
    def ingestor(self) -> Ingestor:
        """Splits as the settings do."""
        return self.ingestor_for({})

    def ingestor_for(self, overrides: Mapping[str, Any]) -> Ingestor:
        """Return the ingestor that splits as ``overrides`` say, else as the settings
        do. Raises UnknownNameError, InvalidRequestError, DatabaseError, ReadOnlyError.
        """
        self._storage.require_writable()
        return replace(
            self._runtime().ingestor(self._chunking(overrides)),
            read_texts=self.loader.read_texts,
        )

    def _chunking(self, overrides: Mapping[str, Any]) -> Chunking:
        settings = self.settings
        strategy = CHUNKERS.check(
            overrides.get("chunk_strategy") or settings.chunk_strategy,
            field="chunk_strategy",
        )
        overlap = settings.chunk_overlap if strategy == settings.chunk_strategy else 0
        size = overrides.get("chunk_size", settings.chunk_size)
        return Chunking(strategy, size, overrides.get("chunk_overlap", overlap))

    def check(self) -> None:
        """Raises UnknownNameError, InvalidRequestError: no report can be split as the
        settings say.
        """
        CHUNKERS.check(self.settings.chunk_strategy, field="CHUNK_STRATEGY")
        self._runtime().chunker(self._chunking({}))

    def check_overrides(
        self, overrides: About | Cutting, reader: Reader | None = None
    ) -> dict[str, Any]:
        """Return the metadata and chunking that a person states of a report, checked
        together with the settings. Countries are spelled as reports of the ``reader``
        spell them; None = as all reports do. Raises InvalidRequestError,
        UnknownNameError: they name the wrong field.
        """
        documents = reader.documents if reader else self._storage.documents
        checked = check_overrides(overrides, countries=documents.values("country_name"))
        if not checked.keys().isdisjoint(CHUNKING):
            self.ingestor_for(checked)
        check_collection(checked.get("collection"), self.settings.chunk_collections)
        return checked

    @property
    def service(self) -> IngestionService:
        """Makes files searchable. Raises SettingsError, UnknownNameError,
        MissingPackageError: the chat model, which writes summaries, cannot be built.
        """
        return self._service.get()

    def _build_service(self) -> IngestionService:
        settings = self.settings
        summary = self.sample_summary
        if settings.summaries == "model" or self.ask_above:
            model = ModelSummary(
                self._models.small, input_tokens=settings.context_tokens
            )
            summary = Summary("model", model)
        return IngestionService(
            documents=self._storage.documents,
            ingestors=self.ingestor_for,
            load=self.loader.load,
            leases=self._storage.facts,
            summary=summary,
        )

    @property
    def ask_above(self) -> int | None:
        """The number of files above which a person is asked first: the chat model
        summarises them unasked.
        """
        is_unasked = self.settings.summaries == "auto" and self.settings.openai_api_key
        if is_unasked:
            return 50
        return None

    @property
    def sample_summary(self) -> Summary:
        """The summary provider of sample reports: no model, so that a first start makes
        no calls.
        """
        if self.settings.summaries == "off":
            return NONE
        return EXTRACTIVE

    def sample_reports(self) -> SampleReports:
        """Return what adds the sample reports. Raises MissingPackageError."""
        if not SAMPLE_DATA.is_dir():
            raise MissingPackageError(
                "The sample reports are in the package report-chat-local, which is not "
                "installed.",
                remedy=f"Install it: {install_command('local')}. Or set SAMPLE_DATA to "
                "off.",
            )
        return SampleReports(
            SAMPLE_DATA,
            ingestor=lambda: self.ingestor,
            leases=self._storage.facts,
            summary=self.sample_summary,
            warm=lambda: self._runtime().store.count(Scope()),
        )

    def delete_document(
        self,
        record: DocumentRecord,
        control: JobControl | None = None,
        *,
        by: str = "",
        permanent: bool = False,
        is_absence: bool = False,
    ) -> None:
        """Delete a report: put it into the bin for BIN_DAYS, or with ``permanent``
        remove its passages and its original for good. ``by``: who does it, as lists and
        logs name them.

        What a person deletes does not come back by `sync`, by `ingest` of a folder or
        at the next start; with ``is_absence`` it does. Raises DiskFullError: the
        database has no space for the bin.
        """
        deletion = Deletion(now(), by, is_absence)
        # A report that cannot be searched has nothing to restore.
        is_searchable = record.status == "ready" and bool(record.version)
        if self.settings.bin_days and is_searchable and not permanent:
            self._put_into_bin(record, deletion)
        else:
            self._delete_for_good(record, control, deletion)
        self._forget_answers()

    def _put_into_bin(self, record: DocumentRecord, deletion: Deletion) -> None:
        uploads: set[str] = set()
        if record.source:
            uploads = self._storage.ingestions.withdraw(record.source)
        try:
            self.service.hide(record, deletion)
        except DiskFullError as error:
            raise DiskFullError(
                "The database is full, so the report cannot be put into the bin.",
                remedy="Delete it for good: that makes space.",
            ) from error
        self.originals.discard(uploads)

    def _delete_for_good(
        self, record: DocumentRecord, control: JobControl | None, deletion: Deletion
    ) -> None:
        storage = self._storage
        storage.database.free_bytes(tidy=True)  # the log gets a deletion first
        originals = {record.file_id}
        if record.source:  # first, as `Ingestor` relies on
            originals |= storage.ingestions.withdraw(record.source)
        self.ingestor.delete(record.id, control, deletion)
        self.originals.discard(originals)

    def _forget_answers(self) -> None:
        try:
            self._storage.cache.forget_answers()
        except DatabaseError as error:
            # Their key names the state of the library, so none of them is given again.
            log.warning("Cached answers are removed later: %s", error.message)

    def undelete(self, document_id: str) -> DocumentRecord | None:
        """Restore a report from the bin; of one that was deleted for good only lift the
        tombstone, so that its source may add it again (None). Raises as
        `IngestionService.restore`.
        """
        return self.service.restore(document_id)

    def empty_bin(self) -> int:
        """Delete for good what has been in the bin for BIN_DAYS; return how many
        reports.
        """
        before = now(days_ago=self.settings.bin_days)
        expired = [
            record
            for record in self._storage.documents.hidden()
            if record.status == "deleted"
            and record.deletion is not None
            and record.deletion.at <= before
        ]
        for record in expired:
            assert record.deletion is not None
            self._delete_for_good(record, JobControl(patience=0), record.deletion)
        return len(expired)

    def finish_deletions(self) -> bool:
        """Continue deletions that wait for the search engine or whose process died.
        Return whether any is left.
        """
        documents = self._storage.documents
        with request_cache():
            unready = documents.unready()
        deleting = [record for record in unready if record.status == "deleting"]
        if not deleting:
            return False
        for record in deleting:
            self.ingestor.delete(record.id, JobControl(patience=0))
            self.originals.discard({record.file_id})
        return any(record.status == "deleting" for record in documents.unready())

    def derive_figures(
        self,
        stopped: Callable[[], bool] = bool,
        progress: Callable[[int], object] = lambda reports: None,
    ) -> int:
        """Read the figures of reports that an older release, or another program, has
        written without them.

        Return the number of reports whose figures were stored; ``progress`` gets the
        reports of each step. A report that a worker is writing is left to it; rows of
        older systems without a registered report are left out until `migrate` registers
        them. Run it again to continue where it was stopped or killed. Raises
        DependencyError.
        """
        storage = self._storage
        derived = 0
        position = storage.changes.position()
        records = storage.documents.all()
        missing = storage.figures.missing(records)
        if missing:
            log.info("Reading the figures of %d reports.", len(missing))
        for record in missing:
            if stopped():
                return derived
            name = f"document:{record.id}"
            with (
                suppress(ConflictError),
                lease(storage.facts, name, JobControl(), longest=0),
            ):
                derived += self._derive_figures(record.id)
            progress(1)
        if not storage.database.embedded:
            storage.figures.follow(position, records)
        return derived

    def unread(self) -> list[DocumentRecord]:
        """Return the reports whose passages an older release made, sample reports
        apart, which each start reads.
        """
        return [
            record
            for record in self._storage.documents.all()
            if record.visible_version
            and not record.sample
            and record.reading != READING
        ]

    def reread(self, record: DocumentRecord, control: JobControl) -> Ingested:
        """Make the passages of a report anew from its original, under its title and
        metadata; those of today are served until then. Raises NotFoundError: the
        original is not kept; otherwise as `IngestionService.ingest`.
        """
        with TemporaryDirectory(prefix="report-chat-") as folder:
            name, pieces = self.originals.open(record)
            path = Path(folder) / name
            if record.source.startswith(WEB) and path.suffix.lower() not in suffixes():
                path = path.with_name("page.html")
            with path.open("wb") as copy:
                copy.writelines(pieces)
            return self.service.ingest(
                Source(path, record.source, **filed_as(record)),
                file_id=record.file_id,
                upload_number=record.upload_number,
                control=control,
            )

    def _derive_figures(self, document_id: str) -> bool:
        """Store the figures of a report; False if it has them, or no passages yet."""
        figures = self._storage.figures
        documents = self._storage.documents
        record = documents.get(document_id)
        if record is None or not figures.missing([record]):
            return False
        chunks = self._chunks_in_order(record)
        if record.chunks and not chunks:
            return False
        figures.write(
            record.id,
            record.version,
            read_figures(chunks, self.loader.read_texts, record.name),
            of_rows=0 if record.version else record.chunks,
        )
        # Undone where the report was deleted or replaced meanwhile: sample reports take
        # no such lease.
        current = documents.get(record.id)
        if current is None:
            figures.remove(record.id, keep=())
        elif record.version not in {current.version, current.replacing}:
            figures.remove(record.id, keep=[current.version, current.replacing])
        return True

    def _chunks_in_order(self, record: DocumentRecord) -> list[Chunk]:
        """Return the passages of a report's version, in reading order."""
        stored, _ = self._runtime().store.stored(record.id)
        chunks = [
            chunk for chunk in stored if Chunk.version_of(chunk.id)[1] == record.version
        ]
        return sorted(chunks, key=lambda chunk: (chunk.ordinal, chunk.id))

    def keep_up(self, stop: threading.Event) -> None:
        """Close what dead processes were changing, and remove what unfinished versions
        and deletions left, until ``stop`` is set.
        """
        cleared_at = time.monotonic()
        while not stop.wait(20.0):
            try:
                self._storage.changes.close_abandoned()
                if time.monotonic() - cleared_at < PURGE_SECONDS:
                    continue
                cleared_at = time.monotonic()
                self.clear_up()
                self.empty_bin()
                self.remove_orphans()
            except DependencyError as error:
                log.warning("Unfinished changes were left alone: %s", error.message)

    def remove_orphans(self) -> int:
        """Remove passages whose report is gone, as after a deletion without space for
        its mark. Only those that were orphans at the last call already, so that a copy
        or a backup that is being restored is left alone. Return of how many reports.
        """
        store = self._runtime().store
        if self.settings.schema or not isinstance(store, ListingStore):
            return 0
        # Reports of other programs have other ids, and are never removed.
        index = self._storage.documents.index()
        registered = {*index.records, *index.hidden}
        ids = {id for id in store.document_ids() if OWN_ID.fullmatch(id)}
        orphans = ids - registered
        doomed = orphans & self._orphans
        self._orphans = orphans
        for document_id in sorted(doomed):
            self.service.settle(document_id)  # looks again, while it has the lease
        return len(doomed)

    def clear_up(self) -> None:
        """Remove the unfinished versions that dead processes left, unless a job may
        continue one.
        """
        self._forget_hidden_figures()
        unfinished = [
            record.id
            for record in self._storage.documents.all()
            if record.status == "ready" and record.replacing
        ]
        if not unfinished or self._storage.ingestions.unfinished():
            return
        for document_id in unfinished:
            self.service.settle(document_id)

    def _forget_hidden_figures(self) -> None:
        """Remove the figures of reports in the bin, whose process died before it did:
        they are read again when a report is restored.
        """
        binned = [record.id for record in self._storage.documents.hidden()]
        for document_id in self._storage.figures.stored_of(binned):
            self._storage.figures.remove(document_id)
            self._storage.glossary.put(document_id, (), replace_all=True)
