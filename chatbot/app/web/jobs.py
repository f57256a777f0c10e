"""Adding files and web pages to the library, as background jobs.

The identity of an upload includes its owner, so that it never replaces another owner's
file of the same name, nor a sample report. The caller chooses whether it replaces a
report that the caller may change.
"""

import hashlib
import itertools
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal, Self, get_args

from flask import Response, jsonify, make_response, request, url_for
from pydantic import BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError
from werkzeug.datastructures import FileStorage

from ...database.core import Json
from ...database.repositories.caches import request_cache
from ...domain import (
    Cancellation,
    Document,
    DocumentRecord,
    RequestContext,
    errors,
)
from ...domain.differences import ChangedFigure, TextDifferences
from ...domain.documents import Proposal
from ...domain.json import to_json
from ...domain.scope import Scope
from ...domain.tables import Texts
from ...domain.validation import parse
from ...jobs.queue import Ingestion, IngestionFile
from ...library.control import JobControl, lease
from ...library.description import language_notes
from ...library.differences import MAX_LISTED
from ...library.sources import (
    METADATA,
    UPLOADS,
    Cutting,
    Overrides,
    Source,
    document_id,
    uploaded_name,
)
from .access import activity, library
from .asking import Address, one_of
from .callers import caller
from .files import (
    MAX_FILES,
    accept_files,
    digest_of,
    is_form,
    last_part,
    on_disk,
    safe_name,
    size_of,
)
from .routes import (
    Body,
    Number,
    Query,
    Views,
    answer_type,
    json_body,
    page_size,
    services,
    wake_worker,
)
from .uploads import FileId, sent_files

jobs = Views("jobs", __name__)
NOTHING_SENT = (
    "Send a JSON object (application/json) with the ids of files (POST /api/files), "
    '{"files": ["file_..."]}, or with web addresses, {"urls": ["https://..."]}.'
)
MAX_URLS = 50
MAX_PREVIEWED_FILES = 10
"""Files of one preview; a person waits until they are read."""
LATE_NOTE = "Reading it takes longer than a preview may. It can be added all the same."
_SPLIT = BeforeValidator(
    lambda names: names.split(",") if isinstance(names, str) else names,
    json_schema_input_type=str,
)
Conflict = Literal["replace", "keep_both"]


class ReadAgain(Cutting):
    """A way to split a report again; null means as the settings say."""


Without = Annotated[
    list[Literal["country_name", "year", "type"]] | None,
    Field(description="Fields without a value, whatever the report says of itself."),
]


class NewDocuments(Overrides):
    """Files (`POST /api/files`) or web pages to add: one of ``files``, ``url`` and
    ``urls``; ``title`` for one of them only.
    """

    model_config = ConfigDict(json_schema_extra=one_of("files", "url", "urls"))

    files: list[FileId] | None = Field(None, min_length=1, max_length=MAX_FILES)
    url: Address | None = None
    urls: list[Address] | None = Field(None, min_length=1, max_length=MAX_URLS)
    on_conflict: Conflict | None = None
    without: Without = None

    def by_page(self) -> dict[str, str]:
        """Return the addresses by page, without what follows a #. Raises
        InvalidRequestError: not exactly one of the fields, or the same page twice.
        """
        if [self.url, self.urls, self.files].count(None) != 2:
            message = (
                f"send one address in `url`, up to {MAX_URLS} in `urls`, http(s), or "
                "the ids of files in `files`."
            )
            raise errors.InvalidRequestError.for_field("url", message)
        urls = [self.url] if self.url is not None else self.urls or []
        pages = {each.partition("#")[0]: each for each in urls}
        if len(pages) < len(urls):
            raise errors.InvalidRequestError.for_field("urls", "the same page twice.")
        return pages


class UploadForm(Overrides):
    """The fields of an upload's form that are not blank; ``without`` with commas
    between.
    """

    on_conflict: Conflict | None = None
    without: Annotated[Without, _SPLIT] = None


