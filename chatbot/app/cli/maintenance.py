"""The command `index`."""

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
from ..services import Services
from ..services.preparing import ordinary_indexes, require_own
from . import Commands

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
