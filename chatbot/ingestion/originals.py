"""The files that documents are made of: where they are, and which of the stored ones are still needed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath

from ..cancellation import Cancellation
from ..errors import NotFoundError
from ..fetching.fetch import fetch
from ..repositories.documents import DocumentRepository
from ..repositories.files import PIECE_BYTES, FileRepository
from ..repositories.ingestions import IngestionRepository
from ..schema import DocumentRecord
from ..schema.jobs import IngestionFile
from ..settings import Settings
from ..shipped import SAMPLE_DATA
from .sources import SAMPLES

WEB = ("http://", "https://")
UPLOADS = "uploads/"
_UPLOADED = re.compile(rf"{UPLOADS}(?:[0-9a-f]*:\d+/)?(.+)", re.DOTALL)
"""Where it is of an owner, or one of several of a name, that stands before the name."""


@dataclass(frozen=True, kw_only=True)
class Originals:
    """Stored files, web pages, the sample folder, and files on this machine that were ingested from it."""

    files: FileRepository
    jobs: IngestionRepository
    documents: DocumentRepository
    settings: Settings

    def fetch(self, file: IngestionFile, folder: Path, cancel: Cancellation) -> tuple[Path, str]:
        """The file of a job on disk, and the id it is stored under ("" = it is not).

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
        """What a job needs to ingest a document again; None where its original is not at hand."""
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
        """What `open` will find is called so; "" where it finds nothing."""
        path = _on_disk(record)
        return _name(record) if record.file_id else path.name if path else ""

    def has(self, record: DocumentRecord) -> bool:
        """Whether `open` will find it."""
        return bool(self.file_name(record))

    def open(self, record: DocumentRecord) -> tuple[str, Iterator[bytes]]:
        """The original's name and content. Raises NotFoundError: it is not kept."""
        if record.file_id:
            return _name(record), self.files.read(record.file_id)
        if (path := _on_disk(record)) is None:
            raise NotFoundError(f"The original of {record.title!r} is not kept.")
        return path.name, _pieces(path)

    def tidy(self) -> None:
        """Forget old jobs, and the files that neither a job nor a document needs."""
        self.jobs.prune()
        self.files.keep_only(lambda: self.jobs.file_ids() | {record.file_id for record in self.documents.all()})


def uploaded_name(source: str) -> str:
    """The name that a file was uploaded by; "" for what was not uploaded."""
    found = _UPLOADED.fullmatch(source)
    return found[1] if found else ""


def shown_source(source: str) -> str:
    """A report's source as people may see it: of a file its name without its folder, of a page its address."""
    path = PurePath(source)
    return uploaded_name(source) or (path.name if path.is_absolute() else source)


def _on_disk(record: DocumentRecord) -> Path | None:
    """The sample reports lie beside the package; what the command line ingested, where it was."""
    source = record.source
    path = SAMPLE_DATA / source.removeprefix(f"{SAMPLES}/") if record.sample else Path(source)
    return path if path.is_absolute() and path.is_file() else None


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(PIECE_BYTES):
            yield piece


def _name(record: DocumentRecord) -> str:
    """The file's name: the last part of where it came from."""
    return record.source.rpartition("/")[2] or "document"
