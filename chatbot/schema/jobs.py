"""Ingestions of files: jobs in the background, as the database keeps them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

FileState = Literal[
    "queued", "loading", "embedding", "indexing", "waiting", "done", "failed", "cancelled", "superseded"
]
FINISHED: tuple[FileState, ...] = ("done", "failed", "cancelled", "superseded")


@dataclass(frozen=True, slots=True)
class IngestionFile:
    """One file of a job. It is stored (``file_id``), fetched (``url``), or both after the first fetch.

    ``identity`` names the document it becomes. ``owner`` works on it until ``until`` (seconds since 1970); then
    anybody may go on with it.
    """

    id: str
    ingestion_id: str
    name: str
    identity: str
    file_id: str = ""
    url: str = ""
    overrides: Mapping[str, Any] = field(default_factory=dict)
    about: Mapping[str, Any] = field(default_factory=dict)
    """What was known of the document before, where its file alone does not say it: the fields of a `Source`."""
    state: FileState = "queued"
    outcome: str = ""
    error: str = ""
    detail: str = ""
    chunks: int = 0
    done_chunks: int = 0
    document_id: str = ""
    cancel: bool = False
    upload_number: int = 0
    """Grows with every file that is accepted: of one identity, a lower number never replaces a higher one."""
    withdrawn: bool = False
    """The report was deleted after this upload: it is never read again, not even by a retry."""
    tries: int = 0
    uploader: str = ""
    """Whose job it is; "" = nobody's."""
    owner: str = ""
    until: float = 0.0

    @property
    def progress(self) -> float:
        """The share of the work on this file that is done, from 0 to 1."""
        if self.state in FINISHED:
            return 1.0
        if self.state == "indexing":
            return 0.97
        return 0.95 * self.done_chunks / self.chunks if self.chunks else 0.0


@dataclass(frozen=True, slots=True)
class Ingestion:
    """A job: the files that came in one request."""

    id: str
    created_at: str
    files: tuple[IngestionFile, ...]

    @property
    def state(self) -> str:
        """queued, running, or how it ended: done, failed (at least one file) or cancelled."""
        states = {file.state for file in self.files}
        if states <= set(FINISHED):
            return next((state for state in ("failed", "cancelled") if state in states), "done")
        return "queued" if states == {"queued"} else "running"

    @property
    def progress(self) -> float:
        """The share of the work on all files that is done, from 0 to 1."""
        return round(sum(file.progress for file in self.files) / max(1, len(self.files)), 3)
