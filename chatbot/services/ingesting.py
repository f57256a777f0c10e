"""From a file to searchable passages."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..cancellation import Cancellation
from ..chunkers import CHUNKERS
from ..ingestion.editor import Editor
from ..ingestion.jobs import IngestionWorker
from ..ingestion.overrides import check_collection, check_overrides
from ..ingestion.pipeline import Ingestor
from ..ingestion.service import IngestionService
from ..ingestion.summary import EXTRACTIVE, NONE, ModelSummary, Summary
from ..loaders.isolated import IsolatedLoader
from ..originals import Originals
from ..presets import CHUNKING
from ..protocols import Chunker
from ..schema import DocumentRecord, Loaded
from .current import Current


class Ingesting(Current):
    """What the knowledge base and `ingest` use."""

    @property
    def ingestor(self) -> Ingestor:
        return self.model_bound.ingestor

    def ingestor_for(self, overrides: Mapping[str, Any]) -> Ingestor:
        """Cuts as ``overrides`` say, else as the settings do. Raises UnknownNameError, InvalidRequestError."""
        return self.model_bound.ingestor_for(overrides)

    def check_overrides(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """What a person says of a report, checked, also against each other and against the settings.

        Raises:
            InvalidRequestError, UnknownNameError: a field that cannot be; nothing was read or written yet.
        """
        checked = check_overrides(
            values,
            countries=self.documents.values("country_name"),
            strategies=lambda name: CHUNKERS.check(name, field="chunk_strategy"),
        )
        if not checked.keys().isdisjoint(CHUNKING):
            self.ingestor_for(checked)
        check_collection(checked.get("collection"), self.chunk_collections)
        return checked

    @property
    def ingestion(self) -> IngestionService:
        """Files to searchable documents."""
        return self._once("ingestion", self._build_ingestion)

    def _build_ingestion(self) -> IngestionService:
        return IngestionService(
            documents=self.documents,
            ingestors=self.ingestor_for,
            load=self.load,
            leases=self.facts,
            summary=self.summary,
        )

    def load(self, path: Path, cancel: Cancellation) -> Loaded:
        """Read one file, in a process of its own where its format asks for that. Raises LoadError."""
        return self._once("loader", lambda: IsolatedLoader(time_limit=self.settings.load_timeout)).load(
            path, cancel=cancel
        )

    @property
    def summary(self) -> Summary:
        """How a report is summarised when it is ingested."""
        kind = self.settings.summaries
        if kind == "auto":
            kind = "model" if self.settings.openai_api_key else "extractive"
        if kind == "model":
            return Summary("model", ModelSummary(self.chat_model, input_tokens=self.settings.context_tokens))
        return EXTRACTIVE if kind == "extractive" else NONE

    @property
    def sample_summary(self) -> Summary:
        """No model reads the sample reports: a first start makes no calls."""
        return NONE if self.settings.summaries == "off" else EXTRACTIVE

    @property
    def chunker(self) -> Chunker:
        return self.model_bound.chunker

    @property
    def editor(self) -> Editor:
        """Changes what is said of a report."""
        bound = self.model_bound
        return Editor(store=bound.store, writer=bound.ingestor.writer, documents=self.documents, leases=self.facts)

    def delete_document(self, record: DocumentRecord) -> None:
        """Remove a report, its passages and its original; a sample report does not come back at the next start."""
        if record.sample:
            self.facts.dismiss_sample(record.id)
        self.ingestor.delete(record.id)
        self.originals.tidy()

    @property
    def originals(self) -> Originals:
        """The files that documents were made of."""
        return self._once(
            "originals",
            lambda: Originals(files=self.files, jobs=self.ingestions, documents=self.documents, settings=self.settings),
        )

    @property
    def worker(self) -> IngestionWorker:
        """Works through the queued ingestions; whoever serves runs it."""
        return self._once(
            "worker",
            lambda: IngestionWorker(
                self.ingestions,
                service=lambda: self.ingestion,
                fetch=self.originals.fetch,
                tidy=self.originals.tidy,
            ),
        )
