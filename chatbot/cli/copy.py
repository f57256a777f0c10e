"""`copy`: everything of one database into another."""

from __future__ import annotations

import sys
from contextlib import closing

import click

from ..database.locations import Location
from ..errors import DatabaseError, InvalidRequestError
from ..migration.copy import Copier, Verified
from ..services import Services


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
    if settings.vector_search == "pgvector":
        raise InvalidRequestError("With VECTOR_SEARCH=pgvector the passages are in PostgreSQL: use pg_dump for those.")
    source, target = Location.parse(source_uri, settings), Location.parse(target_uri, settings)
    if source.name == target.name:
        raise InvalidRequestError("--from and --to are the same database.")
    if not source.exists:
        raise InvalidRequestError(f"There is no database at {source.name}.")
    with closing(source.open(settings)) as read, closing(target.open(settings)) as written:
        copier = Copier(read, written, name=source.name, chunk_collections=services.chunk_collections, merge=merge)
        _run(copier, source.name, target.name)


def _run(copier: Copier, source: str, target: str) -> None:
    rows = sum(copier.counts().values())
    if not rows:
        raise DatabaseError(f"There is nothing to copy in {source}.", remedy="Check --from, MONGODB_DB and the names.")
    if copier.prepare():
        click.echo("Going on with an interrupted copy.", err=True)
    with click.progressbar(length=rows, label="Copying", file=sys.stderr) as bar:
        copied = copier.copy(bar.update)
    with click.progressbar(length=rows, label="Comparing", file=sys.stderr) as bar:
        verified = copier.verify(bar.update)
    _print(verified)
    click.echo(f"{copied} rows copied from {source} to {target}; both sides are the same. 0 embedding calls.")
    if left_out := copier.left_out():
        click.echo(f"Not the product's, left out: {', '.join(left_out)}.")


def _print(verified: list[Verified]) -> None:
    for one in verified:
        click.echo(f"{one.collection:24}{one.count:>10}  {one.digest}")
