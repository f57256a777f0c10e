"""The sample reports, loaded in the background of a first start."""

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..database.repositories.corpus import CorpusFacts
from ..domain import Cancellation, Document
from ..domain.errors import CancelledError, ChatbotError
from .control import JobControl, lease
from .derived import Summary
from .loaders import loader_for
from .pipeline import Ingestor, Registration
from .sources import SAMPLES, document_id, folder_sources, make_document

log = logging.getLogger(__name__)


@dataclass(eq=False)
class SampleReports:
    """Ingests a folder once, in a thread between `start` and `close`. ``warm`` is
    called at the end, so that the first question does not wait for the index.
    """

    folder: Path
    ingestor: Callable[[], Ingestor]
    leases: CorpusFacts
    summary: Summary
    warm: Callable[[], object] = lambda: None
    unknown: bool = False
    """True while they are loaded and not registered yet: until then the database seems
    to be empty.
    """
    total: int = 0
    """Number of sample reports; 0 until they are read."""
    error: str = ""
    _stop: Cancellation = field(default_factory=Cancellation)
    _thread: threading.Thread | None = None

    @property
    def running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def documents(
        self, overrides: Callable[[str], Mapping[str, Any]] = lambda document_id: {}
    ) -> list[Document]:
        """Read the sample reports without ingesting them, described by
        ``overrides(document_id)``.
        """
        documents = []
        for source in folder_sources(self.folder, prefix=SAMPLES):
            stated = overrides(document_id(source.identity))
            documents.append(
                make_document(
                    source, loader_for(source.path).load(source.path), overrides=stated
                )
            )
        return documents

    def start(self) -> None:
        self.unknown = True
        self._thread = threading.Thread(
            target=self._run, name="sample-reports", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Stop after the current document, and wait for it."""
        self._stop.cancel()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        try:
            with lease(self.leases, "sample_data", JobControl(cancel=self._stop)):
                self.load()
                self.warm()
        except ChatbotError as error:
            if isinstance(error, CancelledError) and self._stop.cancelled:
                return  # while another process had the lease
            # A thread has nobody to raise to: /ready reports this.
            self.error = error.message
            log.error("The sample reports could not be loaded: %s", error.message)
        finally:
            self.unknown = False

    def load(
        self, progress: Callable[[int, int], None] = lambda done, total: None
    ) -> int:
        """Register all, then ingest them one by one; return the number of new ones.
        ``progress`` counts documents.
        """
        ingestor = self.ingestor()
        # Releases before the bin noted deleted samples beside their rows.
        dismissed = {*self.leases.dismissed_samples(), *ingestor.deleted_ids()}
        documents = [
            document
            for document in self.documents(ingestor.overrides)
            if document.id not in dismissed
        ]
        self.total = len(documents)

        def about(document: Document) -> Registration:
            stated = self.ingestor().overrides(document.id)
            return Registration(sample=True, summary=self.summary, overrides=stated)

        waiting = [
            document
            for document in documents
            if ingestor.register(document, about(document))
        ]
        self.unknown = False
        progress(len(documents) - len(waiting), len(documents))
        for done, document in enumerate(
            waiting, start=len(documents) - len(waiting) + 1
        ):
            if self._stop.cancelled:
                break
            # Looked up for each document: `reembed` may have replaced the ingestor.
            self.ingestor().ingest(document, about(document))
            progress(done, len(documents))
        return len(waiting)