@jobs.post(
    "/api/documents",
    need="write",
    body=NewDocuments,
    files=MAX_FILES,
    returns=Ingestion,
    status=202,
    errors=(404, 409, 422, 507),
    example={"url": "https://example.org/review.html"},
)
def add_documents() -> Response:
    """Add files, which `POST /api/files` has stored, or web pages as one background
    job; where one is refused, nothing is stored.

    `Location` is the address of the job.
    """
    storage = services().storage
    mine = library()
    storage.require_writable()
    if is_form(most=MAX_FILES):
        files = accept_files()
        fields = {
            name: value.strip() for name, value in request.form.items() if value.strip()
        }
        return _add_files(files, parse(UploadForm, fields))
    content = json_body()
    if not isinstance(content, dict):
        raise errors.InvalidRequestError(NOTHING_SENT)
    body = parse(NewDocuments, content)
    pages = body.by_page()
    if body.files is not None:
        return _add_files(sent_files(body.files, most=MAX_FILES), body)
    storage.files.require_space(0)
    about = mine.inside_limit(_overrides(body, single=len(pages) == 1), new=True)
    about |= dict.fromkeys(body.without or ())
    page_identities = {page: _page_identity(page) for page in pages}
    for identity in page_identities.values():
        record = mine.reader.documents.get(document_id(identity))
        if record is not None and not mine.may_change(record):
            raise errors.ForbiddenError(
                "This page is in the library already. Only its owner may read it again."
            )
    return _started(
        [
            IngestionFile(
                name=url, identity=page_identities[page], url=url, overrides=about
            )
            for page, url in pages.items()
        ]
    )


def _add_files(files: list[FileStorage], stated: NewDocuments | UploadForm) -> Response:
    """Start a job of these files."""
    storage = services().storage
    with request_cache():
        about = _overrides(stated, single=len(files) == 1)
    about |= dict.fromkeys(stated.without or ())
    about = library().inside_limit(about, new=True)
    named = [(safe_name(file.filename), digest_of(file)) for file in files]
    storage.files.require_space(sum(map(size_of, files)))
    # The next upload of this caller sees these.
    with lease(storage.facts, f"names:{caller().owner}", JobControl(), longest=60.0):
        queued = []
        with request_cache():
            identities = _identities(named, stated.on_conflict)
        for file, identity in zip(files, identities, strict=True):
            with on_disk(file) as path:
                stored = storage.files.put(path)
            queued.append(
                IngestionFile(
                    name=path.name,
                    identity=identity,
                    file_id=stored,
                    overrides=about,
                )
            )
        return _started(queued)


def _page_identity(page: str) -> str:
    """Return the identity of a web page. That of a limited caller is the caller's own:
    a page that others have added must not be refused, nor replaced.
    """
    who = caller()
    if not who.limit:
        return page
    return f"{page}#{hashlib.sha256(who.owner.encode()).hexdigest()[:8]}"


@dataclass(frozen=True, slots=True)
class Replacement:
    """A report that a file can replace (`on_conflict`), and what would be different.

    ``figures`` has the first of ``figures_total``.
    """

    document_id: str
    title: str
    updated_at: str
    figures: Sequence[ChangedFigure]
    figures_total: int
    text: TextDifferences


@dataclass(frozen=True, slots=True)
class FilePreview:
    """What a file says about itself: title, country, year, type and language, each with
    its origin.

    ``notes``: what was left out, and that the embedding model does not know its
    language. ``replaces``: the caller's report of this name or address, if its content
    is another one. ``error``: why it cannot be read.
    """

    name: str
    pages: int | None = None
    proposed: tuple[Proposal, ...] = ()
    notes: Texts = ()
    replaces: Replacement | None = None
    error: str = ""


class PreviewRequest(Body):
    """A web page or files (`POST /api/files`) to look at."""

    model_config = ConfigDict(json_schema_extra=one_of("url", "files"))

    url: Address | None = None
    files: list[FileId] | None = Field(
        None, min_length=1, max_length=MAX_PREVIEWED_FILES
    )

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.url is None) == (self.files is None):
            raise PydanticCustomError("one_of_both", "give either url or files.")
        return self


@jobs.post(
    "/api/documents/preview",
    need="write",
    body=PreviewRequest,
    files=MAX_PREVIEWED_FILES,
    errors=(404, 409),
    returns=answer_type("Previews", files=list[FilePreview]),
    example={"url": "https://example.org/review.html"},
)
def preview_documents() -> Response:
    """Read files, which `POST /api/files` has stored, or a web page and return what
    each says about itself. No document is stored.

    An upload never waits for this: by itself it takes what the file says beyond doubt
    (`taken`).
    """
    # A person waits for a preview.
    with (
        RequestContext().within(30.0) as request,
        TemporaryDirectory(prefix="report-chat-") as folder,
    ):
        looked = partial(_look, limit=caller().limit, cancel=request.cancel)
        if is_form(most=MAX_PREVIEWED_FILES):
            sent = accept_files(most=MAX_PREVIEWED_FILES)
        else:
            body = parse(PreviewRequest, json_body() or {})
            if body.url is not None:
                page = partial(
                    services().ingesting.originals.download,
                    body.url,
                    Path(folder),
                    request.cancel,
                )
                identity = _page_identity(body.url.partition("#")[0])
                known = library().reader.documents.get(document_id(identity))
                files = [looked(body.url, page, [known] if known else [])]
                return jsonify(to_json({"files": files}))
            sent = sent_files(body.files or (), most=MAX_PREVIEWED_FILES)
        names = [safe_name(file.filename) for file in sent]
        same_name = _uploads_named(set(names))
        files = []
        for number, (name, file) in enumerate(zip(names, sent, strict=True)):
            path = Path(folder) / str(number) / last_part(file.filename)
            path.parent.mkdir()
            digest = digest_of(file)
            file.save(path)
            file.close()
            others = [one for one in same_name[name] if one.file_id != digest]
            if len(others) < len(same_name[name]):
                others = []  # the same file again changes nothing
            files.append(looked(name, partial(Path, path), others))
    return jsonify(to_json({"files": files}))


