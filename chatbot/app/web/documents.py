"""The reports of the knowledge base: list, edit and delete them; their passages, text
and original file.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from typing import Annotated, ClassVar, Literal

from flask import Response
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from ...answering.context import texts_of
from ...answering.guide import Guide, guide
from ...database.core import Json
from ...domain import Chunk, DocumentRecord, SearchHit
from ...domain.documents import Chunking, Proposal, Report, common_fields
from ...domain.errors import NotFoundError
from ...domain.json import Inlines
from ...domain.tables import Texts
from ...domain.validation import SORTING
from ...library.control import JobControl
from ...library.description import language_notes
from ...library.review import MAX_REVIEWED, Doubt
from ...library.sources import METADATA, About, shown_source
from ..services.library import Library
from ..services.reviewing import (
    FailedEdit,
    ReportEdit,
    Review,
    ReviewedReport,
    undo_of,
)
from .access import library, query_scope
from .files import disposition
from .routes import (
    FILE,
    Body,
    Number,
    Page,
    Query,
    ScopeQuery,
    Views,
    answer_type,
    listing,
    page_size,
    services,
    wake_worker,
)
from .routes import language as page_language

documents = Views("documents", __name__)
PDF = b"%PDF-"
SPLIT = BeforeValidator(
    lambda ids: ids.split(",") if isinstance(ids, str) else ids,
    json_schema_input_type=str,
)
AboutField = Literal[
    "title",
    "country_name",
    "year",
    "type",
    "labels",
    "description",
    "publisher",
    "authors",
    "publication_date",
    "source_url",
]
"""The fields of `About`."""
SANDBOX = "sandbox; default-src 'none'; frame-ancestors 'none'"
"""A file that is shown under this server's name can do nothing but be seen."""


@dataclass(frozen=True, slots=True)
class LibraryReport(Inlines):
    """A report as the knowledge base shows it."""

    INLINED: ClassVar = ("report",)
    report: Report
    source: str
    collection: str
    labels: Texts
    description: str
    error: str
    sample: bool
    chunking: Chunking | None
    parts: int
    """The number of its countries, years or other metadata that differ from those of
    the whole.
    """
    partial: bool
    """True if the caller sees only some parts of it; the numbers are of these."""
    has_file: bool
    can_reingest: bool
    may_change: bool
    proposed: tuple[Proposal, ...]
    """What its text says about it and no person has confirmed or changed yet;
    ``taken``: the report has it already.
    """
    notes: Texts
    """What was left out of its file, and that the embedding model does not know its
    language.
    """
    deleted_at: str
    """When it was put into the bin; "" = it was not."""


class Edit(About):
    """New metadata of a report; null removes a value."""


class DocumentQuery(Page, ScopeQuery):
    q: Annotated[str, Field(description="Text of the title or the name.")] = ""
    status: Annotated[
        Literal["pending", "ready", "failed", "deleting", "deleted"] | None,
        Field(description="Only reports of this status."),
    ] = None
    sort: Annotated[
        str,
        Field(
            pattern=SORTING,
            description='The field to sort by; with "-" before it from the end.',
        ),
    ] = "title"

    def sorted(self, records: Sequence[DocumentRecord]) -> Sequence[DocumentRecord]:
        """Return reports, which are in the order of their titles, in the order that is
        asked for. Those without a value come last.
        """
        name = self.sort.removeprefix("-")
        if self.sort == "title":
            return records
        valued = []
        without = []
        for record in records:
            if name in METADATA:
                value = record.metadata.get(name)
            else:
                value = getattr(record, name)
            if value in (None, ""):
                without.append(record)
                continue
            # A year may be a text in the rows of another program.
            is_text = isinstance(value, str)
            key = (is_text, value.casefold() if isinstance(value, str) else value)
            valued.append((key, record))
        valued.sort(key=itemgetter(0), reverse=self.sort.startswith("-"))
        return [record for _, record in valued] + without


