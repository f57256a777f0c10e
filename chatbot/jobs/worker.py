"""Work beside the requests: threads of every process claim the queued files, each one
at a time.
"""

import ctypes
import errno
import logging
import sys
import tempfile
import threading
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from ..config import SAMPLE_DATA
from ..config.settings import Settings
from ..database.failures import FULL
from ..database.repositories.documents import DocumentRepository
from ..database.repositories.files import PIECE_BYTES, FileRepository
from ..database.repositories.uploads import UploadRepository
from ..domain import Cancellation, DocumentRecord, errors
from ..domain.callers import limit_of
from ..domain.cancellation import heartbeat
from ..library.control import FILES_AT_ONCE, JobControl, aside
from ..library.fetching import READABLE, fetch
from ..library.fetching.transport import rules_for
from ..library.pipeline import IngestionService
from ..library.sources import SAMPLES, WEB, Source
from . import queue as jobs_queue
from .queue import IngestionFile, IngestionQueue

log = logging.getLogger(__name__)
IDLE_SECONDS = 2.0
"""Pause where there is nothing to do; `Worker.wake` ends it in the process that queued
a file.
"""
BEAT_SECONDS = 0.5
"""Seconds between two renewals of a file's lease while few files are in progress: a
fortieth of the lease, and people see at once that a file was cancelled.
"""
NOTE_SECONDS = 0.5
"""Seconds between two notes of a file's progress while few files are in progress."""
MAX_TRIES = 3
"""Number of times a file may end its process before it fails: twice may be chance."""


class Worker(ABC):
    """Does one piece of work after the other until it is closed; several threads may
    `run` it.
    """

    outage: ClassVar[str]
    """Begins the log line when the database does not answer."""
    idle_seconds: ClassVar[float]
    """Pause after a `work_once` that found nothing to do."""

    def __init__(self) -> None:
        self._helpers: set[threading.Thread] = set()
        self._woken = threading.Event()
        self._stopping = threading.Event()

    @abstractmethod
    def work_once(self) -> bool:
        """Do one piece of work; return False when there is none. Raises
        DependencyError: the database is down.
        """

    def run(self) -> None:
        """Work until the worker is closed; outages of the database are waited for."""
        while not self._stopping.is_set():
            try:
                busy = self.work_once()
            except errors.DependencyError as error:
                # A thread has nobody to raise to: /ready reports the same. A lease ends
                # by itself.
                log.warning("%s: %s", self.outage, error.message)
                busy = False
            if not busy:
                self._woken.wait(self.idle_seconds)
                self._woken.clear()
        for helper in tuple(self._helpers):
            helper.join()

    def wake(self) -> None:
        """Look for work now instead of after the pause."""
        self._woken.set()

    def close(self) -> None:
        """Make `run` return after the work in progress."""
        self._stopping.set()
        self._woken.set()


