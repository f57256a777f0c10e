"""Adding files and web pages to the library, as background jobs.

The identity of an upload includes its owner, so that it never replaces another owner's file of the same name, nor a
sample report. The caller chooses whether it replaces a report that the caller may change.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any, Literal, get_args

from flask import Blueprint, Response, jsonify, make_response, request, url_for
from typing_extensions import TypedDict

from ...database.core import Json
from ...domain import DocumentRecord
from ...domain.errors import DocumentExistsError, ForbiddenError, InvalidRequestError, NotFoundError
from ...domain.validation import parse
from ...jobs.queue import FileState, Ingestion, IngestionFile
from ...library.control import JobControl, lease
from ...library.sources import METADATA, UPLOADS, Overrides, document_id, uploaded_name
from .access import caller, inside_limit, is_shown, may_change, own_record, whose
from .payloads import Conflict, Pages, ReadAgain, Upload, UploadFields
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
"""Seconds that an upload waits for another upload of its caller to be stored."""


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
    if is_form(most=MOST_FILES):
        files, sent = accept_files(), parse(UploadFields, form_fields())
        about = inside_limit(_overrides(sent, single=len(files) == 1), new=True)
        named = [(safe_name(file.filename), digest_of(file)) for file in files]
        storage.quota.require(sum(map(size_of, files)))
        with lease(storage.facts, f"names:{owner}", JobControl(), longest=LONGEST_WAIT):  # the next upload sees these
            queued = []
            for file, (name, _), identity in zip(files, named, _identities(named, sent.on_conflict), strict=True):
                with on_disk(file) as path:
                    stored = storage.files.put(path)
                base = PurePosixPath(name).name
                queued.append(IngestionFile("", "", base, identity, file_id=stored, overrides=about))
            return _started(queued)
    body = parse(Pages, json_object(NOTHING_SENT))
    pages = web_pages(body.url, body.urls)
    storage.quota.require(0)
    about = inside_limit(_overrides(body, single=len(pages) == 1), new=True)
    for page in pages:
        known = storage.documents.get(document_id(page))
        if known is not None and not may_change(known):
            raise ForbiddenError("This page is in the library already. Only its owner may read it again.")
    return _started([IngestionFile("", "", url, page, url=url, overrides=about) for page, url in pages.items()])


@jobs.post("/api/documents/<document_id>/reingest")
@route(need="write", body=ReadAgain, body_needed=False, returns=Job, status=202, errors=(409, 422, 507))
def reingest_document(document_id: str) -> Response:
    """Read the original of a report again, with other chunking where given."""
    record = own_record(document_id)
    sent = parse(ReadAgain, json_object() if request.get_data() else {})
    about = services().ingesting.check_overrides(sent)
    file = services().ingesting.originals.job_file(record)
    if file is None:
        raise NotFoundError(f"The original of {record.title!r} is not available. Please add the file again.")
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


def _overrides(stated: Overrides, *, single: bool) -> dict[str, Any]:
    """Return the checked fields, so that errors are reported before the job."""
    if "title" in stated.model_fields_set and not single:
        raise InvalidRequestError.for_field("title", "is possible for one file only.")
    return services().ingesting.check_overrides(stated)


def _job_id(ingestion_id: str) -> str:
    if not INGESTION_ID.match(ingestion_id):
        raise NotFoundError(f"There is no ingestion {ingestion_id[:40]!r}.")
    return ingestion_id


def _identities(files: Sequence[tuple[str, str]], choice: Conflict | None) -> list[str]:
    """Return the identity of each file (name, SHA-256): a new one, or that of a report which the caller may replace.

    A queued upload counts as a report. ``choice`` None: ask the caller.

    Raises:
        DocumentExistsError: a report of this name has another content, and no choice was made.
        ForbiddenError: the report that was to be replaced belongs to somebody else.
    """
    storage, names = services().storage, {name for name, _ in files}
    queued = [_queued_record(file) for file in storage.ingestions.unfinished() if not file.cancel]
    same: dict[str, list[DocumentRecord]] = {name: [] for name in names}
    for record in (*storage.documents.all(), *queued):
        if (name := uploaded_name(record.source)) in names:
            same[name].append(record)
    identities: list[str] = []
    conflicts: list[dict[str, Any]] = []
    for name, digest in files:
        mine = [record for record in same[name] if may_change(record)]
        if not mine and choice == "replace" and any(map(is_shown, same[name])):
            raise ForbiddenError(f"{name} belongs to somebody else. Send on_conflict=keep_both to add yours beside it.")
        # The same content changes nothing; a failed report has nothing to lose.
        harmless = [record for record in mine if record.file_id == digest or record.status == "failed"]
        if harmless or (mine and choice == "replace"):
            identities.append((harmless or mine)[0].source)
        elif not mine or choice == "keep_both":
            identities.append(_unused_identity(name, {record.source for record in same[name]}))
        else:
            report = {"document_id": mine[0].id, "title": mine[0].title}
            conflicts.append({"field": "files", "name": name, **report, "choices": list(get_args(Conflict))})
    if conflicts:
        listed = ", ".join(conflict["name"] for conflict in conflicts)
        message = f"There is a report of this name already: {listed}. Send on_conflict=replace or keep_both."
        raise DocumentExistsError(message, details=conflicts)
    return identities


def _unused_identity(name: str, used: set[str]) -> str:
    owner = caller().owner
    prefix = hashlib.sha256(owner.encode()).hexdigest()[:8] if owner else ""
    # A file's own name has no colon (`safe_name`).
    numbered = (f"{UPLOADS}{prefix}:{number}/{name}" for number in itertools.count(1))
    plain = [] if owner else [f"{UPLOADS}{name}"]
    return next(identity for identity in itertools.chain(plain, numbered) if identity not in used)


def _queued_record(file: IngestionFile) -> DocumentRecord:
    """Return a queued file as the report it becomes, as far as that is known."""
    stated = file.overrides
    metadata = {name: stated[name] for name in METADATA if stated.get(name) is not None}
    title = stated.get("title") or file.name
    return DocumentRecord(
        document_id(file.identity), title, title, file.identity, stated.get("collection", ""), "pending", "", metadata,
        file_id=file.file_id, owner=file.uploader,
    )  # fmt: skip
