"""Adding to the library: files and web pages, as background jobs.

An upload's identity holds its owner, so that nobody's file takes the place of another's of the same name, nor of a
sample report. Where it might take the place of one that its sender may change, the sender is asked.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any, Literal, get_args

from flask import Blueprint, Response, jsonify, make_response, request, url_for
from typing_extensions import TypedDict

from ..database.core import Json
from ..errors import DocumentExistsError, ForbiddenError, InvalidRequestError, NotFoundError
from ..ingestion.control import JobControl, lease
from ..ingestion.sources import METADATA, UPLOADS, Overrides, document_id, uploaded_name
from ..jobs.queue import FileState, Ingestion, IngestionFile, IngestionQueue
from ..repositories.documents import DocumentRepository
from ..schema import DocumentRecord
from ..validation import parse
from .access import caller, inside_limit, is_shown, may_change, own_record, whose
from .payloads import Conflict, Pages, Reading, Upload, UploadFields
from .request import (
    FILES,
    MOST_FILES,
    Number,
    Query,
    accept_files,
    digest_of,
    form_fields,
    is_form,
    json_object,
    on_disk,
    page_size,
    safe_name,
    services,
    size_of,
    wake_worker,
    web_pages,
)
from .routes import route

jobs = Blueprint("jobs", __name__)
INGESTION_ID = re.compile(r"^[0-9a-f]{20,32}$")
NOTHING_SENT = (
    f"Send files in the field `{FILES}` of a form (multipart/form-data), or web addresses as a JSON object "
    '(application/json): {"urls": ["https://..."]}.'
)
LONGEST_WAIT = 60.0
"""Seconds that an upload waits for another one of its sender to be stored."""


class JobFile(TypedDict):
    """A file or page of a job."""

    name: str
    state: FileState
    outcome: str
    error: str
    detail: str
    chunks: int
    done_chunks: int
    document_id: str


class Job(TypedDict):
    """An ingestion; ``progress`` from 0 to 1."""

    ingestion_id: str
    state: Literal["queued", "running", "done", "failed", "cancelled"]
    created_at: str
    progress: float
    files: list[JobFile]


class Jobs(TypedDict):
    ingestions: list[Job]


def job_json(job: Ingestion) -> Json:
    """A job with the state of each of its files."""
    files = [{name: getattr(file, name) for name in JobFile.__annotations__} for file in job.files]
    about = {"ingestion_id": job.id, "state": job.state, "created_at": job.created_at}
    return {**about, "progress": job.progress, "files": files}


@jobs.post("/api/documents")
@route(
    need="write", body=Pages, form=Upload, returns=Job, status=202, errors=(409, 422, 507),
    example={"url": "https://example.org/review.html"},
)  # fmt: skip
def add_documents() -> Response:
    """Add files (multipart) or web pages (JSON) as one background job; where one is refused, nothing is stored.

    `Location` is the address of the job.
    """
    storage, owner = services().storage, caller().owner
    naming = Naming(storage.documents, storage.ingestions, owner, is_shown, may_change)
    if is_form(most=MOST_FILES):
        files, sent = accept_files(), parse(UploadFields, form_fields())
        about = inside_limit(_overrides(sent, single=len(files) == 1), new=True)
        named = [(safe_name(file.filename), digest_of(file)) for file in files]
        storage.quota.require(sum(map(size_of, files)))
        with lease(storage.facts, f"names:{owner}", JobControl(), longest=LONGEST_WAIT):  # who comes next sees these
            queued = []
            for file, (name, _), identity in zip(files, named, naming.identities(named, sent.on_conflict), strict=True):
                with on_disk(file) as path:
                    stored = storage.files.put(path)
                base = PurePosixPath(name).name
                queued.append(IngestionFile("", "", base, identity, file_id=stored, overrides=about))
            return _started(queued)
    asked = parse(Pages, json_object(NOTHING_SENT))
    pages = web_pages(asked.url, asked.urls)
    storage.quota.require(0)
    about = inside_limit(_overrides(asked, single=len(pages) == 1), new=True)
    return _started(
        [IngestionFile("", "", url, naming.page(page), url=url, overrides=about) for page, url in pages.items()]
    )


@jobs.post("/api/documents/<document_id>/reingest")
@route(need="write", body=Reading, body_needed=False, returns=Job, status=202, errors=(409, 422, 507))
def reingest_document(document_id: str) -> Response:
    """Read the original of a report again, with other chunking where given."""
    record = own_record(document_id)
    sent = parse(Reading, json_object() if request.get_data() else {})
    about = services().ingesting.check_overrides(sent)
    file = services().ingesting.originals.job_file(record)
    if file is None:
        raise NotFoundError(f"The original of {record.title!r} is not at hand; add the file again instead.")
    return _started([replace(file, overrides=about)])


class IngestionQuery(Query):
    limit: Number = page_size(10, 100)


@jobs.get("/api/ingestions")
@route(need="read", query=IngestionQuery, returns=Jobs)
def list_ingestions(query: IngestionQuery) -> Json:
    """List the caller's latest jobs."""
    latest = services().storage.ingestions.latest(query.limit, whose())
    return {"ingestions": [job_json(job) for job in latest]}


@jobs.get("/api/ingestions/<ingestion_id>")
@route(need="read", returns=Job)
def get_ingestion(ingestion_id: str) -> Json:
    """Get the state and progress of a job."""
    return job_json(services().storage.ingestions.get(_job_id(ingestion_id), whose()))


