"""The original files of documents: where they are, and which of the stored ones are still needed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..config import SAMPLE_DATA
from ..config.settings import Settings
from ..database.repositories.documents import DocumentRepository
from ..database.repositories.files import PIECE_BYTES, FileRepository
from ..domain import DocumentRecord
from ..domain.cancellation import Cancellation
from ..domain.errors import NotFoundError
from ..library.fetching import fetch
from ..library.sources import SAMPLES, WEB
from .queue import IngestionFile, IngestionQueue


@dataclass(frozen=True, kw_only=True)
class Originals:
    """Stored files, web pages, the sample folder, and files on this machine that were ingested from it."""

    files: FileRepository
    queue: IngestionQueue
    documents: DocumentRepository
    settings: Settings

    def fetch(self, file: IngestionFile, folder: Path, cancel: Cancellation) -> tuple[Path, str]:
        """Return the path of a job's file on disk and the id of the stored file ("" = not stored).

        Raises:
            LoadError: the web address cannot be read.
            NotFoundError: the stored file is gone.
        """
        if file.file_id:
            path = folder / file.name
            self.files.copy_to(file.file_id, path)
            return path, file.file_id if self.settings.keep_files else ""
        if file.url:
            fetched = self.download(file.url, folder, cancel)
            return fetched, self.files.put(fetched) if self.settings.keep_files else ""
        return Path(file.identity), ""

    def download(self, url: str, folder: Path, cancel: Cancellation | None = None) -> Path:
        """Fetch a web page or file into ``folder``, up to MAX_UPLOAD_MB. Raises LoadError."""
        settings = self.settings
        limit = settings.max_upload_mb * 1024 * 1024
        return fetch(url, folder, allow_private=settings.fetch_private_urls, cancel=cancel, max_bytes=limit).path

    def job_file(self, record: DocumentRecord) -> IngestionFile | None:
        """Return what a job needs to ingest a document again; None when its original is not available."""
        if record.source.startswith(WEB):
            return IngestionFile("", "", record.source, record.source, url=record.source)
        if record.file_id:
            return IngestionFile("", "", _name(record), record.source, file_id=record.file_id)
        if record.sample or _on_disk(record) is None:
            return None
        about = {
            "title": record.title,
            "metadata": dict(record.metadata),
            "labels": list(record.labels),
            "description": record.description,
            "listed": True,
        }
        return IngestionFile("", "", _name(record), record.source, about=about)

    def file_name(self, record: DocumentRecord) -> str:
        """Return the name of the file that `open` reads; "" when there is none."""
        path = _on_disk(record)
        return _name(record) if record.file_id else path.name if path else ""

    def open(self, record: DocumentRecord) -> tuple[str, Iterator[bytes]]:
        """Return the original's name and content. Raises NotFoundError: it is not kept."""
        if record.file_id:
            return _name(record), self.files.read(record.file_id)
        if (path := _on_disk(record)) is None:
            raise NotFoundError(f"The original of {record.title!r} is not kept.")
        return path.name, _pieces(path)

    def tidy(self) -> None:
        """Delete old jobs, and the files that neither a job nor a document needs."""
        self.queue.prune()
        self.files.keep_only(lambda: self.queue.file_ids() | {record.file_id for record in self.documents.all()})


def _on_disk(record: DocumentRecord) -> Path | None:
    """Return the path of a sample report, or of a file that the command line ingested; None when it is gone."""
    source = record.source
    path = SAMPLE_DATA / source.removeprefix(f"{SAMPLES}/") if record.sample else Path(source)
    return path if path.is_absolute() and path.is_file() else None


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(PIECE_BYTES):
            yield piece


def _name(record: DocumentRecord) -> str:
    return record.source.rpartition("/")[2] or "document"
