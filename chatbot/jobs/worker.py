"""Work beside the requests: threads of every process claim the queued files, each one
at a time.
"""

import ctypes
import logging
import sys
import tempfile
import threading
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from ..config import SAMPLE_DATA
from ..config.settings import Settings
from ..database.failures import FULL
from ..database.repositories.documents import DocumentRepository
from ..database.repositories.files import PIECE_BYTES, FileRepository
from ..domain import Cancellation, DocumentRecord, errors
from ..domain.callers import limit_of
from ..domain.cancellation import heartbeat
from ..library.control import FILES_AT_ONCE, JobControl, aside
from ..library.fetching import READABLE, fetch
from ..library.fetching.transport import ANYWHERE, PUBLIC
from ..library.pipeline import IngestionService
from ..library.sources import SAMPLES, WEB, Source
from . import queue as jobs_queue
from .queue import IngestionFile, IngestionQueue

log = logging.getLogger(__name__)
IDLE_SECONDS = 2.0
BEAT_SECONDS, NOTE_SECONDS = 0.5, 0.5
"""Seconds between two renewals of a file's lease, and between two notes of its
progress, while few files are in progress.
"""
MAX_TRIES = 3
"""Number of times a file may end its process before it fails."""


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
        # files need.
        shared = len(self._cancellations) / 5
        return max(seconds, min(shared, jobs_queue.LEASE_SECONDS / 4))

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
                with suppress(AttributeError):  # not every C library has it
                    ctypes.CDLL(None).malloc_trim(
                        0
                    )  # returns to the system what reading has freed
            self.idle()
        return is_done

    @contextmanager
    def _aside(self) -> Iterator[None]:
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
            self.service().abandon(file.identity)
            error = (
                f"Reading {file.name} ended the process {MAX_TRIES} times. It is not "
                "tried again."
            )
            outcome = (
                {"state": "cancelled"}
                if file.cancel
                else {"state": "failed", "error": error}
            )
            self.queue.release(file, **outcome, detail="")
            return True
        cancel, lost = Cancellation(), threading.Event()
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

        noted_at, noted_state = 0.0, ""

        def note(state: str, done: int, total: int) -> None:
            nonlocal noted_at, noted_state
            pause = self._between(NOTE_SECONDS)
            if state != noted_state or time.monotonic() - noted_at >= pause:
                noted_at, noted_state = time.monotonic() if done else 0.0, state
                names = (
                    ("pages_read", "pages")
                    if state == "loading"
                    else ("done_chunks", "chunks")
                )
                self.queue.note(
                    file,
                    state=state,
                    detail="",
                    **dict(zip(names, (done, total), strict=True)),
                )

        def note_page(page: int, pages: int) -> None:
            if pages:
                note("loading", page, pages)
            else:
                self.queue.note(file, state="loading", detail=f"OCR reads page {page}.")

        control = JobControl(
            partial(note, "embedding"),
            lambda reason: self.queue.note(file, state="waiting", detail=reason),
            cancel,
            stopping=lambda: self._stopping.is_set() or lost.is_set(),
            indexing=partial(note, "indexing"),
            reading=note_page,
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

    def _ingest(self, file: IngestionFile, control: JobControl) -> dict[str, Any]:
        """Return how it ended, as values of the file's row."""
        cancel = control.cancel
        try:
            with tempfile.TemporaryDirectory(prefix="report-chat-") as folder:
                self.queue.note(file, state="loading", detail="", error="")
                path, file_id = self.fetch(file, Path(folder), cancel)
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
                    control=control,
                )
        except errors.SupersededError as error:
            return {"state": "superseded", "detail": error.message}
        except errors.ChatbotError as error:
            if isinstance(error, errors.DependencyError) and error.reason == FULL:
                return {
                    "state": "waiting",
                    "detail": error.message,
                    "tries": file.tries - 1,
                }
            control.refresh()
            # Interrupted work may fail with another error than its cancellation.
            if isinstance(error, errors.StoppedError) or (
                cancel.cancelled and control.stopping()
            ):
                # Not queued: cancelling a queued file would leave the passages that are
                # written.
                return {
                    "state": "waiting",
                    "detail": "The server was stopped.",
                    "tries": file.tries - 1,
                }
            if cancel.cancelled:
                return {"state": "cancelled", "detail": ""}
            state = (
                "cancelled" if isinstance(error, errors.CancelledError) else "failed"
            )
            return {"state": state, "error": error.message, "detail": ""}
        return {
            "state": "done",
            "detail": "",
            "done_chunks": result.chunks,
            "file_id": file_id,
            **asdict(result),
        }