@jobs.delete("/api/ingestions/<ingestion_id>")
@route(need="write", returns=Job, status=202, errors=(409, 422, 507))
def cancel_ingestion(ingestion_id: str) -> Json:
    """Cancel the files of a job that are not finished."""
    job = services().storage.ingestions.cancel(_job_id(ingestion_id), whose())
    wake_worker()
    return job_json(job)


@jobs.post("/api/ingestions/<ingestion_id>/retry")
@route(need="write", returns=Job, status=202, errors=(409, 422, 507))
def retry_ingestion(ingestion_id: str) -> Json:
    """Retry the failed and cancelled files of a job."""
    job = services().storage.ingestions.retry(_job_id(ingestion_id), whose())
    wake_worker()
    return job_json(job)


def _started(files: list[IngestionFile]) -> Response:
    job: Ingestion = services().storage.ingestions.create(files, caller().owner)
    wake_worker()
    headers = {"Location": url_for(".get_ingestion", ingestion_id=job.id)}
    return make_response(jsonify(job_json(job)), 202, headers)


def _overrides(said: Overrides, *, single: bool) -> dict[str, Any]:
    """The checked fields; what cannot be is refused now, not in the job."""
    if "title" in said.model_fields_set and not single:
        raise InvalidRequestError.for_field("title", "is possible for one file only.")
    return services().ingesting.check_overrides(said)


def _job_id(ingestion_id: str) -> str:
    if not INGESTION_ID.match(ingestion_id):
        raise NotFoundError(f"There is no ingestion {ingestion_id[:40]!r}.")
    return ingestion_id


@dataclass(frozen=True)
class Naming:
    """Which report an upload becomes: a new one, or one that is there and its sender may replace.

    For one sender; what is on its way is as good as there. ``is_shown`` says of a report whether the sender may know of
    it, ``may_change`` whether it is the sender's to change.
    """

    documents: DocumentRepository
    jobs: IngestionQueue
    owner: str
    is_shown: Callable[[DocumentRecord], bool]
    may_change: Callable[[DocumentRecord], bool]

    def identities(self, files: Sequence[tuple[str, str]], choice: Conflict | None) -> list[str]:
        """The identity that each file, by name and SHA-256, gets; in their order. ``choice`` None: the sender is to be
        asked.

        Raises:
            DocumentExistsError: of one or more there is another content, and no choice was made.
            ForbiddenError: what was to be replaced is somebody else's.
        """
        wanted = {name for name, _ in files}
        same: dict[str, list[DocumentRecord]] = {}
        waiting = [_record_of(file) for file in self.jobs.unfinished() if not file.cancel]
        for record in (*self.documents.all(), *waiting):
            if (name := uploaded_name(record.source)) in wanted:
                same.setdefault(name, []).append(record)
        found = [self._identity(name, digest, same.get(name, []), choice) for name, digest in files]
        asked = [one for one in found if isinstance(one, dict)]
        if asked:
            names = ", ".join(one["name"] for one in asked)
            message = f"There is a report of this name already: {names}. Send on_conflict=replace or keep_both."
            raise DocumentExistsError(message, details=asked)
        return [str(one) for one in found]

    def page(self, url: str) -> str:
        """The identity that a web page gets.

        Raises ForbiddenError: it is here already, and only who added it may read it again.
        """
        known = self.documents.get(document_id(url))
        if known is not None and not self.may_change(known):
            raise ForbiddenError("This page is here already, and only who added it may read it again.")
        return url

    def _identity(
        self, name: str, digest: str, same: Sequence[DocumentRecord], choice: Conflict | None
    ) -> str | dict[str, Any]:
        mine = [record for record in same if self.may_change(record)]
        if not mine and choice == "replace" and any(map(self.is_shown, same)):
            raise ForbiddenError(f"{name} is somebody else's; send on_conflict=keep_both to add yours beside it.")
        # The same again changes nothing; what failed has nothing to lose.
        for record in mine:
            if record.file_id == digest or record.status == "failed":
                return record.source
        if not mine or choice == "keep_both":
            return self._free(name, {record.source for record in same})
        if choice == "replace":
            return mine[0].source
        about = {"document_id": mine[0].id, "title": mine[0].title, "choices": list(get_args(Conflict))}
        return {"field": "files", "name": name, **about}

    def _free(self, name: str, taken: set[str]) -> str:
        # A file's own name has no colon (`safe_name`).
        whose = hashlib.sha256(self.owner.encode()).hexdigest()[:8] if self.owner else ""
        number = 1
        while (identity := f"{UPLOADS}{whose}:{number}/{name}") in taken:
            number += 1
        return f"{UPLOADS}{name}" if not whose and number == 1 and f"{UPLOADS}{name}" not in taken else identity


def _record_of(file: IngestionFile) -> DocumentRecord:
    """As far as it is known, of a file that is still to be read."""
    said = file.overrides
    metadata = {name: said[name] for name in METADATA if said.get(name) is not None}
    title = said.get("title") or file.name
    return DocumentRecord(
        document_id(file.identity), title, title, file.identity, said.get("collection", ""), "pending", "", metadata,
        file_id=file.file_id, owner=file.uploader,
    )  # fmt: skip