@dataclass(eq=False)
class IngestionWorker(Worker):
    """Reads the queued files. The files in progress when it is closed go to the next
    worker. ``fetch(file, folder, cancel)`` puts the file's original on disk and returns
    its path and the stored file's id. While a file waits for another server, a further
    thread reads the next one. ``tidy`` is called with each file when it is done,
    ``idle`` when there is none. ``at_once``: threads that do not wait.
    """

    outage = "The ingestion waits"
    idle_seconds = IDLE_SECONDS
    queue: IngestionQueue
    service: Callable[[], IngestionService]
    fetch: Callable[[IngestionFile, Path, Cancellation], tuple[Path, str]]
    tidy: Callable[[IngestionFile], None] = lambda file: None
    idle: Callable[[], object] = lambda: None
    at_once: int = 1

    def __post_init__(self) -> None:
        super().__init__()
        self._turns = threading.Semaphore(self.at_once)
        self._has_worked = False
        self._cancellations: set[Cancellation] = set()

    def _between(self, seconds: float) -> float:
        """Return the time between two writes about one file: the more files are in
        progress, the longer, but not so long that its lease ends.
        """
        # A free cluster takes 100 operations a second, which the passages of these
        # files need: five of them are left for these writes.
        shared_seconds = len(self._cancellations) / 5
        return max(seconds, min(shared_seconds, jobs_queue.LEASE_SECONDS / 4))

    def close(self) -> None:
        """Stop soon; `run` returns when the file in progress has been released."""
        super().close()
        for cancel in list(self._cancellations):
            cancel.cancel()

    def work_once(self) -> bool:
        with self._turns:
            file = self.queue.claim(uuid.uuid4().hex)
            is_done = file is not None and self._work(file)
            if file is not None and is_done:
                self._has_worked = True
                self.tidy(file)
        if not is_done and threading.current_thread() not in self._helpers:
            if self._has_worked and sys.platform == "linux":
                self._has_worked = False
                # Returns to the system what reading has freed.
                with suppress(AttributeError):  # not every C library has it
                    ctypes.CDLL(None).malloc_trim(0)
            self.idle()
        return is_done

    @contextmanager
    def _aside(self) -> Iterator[None]:
        """Let other files be read while this one waits for another server."""

        def help_out() -> None:
            try:
                with suppress(errors.DependencyError):  # the other threads report it
                    while not self._stopping.is_set() and self.work_once():
                        pass
            finally:
                self._helpers.discard(threading.current_thread())

        if len(self._helpers) < FILES_AT_ONCE:
            helper = threading.Thread(
                target=help_out, name="ingestion-helper", daemon=True
            )
            self._helpers.add(helper)
            helper.start()
        with aside(self._turns):
            yield

    def _work(self, file: IngestionFile) -> bool:
        """Return False when the disk is full: the file is tried again later."""
        if file.cancel or file.tries > MAX_TRIES:
            self._abandon(file)
            return True
        cancel = Cancellation()
        lost = threading.Event()
        self._cancellations.add(cancel)
        if self._stopping.is_set():
            cancel.cancel()

        def renew() -> bool:
            """Extend the lease; cancel the work when it was cancelled or another worker
            has the file.
            """
            is_cancelled = self.queue.renew(file)
            if is_cancelled is None:
                lost.set()
            if is_cancelled is not False:
                cancel.cancel()
            return is_cancelled is False

        notes = ProgressNotes(self.queue, file, lambda: self._between(NOTE_SECONDS))
        control = JobControl(
            progress=notes.embedding,
            waiting=notes.waiting,
            cancel=cancel,
            stopping=lambda: self._stopping.is_set() or lost.is_set(),
            indexing=notes.indexing,
            reading=notes.reading,
            refresh=renew,
            aside=self._aside,
        )
        try:
            with heartbeat(
                "ingestion-beat", lambda: self._between(BEAT_SECONDS), renew
            ):
                outcome = self._ingest(file, control)
        finally:
            self._cancellations.discard(cancel)
        self.queue.release(file, **outcome)
        return outcome["state"] != "waiting" or self._stopping.is_set()

    def _abandon(self, file: IngestionFile) -> None:
        """End a file that is not read: it was cancelled, or was tried too often."""
        self.service().abandon(file.identity)
        if file.cancel:
            self.queue.release(file, state="cancelled", detail="")
            return
        error = (
            f"Reading {file.name} ended the process {MAX_TRIES} times. It is not "
            "tried again."
        )
        self.queue.release(file, state="failed", error=error, detail="")

    def _ingest(self, file: IngestionFile, control: JobControl) -> dict[str, Any]:
        """Return how it ended, as values of the file's row."""
        try:
            with tempfile.TemporaryDirectory(prefix="report-chat-") as folder:
                self.queue.note(file, state="loading", detail="", error="")
                path, file_id = self.fetch(file, Path(folder), control.cancel)
                limit = limit_of(
                    file.limit.get("filters", {}), file.limit.get("collections", ())
                )
                result = self.service().ingest(
                    Source(path, file.identity, **file.about),
                    overrides=file.overrides,
                    file_id=file_id,
                    owner=file.uploader,
                    limit=limit,
                    upload_number=file.upload_number,
                    lifts=True,
                    control=control,
                )
        except errors.SupersededError as error:
            return {"state": "superseded", "detail": error.message}
        except errors.ChatbotError as error:
            return self._failed(file, error, control)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            full = errors.DiskFullError("The disk is full. Reading goes on with space.")
            return self._failed(file, full, control)
        # The job outlives its report: no words of the text stay in it.
        proposed = tuple(replace(proposal, words="") for proposal in result.proposed)
        return {
            "state": "done",
            "detail": "",
            "done_chunks": result.chunks,
            "file_id": file_id,
            **asdict(replace(result, proposed=proposed)),
        }

    def _failed(
        self, file: IngestionFile, error: errors.ChatbotError, control: JobControl
    ) -> dict[str, Any]:
        """Return how work with this error ended, as values of the file's row."""
        if isinstance(error, errors.DependencyError) and error.reason == FULL:
            return {
                "state": "waiting",
                "detail": error.message,
                "tries": file.tries - 1,
            }
        control.refresh()
        is_cancelled = control.cancel.cancelled
        # Interrupted work may fail with another error than its cancellation.
        is_stopped = is_cancelled and control.stopping()
        if is_stopped or isinstance(error, errors.StoppedError):
            # Not queued: cancelling a queued file would leave the passages that are
            # written.
            return {
                "state": "waiting",
                "detail": "The server was stopped.",
                "tries": file.tries - 1,
            }
        if is_cancelled:
            return {"state": "cancelled", "detail": ""}
        state = "failed"
        if isinstance(error, errors.CancelledError):
            state = "cancelled"
        return {"state": state, "error": error.message, "detail": ""}


