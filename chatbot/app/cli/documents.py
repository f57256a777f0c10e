"""`documents`: list and delete the reports of the library."""

import click

from ...domain import DocumentRecord
from ...domain.errors import NotFoundError
from ...language.counts import count_of
from ..services import Services
from . import Commands

documents = Commands("documents")


@documents.command("list")
@click.option("--country", multiple=True, help="Only this country; repeat for several.")
@click.option("--year", multiple=True, help="Only this year; repeat for several.")
def list_documents(
    services: Services, country: tuple[str, ...], year: tuple[str, ...]
) -> None:
    """List the reports.

    Example: python -m chatbot documents list --country Kenya"""
    chosen = {"country_name": list(country), "year": list(year)}
    scope = services.storage.scopes.resolve(
        {name: values for name, values in chosen.items() if values}
    )
    records = services.storage.documents.all(scope)
    for record in records:
        named = [record.metadata.get(name) for name in ("country_name", "year")]
        about = ", ".join(str(value) for value in named if value is not None)
        click.echo(
            f"{record.id}  {record.status:8}  {record.chunks:6}  {record.title}  "
            f"({about or record.source})"
        )
    passages = sum(record.chunks for record in records)
    click.echo(f"{count_of(len(records), 'report')}, {count_of(passages, 'passage')}")


@documents.command("delete")
@click.argument("document_ids", nargs=-1, required=True)
def delete_documents(services: Services, document_ids: tuple[str, ...]) -> None:
    """Delete reports and all their passages.

    Example: python -m chatbot documents delete 73d71e792634f475d551"""
    storage = services.storage
    records: dict[str, DocumentRecord] = {}
    unknown = []
    for document_id in dict.fromkeys(document_ids):
        record = storage.documents.get(document_id)
        if record is None:
            unknown.append(document_id)
        else:
            records[document_id] = record
    if unknown:
        raise NotFoundError(
            f"There is no report {', '.join(unknown)}; nothing was deleted. See: "
            "documents list."
        )
    for record in records.values():
        services.ingesting.delete_document(record)
        storage.audit.record("documents delete", record.id)
    storage.database.empty_log()
    click.echo(f"{len(records)} deleted.")
