"""`copy`, `migrate` and `reembed`."""

from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from ...app.cli import command, progress_bar
from ...app.location import Location
from ...app.schema import migrate as migrate_schema
from ...app.schema import newest, require_known
from ...app.services import Services, build
from ...app.services.preparing import prepare_database, require_own
from ...app.web.asking import ChatRequest
from ...config import WARM_CACHE
from ...config.settings import Settings
from ...database import EMBEDDED_FILE
from ...database.sqlite_backup import back_up, restore
from ...domain.callers import ANYBODY
from ...domain.cancellation import Cancellation
from ...domain.documents import MEGABYTE
from ...domain.errors import DatabaseError, InvalidRequestError
from ...domain.protocols import model_in_store
from ...domain.scope import Scope
from ...domain.tables import Texts
from ...domain.validation import parse
from ...language.counts import count_of
from ...models.caches import CachedEmbedder, WarmCache
from ...models.embed import EMBEDDERS
from ...stores import STORES, store_traits
from .. import with_extras
from .copy import Copier
from .mending import Mender
from .reembed import GRACE_SECONDS, AtlasSlotIndexes, Reembedding
from .vendor import vendor_command


@click.command()
@click.argument("words", nargs=-1, metavar="FILE | restore FILE")
@click.option(
    "--check", is_flag=True, help="Restore beside the database only, and ask."
)
@click.pass_obj
def backup(settings: Settings, words: Texts, check: bool) -> None:
    """Copy the embedded database into a file; restore it from one.

    A server may run while it is copied. The file may be of any older release. The
    former database is kept.

    Example: python -m chatbot backup /backups/monday.sqlite
    """
    if settings.mongodb_uri is not None:
        raise InvalidRequestError(
            "MONGODB_URI is set: back up MongoDB with mongodump and mongorestore, or "
            "with Atlas' snapshots (docs/mongodb.md)."
        )
    if not words or len(words) > 2 or (len(words) == 2 and words[0] != "restore"):
        raise click.UsageError("Name a FILE, or: restore FILE.")
    database = settings.data_dir / EMBEDDED_FILE
    file = Path(words[-1])
    if len(words) == 1:
        back_up(database, file)
        click.echo(f"{file}: {file.stat().st_size / MEGABYTE:.1f} MB, every page read.")
        return
    settings.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    with TemporaryDirectory(dir=settings.data_dir, prefix="restore-") as folder:
        drill = settings.override(data_dir=Path(folder), chat_model="extractive")
        restore(file, drill.data_dir / EMBEDDED_FILE)
        click.echo(_try_out(drill))
    if check:
        click.echo("Nothing was changed.")
        return
    former = restore(file, database)
    click.echo(f"Restored.{f' The former database is {former}.' if former else ''}")


def _try_out(settings: Settings) -> str:
    """Return what a restored database has, and what it answers. Raises DatabaseError:
    passages are missing.
    """
    with build(settings) as services:
        services.check()
        services.prepare()
        reports = services.storage.documents.all()
        registered = sum(each.chunks for each in reports if each.status == "ready")
        stored = services.runtime.store.count(Scope())
        if stored < registered:
            raise DatabaseError(f"It has {stored} of {registered} passages.")
        shown = f"{count_of(len(reports), 'report')}, {count_of(stored, 'passage')}"
        if not reports:
            return f"{shown}."
        query = f"What does {reports[0].title} say?"
        request = parse(ChatRequest, {"query": query})
        question = request.to_question(services, ANYBODY.limit)
        saved = services.chat.answer(question, cancel=Cancellation())
        assert saved is not None, "nobody cancels it"
        return f"{shown}. Asked {query!r}, it answers: {saved.answer.response[:200]}"


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
    if model_in_store(embedder):
        raise InvalidRequestError.for_field(
            "--provider",
            f"{embedder.model_id} embeds in the index of MongoDB. Set "
            "EMBEDDING_PROVIDER with a database without passages (MONGODB_DB), and "
            "ingest the reports there.",
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
