"""`documents list|delete`: what is in the database."""

from __future__ import annotations

import click

from ..errors import NotFoundError
from ..services import Services


@click.group()
def documents() -> None:
    """The reports in the database."""


@documents.command("list")
@click.option("--country", multiple=True, help="Only this country; repeat for several.")
@click.option("--year", multiple=True, help="Only this year; repeat for several.")
@click.pass_obj
def list_documents(services: Services, country: tuple[str, ...], year: tuple[str, ...]) -> None:
    """List the reports.

    Example: python -m chatbot documents list --country Kenya
    """
    chosen = {"country_name": list(country), "year": list(year)}
    scope = services.scopes.resolve({name: values for name, values in chosen.items() if values})
    found = services.documents.all(scope)
    for record in found:
        about = ", ".join(str(record.metadata[name]) for name in ("country_name", "year") if name in record.metadata)
        click.echo(f"{record.id}  {record.status:8}  {record.chunks:6}  {record.title}  ({about or record.source})")
    click.echo(f"{len(found)} reports, {sum(record.chunks for record in found)} passages")


@documents.command("delete")
@click.argument("document_ids", nargs=-1, required=True)
@click.pass_obj
def delete_documents(services: Services, document_ids: tuple[str, ...]) -> None:
    """Delete reports and all their passages.

    Example: python -m chatbot documents delete 73d71e792634f475d551
    """
    found = {document_id: services.documents.get(document_id) for document_id in document_ids}
    if unknown := [document_id for document_id, record in found.items() if record is None]:
        raise NotFoundError(f"There is no report {', '.join(unknown)}; nothing was deleted. See: documents list.")
    for record in filter(None, found.values()):
        services.delete_document(record)
    click.echo(f"{len(found)} deleted.")
