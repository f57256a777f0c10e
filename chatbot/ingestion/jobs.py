"""Background ingestion: a thread of every server process takes files of jobs from the database, one at a time."""

from __future__ import annotations

import logging
import tempfile
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from ..cancellation import Cancellation
from ..errors import CancelledError, ChatbotError, DependencyError, StoppedError
from ..schema.ingestions import IngestionFile
from .pipeline import Ingested
from .service import IngestionService
from .sources import Source
from .watch import Watch

log = logging.getLogger(__name__)
IDLE_SECONDS = 2.0
BEAT_SECONDS = 1.0
NOTE_SECONDS = 0.5
MOST_TRIES = 3
"""How often a file may take its process with it before it is given up."""


class Jobs(Protocol):
    """See `repositories.ingestions.IngestionRepository`."""

    def claim(self, owner: str) -> IngestionFile | None: ...

    def renew(self, file: IngestionFile) -> bool | None: ...

    def note(self, file: IngestionFile, **values: Any) -> None: ...

    def release(self, file: IngestionFile, **values: Any) -> None: ...

    def prune(self) -> None: ...


class IngestionWorker:
    """`run` until `close`; `wake` after a job was made. The file in hand at the end is the next worker's.

    ``fetch(file, folder, cancel)`` puts the file's original on disk and returns its path and the stored file's id.
    """

    def __init__(
        self,
        jobs: Jobs,
        *,
        service: Callable[[], IngestionService],
        fetch: Callable[[IngestionFile, Path, Cancellation], tuple[Path, str]],
        tidy: Callable[[], None] = lambda: None,
    ) -> None:
        """``tidy`` is called after each file."""
        self._jobs = jobs
        self._service = service
        self._fetch = fetch
        self._tidy = tidy
        self._owner = uuid.uuid4().hex
        self._woken = threading.Event()
        self._stopping = threading.Event()
        self._current: Cancellation | None = None

    def run(self) -> None:
        """Work until `close` is called."""
        while not self._stopping.is_set():
            try:
                busy = self.work_once()
            except DependencyError as error:
                # A thread has nobody to raise to: /ready says the same. The file's lease ends by itself.
                log.warning("The ingestion waits: %s", error.message)
                busy = False
            if not busy:
                self._woken.wait(IDLE_SECONDS)
                self._woken.clear()

    def wake(self) -> None:
        self._woken.set()

    def close(self) -> None:
        """Stop soon; `run` returns when the file in hand has been let go."""
        self._stopping.set()
        self._woken.set()
        if (current := self._current) is not None:
            current.cancel()

    def work_once(self) -> bool:
        """Take one file and finish it; False when there is none.

        Raises:
            DependencyError: the database does not answer.
        """
        file = self._jobs.claim(self._owner)
        if file is None:
            return False
        if file.cancel:
            self._service().abandon(file.identity)
            self._jobs.release(file, state="cancelled", detail="")
        elif file.tries > MOST_TRIES:
            self._service().abandon(file.identity)
            error = f"{file.name} was given up: the process that read it ended {MOST_TRIES} times."
            self._jobs.release(file, state="failed", error=error, detail="")
        else:
            self._work(file)
        self._tidy()
        return True

    def _work(self, file: IngestionFile) -> None:
        cancel = self._current = Cancellation()
        if self._stopping.is_set():
            cancel.cancel()
        ended, lost = threading.Event(), threading.Event()
        beat = threading.Thread(target=self._beat, args=(file, cancel, ended, lost), name="ingestion-beat", daemon=True)
        beat.start()
        try:
            outcome = self._ingest(file, cancel, lambda: self._stopping.is_set() or lost.is_set())
        finally:
            self._current = None
            ended.set()
            beat.join()
        self._jobs.release(file, **outcome)

    def _ingest(self, file: IngestionFile, cancel: Cancellation, stopping: Callable[[], bool]) -> dict[str, Any]:
        """How it ended, as values of the file's row."""
        try:
            with tempfile.TemporaryDirectory(prefix="report-chat-") as folder:
                found, file_id = self._read_and_ingest(file, Path(folder), cancel, stopping)
        except StoppedError:
            return _let_go(file)
        except ChatbotError as error:
            if cancel.cancelled and stopping():  # what is interrupted may fail in its own way
                return _let_go(file)
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

    def _read_and_ingest(
        self, file: IngestionFile, folder: Path, cancel: Cancellation, stopping: Callable[[], bool]
    ) -> tuple[Ingested, str]:
        """What became of it, and the id its original is kept under."""
        self._jobs.note(file, state="loading", detail="", error="")
        path, file_id = self._fetch(file, folder, cancel)
        watch = _Notes(self._jobs, file).watch(cancel, stopping)
        source = Source(path, file.identity, **file.about)
        return self._service().ingest(source, overrides=file.overrides, file_id=file_id, watch=watch), file_id

    def _beat(self, file: IngestionFile, cancel: Cancellation, ended: threading.Event, lost: threading.Event) -> None:
        """Keep the lease, and look whether somebody wants an end; ``lost``: somebody else has the file by now."""
        while not ended.wait(BEAT_SECONDS):
            try:
                wanted = self._jobs.renew(file)
            except DependencyError:
                continue  # the work itself meets the same failure
            if wanted is None:
                lost.set()
            if wanted or wanted is None:
                cancel.cancel()
                return


def _let_go(file: IngestionFile) -> dict[str, Any]:
    """For the next worker. Not queued: what it has begun would have to be taken back when it is cancelled."""
    return {"state": "waiting", "detail": "The server was stopped.", "tries": file.tries - 1}


class _Notes:
    """Progress into the job's row, not more often than people can read it."""

    def __init__(self, jobs: Jobs, file: IngestionFile) -> None:
        self._jobs = jobs
        self._file = file
        self._noted = 0.0

    def watch(self, cancel: Cancellation, stopping: Callable[[], bool]) -> Watch:
        return Watch(self._progress, self._waiting, cancel, stopping)

    def _progress(self, done: int, total: int) -> None:
        if time.monotonic() - self._noted >= NOTE_SECONDS:
            self._noted = time.monotonic()
            self._jobs.note(self._file, state="embedding", done_chunks=done, chunks=total, detail="")

    def _waiting(self, reason: str) -> None:
        self._jobs.note(self._file, state="waiting", detail=reason)
