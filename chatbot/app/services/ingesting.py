"""Ingesting reports: builds chunkers, loaders and the worker, and keeps them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...config import SAMPLE_DATA
from ...config.presets import CHUNKING
from ...domain import Chunk, Chunking, DocumentRecord, Loaded, Scope
from ...domain.cancellation import Cancellation
from ...domain.errors import ConflictError
from ...domain.figures import SAMPLE_GLOSSARY
from ...jobs.worker import IngestionWorker, Originals
from ...library.chunkers import CHUNKERS
from ...library.control import JobControl, lease
from ...library.derived import EXTRACTIVE, NONE, ModelSummary, Summary
from ...library.loaders import loader_for
from ...library.loaders.isolation import LoaderPool
from ...library.pipeline import IngestionService, Ingestor
from ...library.samples import SampleReports
from ...library.sources import About, Cutting, check_collection, check_overrides
from .storage import close_lazy, lazy

log = logging.getLogger(__name__)
LOAD_SECONDS = 300.0
"""Time limit for reading one file."""

if TYPE_CHECKING:
    from . import Services


class Ingesting:
    """Adds, changes and deletes reports."""

    def __init__(self, services: Services) -> None:
        self.settings = services.settings
        self._services = services
        self._storage = services.storage

    @property
    def ingestor(self) -> Ingestor:
        """The ingestor that splits as the settings say."""
        return self.ingestor_for({})

    def ingestor_for(self, overrides: Mapping[str, Any]) -> Ingestor:
        """Return the ingestor that splits as ``overrides`` say, else as the settings do.

        Raises:
            UnknownNameError, InvalidRequestError: the chunking is not possible.
            DatabaseError: the database does not answer.
        """
        return self._services.runtime.ingestor(self._chunking(overrides))

    def _chunking(self, overrides: Mapping[str, Any]) -> Chunking:
        settings = self.settings
        strategy = CHUNKERS.check(overrides.get("chunk_strategy") or settings.chunk_strategy, field="chunk_strategy")
        overlap = settings.chunk_overlap if strategy == settings.chunk_strategy else 0
        size = overrides.get("chunk_size", settings.chunk_size)
        return Chunking(strategy, size, overrides.get("chunk_overlap", overlap))

    def check(self) -> None:
        """Raises UnknownNameError, InvalidRequestError: no report can be split as the settings say."""
        CHUNKERS.check(self.settings.chunk_strategy, field="CHUNK_STRATEGY")
        self._services.runtime.chunker(self._chunking({}))

    def check_overrides(self, overrides: About | Cutting) -> dict[str, Any]:
        """Return a person's metadata and chunking of a report, checked together with the settings.

        Raises:
            InvalidRequestError, UnknownNameError: naming the wrong field. Nothing was read or written.
        """
        checked = check_overrides(overrides, countries=self._storage.documents.values("country_name"))
        if not checked.keys().isdisjoint(CHUNKING):
            self.ingestor_for(checked)
        check_collection(checked.get("collection"), self.settings.chunk_collections)
        return checked

    @lazy
    def service(self) -> IngestionService:
        """Makes searchable documents out of files."""
        settings, summary = self.settings, self.sample_summary
        if settings.summaries == "model" or (settings.summaries == "auto" and settings.openai_api_key):
            model = ModelSummary(self._services.answering.chat_model, input_tokens=settings.context_tokens)
            summary = Summary("model", model)
        return IngestionService(
            documents=self._storage.documents,
            ingestors=self.ingestor_for,
            load=self.load,
            leases=self._storage.facts,
            summary=summary,
        )

    @lazy
    def _loader(self) -> LoaderPool:
        return LoaderPool(self.settings.ingestion_workers, time_limit=LOAD_SECONDS)

    def load(self, path: Path, cancel: Cancellation) -> Loaded:
        """Read one file, in its own process if its format needs that. Raises LoadError."""
        return self._loader.load(path, cancel=cancel)

    @property
    def sample_summary(self) -> Summary:
        """How sample reports are summarised: without a model, so that a first start makes no calls."""
        return NONE if self.settings.summaries == "off" else EXTRACTIVE

    def sample_reports(self) -> SampleReports:
        return SampleReports(
            SAMPLE_DATA,
            ingestor=lambda: self.ingestor,
            loader=loader_for,
            leases=self._storage.facts,
            summary=self.sample_summary,
            glossary=self._storage.glossary,
            hold=self._services.hold,
            warm=lambda: self._services.runtime.store.count(Scope()),
        )

    def delete_document(self, record: DocumentRecord, control: JobControl | None = None) -> None:
        """Remove a report, its passages and its original; a sample report does not come back at the next start."""
        if record.sample:
            self._storage.facts.dismiss_sample(record.id)
        self._storage.quota.reclaim()
        if record.source:
            self._storage.ingestions.withdraw(record.source)  # first, as `Ingestor` relies on
        self.ingestor.delete(record.id, control)
        if record.sample and not any(one.sample for one in self._storage.documents.all()):
            self._storage.glossary.put(SAMPLE_GLOSSARY, (), replace_all=True)
        self.originals.tidy()
        self._storage.cache.forget_answers()

    def finish_deletions(self) -> bool:
        """Continue deletions that wait for the search engine or whose process died. Return whether any is left."""
        for document_id in self._deleting():
            self.ingestor.delete(document_id, JobControl(patience=0))
        return bool(self._deleting())

    def _deleting(self) -> list[str]:
        return [record.id for record in self._storage.documents.all() if record.status == "deleting"]

    def derive_figures(
        self, stopped: Callable[[], bool] = bool, progress: Callable[[int], object] = lambda reports: None
    ) -> int:
        """Read the figures of reports that an older release, or another program, has written without them.

        Return the number of reports whose figures were stored; ``progress`` gets the reports of each step. A report
        that a worker is writing is left to it; rows of older systems without a registered report are left out until
        `migrate` registers them. Run it again to continue where it was stopped or killed. Raises DependencyError.
        """
        storage, derived = self._storage, 0
        if missing := storage.figures.missing(storage.documents.all()):
            log.info("Reading the figures of %d reports.", len(missing))
        for record in missing:
            if stopped():
                break
            with suppress(ConflictError), lease(storage.facts, f"document:{record.id}", JobControl(), longest=0):
                derived += self._derive_figures(record.id)
            progress(1)
        return derived

    def _derive_figures(self, document_id: str) -> bool:
        figures, documents = self._storage.figures, self._storage.documents
        record = documents.get(document_id)
        if record is None or not figures.missing([record]):
            return False
        stored, _ = self._services.runtime.store.stored(record.id)
        chunks = [chunk for chunk in stored if Chunk.version_of(chunk.id)[1] == record.version]
        if record.chunks and not chunks:
            return False
        figures.write(record.id, record.version, sorted(chunks, key=lambda chunk: (chunk.ordinal, chunk.id)))
        # Undone where the report was deleted or replaced meanwhile: sample reports take no such lease.
        current = documents.get(record.id)
        if current is None or record.version not in {current.version, current.replacing}:
            figures.remove(record.id, keep=[current.version, current.replacing] if current else ())
        return True

    def clear_up(self) -> None:
        """Remove the unfinished versions that dead processes left, unless a job may continue one."""
        unfinished = [one.id for one in self._storage.documents.all() if one.status == "ready" and one.replacing]
        if unfinished and not self._storage.ingestions.unfinished():
            for document_id in unfinished:
                self.service.settle(document_id)

    @lazy
    def originals(self) -> Originals:
        files, queue, documents = self._storage.files, self._storage.ingestions, self._storage.documents
        return Originals(files=files, queue=queue, documents=documents, settings=self.settings)

    @lazy
    def worker(self) -> IngestionWorker:
        """Works through the queued ingestions; a server runs it."""
        return IngestionWorker(
            self._storage.ingestions,
            service=lambda: self.service,
            fetch=self.originals.fetch,
            tidy=self.originals.tidy,
            hold=self._services.hold,
            idle=self.finish_deletions,
        )

    def close(self) -> None:
        close_lazy(self, "_loader")