class ProgressNotes:
    """Notes in a file's row how far the work on it has come. ``pause`` returns the
    seconds between two notes of one state.
    """

    def __init__(
        self, queue: IngestionQueue, file: IngestionFile, pause: Callable[[], float]
    ) -> None:
        self._queue = queue
        self._file = file
        self._pause = pause
        self._state = ""
        self._noted_at = 0.0

    def reading(self, page: int, pages: int) -> None:
        if pages:
            self._note("loading", page, pages_read=page, pages=pages)
        else:
            detail = f"OCR reads page {page}."
            self._queue.note(self._file, state="loading", detail=detail)

    def embedding(self, done: int, total: int) -> None:
        self._note("embedding", done, done_chunks=done, chunks=total)

    def indexing(self, done: int, total: int) -> None:
        self._note("indexing", done, done_chunks=done, chunks=total)

    def waiting(self, reason: str) -> None:
        self._queue.note(self._file, state="waiting", detail=reason)

    def _note(self, state: str, done: int, **counts: int) -> None:
        now = time.monotonic()
        if state == self._state and now - self._noted_at < self._pause():
            return
        self._state = state
        # The first step after none is noted at once.
        self._noted_at = now if done else 0.0
        self._queue.note(self._file, state=state, detail="", **counts)


@dataclass(frozen=True, kw_only=True)
class Originals:
    """Stored files, web pages, the sample folder, and files on this machine that were
    ingested from it.
    """

    files: FileRepository
    queue: IngestionQueue
    documents: DocumentRepository
    uploads: UploadRepository
    settings: Settings

    def fetch(
        self, file: IngestionFile, folder: Path, cancel: Cancellation
    ) -> tuple[Path, str]:
        """Return the path of a job's file on disk and the id of the stored file ("" =
        not stored). Raises LoadError: the web address cannot be read; NotFoundError:
        the stored file is gone.
        """
        if file.file_id:
            path = folder / file.name
            self.files.copy_to(file.file_id, path)
            file_id = file.file_id if self.settings.keep_files else ""
            return path, file_id
        if file.url:
            path = self.download(file.url, folder, cancel)
            file_id = self.files.put(path) if self.settings.keep_files else ""
            return path, file_id
        return Path(file.identity), ""

    def download(
        self,
        url: str,
        folder: Path,
        cancel: Cancellation | None = None,
        *,
        also: Mapping[str, str] = READABLE,
    ) -> Path:
        """Fetch a web page or file into ``folder``, up to MAX_UPLOAD_MB; ``also`` as
        `fetch`. Raises LoadError.
        """
        rules = rules_for(private=self.settings.fetch_private_urls)
        limit = self.settings.max_upload_mb * 1024 * 1024
        return fetch(
            url, folder, rules=rules, cancel=cancel, max_bytes=limit, also=also
        )

    def job_file(self, record: DocumentRecord) -> IngestionFile | None:
        """Return what a job needs to ingest a document again; None when its original is
        not available.
        """
        source = record.source
        if source.startswith(WEB):
            return IngestionFile(name=source, identity=source, url=source)
        if record.file_id:
            return IngestionFile(
                name=_name(record), identity=source, file_id=record.file_id
            )
        if record.sample or _on_disk(record) is None:
            return None
        about = filed_as(record)
        return IngestionFile(name=_name(record), identity=source, about=about)

    def file_name(self, record: DocumentRecord) -> str:
        """Return the name of the file that `open` reads; "" when there is none."""
        if record.file_id:
            return _name(record)
        path = _on_disk(record)
        return path.name if path else ""

    def open(self, record: DocumentRecord) -> tuple[str, Iterator[bytes]]:
        """Return the original's name and content. Raises NotFoundError: it is not
        kept.
        """
        if record.file_id:
            return _name(record), self.files.read(record.file_id)
        path = _on_disk(record)
        if path is None:
            raise errors.NotFoundError(f"The original of {record.title!r} is not kept.")
        return path.name, _pieces(path)

    def tidy(self) -> None:
        """Delete old jobs, and the files that neither a job nor a document needs. It
        looks at all of them.
        """
        self.queue.prune()
        self.files.keep_only(self._needed_files)
        self.files.remove_orphans()

    def _needed_files(self) -> set[str]:
        # The queue first: a file that is done meanwhile is then that of a document.
        file_ids = self.queue.file_ids() | self.uploads.file_ids()
        reports = (*self.documents.all(), *self.documents.hidden())
        file_ids.update(record.file_id for record in reports)
        return file_ids

    def tidy_after(self, file: IngestionFile) -> None:
        """Delete what this file has replaced, and its own original where it is not
        kept, unless something needs them.
        """
        self.discard(self.queue.stored_files(file.identity) | {file.file_id})

    def discard(self, file_ids: Collection[str]) -> None:
        """Delete those of these files that neither a job nor a document needs."""
        ids = {file_id for file_id in file_ids if file_id}
        if ids:
            self.files.keep_only(lambda: self._needed_of(ids), ids)

    def _needed_of(self, ids: set[str]) -> set[str]:
        waiting = self.uploads.file_ids(ids)
        return waiting | self.queue.file_ids(ids) | self.documents.file_ids(ids)


def filed_as(record: DocumentRecord) -> dict[str, Any]:
    """Return what makes a `Source` keep the title and metadata of a report."""
    return {
        "title": record.title,
        "description": record.description,
        "listed": True,
        "metadata": dict(record.metadata),
        "labels": list(record.labels),
    }


def _on_disk(record: DocumentRecord) -> Path | None:
    """Return the path of a sample report, or of a file that the command line ingested;
    None when it is gone.
    """
    path = Path(record.source)
    if record.sample:
        path = SAMPLE_DATA / record.source.removeprefix(f"{SAMPLES}/")
    if not path.is_absolute() or not path.is_file():
        return None
    return path


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        piece = file.read(PIECE_BYTES)
        while piece:
            yield piece
            piece = file.read(PIECE_BYTES)


def _name(record: DocumentRecord) -> str:
    return record.source.rpartition("/")[2] or "document"