@dataclass(frozen=True, kw_only=True)
class Originals:
    """Stored files, web pages, the sample folder, and files on this machine that were
    ingested from it.
    """

    files: FileRepository
    queue: IngestionQueue
    documents: DocumentRepository
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
            return path, file.file_id if self.settings.keep_files else ""
        if file.url:
            fetched = self.download(file.url, folder, cancel)
            return fetched, self.files.put(fetched) if self.settings.keep_files else ""
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
        rules = ANYWHERE if self.settings.fetch_private_urls else PUBLIC
        limit = self.settings.max_upload_mb * 1024 * 1024
        return fetch(
            url, folder, rules=rules, cancel=cancel, max_bytes=limit, also=also
        )

    def job_file(self, record: DocumentRecord) -> IngestionFile | None:
        """Return what a job needs to ingest a document again; None when its original is
        not available.
        """
        if record.source.startswith(WEB):
            return IngestionFile(
                "", "", record.source, record.source, url=record.source
            )
        if record.file_id:
            return IngestionFile(
                "", "", _name(record), record.source, file_id=record.file_id
            )
        if record.sample or _on_disk(record) is None:
            return None
        about = {
            "title": record.title,
            "description": record.description,
            "listed": True,
        }
        about |= {"metadata": dict(record.metadata), "labels": list(record.labels)}
        return IngestionFile("", "", _name(record), record.source, about=about)

    def file_name(self, record: DocumentRecord) -> str:
        """Return the name of the file that `open` reads; "" when there is none."""
        path = _on_disk(record)
        return _name(record) if record.file_id else path.name if path else ""

    def open(self, record: DocumentRecord) -> tuple[str, Iterator[bytes]]:
        """Return the original's name and content. Raises NotFoundError: it is not
        kept.
        """
        if record.file_id:
            return _name(record), self.files.read(record.file_id)
        if (path := _on_disk(record)) is None:
            raise errors.NotFoundError(f"The original of {record.title!r} is not kept.")
        return path.name, _pieces(path)

    def tidy(self) -> None:
        """Delete old jobs, and the files that neither a job nor a document needs. It
        looks at all of them.
        """
        self.queue.prune()
        self.files.keep_only(
            lambda: (
                self.queue.file_ids()
                | {record.file_id for record in self.documents.all()}
            )
        )
        self.files.remove_orphans()

    def tidy_after(self, file: IngestionFile) -> None:
        """Delete what this file has replaced, and its own original where it is not
        kept, unless something needs them.
        """
        self.discard(self.queue.stored_files(file.identity) | {file.file_id})

    def discard(self, file_ids: Collection[str]) -> None:
        """Delete those of these files that neither a job nor a document needs."""
        ids = {file_id for file_id in file_ids if file_id}
        if ids:
            self.files.keep_only(
                lambda: self.queue.file_ids(ids) | self.documents.file_ids(ids), ids
            )


def _on_disk(record: DocumentRecord) -> Path | None:
    """Return the path of a sample report, or of a file that the command line ingested;
    None when it is gone.
    """
    source = record.source
    path = (
        SAMPLE_DATA / source.removeprefix(f"{SAMPLES}/")
        if record.sample
        else Path(source)
    )
    return path if path.is_absolute() and path.is_file() else None


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(PIECE_BYTES):
            yield piece


def _name(record: DocumentRecord) -> str:
    return record.source.rpartition("/")[2] or "document"
