"""Work on a whole database: `copy`, `migrate`, `reembed`, `index`."""

import click

from ...database.ordinary_indexes import build_indexes
from ...domain.errors import SearchEngineError
from ...stores.atlas.indexes import (
    IndexStatus,
    Polling,
    SearchTarget,
    drop_indexes,
    ensure_indexes,
    index_status,
)
from ..schema import Mender, newest, require_known
from ..schema import migrate as migrate_schema
from ..services import Services
from ..services.preparing import ordinary_indexes, require_own
from . import Commands, command, progress_bar


@command()
@click.option(
    "--dry-run", is_flag=True, help="Count what would change, and change nothing."
)
def migrate(services: Services, dry_run: bool) -> None:
    """Bring the schema up to date and mend rows of an older system.

    Years stored as text become numbers, vectors stored as arrays become float32 vectors
    (a third of the space), passages without a registered report get one, passages
    without a country, year or type say so explicitly, because a scope taken from a
    question keeps them, and the table of figures is filled. Run it again after an
    interruption to continue.

    Example: python -m chatbot migrate --dry-run
    """
    storage = services.storage
    settings = services.settings
    storage.require_writable()
    require_own(storage)
    version = require_known(storage.database)
    if not dry_run:
        migrate_schema(storage.database)
    click.echo(
        f"schema version {version}"
        + (f" -> {newest()}" if version < newest() else ", up to date")
    )
    mender = Mender(
        storage.database,
        settings.chunk_collections,
        settings.filter_fields,
        dry_run=dry_run,
    )
    with progress_bar("Checking", mender.total()) as bar:
        mended = mender.run(bar.update)
    click.echo(f"years stored as text:       {mended.years} rows")
    click.echo(f"vectors stored as arrays:   {mended.vectors} rows")
    click.echo(
        f"rows without a report:      {mended.unregistered} rows, {mended.reports} "
        "reports"
    )
    click.echo(f"filter fields left out:     {mended.valueless} rows")
    missing = len(storage.figures.missing(storage.documents.all()))
    click.echo(f"reports without figures:    {missing}")
    if missing and not dry_run:
        with progress_bar("Reading figures", missing) as bar:
            services.ingesting.derive_figures(progress=bar.update)
    something = mended or missing
    click.echo(
        "Nothing was changed (--dry-run)."
        if dry_run
        else "Mended."
        if something
        else "Nothing to mend."
    )


index = Commands("index")


@index.command("create")
@click.option(
    "--wait",
    type=click.FloatRange(1),
    default=300.0,
    show_default=True,
    help="Seconds to wait at most.",
)
def create_indexes(services: Services, wait: float) -> None:
    """Create missing indexes, update changed ones, and wait until they can be queried.

    Ordinary indexes are built first, without a time limit: of a large collection that
    may take hours. Stopped and run again, it waits for the build that goes on.

    Example: python -m chatbot index create --wait 600"""
    storage = services.storage
    storage.require_writable()
    services.prepare()
    build_indexes(
        storage.database,
        ordinary_indexes(storage),
        lambda text: click.echo(text, err=True),
    )
    if not storage.engine.traits.has_search_indexes:
        click.echo(f"No search indexes are needed: {storage.engine.detail}.")
        return
    plans = services.runtime.index_plans
    click.echo(f"Waiting for {len(plans)} search indexes ...", err=True)
    for status in ensure_indexes(
        services.storage.database, plans, Polling(timeout=wait)
    ):
        _print_status(status)


@index.command("status")
def show_indexes(services: Services) -> None:
    """Show the state of each index and whether it can be queried.

    Example: python -m chatbot index status"""
    statuses = [
        index_status(services.storage.database, plan) for plan in _index_plans(services)
    ]
    for status in statuses:
        _print_status(status)
    if not all(status.queryable for status in statuses):
        raise SearchEngineError(
            "Not every search index can be queried.",
            remedy="Run: python -m chatbot index create",
        )


@index.command("drop")
@click.confirmation_option(
    prompt="Searches will fail until the indexes are created again. Drop them?"
)
def remove_indexes(services: Services) -> None:
    """Drop the search indexes; documents stay.

    Example: python -m chatbot index drop --yes"""
    services.storage.require_writable()
    require_own(services.storage)
    dropped = drop_indexes(services.storage.database, _index_plans(services))
    click.echo(
        "\n".join(f"dropped {name}" for name in dropped)
        or "There is no search index to drop."
    )


def _index_plans(services: Services) -> list[SearchTarget]:
    if not services.storage.engine.traits.has_search_indexes:
        raise SearchEngineError(
            f"There are no search indexes here: {services.storage.engine.detail}.",
            remedy=(
                "They belong to VECTOR_SEARCH=atlas, on Atlas or on MongoDB Community "
                "8.3+ with mongot."
            ),
        )
    return services.runtime.index_plans


def _print_status(status: IndexStatus) -> None:
    answers = "queryable" if status.queryable else "not queryable"
    click.echo(
        f"{status.collection}.{status.name:20} {status.kind:12} {status.state:16} "
        f"{answers} {status.message}"
    )
