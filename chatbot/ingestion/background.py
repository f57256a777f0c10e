"""Ingestion while the server answers: threads of every process take the files of jobs from the database, each one at
a time, and another loads the sample reports.
"""

from __future__ import annotations

import logging
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from ..cancellation import Cancellation
from ..errors import CancelledError, ChatbotError, DiskFullError, StoppedError, SupersededError
from ..protocols import Loader
from ..repositories.corpus import CorpusFacts
from ..repositories.ingestions import IngestionRepository
from ..schema import Document
from ..schema.jobs import IngestionFile
from .pipeline import Ingestor, Registration
from .service import IngestionService
from .sources import SAMPLES, Source, document_id, folder_sources, make_document
from .summaries import Summary
from .watch import Watch, WorkLoop, heartbeat, lease

log = logging.getLogger(__name__)
IDLE_SECONDS = 2.0
BEAT_SECONDS = 0.5
NOTE_SECONDS = 0.5
MOST_TRIES = 3
"""How often a file may take its process with it before it is given up."""


class IngestionWorker:
    """`run` until `close`, in several threads if need be; `wake` after a job was made. The files in hand at the end are
    the next worker's.

    ``fetch(file, folder, cancel)`` puts the file's original on disk and returns its path and the stored file's id.
    """

    def __init__(
        self,
        jobs: IngestionRepository,
        *,
        service: Callable[[], IngestionService],
        fetch: Callable[[IngestionFile, Path, Cancellation], tuple[Path, str]],
        tidy: Callable[[], None] = lambda: None,
        idle: Callable[[], object] = lambda: None,
    ) -> None:
        """``tidy`` is called after each file, ``idle`` where there is none."""
        self._jobs = jobs
        self._service = service
        self._fetch = fetch
        self._tidy = tidy
        self._idle = idle
        self._loop = WorkLoop(self._work_or_idle, idle_seconds=IDLE_SECONDS, waits="The ingestion waits")
        self._current: set[Cancellation] = set()

    def run(self) -> None:
        """Work until `close` is called."""
        self._loop.run()

    def wake(self) -> None:
        """Look for a job now, not at the next turn."""
        self._loop.wake()

    def close(self) -> None:
        """Stop soon; `run` returns when the file in hand has been let go."""
        self._loop.close()
        for current in list(self._current):
            current.cancel()

    def _work_or_idle(self) -> bool:
        busy = self.work_once()
        if not busy:
            self._idle()
        return busy

    def work_once(self) -> bool:
        """Take one file and finish it; False when there is none.

        Raises:
            DependencyError: the database does not answer.
        """
        file = self._jobs.claim(uuid.uuid4().hex)
        if file is None:
            return False
        if file.cancel:
            self._give_up(file, state="cancelled")
        elif file.tries > MOST_TRIES:
            error = f"{file.name} was given up: the process that read it ended {MOST_TRIES} times."
            self._give_up(file, state="failed", error=error)
        elif not self._work(file):
            return False
        self._tidy()
        return True

    def _give_up(self, file: IngestionFile, **values: Any) -> None:
        self._service().abandon(file.identity)
        self._jobs.release(file, **values, detail="")

    def _work(self, file: IngestionFile) -> bool:
        """False where there is no room for it now: it is tried again."""
        cancel, lost = Cancellation(), threading.Event()
        self._current.add(cancel)
        if self._loop.stopping:
            cancel.cancel()

        def renew() -> bool:
            """Keep the lease, and look whether somebody wants an end; None: somebody else has the file by now."""
            wanted = self._jobs.renew(file)
            if wanted is None:
                lost.set()
            if wanted is not False:
                cancel.cancel()
            return wanted is False

        try:
            with heartbeat("ingestion-beat", BEAT_SECONDS, renew):
                outcome = self._ingest(file, cancel, lambda: self._loop.stopping or lost.is_set(), renew)
        finally:
            self._current.discard(cancel)
        self._jobs.release(file, **outcome)
        return outcome["state"] != "waiting" or self._loop.stopping

    def _ingest(
        self, file: IngestionFile, cancel: Cancellation, stopping: Callable[[], bool], renew: Callable[[], bool]
    ) -> dict[str, Any]:
        """How it ended, as values of the file's row."""
        try:
            with tempfile.TemporaryDirectory(prefix="report-chat-") as folder:
                self._jobs.note(file, state="loading", detail="", error="")
                path, file_id = self._fetch(file, Path(folder), cancel)
                source = Source(path, file.identity, **file.about)
                watch = self._watch(file, cancel, stopping, renew)
                found = self._service().ingest(
                    source,
                    overrides=file.overrides,
                    file_id=file_id,
                    owner=file.uploader,
                    upload_number=file.upload_number,
                    watch=watch,
                )
        except DiskFullError as error:
            return {"state": "waiting", "detail": error.message, "tries": file.tries - 1}
        except SupersededError as error:
            return {"state": "superseded", "detail": error.message}
        except ChatbotError as error:
            renew()
            # What is interrupted may fail in its own way.
            if isinstance(error, StoppedError) or (cancel.cancelled and stopping()):
                # Not queued: what it has begun would have to be taken back when it is cancelled.
                return {"state": "waiting", "detail": "The server was stopped.", "tries": file.tries - 1}
            if cancel.cancelled:
                return {"state": "cancelled", "detail": ""}
            ended = "cancelled" if isinstance(error, CancelledError) else "failed"
            return {"state": ended, "error": error.message, "detail": ""}
        return {
            "state": "done",
            "detail": "",
            "outcome": found.outcome,
            "chunks": found.chunks,
            "done_chunks": found.chunks,
            "document_id": found.document_id,
            "file_id": file_id,
        }

    def _watch(
        self, file: IngestionFile, cancel: Cancellation, stopping: Callable[[], bool], renew: Callable[[], bool]
    ) -> Watch:
        """Progress into the job's row, not more often than people can read it."""
        noted, last = 0.0, ""

        def note(state: str, done: int, total: int) -> None:
            nonlocal noted, last
            if state != last or time.monotonic() - noted >= NOTE_SECONDS:
                noted, last = time.monotonic(), state
                self._jobs.note(file, state=state, done_chunks=done, chunks=total, detail="")

        def waiting(reason: str) -> None:
            self._jobs.note(file, state="waiting", detail=reason)

        return Watch(partial(note, "embedding"), waiting, cancel, stopping, partial(note, "indexing"), refresh=renew)


