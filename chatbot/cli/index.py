"""`index create|status|drop`: the search indexes of MongoDB."""

from __future__ import annotations

import click

from ..errors import SearchEngineError
from ..services import Services
from ..stores.search_indexes import IndexPlan, IndexStatus, Polling, drop_indexes, ensure_indexes, index_status


@click.group()
def index() -> None:
    """The search indexes of MongoDB ($vectorSearch and $search)."""


@index.command("create")
@click.option("--wait", type=click.FloatRange(1), default=300.0, show_default=True, help="Seconds to wait at most.")
@click.pass_obj
def create(services: Services, wait: float) -> None:
    """Create missing indexes, update changed ones, and wait until they answer.

    Example: python -m chatbot index create --wait 600
    """
    plans = _plans(services)
    services.prepare()
    click.echo(f"Waiting for {len(plans)} search indexes ...", err=True)
    for status in ensure_indexes(services.database, plans, Polling(timeout=wait)):
        _print(status)


@index.command("status")
@click.pass_obj
def show(services: Services) -> None:
    """Show each index: its state, and whether it answers.

    Example: python -m chatbot index status
    """
    statuses = [index_status(services.database, plan.target) for plan in _plans(services)]
    for status in statuses:
        _print(status)
    if not all(status.queryable for status in statuses):
        raise SearchEngineError("Not every search index answers.", remedy="Run: python -m chatbot index create")


@index.command("drop")
@click.confirmation_option(prompt="Searches will fail until the indexes are created again. Drop them?")
@click.pass_obj
def drop(services: Services) -> None:
    """Drop the search indexes; documents stay.

    Example: python -m chatbot index drop --yes
    """
    dropped = drop_indexes(services.database, _plans(services))
    click.echo("\n".join(f"dropped {name}" for name in dropped) or "There was no search index to drop.")


def _plans(services: Services) -> list[IndexPlan]:
    if services.engine.store != "atlas":
        raise SearchEngineError(
            f"There are no search indexes here: {services.engine.detail}.",
            remedy="They belong to VECTOR_SEARCH=atlas, on Atlas or on MongoDB Community 8.2+ with mongot.",
        )
    return services.index_plans


def _print(status: IndexStatus) -> None:
    answers = "queryable" if status.queryable else "not queryable"
    click.echo(f"{status.collection}.{status.name:20} {status.kind:12} {status.state:16} {answers} {status.message}")
