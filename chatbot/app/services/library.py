"""Adding, changing and deleting reports; and the library as one caller sees it."""

import difflib
import logging
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ...answering.context import CONTEXT_MARGIN, window
from ...config import SAMPLE_DATA
from ...config.settings import Settings
from ...config.settings_types import CHUNKING
from ...database.reader import Reader, narrowed
from ...database.repositories.caches import request_cache
from ...database.repositories.documents import OWN_ID, is_inside
from ...database.repositories.figures import FigurePage
from ...domain import Chunk, DocumentRecord, Scope
from ...domain.callers import Caller
from ...domain.documents import Chunking
from ...domain.errors import (
    ConflictError,
    DatabaseError,
    DependencyError,
    DiskFullError,
    ForbiddenError,
    InvalidRequestError,
    NotFoundError,
)
from ...domain.figures import SAMPLE_GLOSSARY
from ...domain.protocols import ListingStore
from ...domain.scope import Values
from ...jobs.worker import IngestionWorker, Originals
from ...language.reported_figures import stated
from ...library.chunkers import CHUNKERS
from ...library.control import JobControl, lease
from ...library.derived import EXTRACTIVE, NONE, ModelSummary, Summary
from ...library.loaders.isolation import UPLOAD_LIMITS, LoaderPool
from ...library.pipeline import IngestionService, Ingestor, passages
from ...library.samples import SampleReports
from ...library.sources import About, Cutting, check_collection, check_overrides
from ...search.scope import ScopeResolver
from .activity import Activity
from .chat_models import ChatModels
from .once import Once
from .retention import PURGE_SECONDS
from .runtime import Runtime
from .searching import SearchServices
from .storage import Storage

if TYPE_CHECKING:
    from . import Services

log = logging.getLogger(__name__)
CHUNK_ID = re.compile(r"^[A-Za-z0-9._|:#<>-]{1,200}$")


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
        settings, summary = self.settings, self.sample_summary
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
        return (
            50
            if self.settings.summaries == "auto" and self.settings.openai_api_key
            else None
        )

    @property
    def sample_summary(self) -> Summary:
        """The summary provider of sample reports: no model, so that a first start makes
        no calls.
        """
        return NONE if self.settings.summaries == "off" else EXTRACTIVE

    def sample_reports(self) -> SampleReports:
        return SampleReports(
            SAMPLE_DATA,
            ingestor=lambda: self.ingestor,
            leases=self._storage.facts,
            summary=self.sample_summary,
            glossary=self._storage.glossary,
            warm=lambda: self._runtime().store.count(Scope()),
        )

    def delete_document(
        self, record: DocumentRecord, control: JobControl | None = None
    ) -> None:
        """Remove a report, its passages and its original; a sample report does not come
        back at the next start.
        """
        dismissed = record.sample and self._dismiss_sample(record)
        self._storage.database.free_bytes(
            tidy=True
        )  # a deletion is written to the log first
        originals = {record.file_id}
        if record.source:  # first, as `Ingestor` relies on
            originals |= self._storage.ingestions.withdraw(record.source)
        self.ingestor.delete(record.id, control)
        if record.sample and not any(
            one.sample for one in self._storage.documents.all()
        ):
            self._storage.glossary.put(SAMPLE_GLOSSARY, (), replace_all=True)
        self.originals.discard(originals)
        try:
            self._storage.cache.forget_answers()
        except DatabaseError as error:
            # Their key names the state of the library, so none of them is given again.
            log.warning("Cached answers are removed later: %s", error.message)
        if record.sample and not dismissed:
            self._dismiss_sample(record)

    def _dismiss_sample(self, record: DocumentRecord) -> bool:
        """Note that a sample report is deleted; False where there is no space for that,
        before the deletion makes some.
        """
        try:
            self._storage.facts.dismiss_sample(record.id)
        except DiskFullError as error:
            log.warning("A deleted sample is not noted: %s", error.message)
            return False
        return True

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
        storage, derived, position = self._storage, 0, self._storage.changes.position()
        records = storage.documents.all()
        if missing := storage.figures.missing(records):
            log.info("Reading the figures of %d reports.", len(missing))
        for record in missing:
            if stopped():
                return derived
            with (
                suppress(ConflictError),
                lease(storage.facts, f"document:{record.id}", JobControl(), longest=0),
            ):
                derived += self._derive_figures(record.id)
            progress(1)
        if not storage.database.embedded:
            storage.figures.follow(position, records)
        return derived

    def _derive_figures(self, document_id: str) -> bool:
        figures, documents = self._storage.figures, self._storage.documents
        record = documents.get(document_id)
        if record is None or not figures.missing([record]):
            return False
        stored, _ = self._runtime().store.stored(record.id)
        chunks = [
            chunk for chunk in stored if Chunk.version_of(chunk.id)[1] == record.version
        ]
        if record.chunks and not chunks:
            return False
        in_order = sorted(chunks, key=lambda chunk: (chunk.ordinal, chunk.id))
        read = self.loader.read_texts(
            stated, [chunk.text for chunk in in_order], record.name
        )
        read_chunks = zip(in_order, read, strict=True)
        figures.write(
            record.id,
            record.version,
            read_chunks,
            of_rows=0 if record.version else record.chunks,
        )
        # Undone where the report was deleted or replaced meanwhile: sample reports take
        # no such lease.
        current = documents.get(record.id)
        if current is None or record.version not in {
            current.version,
            current.replacing,
        }:
            figures.remove(
                record.id, keep=[current.version, current.replacing] if current else ()
            )
        return True

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
        registered = {record.id for record in self._storage.documents.all()}
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
        unfinished = [
            one.id
            for one in self._storage.documents.all()
            if one.status == "ready" and one.replacing
        ]
        if unfinished and not self._storage.ingestions.unfinished():
            for document_id in unfinished:
                self.service.settle(document_id)