def _look(
    name: str,
    fetch: Callable[[], Path],
    known: Sequence[DocumentRecord],
    *,
    limit: Scope,
    cancel: Cancellation,
) -> FilePreview:
    """Look into a file; ``known``: the reports of its name or address."""
    control = JobControl(cancel=cancel)
    try:
        source = Source(
            fetch(), name if name.startswith("http") else f"{UPLOADS}{name}"
        )
        document, _ = services().ingesting.service.plan(
            source, limit=limit, control=control
        )
        replaces = _replacement(known, document, control)
    except errors.LoadError as error:
        return FilePreview(name, error=error.message)
    except errors.CancelledError:
        return FilePreview(name, error=LATE_NOTE)
    proposed = {one.field: one for one in document.proposed}
    for field, value in {"title": document.title, **document.metadata}.items():
        if field not in proposed or proposed[field].value != value:
            proposed[field] = Proposal(field, value, "file", True)
    notes = (
        *document.notes,
        *language_notes(document.proposed, services().runtime.embedder),
    )
    return FilePreview(name, document.pages, tuple(proposed.values()), notes, replaces)


def _replacement(
    known: Sequence[DocumentRecord], document: Document, control: JobControl
) -> Replacement | None:
    """Return what a file would change of the report that it can replace. Raises
    LoadError, CancelledError.
    """
    changeable = [
        record
        for record in known
        if record.status == "ready" and library().may_change(record)
    ]
    if not changeable:
        return None
    record = changeable[0]
    figures, text = services().ingesting.service.differences(record, document, control)
    return Replacement(
        document_id=record.id,
        title=record.title,
        updated_at=record.updated_at,
        figures=figures[:MAX_LISTED],
        figures_total=len(figures),
        text=text,
    )


@jobs.post(
    "/api/documents/<document_id>/reingest",
    need="write",
    body_needed=False,
    returns=Ingestion,
    status=202,
    errors=(409, 422, 507),
)
def reingest_document(document_id: str, body: ReadAgain) -> Response:
    """Read the original of a report again, with other chunking where given."""
    record = library().own_record(document_id)
    about = services().ingesting.check_overrides(body, library().reader)
    file = services().ingesting.originals.job_file(record)
    if file is None:
        raise errors.NotFoundError(
            f"The original of {record.title!r} is not available. Please add the "
            "file again."
        )
    return _started([replace(file, overrides=about)])


class IngestionQuery(Query):
    limit: Number = page_size(10, 100)


@jobs.get(
    "/api/ingestions",
    need="read",
    returns=answer_type("Ingestions", ingestions=list[Ingestion]),
)
def list_ingestions(query: IngestionQuery) -> Json:
    """List the caller's latest jobs."""
    return {"ingestions": activity().jobs(query.limit)}


@jobs.get("/api/ingestions/<ingestion_id>", need="read")
def get_ingestion(ingestion_id: str) -> Ingestion:
    """Get the state and progress of a job."""
    return activity().job(ingestion_id)


@jobs.delete(
    "/api/ingestions/<ingestion_id>", need="write", status=202, errors=(409, 422, 507)
)
def cancel_ingestion(ingestion_id: str) -> Ingestion:
    """Cancel the files of a job that are not finished."""
    job = activity().cancel(ingestion_id)
    wake_worker()
    return job


@jobs.post(
    "/api/ingestions/<ingestion_id>/retry",
    need="write",
    status=202,
    errors=(409, 422, 507),
)
def retry_ingestion(ingestion_id: str) -> Ingestion:
    """Retry the failed and cancelled files of a job."""
    job = activity().retry(ingestion_id)
    wake_worker()
    return job


