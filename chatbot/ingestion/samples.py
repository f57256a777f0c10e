"""The sample reports, loaded in the background while the server already answers."""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from ..cancellation import Cancellation
from ..errors import ChatbotError
from ..protocols import Loader
from ..schema import Document
from .leases import Leases
from .pipeline import Ingestor, Registration
from .sources import document_id, folder_sources, make_document
from .summary import Summary

log = logging.getLogger(__name__)
PREFIX = "sample_data"
LEASE_SECONDS = 15.0
LEASE_POLL_SECONDS = 1.0


class Facts(Leases, Protocol):
    """See `repositories.changes.CorpusFacts`."""

    def dismissed_samples(self) -> set[str]: ...


class SampleReports:
    """Ingests a folder once. `start` returns at once; `close` stops at the next document."""

    def __init__(
        self,
        folder: Path,
        *,
        ingestor: Callable[[], Ingestor],
        loader: Callable[[Path], Loader],
        leases: Facts,
        summary: Summary,
        warm: Callable[[], object] = lambda: None,
    ) -> None:
        """``warm`` is called when all are there, so that the first question does not wait for the index."""
        self._folder = folder
        self._ingestor = ingestor
        self._loader = loader
        self._leases = leases
        self._summary = summary
        self._about = Registration(sample=True, summary=summary.kind)
        self._owner = uuid.uuid4().hex
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._warm = warm
        self._registered = threading.Event()
        self.total = 0
        """How many there are; 0 until they have been read."""
        self.error = ""

    @property
    def running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    @property
    def unknown(self) -> bool:
        """Whether they are on their way and not even registered: until then the data seems to be empty."""
        return self.running and not self._registered.is_set()

    def documents(self, overrides: Callable[[str], Mapping[str, Any]] = lambda document_id: {}) -> list[Document]:
        """The sample reports, read but not ingested; ``overrides(document_id)`` is what a person says of one."""
        found = []
        for source in folder_sources(self._folder, prefix=PREFIX):
            said = overrides(document_id(source.identity))
            found.append(make_document(source, self._loader(source.path).load(source.path), overrides=said))
        return found

    def _known(self, document: Document) -> Registration:
        return replace(self._about, overrides=self._ingestor().overrides(document.id))

    def summary_of(self, document: Document) -> str:
        return self._summary.make(document, Cancellation())

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="sample-reports", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop after the document in hand, and wait for it."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        try:
            while not self._leases.acquire_lease("sample_data", self._owner, LEASE_SECONDS):
                if self._stop.wait(LEASE_POLL_SECONDS):
                    return
            self.load()
            self._warm()
            self._leases.release_lease("sample_data", self._owner)
        except ChatbotError as error:
            # A thread has nobody to raise to: the readiness endpoint shows this.
            self.error = error.message
            log.error("The sample reports could not be loaded: %s", error.message)

    def load(self, progress: Callable[[int, int], None] = lambda done, total: None) -> int:
        """Register all, then ingest one by one; returns how many were new. ``progress`` counts documents."""
        ingestor = self._ingestor()
        dismissed = self._leases.dismissed_samples()
        documents = [found for found in self.documents(ingestor.overrides) if found.id not in dismissed]
        self.total = len(documents)
        waiting = [document for document in documents if ingestor.register(document, self._known(document))]
        self._registered.set()
        progress(len(documents) - len(waiting), len(documents))
        for done, document in enumerate(waiting, start=len(documents) - len(waiting) + 1):
            if self._stop.is_set():
                break
            # The ingestor is asked for anew: `reembed` may have replaced it.
            self._ingestor().ingest(document, self._known(document), summarise=self.summary_of)
            self._leases.acquire_lease("sample_data", self._owner, LEASE_SECONDS)
            progress(done, len(documents))
        return len(waiting)
