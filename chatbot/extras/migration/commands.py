"""`copy`, `migrate` and `reembed`."""

from contextlib import closing

import click

from ...app.cli import command, progress_bar
from ...app.location import Location
from ...app.schema import migrate as migrate_schema
from ...app.schema import newest, require_known
from ...app.services import Services
from ...app.services.preparing import prepare_database, require_own
from ...config import WARM_CACHE
from ...domain.errors import DatabaseError, InvalidRequestError
from ...models.caches import CachedEmbedder, WarmCache
from ...models.embed import EMBEDDERS
from ...stores import STORES, store_traits
from .. import with_extras
from .copy import Copier
from .mending import Mender
from .reembed import GRACE_SECONDS, AtlasSlotIndexes, Reembedding
from .vendor import vendor_command


@command()
@click.option(
    "--from", "source_uri", required=True, metavar="URI", help="Database to read."
)
@click.option(
    "--to", "target_uri", required=True, metavar="URI", help="Database to write."
)
@click.option(
    "--merge",
    is_flag=True,
    help="Write into a database that is not empty; equal ids are replaced.",
)
def copy(services: Services, source_uri: str, target_uri: str, merge: bool) -> None:
    """Copy reports, passages, vectors and conversations between the embedded file and
    MongoDB.

    A URI is mongodb://HOST[/DB], mongodb+srv://HOST[/DB], or a data folder or .sqlite
    file. Run an interrupted copy again to continue it. At the end both sides are
    compared. No vector is computed. Between two databases of one engine, its own tools
    copy: this command then prints theirs, and copies nothing.

    Example: python -m chatbot copy --from data --to
    mongodb://localhost:27017/report_chat
    """
    settings = services.settings
    in_database = (
        settings.vector_search == "auto"
        or store_traits(
            settings.vector_search, with_extras(STORES, settings)
        ).in_database
    )
    source = Location.parse(source_uri, settings)
    target = Location.parse(target_uri, settings)
    if not source.exists:
        raise InvalidRequestError(f"There is no database at {source.name}.")
    if source.engine == target.engine:
        remedy = _remedy_of_equals(source, target, merge=merge)
        if not in_database:
            remedy += "\nThe passages: pg_dump POSTGRES_URI | psql TARGET"
        raise InvalidRequestError(remedy)
    if not in_database or "PostgreSQL" in {source.engine, target.engine}:
        raise InvalidRequestError(
            "With VECTOR_SEARCH=pgvector the passages are in PostgreSQL: use "
            "pg_dump for those."
        )
    with (
        closing(source.open(settings)) as read,
        closing(target.open(settings)) as written,
    ):
        copier = Copier(
            read,
            written,
            name=source.name,
            chunk_collections=settings.chunk_collections,
            merge=merge,
        )
        if not (rows := sum(copier.counts().values())):
            remedy = "Check --from, MONGODB_DB and the names."
            raise DatabaseError(
                f"There is nothing to copy in {source.name}.", remedy=remedy
            )
        if copier.prepare():
            click.echo("Continuing an interrupted copy.", err=True)
        with progress_bar("Copying", rows) as bar:
            copied = copier.copy(bar.update)
        with progress_bar("Comparing", rows) as bar:
            verified = copier.verify(bar.update)
        for name, count, digest in verified:
            click.echo(f"{name:24}{count:>10}  {digest}")
        click.echo(
            f"{copied} rows copied from {source.name} to {target.name}; both sides "
            "are equal. 0 embedding calls."
        )
        if copier.unnamed:
            click.echo(
                "Add to COLLECTIONS, so that questions search them: "
                f"{', '.join(copier.unnamed)}."
            )
        if left_out := copier.left_out():
            click.echo(
                f"Left out, not collections of this program: {', '.join(left_out)}."
            )


def _remedy_of_equals(source: Location, target: Location, *, merge: bool) -> str:
    """Return what copies between two databases of one engine."""
    if merge:
        return (
            f"Both are {source.engine}: --merge adds to a database of another engine "
            "only. Ingest the reports into the target instead."
        )
    return (
        f"Both are {source.engine}, whose own tools copy one into an empty other (add "
        f"user and password where they are needed):\n{vendor_command(source, target)}"
    )


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
    if version < newest():
        click.echo(f"schema version {version} -> {newest()}")
    else:
        click.echo(f"schema version {version}, up to date")
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
    if dry_run:
        click.echo("Nothing was changed (--dry-run).")
    elif mended or missing:
        click.echo("Mended.")
    else:
        click.echo("Nothing to mend.")


@command()
@click.option(
    "--provider", required=True, help="Embedding provider: openai, minilm, ..."
)
@click.option("--model", help="Its model. Default: the provider's default model.")
@click.option(
    "--grace",
    type=click.FloatRange(0, 3600),
    default=GRACE_SECONDS,
    show_default=True,
    help="Seconds that the old vectors stay after the switch, for running answers.",
)
def reembed(services: Services, provider: str, model: str | None, grace: float) -> None:
    """Embed all passages with another model, then switch to it.

    The old model is used until then, also by other processes. Run it again after an
    interruption to continue. With the model that is in use, only passages without a
    usable vector are embedded.

    Example: python -m chatbot reembed --provider openai --model text-embedding-3-small
    """
    if not services.storage.engine.traits.in_database:
        raise InvalidRequestError(
            "VECTOR_SEARCH=pgvector keeps the vectors in PostgreSQL: ingest the "
            "reports into another database instead."
        )
    services.storage.require_writable()
    embedders = with_extras(EMBEDDERS, services.settings)
    embedders.check(provider, field="--provider")
    name = model or embedders.default_model(provider)
    embedder = CachedEmbedder(
        embedders.builder(provider)(services.settings, model=name),
        WarmCache(WARM_CACHE),
    )
    prepare_database(
        services.storage
    )  # not the store: that would ask for the old model's key
    has_indexes = services.storage.engine.traits.has_search_indexes
    database = services.storage.database
    settings = services.settings
    indexes = AtlasSlotIndexes(settings, database) if has_indexes else None
    work = Reembedding(
        database, settings.chunk_collections, provider, name, embedder, indexes, grace
    )
    with progress_bar("Embedding", work.total()) as bar:
        stored = work.run(bar.update)
    click.echo(
        f"{work.embedded} passages embedded. The database's embedding model is "
        f"{stored.model_id}."
    )
    if settings.embedding_provider not in (
        None,
        provider,
    ) or settings.embedding_model not in (None, name):
        click.secho(
            (
                "EMBEDDING_PROVIDER and EMBEDDING_MODEL still name another model: "
                "unset them before the next start."
            ),
            fg="yellow",
            err=True,
        )