@documents.get(
    "/api/documents",
    need="read",
    returns=listing("Documents", "documents", LibraryReport),
)
def list_documents(query: DocumentQuery) -> Json:
    """List the reports of the knowledge base, whether searchable or not. With the
    status `deleted`: those in the bin that the caller may restore, the newest
    first.
    """
    if query.status == "deleted":
        return query.of("documents", library().deleted(query.q), _shown)
    index = library().reader.documents.index()
    records = [
        record
        for record in index.named(query.q, query_scope(query))
        if query.status is None or record.status == query.status
    ]
    return query.of("documents", query.sorted(records), _shown)


@dataclass(frozen=True, slots=True)
class NamedReport:
    """A report that another one is compared with."""

    document_id: str
    title: str
    source: str


@dataclass(frozen=True, slots=True)
class ReviewRow(Inlines):
    """A report with what a person should look at before it is used."""

    INLINED: ClassVar = ("document",)
    document: LibraryReport
    doubts: tuple[Doubt, ...]
    alike: tuple[NamedReport, ...]
    """Some of the reports that are the same file, or of the same title, country and
    year.
    """


class ReviewQuery(Query):
    ids: Annotated[
        list[str],
        Field(
            min_length=1,
            max_length=MAX_REVIEWED,
            description="Ids of reports, with commas between.",
        ),
        SPLIT,
    ]


@documents.get(
    "/api/documents/review",
    need="read",
    returns=answer_type("Review", documents=list[ReviewRow]),
)
def review_documents(query: ReviewQuery) -> Json:
    """Return what a person should look at in these reports: values that their text only
    proposes, countries that nothing proves, and reports that look the same. Ids that
    the caller does not see are left out.
    """
    mine = library()
    reports = mine.reader.documents.index().records
    records = [reports[id] for id in dict.fromkeys(query.ids) if id in reports]
    rows = [_review_row(reviewed) for reviewed in Review(mine).reports(records)]
    return {"documents": rows}


def _review_row(reviewed: ReviewedReport) -> ReviewRow:
    others = tuple(
        NamedReport(record.id, record.title, shown_source(record.source))
        for record in reviewed.alike
    )
    return ReviewRow(_shown(reviewed.record), reviewed.doubts, others)


@dataclass(frozen=True, slots=True)
class KnownFile:
    """A report that was made from a file with this digest."""

    digest: str
    document_id: str
    title: str


class KnownQuery(Query):
    digests: Annotated[
        list[str],
        Field(
            max_length=MAX_REVIEWED,
            description="SHA-256 of files, in hexadecimal, with commas between.",
        ),
        SPLIT,
    ]


@documents.get(
    "/api/documents/known",
    need="read",
    returns=answer_type("KnownFiles", documents=list[KnownFile]),
)
def list_known_files(query: KnownQuery) -> Json:
    """List the reports that are exactly one of these files, before it is sent again."""
    known = {*query.digests} - {""}
    return {
        "documents": [
            KnownFile(record.digest, record.id, record.title)
            for record in library().reader.documents.all()
            if record.digest in known and record.status == "ready"
        ]
    }


@documents.get("/api/documents/<document_id>", need="read")
def get_document(document_id: str) -> LibraryReport:
    """Get a report."""
    return _shown(library().record(document_id))


@documents.get("/api/documents/<document_id>/guide", need="read")
def get_guide(document_id: str) -> Guide:
    """Get the chapters and key figures of a report, and questions that it answers, in
    the page's language.
    """
    search = library().search
    return guide(
        library().record(document_id),
        search.passages,
        search.tables,
        page_language(),
    )


@documents.patch(
    "/api/documents/<document_id>",
    need="write",
    errors=(409, 422, 507),
    example={"title": "Kenya 2023"},
)
def update_document(document_id: str, body: Edit) -> LibraryReport:
    """Change the metadata of a report; passages are embedded again only where that
    changes their text.
    """
    mine = library()
    ingesting = services().ingesting
    record = mine.own_record(document_id)
    stated = mine.inside_limit(ingesting.check_overrides(body, mine.reader))
    edited = ingesting.service.edit(record.id, stated, limit=mine.who.limit)
    return _shown(edited.after)