@dataclass(frozen=True, slots=True)
class Library:
    """Looks up reports and passages for ``who``, and says what they may change."""

    services: "Services"
    who: Caller

    @property
    def reader(self) -> Reader:
        """What the caller may see: the only way to reports and passages."""
        return self.services.reader(self.who.limit)

    def activity(self, owner: str | None) -> Activity:
        """Return what the caller sees of what this owner does; None = everybody."""
        return Activity(self.services.storage, self.who.limit, owner)

    @property
    def search(self) -> SearchServices:
        """Searches and answers within what the caller may see."""
        return self.services.searches.within(self.who.limit)

    @property
    def scopes(self) -> ScopeResolver:
        return self.services.storage.scopes.inside(self.who.limit)

    def record(self, document_id: str) -> DocumentRecord:
        """Return a report with its parts that the caller may see. Raises
        NotFoundError.
        """
        record = self.reader.documents.get(document_id)
        if record is None:
            raise NotFoundError(f"There is no report {document_id[:64]!r}.")
        return record

    def original(self, record: DocumentRecord) -> tuple[str, Iterator[bytes]]:
        """Return the name and the content of a report's original. Raises NotFoundError:
        it is not kept, or parts of it are outside of what the caller may see.
        """
        if record.part_of:
            raise NotFoundError(
                f"This key sees only some parts of {record.title!r}, so it does not "
                "get the original. Read its passages, or use a key that sees all of it."
            )
        return self.services.ingesting.originals.open(record)

    def original_name(self, record: DocumentRecord) -> str:
        """Return the name of the original, "" if the caller does not get it."""
        if record.part_of:
            return ""
        return self.services.ingesting.originals.file_name(record)

    def can_reingest(self, record: DocumentRecord) -> bool:
        """Return whether the original can be read again for the caller."""
        if record.part_of:
            return False
        return self.services.ingesting.originals.job_file(record) is not None

    def own_record(self, document_id: str) -> DocumentRecord:
        """Return a report that the caller may change. Raises NotFoundError,
        ForbiddenError.
        """
        record = self.record(document_id)
        self.services.storage.require_writable()
        if record.part_of:
            raise ForbiddenError(
                "This key sees some parts of this report only. Change it with a key "
                "that sees all of it."
            )
        if not self.may_change(record):
            raise ForbiddenError(
                "Only the person who added this report, or an administrator, may "
                "change it."
            )
        return record

    def may_change(self, record: DocumentRecord) -> bool:
        """Return whether the caller sees all of this report, and added it or is an
        administrator (as all with open access).
        """
        inside = narrowed(record, self.who.limit)
        if inside is None or inside.part_of:
            return False
        is_own = (
            self.who.may("write")
            and bool(self.who.owner)
            and record.owner == self.who.owner
        )
        return is_own or self.who.may("admin")

    def shows(self, record: DocumentRecord) -> bool:
        """Return whether the caller sees some part of the report."""
        return is_inside(record, self.who.limit)

    def inside_limit(
        self, about: dict[str, Any], *, new: bool = False
    ) -> dict[str, Any]:
        """Return the metadata that was sent for a report. Of a ``new`` report, add the
        fields for which the caller's limit allows one value only. Raises
        ForbiddenError: the report would be outside of that limit.
        """
        limit = self.who.limit
        conditions = dict(limit.conditions) | (
            {"collection": Values(limit.collections)} if limit.collections else {}
        )
        for field, condition in conditions.items():
            values = condition.values if isinstance(condition, Values) else ()
            if new and field not in about and len(values) == 1:
                about = {**about, field: values[0]}
            if (new or field in about) and not condition.matches(about.get(field)):
                valid = ", ".join(map(str, values)) or str(condition.to_json())
                raise ForbiddenError(
                    f"This key is limited to {field} {valid}. State that {field} "
                    "for the report."
                )
        return about

    def passage(self, chunk_id: str) -> Chunk:
        """Return a passage. Raises NotFoundError."""
        if not CHUNK_ID.match(chunk_id) or not (passages := self.passages([chunk_id])):
            raise NotFoundError(f"There is no passage {chunk_id[:200]!r}.")
        return passages[0]

    def passages(self, chunk_ids: Sequence[str]) -> list[Chunk]:
        """Return the passages that exist and that the caller may see, in the order of
        the ids.
        """
        return self.reader.passages.get(chunk_ids)

    def page_of(self, record: DocumentRecord, offset: int, limit: int) -> list[Chunk]:
        """Return passages of a report that the caller may see, in reading order, the
        summary last.
        """
        return passages(self.reader.passages, record, offset=offset, limit=limit)

    def wider_text(self, chunk: Chunk) -> str:
        """Return a passage with `CONTEXT_MARGIN` characters of its report on each
        side.
        """
        (around,) = self.reader.passages.surroundings([chunk], margin=CONTEXT_MARGIN)
        return window(chunk, around, before=CONTEXT_MARGIN, after=CONTEXT_MARGIN)

    def figures(
        self,
        scope: Scope,
        indicator: str,
        year: int | None,
        *,
        limit: int,
        after: str = "",
    ) -> FigurePage:
        """Return a page of the figures in a scope by indicator, "" = all, and by their
        year. Raises InvalidRequestError: no report in the scope has such a heading;
        names similar ones.
        """
        figures = self.reader.figures
        page = figures.page(
            scope, indicator=indicator, year=year, limit=limit, after=after
        )
        text = " ".join(indicator.split()).casefold()
        if page.total or not text:
            return page
        headings = {
            heading.casefold(): heading for heading in figures.indicators(scope)
        }
        if text.partition(": ")[0] in headings:
            return page
        near = [name for name in headings if text in name] or difflib.get_close_matches(
            text, headings, cutoff=0.5
        )
        names = [headings[name] for name in near[:5]]
        hint = f" Did you mean {', '.join(names)}?" if names else ""
        raise InvalidRequestError.for_field(
            "indicator", f"no report here has a section {text!r}.{hint}", names
        )
