"""`migrate`: the schema, and rows that an older system wrote."""

from __future__ import annotations

import sys

import click

from ..migration.mends import Mender
from ..migration.schema import migrate as migrate_schema
from ..migration.schema import newest, require_known
from ..services import Services


@click.command()
@click.option("--dry-run", is_flag=True, help="Count what would change, and change nothing.")
@click.pass_obj
def migrate(services: Services, dry_run: bool) -> None:
    """Bring the schema up to date and mend rows of an older system.

    Years stored as text become numbers, vectors stored as arrays become float32 vectors (a third of the space), and
    passages that belong to no registered report get one.

    Example: python -m chatbot migrate --dry-run
    """
    version = require_known(services.database)
    if not dry_run:
        migrate_schema(services.database)
    click.echo(f"schema version {version}" + (f" -> {newest()}" if version < newest() else ", the newest"))
    mender = Mender(
        services.database,
        collections=services.chunk_collections,
        filter_fields=services.settings.filter_fields,
        dry_run=dry_run,
    )
    with click.progressbar(length=mender.total(), label="Looking", file=sys.stderr) as bar:
        found = mender.run(bar.update)
    click.echo(f"years stored as text:       {found.years} rows")
    click.echo(f"vectors stored as arrays:   {found.vectors} rows")
    click.echo(f"rows without a report:      {found.unregistered} rows, {found.reports} reports")
    click.echo("Nothing was changed (--dry-run)." if dry_run else "Mended." if found else "Nothing to mend.")
