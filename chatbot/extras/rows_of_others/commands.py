"""Import rows of another program."""

from contextlib import ExitStack, closing

import click

from ...app.cli import command, progress_bar
from ...app.location import Location
from ...app.services import Services
from ...domain.errors import DatabaseError, InvalidRequestError
from ...library.sources import check_collection
from .imported import Importer
from .layouts import LAYOUTS, read_layout


@command("import")
@click.option(
    "--from", "name", required=True, metavar="COLLECTION", help="Collection to read."
)
@click.option(
    "--as",
    "layout",
    required=True,
    type=click.Choice(sorted(LAYOUTS)),
    help="The program that wrote it.",
)
@click.option(
    "--map",
    "paths",
    multiple=True,
    metavar="FIELD=PATH",
    help="Path of a field; repeat for several.",
)
@click.option(
    "--database",
    metavar="URI",
    help="Database with that collection. Default: that of the settings.",
)
@click.option(
    "--to",
    "collection",
    help="Collection to write. Default: by country and year, as for uploads.",
)
@click.option(
    "--dry-run", is_flag=True, help="Show what each field becomes, and write nothing."
)
def import_(
    services: Services,
    name: str,
    layout: str,
    paths: tuple[str, ...],
    database: str | None,
    collection: str | None,
    dry_run: bool,
) -> None:
    """Import a collection of another program with its vectors.

    The collection is only read. Three of its texts are embedded to see that its vectors
    are of the configured model. Run an interrupted import again to continue it.

    Example: python -m chatbot import --from vectors --as langchain --map
    country_name=metadata.country
    """
    services.storage.require_writable()
    settings = services.settings
    if database is None and name in settings.chunk_collections:
        raise InvalidRequestError(
            f"{name} is a collection of this program: set REPORT_COLLECTION to "
            "another name."
        )
    with ExitStack() as opened:
        source = services.storage.database
        if database is not None:
            source = opened.enter_context(
                closing(Location.parse(database, settings).open(settings))
            )
        if not dry_run:
            services.prepare()
        ingestor = services.ingesting.ingestor
        embedder = services.runtime.embedder
        check_collection(collection, settings.chunk_collections)
        importer = Importer(
            source,
            name,
            read_layout([layout, *paths]),
            ingestor=ingestor,
            fields=settings.filter_fields,
            embedder=embedder,
            collection=collection,
        )
        if not importer.total:
            raise DatabaseError(
                f"There is nothing in {name!r}.",
                remedy="Check --from, --database and MONGODB_DB.",
            )
        for field, path, value in importer.describe():
            click.echo(f"{field:22}from {path:28}{value}")
        click.echo(f"Cosine with {embedder.model_id}: {importer.check_model():.2f}.")
        if dry_run:
            click.echo(f"{importer.total} rows. Nothing was written (--dry-run).")
            return
        with progress_bar("Importing", importer.total) as bar:
            done = importer.run(bar.update)
    click.echo(
        f"{done.reports} reports with {done.passages} passages imported, "
        f"{done.unchanged} there already."
    )
    if done.without_text or done.without_vector:
        click.echo(
            f"Left out: {done.without_text} rows without text, "
            f"{done.without_vector} without a usable vector."
        )