class EditOfOne(BaseModel):
    """New metadata of one of several reports."""

    model_config = ConfigDict(extra="forbid")

    id: str
    fields: Edit = Edit()
    unconfirmed: tuple[AboutField, ...] = ()
    """Fields whose value counts as its file's again: a later reading of the file may
    change it. With `fields` that are null or have the earlier value this undoes an
    edit.
    """


class Edits(Body):
    """New metadata of several reports, each of which is named once."""

    documents: list[EditOfOne] = Field(min_length=1, max_length=MAX_REVIEWED)


@documents.patch(
    "/api/documents",
    need="write",
    errors=(403, 404, 409, 422, 507),
    returns=answer_type(
        "EditedDocuments",
        documents=list[LibraryReport],
        undo=list[ReportEdit],
        failed=list[FailedEdit],
    ),
    example={
        "documents": [{"id": "73d71e792634f475d551", "fields": {"year": 2023}}],
    },
)
def update_documents(body: Edits) -> Json:
    """Change the metadata of several reports. All rows are checked first: if one is
    wrong, nothing is changed, and the error names its row and field
    (`documents.3.fields.year`).

    Then each report is changed by itself. `undo` is what to send as `documents` to give
    the changed reports back what they had. `failed` names reports that another request
    changed at the same moment, or that a failing service left as they were.
    """
    review = Review(library())
    edits = []
    for row in body.documents:
        fields = row.fields.model_dump(exclude_unset=True)
        edits.append(ReportEdit(row.id, fields, row.unconfirmed))
    outcome = review.apply(review.check(edits))
    shown = []
    undo = []
    for edited in outcome.edited:
        shown.append(_shown(edited.after))
        earlier = undo_of(edited)
        if earlier is not None:
            undo.append(earlier)
    return {
        "documents": shown,
        "undo": undo,
        "failed": outcome.failed,
    }


class DeleteQuery(Query):
    permanent: Annotated[
        bool,
        Field(description="Delete it for good, also a report that is in the bin."),
    ] = False


@documents.delete(
    "/api/documents/<document_id>", need="write", status=204, errors=(409, 422, 507)
)
def delete_document(document_id: str, query: DeleteQuery) -> None:
    """Delete a report: no question sees it from now on, and no source adds it again. It
    stays in the bin for BIN_DAYS, from which `restore` takes it.

    With `permanent` its passages, its original and its figures are removed now.
    Conversations keep what they have quoted (`GET .../quotations` counts them).
    """
    mine = library()
    if query.permanent:
        record = mine.own_deleted(document_id) or mine.own_record(document_id)
    else:
        record = mine.own_record(document_id)
    # A request waits two seconds for the search engine; then the worker finishes it.
    services().ingesting.delete_document(
        record,
        JobControl(patience=2.0),
        by=mine.who.owner,
        permanent=query.permanent,
    )
    if (
        library().reader.documents.get(document_id) is not None
    ):  # the search engine has not let go of it yet
        wake_worker()


@documents.get(
    "/api/documents/<document_id>/quotations",
    need="write",
    returns=answer_type("Quotations", conversations=int),
)
def count_quotations(document_id: str) -> Json:
    """Count the conversations of all people that have quoted a report, also one in the
    bin. They keep what they have quoted when it is deleted for good.
    """
    mine = library()
    record = mine.own_deleted(document_id) or mine.own_record(document_id)
    quoting = services().storage.conversations.quoting([record.id])
    return {"conversations": quoting[record.id]}


@documents.post(
    "/api/documents/<document_id>/restore",
    need="write",
    errors=(409, 422, 507),
)
def restore_document(document_id: str) -> LibraryReport:
    """Take a report out of the bin; it is searched again as it was."""
    mine = library()
    record = mine.own_deleted(document_id)
    if record is None:
        mine.own_record(document_id)  # says what it says of a report of others
        raise NotFoundError(f"There is no report {document_id[:64]!r} in the bin.")
    return _shown(services().ingesting.undelete(record.id) or record)


class PassagePage(Page):
    limit: Number = page_size(20, 100)