class SampleReports:
    """Ingests a folder once. `start` returns at once; `close` stops at the next document."""

    def __init__(
        self,
        folder: Path,
        *,
        ingestor: Callable[[], Ingestor],
        loader: Callable[[Path], Loader],
        leases: CorpusFacts,
        summary: Summary,
        warm: Callable[[], object] = lambda: None,
    ) -> None:
        """``warm`` is called when all are there, so that the first question does not wait for the index."""
        self._folder = folder
        self._ingestor = ingestor
        self._loader = loader
        self._leases = leases
        self._summary = summary
        self._stop = Cancellation()
        self._thread: threading.Thread | None = None
        self._warm = warm
        self._registered = threading.Event()
        self.total = 0
        """How many there are; 0 until they have been read."""
        self.error = ""

    @property
    def running(self) -> bool:
        """Whether they are being loaded, or waited for."""
        return self._thread is not None and self._thread.is_alive()

    @property
    def unknown(self) -> bool:
        """Whether they are on their way and not even registered: until then the data seems to be empty."""
        return self.running and not self._registered.is_set()

    def documents(self, overrides: Callable[[str], Mapping[str, Any]] = lambda document_id: {}) -> list[Document]:
        """The sample reports, read but not ingested; ``overrides(document_id)`` is what a person says of one."""
        found = []
        for source in folder_sources(self._folder, prefix=SAMPLES):
            said = overrides(document_id(source.identity))
            found.append(make_document(source, self._loader(source.path).load(source.path), overrides=said))
        return found

    def summary_of(self, document: Document) -> str:
        """The summary of a sample report, as it gets one when it is ingested."""
        return self._summary.make(document, Cancellation())

    def start(self) -> None:
        """Begin to load the sample reports, in a thread."""
        self._thread = threading.Thread(target=self._run, name="sample-reports", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop after the document in hand, and wait for it."""
        self._stop.cancel()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        try:
            with lease(self._leases, "sample_data", Watch(cancel=self._stop)):
                self.load()
                self._warm()
        except ChatbotError as error:
            if isinstance(error, CancelledError) and self._stop.cancelled:
                return  # while another process had the lease
            # A thread has nobody to raise to: the readiness endpoint shows this.
            self.error = error.message
            log.error("The sample reports could not be loaded: %s", error.message)

    def load(self, progress: Callable[[int, int], None] = lambda done, total: None) -> int:
        """Register all, then ingest one by one; returns how many were new. ``progress`` counts documents."""
        ingestor = self._ingestor()
        dismissed = self._leases.dismissed_samples()
        documents = [found for found in self.documents(ingestor.overrides) if found.id not in dismissed]
        self.total = len(documents)

        def about(document: Document) -> Registration:
            said = self._ingestor().overrides(document.id)
            return Registration(sample=True, summary=self._summary, overrides=said)

        waiting = [document for document in documents if ingestor.register(document, about(document))]
        self._registered.set()
        progress(len(documents) - len(waiting), len(documents))
        for done, document in enumerate(waiting, start=len(documents) - len(waiting) + 1):
            if self._stop.cancelled:
                break
            # The ingestor is asked for anew: `reembed` may have replaced it.
            self._ingestor().ingest(document, about(document))
            progress(done, len(documents))
        return len(waiting)