def _started(files: list[IngestionFile]) -> Response:
    key = caller().key
    limit = (
        {"filters": dict(key.filters), "collections": list(key.collections)}
        if key
        else {}
    )
    files = [replace(file, limit=limit) for file in files]
    job: Ingestion = activity().start(files, caller().owner)
    wake_worker()
    headers = {"Location": url_for(".get_ingestion", ingestion_id=job.id)}
    return make_response(jsonify(to_json(job)), 202, headers)


def _overrides(stated: Overrides, *, single: bool) -> dict[str, Any]:
    """Return the checked fields, so that errors are reported before the job."""
    if "title" in stated.model_fields_set and not single:
        raise errors.InvalidRequestError.for_field(
            "title", "is possible for one file only."
        )
    return services().ingesting.check_overrides(stated, library().reader)


def _identities(files: Sequence[tuple[str, str]], choice: Conflict | None) -> list[str]:
    """Return the identity of each file (name, SHA-256): a new one, or that of a report
    which the caller may replace.

    A queued upload counts as a report. ``choice`` None: ask the caller. Raises
    DocumentExistsError: a report of this name has another content, and no choice was
    made; ForbiddenError: the report that was to be replaced belongs to somebody else.
    """
    # before anything is stored
    services().storage.ingestions.require_room(len(files), caller().owner)
    same_name = _uploads_named({name for name, _ in files})
    identities: list[str] = []
    conflicts: list[dict[str, Any]] = []
    for name, digest in files:
        mine = list(filter(library().may_change, same_name[name]))
        identity = _identity(name, digest, same_name[name], mine, choice)
        if identity:
            identities.append(identity)
            continue
        conflicts.append(
            {
                "field": "files",
                "name": name,
                "document_id": mine[0].id,
                "title": mine[0].title,
                "choices": list(get_args(Conflict)),
            }
        )
    if conflicts:
        listed = ", ".join(conflict["name"] for conflict in conflicts)
        message = (
            f"There is a report of this name already: {listed}. Send "
            "on_conflict=replace or keep_both."
        )
        raise errors.DocumentExistsError(message, details=conflicts)
    return identities


def _uploads_named(names: Set[str]) -> dict[str, list[DocumentRecord]]:
    """Return the uploaded reports of each of these names, queued ones among them."""
    storage = services().storage
    queued = [
        _queued_record(file)
        for file in storage.ingestions.unfinished()
        if not file.cancel
    ]
    uploads: dict[str, list[DocumentRecord]] = {name: [] for name in names}
    for record in (*storage.documents.all(), *queued):
        name = uploaded_name(record.source)
        if name in uploads:
            uploads[name].append(record)
    return uploads


def _identity(
    name: str,
    digest: str,
    same_name: Sequence[DocumentRecord],
    mine: Sequence[DocumentRecord],
    choice: Conflict | None,
) -> str:
    """Return the identity of a file; "" = the caller has to choose. ``mine``: the
    reports of its name that the caller may change. Raises ForbiddenError.
    """
    if not mine and choice == "replace" and any(map(library().shows, same_name)):
        message = (
            f"{name} belongs to somebody else. Send on_conflict=keep_both to add "
            "yours beside it."
        )
        raise errors.ForbiddenError(message)
    for record in mine:
        # The same content changes nothing; a failed report has nothing to lose.
        if record.file_id == digest or record.status == "failed":
            return record.source
    if mine and choice == "replace":
        return mine[0].source
    if mine and choice != "keep_both":
        return ""
    return _unused_identity(name, {record.source for record in same_name})


def _unused_identity(name: str, used: set[str]) -> str:
    owner = caller().owner
    prefix = hashlib.sha256(owner.encode()).hexdigest()[:8] if owner else ""
    # A file's own name has no colon (`safe_name`).
    numbered = (f"{UPLOADS}{prefix}:{number}/{name}" for number in itertools.count(1))
    plain = [] if owner else [f"{UPLOADS}{name}"]
    return next(
        identity
        for identity in itertools.chain(plain, numbered)
        if identity not in used
    )


def _queued_record(file: IngestionFile) -> DocumentRecord:
    """Return a queued file as the report it becomes, as far as that is known."""
    stated = file.overrides
    metadata = {name: stated[name] for name in METADATA if stated.get(name) is not None}
    title = stated.get("title") or file.name
    return DocumentRecord(
        document_id(file.identity),
        title,
        title,
        file.identity,
        stated.get("collection", ""),
        "pending",
        "",
        metadata,
        file_id=file.file_id,
        owner=file.uploader,
    )
