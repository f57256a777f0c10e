"""`index`: the search indexes of MongoDB, and what is asked of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from ..errors import SearchEngineError
from ..protocols import TracedStore
from ..schema import Scope
from ..stores.atlas.definitions import SearchTarget
from ..stores.atlas.indexes import IndexStatus, Polling, drop_indexes, ensure_indexes, index_status

if TYPE_CHECKING:
    from ..services import Services


@click.group()
def index() -> None:
    """The search indexes of MongoDB ($vectorSearch and $search)."""


@index.command("create")
@click.option("--wait", type=click.FloatRange(1), default=300.0, show_default=True, help="Seconds to wait at most.")
@click.pass_obj
def create_indexes(services: Services, wait: float) -> None:
    """Create missing indexes, update changed ones, and wait until they answer.

    Example: python -m chatbot index create --wait 600
    """
    plans = _index_plans(services)
    services.prepare()
    click.echo(f"Waiting for {len(plans)} search indexes ...", err=True)
    for status in ensure_indexes(services.storage.database, plans, Polling(timeout=wait)):
        _print_status(status)


@index.command("status")
@click.pass_obj
def show_indexes(services: Services) -> None:
    """Show each index: its state, and whether it answers.

    Example: python -m chatbot index status
    """
    statuses = [index_status(services.storage.database, plan) for plan in _index_plans(services)]
    for status in statuses:
        _print_status(status)
    if not all(status.queryable for status in statuses):
        raise SearchEngineError("Not every search index answers.", remedy="Run: python -m chatbot index create")


@index.command("drop")
@click.confirmation_option(prompt="Searches will fail until the indexes are created again. Drop them?")
@click.pass_obj
def remove_indexes(services: Services) -> None:
    """Drop the search indexes; documents stay.

    Example: python -m chatbot index drop --yes
    """
    dropped = drop_indexes(services.storage.database, _index_plans(services))
    click.echo("\n".join(f"dropped {name}" for name in dropped) or "There was no search index to drop.")


def _index_plans(services: Services) -> list[SearchTarget]:
    if not services.storage.engine.traits.has_search_indexes:
        raise SearchEngineError(
            f"There are no search indexes here: {services.storage.engine.detail}.",
            remedy="They belong to VECTOR_SEARCH=atlas, on Atlas or on MongoDB Community 8.2+ with mongot.",
        )
    return services.runtime.index_plans


def _print_status(status: IndexStatus) -> None:
    answers = "queryable" if status.queryable else "not queryable"
    click.echo(f"{status.collection}.{status.name:20} {status.kind:12} {status.state:16} {answers} {status.message}")


@index.command("pipeline")
@click.argument("question")
@click.option("--limit", type=click.IntRange(1, 1000), help="Passages to find. Default: TOP_K.")
@click.option("--explain", is_flag=True, help="Also what the server says of it.")
@click.pass_obj
def show_pipelines(services: Services, question: str, limit: int | None, explain: bool) -> None:
    """Search for a question, and print the aggregations that were sent, ready to be pasted into mongosh.

    Example: python -m chatbot index pipeline "maize harvest in Kenya" --limit 5
    """
    _index_plans(services)
    store, settings = services.runtime.store, services.settings
    assert isinstance(store, TracedStore)
    with store.traced() as sent:
        services.runtime.retriever.retrieve(
            question, top_k=limit or settings.top_k, scope=Scope(), method=settings.retrieval_method
        )
    for collection, pipeline in sent:
        shown: dict[str, Any] = {"collection": collection, "pipeline": pipeline}
        if explain:
            shown["explain"] = services.storage.database[collection].explain(pipeline)
        click.echo(json.dumps(shown, indent=2, default=str))
