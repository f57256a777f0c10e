"""`documents`: list, review, change, reread and delete the reports of the library."""

from collections.abc import Iterator

import click

from ...domain import DocumentRecord
from ...domain.callers import ANYBODY
from ...domain.errors import InvalidRequestError, LoadError, NotFoundError
from ...domain.tables import Texts
from ...language.characters import visible
from ...language.counts import count_of, estimate_tokens_of
from ...library.control import JobControl
from ...library.pipeline import passages
from ..services import Services
from ..services.library import Library
from ..services.reviewing import ReportEdit, Review, ReviewedReport
from . import FAILED, Commands, progress_bar, resumable

documents = Commands("documents")


@documents.command("list")
@click.option("--country", multiple=True, help="Only this country; repeat for several.")
@click.option("--year", multiple=True, help="Only this year; repeat for several.")
@click.option("--deleted", is_flag=True, help="Those in the bin, and those erased.")
def list_documents(
    services: Services, country: Texts, year: Texts, deleted: bool
) -> None:
    """List the reports.

    Example: python -m chatbot documents list --country Kenya"""
    if deleted:
        _list_deleted(services)
        return
    chosen = {}
    if country:
        chosen["country_name"] = list(country)
    if year:
        chosen["year"] = list(year)
    scope = services.storage.scopes.resolve(chosen)
    records = services.storage.documents.all(scope)
    for record in records:
        named = [
            str(record.metadata[name])
            for name in ("country_name", "year")
            if name in record.metadata
        ]
        about = ", ".join(named)
        click.echo(
            f"{record.id}  {record.status:8}  {record.chunks:6}  {record.title}  "
            f"({about or visible(record.source)})"
        )
    passages = 0
    for record in records:
        passages += record.chunks
    click.echo(f"{count_of(len(records), 'report')}, {count_of(passages, 'passage')}")


def _list_deleted(services: Services) -> None:
    """Print the reports in the bin and those of which only the tombstone is left."""
    records = services.storage.documents.hidden()
    for record in records:
        deletion = record.deletion
        who = "gone from its source" if deletion and deletion.is_absence else ""
        if deletion and deletion.by and not deletion.is_absence:
            who = f"by {deletion.by}"
        status = "in the bin" if record.status == "deleted" else "erased"
        day = deletion.at[:10] if deletion else ""
        name = record.title or record.source
        click.echo(f"{record.id}  {status:10}  {day}  {name}  {who}".rstrip())
    click.echo(f"{count_of(len(records), 'deleted report')}")


@documents.command("delete")
@click.argument("document_ids", nargs=-1, required=True)
@click.option(
    "--permanent",
    is_flag=True,
    help="For good: passages, original and figures go now, also those in the bin.",
)
def delete_documents(services: Services, document_ids: Texts, permanent: bool) -> None:
    """Delete reports with their passages: no question sees them from now on, and no
    source adds them again. For BIN_DAYS `documents undelete` restores them.

    Example: python -m chatbot documents delete 73d71e792634f475d551"""
    storage = services.storage
    records: dict[str, DocumentRecord] = {}
    unknown = []
    for document_id in dict.fromkeys(document_ids):
        record = storage.documents.registered(document_id)
        deletable = storage.documents.get(document_id)
        if permanent and record is not None and record.status == "deleted":
            deletable = record
        if deletable is None:
            unknown.append(document_id)
        else:
            records[document_id] = deletable
    if unknown:
        raise NotFoundError(
            f"There is no report {', '.join(unknown)}; nothing was deleted. See: "
            "documents list."
        )
    action = "documents delete --permanent" if permanent else "documents delete"
    for record in records.values():
        services.ingesting.delete_document(
            record, by="documents delete", permanent=permanent
        )
        storage.audit.record(action, record.id)
    storage.database.empty_log()
    click.echo(f"{len(records)} deleted.")
    if permanent:
        quoting = storage.conversations.quoting(records)
        for document_id, record in records.items():
            count = count_of(quoting[document_id], "conversation")
            click.echo(f"Kept: {count} with quotations of {record.title}.")


@documents.command("undelete")
@click.argument("document_ids", nargs=-1, required=True)
def undelete_documents(services: Services, document_ids: Texts) -> None:
    """Restore reports from the bin. Of a report that was deleted for good, its source
    may add it again.

    Example: python -m chatbot documents undelete 73d71e792634f475d551"""
    for document_id in dict.fromkeys(document_ids):
        restored = services.ingesting.undelete(document_id)
        services.storage.audit.record("documents undelete", document_id)
        if restored is None:
            click.echo(f"{document_id} may be added again: its text is gone.")
        else:
            click.echo(f"{document_id} restored: {restored.title}")