@documents.get(
    "/api/documents/<document_id>/chunks",
    need="read",
    returns=listing("Passages", "chunks", SearchHit),
)
def list_passages(document_id: str, query: PassagePage) -> Json:
    """List the passages of a report as they are searched, in reading order."""
    record = library().record(document_id)
    chunks = library().page_of(record, query.start, query.limit)
    return {
        "chunks": list(map(SearchHit, chunks)),
        "total": record.chunks,
        "next": query.next(record.chunks),
    }


class FileQuery(Query):
    disposition: Annotated[
        Literal["attachment", "inline"], Field(description="`inline` shows a PDF.")
    ] = "attachment"


@documents.get(
    "/api/documents/<document_id>/file", need="read", media=(FILE, "application/pdf")
)
def get_file(document_id: str, query: FileQuery) -> Response:
    """Download the original file of a report; only a PDF can be shown inline."""
    name, pieces = library().original(library().record(document_id))
    first = next(pieces, b"")
    # A PDF says that it is one within its first 1,024 bytes.
    shown = query.disposition == "inline" and PDF in first[:1024]
    response = Response(
        chain([first], pieces), mimetype="application/pdf" if shown else FILE
    )
    response.headers["Content-Disposition"] = disposition(
        "inline" if shown else "attachment", name
    )
    response.headers["Content-Security-Policy"] = SANDBOX
    return response


class TextQuery(Page):
    limit: Number = page_size(40, 100)
    around: Annotated[
        str, Field(description="A passage to open the text at, instead of `cursor`.")
    ] = ""


@dataclass(frozen=True, slots=True)
class TextPart(Inlines):
    """A part of a report, without the overlap with the part before it."""

    INLINED: ClassVar = ("chunk",)
    chunk: Chunk
    text: str


@documents.get(
    "/api/documents/<document_id>/text",
    need="read",
    returns=answer_type(
        "ReportText", parts=list[TextPart], offset=int, total=int, next=str | None
    ),
)
def get_text(document_id: str, query: TextQuery) -> Json:
    """Read the text of a report in parts, each without the overlap with the part before
    it.

    `offset` is the number of the first part, `total` that of all parts.
    """
    mine = library()
    record = mine.record(document_id)
    start = query.start
    if query.around:
        passage = mine.read.passage(query.around)
        if passage.document_id != record.id:
            raise NotFoundError(
                f"There is no passage {query.around[:200]!r} in {record.title!r}."
            )
        # The text is opened eight parts before the passage.
        start = max(0, _place(mine, record, passage) - 8)
    before = min(start, 1)  # one part more, to find the overlap
    chunks = mine.page_of(record, start - before, query.limit + before)
    read = [chunk for chunk in chunks if not chunk.is_summary]
    parts = list(map(TextPart, read, texts_of(read)))[before:]
    end = start + len(parts)
    following = str(end) if parts and end < record.chunks else None
    return {"parts": parts, "offset": start, "total": record.chunks, "next": following}


def _place(mine: Library, record: DocumentRecord, passage: Chunk) -> int:
    """Return the number of passages before this one that the caller sees; 0 for a
    summary.
    """
    if passage.is_summary:
        return 0
    if not record.part_of:
        return passage.ordinal
    ids = [chunk.id for chunk in mine.page_of(record, 0, record.chunks)]
    return ids.index(passage.id)


def _shown(record: DocumentRecord) -> LibraryReport:
    values = common_fields(LibraryReport, record)
    values |= {"report": Report.of(record), "source": shown_source(record.source)}
    differing = 0
    for part in record.several:
        if part.metadata != record.metadata:
            differing += 1
    values["parts"] = differing or 1
    values["has_file"] = bool(library().original_name(record))
    values["can_reingest"] = library().can_reingest(record)
    values["partial"] = record.part_of > 0
    values["deleted_at"] = record.deletion.at if record.deletion else ""
    values["may_change"] = library().may_change(record)
    proposed = [
        proposal
        for proposal in record.proposed
        if proposal.field not in record.overrides
    ]
    values["proposed"] = tuple(proposed)
    values["notes"] = (
        *record.notes,
        *language_notes(record.proposed, services().runtime.embedder),
    )
    return LibraryReport(**values)
