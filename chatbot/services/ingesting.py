"""Ingesting reports: builds chunkers, loaders and the worker, and keeps them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..cancellation import Cancellation
from ..chunkers import CHUNKERS
from ..ingestion.control import JobControl
from ..ingestion.pipeline import IngestionService, Ingestor
from ..ingestion.samples import SampleReports
from ..ingestion.sources import About, Cutting, check_collection, check_overrides
from ..ingestion.summaries import EXTRACTIVE, NONE, ModelSummary, Summary
from ..ingestion.versions import Editor
from ..jobs.originals import Originals
from ..jobs.worker import IngestionWorker
from ..loaders import loader_for
from ..loaders.isolation import LoaderPool
from ..presets import CHUNKING
from ..schema import Chunking, DocumentRecord, Loaded, Scope
from ..shipped import SAMPLE_DATA
from .lifetime import close_lazy, lazy

if TYPE_CHECKING:
    from . import Services


class Ingesting:
    """What the knowledge base and `ingest` use."""

    def __init__(self, services: Services) -> None:
        self.settings = services.settings
        self._services = services
        self._storage = services.storage

    @property
    def ingestor(self) -> Ingestor:
        """The ingestor that cuts as the settings say."""
        return self.ingestor_for({})

    def ingestor_for(self, overrides: Mapping[str, Any]) -> Ingestor:
        """The ingestor that cuts as ``overrides`` say, else as the settings do.

        Raises:
            UnknownNameError, InvalidRequestError: a chunking that cannot be.
            DatabaseError: it had to be prepared and does not answer.
        """
        return self._services.runtime.ingestor(self._chunking(overrides))

    def _chunking(self, overrides: Mapping[str, Any]) -> Chunking:
        """What a person asks for, else the settings say. Raises UnknownNameError."""
        settings = self.settings
        strategy = CHUNKERS.check(overrides.get("chunk_strategy") or settings.chunk_strategy, field="chunk_strategy")
        same = strategy == settings.chunk_strategy
        size = overrides.get("chunk_size", settings.chunk_size)
        overlap = overrides.get("chunk_overlap", settings.chunk_overlap if same else 0)
        return Chunking(strategy, size, overlap)

    def check(self) -> None:
        """Raises UnknownNameError, InvalidRequestError: as the settings say no report can be cut."""
        CHUNKERS.check(self.settings.chunk_strategy, field="CHUNK_STRATEGY")
        self._services.runtime.chunker(self._chunking({}))

    def check_overrides(self, said: About | Cutting) -> dict[str, Any]:
        """What a person says of a report, checked, also against each other and against the settings.

        Raises:
            InvalidRequestError, UnknownNameError: a field that cannot be; nothing was read or written yet.
        """
        checked = check_overrides(said, countries=self._storage.documents.values("country_name"))
        if not checked.keys().isdisjoint(CHUNKING):
            self.ingestor_for(checked)
        check_collection(checked.get("collection"), self.settings.chunk_collections)
        return checked

    @lazy
    def service(self) -> IngestionService:
        """What makes searchable documents out of files."""
        storage = self._storage
        return IngestionService(
            documents=storage.documents,
            ingestors=self.ingestor_for,
            load=self.load,
            leases=storage.facts,
            summary=self.summary,
        )

    @lazy
    def _loader(self) -> LoaderPool:
        return LoaderPool(self.settings.ingestion_workers, time_limit=self.settings.load_timeout)

    def load(self, path: Path, cancel: Cancellation) -> Loaded:
        """Read one file, in a process of its own where its format asks for that. Raises LoadError."""
        return self._loader.load(path, cancel=cancel)

    @property
    def summary(self) -> Summary:
        """How a report is summarised when it is ingested."""
        kind = self.settings.summaries
        if kind == "auto":
            kind = "model" if self.settings.openai_api_key else "extractive"
        if kind == "model":
            return Summary(
                "model", ModelSummary(self._services.answering.chat_model, input_tokens=self.settings.context_tokens)
            )
        return EXTRACTIVE if kind == "extractive" else NONE

    @property
    def sample_summary(self) -> Summary:
        """No model reads the sample reports: a first start makes no calls."""
        return NONE if self.settings.summaries == "off" else EXTRACTIVE

    def sample_reports(self) -> SampleReports:
        """What loads the sample reports, for the server and the command line; a new one each time."""
        return SampleReports(
            SAMPLE_DATA,
            ingestor=lambda: self.ingestor,
            loader=loader_for,
            leases=self._storage.facts,
            summary=self.sample_summary,
            hold=self._services.hold,
            warm=lambda: self._services.runtime.store.count(Scope()),
        )

    @property
    def editor(self) -> Editor:
        """Changes what is said of a report."""
        storage, runtime = self._storage, self._services.runtime
        return Editor(
            store=runtime.store,
            writer=runtime.ingestor(self._chunking({})).writer,
            documents=storage.documents,
            leases=storage.facts,
        )

    def delete_document(self, record: DocumentRecord, control: JobControl | None = None) -> None:
        """Remove a report, its passages and its original; a sample report does not come back at the next start."""
        if record.sample:
            self._storage.facts.dismiss_sample(record.id)
        self._storage.quota.reclaim()
        if record.source:
            self._storage.ingestions.withdraw(record.source)  # first, as `Ingestor` relies on
        self.ingestor.delete(record.id, control)
        self.originals.tidy()
        self._storage.cache.forget_answers()

    def finish_deletions(self) -> bool:
        """Go on with those that wait for the search engine, or whose process died; whether any is left."""
        for record in self._deleting():
            self.ingestor.delete(record.id, JobControl(patience=0))
        return bool(self._deleting())

    def _deleting(self) -> list[DocumentRecord]:
        return [record for record in self._storage.documents.all() if record.status == "deleting"]

    def clear_up(self) -> None:
        """Remove what processes that died have left beside the versions that are shown, unless a job goes on there."""
        left = [one for one in self._storage.documents.all() if one.status == "ready" and one.replacing]
        if left and not self._storage.ingestions.unfinished():
            for record in left:
                self.service.settle(record.id)

    @lazy
    def originals(self) -> Originals:
        """The files that documents were made of."""
        storage = self._storage
        return Originals(
            files=storage.files, queue=storage.ingestions, documents=storage.documents, settings=self.settings
        )

    @lazy
    def worker(self) -> IngestionWorker:
        """Works through the queued ingestions; whoever serves runs it."""
        return IngestionWorker(
            self._storage.ingestions,
            service=lambda: self.service,
            fetch=self.originals.fetch,
            tidy=self.originals.tidy,
            hold=self._services.hold,
            idle=self.finish_deletions,
        )

    def close(self) -> None:
        """End the processes that read files."""
        close_lazy(self, "_loader")