@documents.command("review")
@click.option(
    "--set",
    "changes",
    type=(str, str),
    multiple=True,
    metavar="ID FIELD=VALUE",
    help="Change a field of a report; without a value it has none. Repeat for several.",
)
def review_documents(services: Services, changes: tuple[tuple[str, str], ...]) -> None:
    """List what a person should look at: values that reports only propose, countries
    that an older release took without proof, and reports that look the same. With --set
    change several reports; either all changes are made or, if one is wrong, none.

    Example: python -m chatbot documents review --set 73d71e792634f475d551 year=2023"""
    review = Review(Library(services, ANYBODY))
    if changes:
        _edit(services, review, changes)
        return
    count = 0
    for reviewed in review.reports(services.storage.documents.all()):
        lines = list(_lines(reviewed))
        if not lines:
            continue
        count += 1
        click.echo(f"{reviewed.record.id}  {reviewed.record.title}")
        for line in lines:
            click.echo(f"    {line}")
    click.echo(f"{count_of(count, 'report')} to review")
    if count:
        click.echo(
            "Nothing was changed. Change them on the page /documents (select, Review), "
            "or: python -m chatbot documents review --set ID FIELD=VALUE"
        )


def _lines(reviewed: ReviewedReport) -> Iterator[str]:
    for doubt in reviewed.doubts:
        source = doubt.origin
        if doubt.words:
            source += f": {doubt.words!r}"
        mark = "?"
        if doubt.reason == "unproven":
            mark = " without proof"
        yield f"{doubt.field} {doubt.value}{mark} ({source})"
    for other in reviewed.alike:
        yield f"same title, country and year as {other.id}"


def _edit(
    services: Services, review: Review, changes: tuple[tuple[str, str], ...]
) -> None:
    stated: dict[str, dict[str, str | None]] = {}
    for document_id, change in changes:
        field, sign, value = change.partition("=")
        if not sign:
            raise InvalidRequestError.for_field("--set", f"{change!r} has no =.")
        stated.setdefault(document_id, {})[field] = value or None
    edits = []
    for document_id, fields in stated.items():
        edits.append(ReportEdit(document_id, fields))
    outcome = review.apply(review.check(edits))
    for edited in outcome.edited:
        services.storage.audit.record("documents review", edited.after.id)
    for failed in outcome.failed:
        click.echo(f"{failed.id} was not changed: {failed.message}", err=True)
    click.echo(f"{count_of(len(outcome.edited), 'report')} changed.")
    if outcome.failed:
        raise click.exceptions.Exit(FAILED)


@documents.command("reread")
@click.argument("document_ids", nargs=-1)
@click.option("--yes", "confirmed", is_flag=True, help="Do not ask before it begins.")
def reread_documents(services: Services, document_ids: Texts, confirmed: bool) -> None:
    """Make the passages and figures of reports anew, as this release reads files.

    Without DOCUMENT_IDS: of all reports that an older release read. Title and metadata
    stay, the passages of today are served until the new ones are whole, and only texts
    that changed are embedded. Run an interrupted command again to continue.

    Example: python -m chatbot documents reread
    """
    unread = services.ingesting.unread()
    if document_ids:
        unread = [record for record in unread if record.id in document_ids]
    kept = []
    for record in unread:
        if services.ingesting.originals.file_name(record):
            kept.append(record)
        else:
            click.echo(f"{record.id}  no original is kept  {record.title}")
    if not kept:
        click.echo("No report is to be read again.")
        return
    if not confirmed:
        click.confirm(_cost_of_reading(services, kept), abort=True, err=True)
    failed = 0
    with (
        resumable("What was read again is"),
        progress_bar("Reading", len(kept)) as bar,
    ):
        for record in kept:
            try:
                services.ingesting.reread(record, JobControl())
            except LoadError as error:
                failed += 1
                click.echo(f"{record.id}  {error.message}", err=True)
            bar.update(1)
    click.echo(f"{count_of(len(kept) - failed, 'report')} read again.")
    if failed:
        raise click.exceptions.Exit(FAILED)


def _cost_of_reading(services: Services, records: list[DocumentRecord]) -> str:
    texts = sum(record.chunks for record in records)
    sampled = []
    # They tell how long a passage is: reading all of them would take minutes.
    for record in records[:20]:
        sampled += passages(services.runtime.store, record, offset=0, limit=50)
    tokens = estimate_tokens_of(chunk.search_text for chunk in sampled)
    about = texts * tokens // max(len(sampled), 1)
    return (
        f"{count_of(len(records), 'report')} with {count_of(texts, 'passage')}: about "
        f"{about:,} tokens at most for {services.runtime.embedder.model_id}; texts "
        "that stay the same are not embedded again. Go on?"
    )
