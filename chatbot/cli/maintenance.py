"""Work on a whole database: `copy`, `migrate`, `reembed`, and the vectors that are shipped."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np

from ..caches.vectors import CachedEmbedder, WarmCache, write_warm_cache
from ..database import Location
from ..embedders import EMBEDDERS
from ..errors import DatabaseError, InvalidRequestError
from ..migration.copy import Copier
from ..migration.reembed import GRACE_SECONDS, AtlasSlotIndexes, NoSlotIndexes, Reembedding
from ..migration.schema import Mender, newest, require_known
from ..migration.schema import migrate as migrate_schema
from ..shipped import WARM_CACHE
from ..stores import passages_in_database
from . import progress_bar

if TYPE_CHECKING:
    from ..services import Services

BATCH = 256


@click.command()
@click.option("--from", "source_uri", required=True, metavar="URI", help="Database to read.")
@click.option("--to", "target_uri", required=True, metavar="URI", help="Database to write.")
@click.option("--merge", is_flag=True, help="Write into a database that is not empty; equal ids are replaced.")
@click.pass_obj
def copy(services: Services, source_uri: str, target_uri: str, merge: bool) -> None:
    """Copy reports, passages, vectors and conversations between the embedded file and MongoDB.

    A URI is mongodb://HOST[/DB], mongodb+srv://HOST[/DB], or a data folder or .sqlite file. An interrupted copy goes
    on where it was when it is run again. At the end both sides are compared. No vector is computed.

    Example: python -m chatbot copy --from data --to mongodb://localhost:27017/report_chat
    """
    settings = services.settings
    if not passages_in_database(settings):
        raise InvalidRequestError("With VECTOR_SEARCH=pgvector the passages are in PostgreSQL: use pg_dump for those.")
    source, target = Location.parse(source_uri, settings), Location.parse(target_uri, settings)
    if source.name == target.name:
        raise InvalidRequestError("--from and --to are the same database.")
    if not source.exists:
        raise InvalidRequestError(f"There is no database at {source.name}.")
    with closing(source.open(settings)) as read, closing(target.open(settings)) as written:
        copier = Copier(read, written, name=source.name, chunk_collections=settings.chunk_collections, merge=merge)
        _copy(copier, source.name, target.name)


def _copy(copier: Copier, source: str, target: str) -> None:
    rows = sum(copier.counts().values())
    if not rows:
        raise DatabaseError(f"There is nothing to copy in {source}.", remedy="Check --from, MONGODB_DB and the names.")
    if copier.prepare():
        click.echo("Going on with an interrupted copy.", err=True)
    with progress_bar("Copying", rows) as bar:
        copied = copier.copy(bar.update)
    with progress_bar("Comparing", rows) as bar:
        verified = copier.verify(bar.update)
    for one in verified:
        click.echo(f"{one.collection:24}{one.count:>10}  {one.digest}")
    click.echo(f"{copied} rows copied from {source} to {target}; both sides are the same. 0 embedding calls.")
    if copier.unnamed:
        click.echo(f"Name in COLLECTIONS, so that questions search them: {', '.join(copier.unnamed)}.")
    if left_out := copier.left_out():
        click.echo(f"Not the product's, left out: {', '.join(left_out)}.")


@click.command()
@click.option("--dry-run", is_flag=True, help="Count what would change, and change nothing.")
@click.pass_obj
def migrate(services: Services, dry_run: bool) -> None:
    """Bring the schema up to date and mend rows of an older system.

    Years stored as text become numbers, vectors stored as arrays become float32 vectors (a third of the space),
    passages that belong to no registered report get one, and those without a country, year or type say so, which
    scopes taken from a question go by. Run it again after an interruption: it goes on.

    Example: python -m chatbot migrate --dry-run
    """
    version = require_known(services.storage.database)
    if not dry_run:
        migrate_schema(services.storage.database)
    click.echo(f"schema version {version}" + (f" -> {newest()}" if version < newest() else ", the newest"))
    mender = Mender(
        services.storage.database,
        collections=services.settings.chunk_collections,
        filter_fields=services.settings.filter_fields,
        dry_run=dry_run,
    )
    with progress_bar("Looking", mender.total()) as bar:
        found = mender.run(bar.update)
    click.echo(f"years stored as text:       {found.years} rows")
    click.echo(f"vectors stored as arrays:   {found.vectors} rows")
    click.echo(f"rows without a report:      {found.unregistered} rows, {found.reports} reports")
    click.echo(f"filter fields left out:     {found.valueless} rows")
    click.echo("Nothing was changed (--dry-run)." if dry_run else "Mended." if found else "Nothing to mend.")


@click.command()
@click.option("--provider", required=True, help="Embedding provider: openai, minilm, ...")
@click.option("--model", help="Its model. Default: the provider's default model.")
@click.option(
    "--grace",
    type=click.FloatRange(0, 3600),
    default=GRACE_SECONDS,
    show_default=True,
    help="Seconds that the old vectors stay after the switch, for answers under way.",
)
@click.pass_obj
def reembed(services: Services, provider: str, model: str | None, grace: float) -> None:
    """Embed all passages with another model, and switch to it when it is complete.

    The old model answers until then, also in other processes. Run it again after an interruption: it goes on. With
    the model that is in use, only passages without a vector are embedded.

    Example: python -m chatbot reembed --provider openai --model text-embedding-3-small
    """
    if not services.storage.engine.traits.in_database:
        raise InvalidRequestError(
            "VECTOR_SEARCH=pgvector keeps the vectors in PostgreSQL: ingest the reports into another database instead."
        )
    EMBEDDERS.check(provider, field="--provider")
    name = model or EMBEDDERS.default_model(provider)
    embedder = CachedEmbedder(EMBEDDERS.builder(provider)(services.settings, model=name), WarmCache(WARM_CACHE))
    services.storage.prepare()  # not the store: that would ask for the old model's key
    in_process = not services.storage.engine.traits.has_search_indexes
    work = Reembedding(
        services.storage.database,
        collections=services.settings.chunk_collections,
        provider=provider,
        model=name,
        embedder=embedder,
        indexes=NoSlotIndexes() if in_process else AtlasSlotIndexes(services.settings, services.storage.database),
        grace=grace,
    )
    with progress_bar("Embedding", work.total()) as bar:
        stored = work.run(bar.update)
    click.echo(f"{work.embedded} passages embedded. The database's embedding model is {stored.model_id}.")
    _warn_of_settings(services, provider, name)


def _warn_of_settings(services: Services, provider: str, model: str) -> None:
    settings = services.settings
    wrong_model = settings.embedding_model not in (None, model)
    if settings.embedding_provider not in (None, provider) or wrong_model:
        click.secho(
            "EMBEDDING_PROVIDER and EMBEDDING_MODEL still name another model: unset them before the next start.",
            fg="yellow",
            err=True,
        )


@click.command("warm-cache")
@click.option("--output", type=click.Path(path_type=Path), default=WARM_CACHE, show_default=True)
@click.pass_obj
def warm_cache(services: Services, output: Path) -> None:
    """Compute the vectors that ship with the sample reports; those that are there already are taken over.

    Example: python -m chatbot warm-cache
    """
    settings = services.settings.override(embedding_provider="minilm", embedding_model=None)
    embedder = EMBEDDERS.builder("minilm")(settings, model="all-minilm-l6-v2")
    texts = sample_texts(services)
    there = WarmCache(output)
    vectors = {text: vector for text in texts if (vector := there.get(embedder.model_id, text)) is not None}
    missing = [text for text in texts if text not in vectors]
    with click.progressbar(range(0, len(missing), BATCH), label="Embedding") as bar:
        for start in bar:
            batch = missing[start : start + BATCH]
            vectors.update(zip(batch, embedder.embed_documents(batch), strict=True))
    write_warm_cache(output, embedder.model_id, texts, np.vstack([vectors[text] for text in texts]))
    click.echo(f"{len(texts)} vectors in {output} ({output.stat().st_size / 1e6:.1f} MB)")


def sample_texts(services: Services) -> list[str]:
    """What ingesting the sample reports would embed, each text once, sorted."""
    samples = services.ingesting.sample_reports()
    ingestor = services.ingesting.ingestor
    chunks = (c for d in samples.documents() for c in ingestor.cut(d, samples.summary_of(d)))
    return sorted({chunk.search_text for chunk in chunks})
