"""`hooks`: add, list and remove addresses that are told what happens."""

import click

from ...app.cli import Commands
from ...app.services import Services
from ...app.services.preparing import prepare_database
from ...domain.errors import InvalidRequestError
from ...library.fetching import check_url
from ...library.fetching.transport import rules_for
from .outbox import KINDS, Outbox

hooks = Commands("hooks")


@hooks.command("add")
@click.argument("url")
@click.option("--events", default=",".join(KINDS), help="Kinds, with commas between.")
def add_hook(services: Services, url: str, events: str) -> None:
    """Tell an address (http or https) of events from now on; all kinds, unless --events
    names some. The secret that is printed verifies signatures (Standard Webhooks).

    Example: python -m chatbot hooks add https://example.org/hook --events file.failed
    """
    kinds = tuple(kind.strip() for kind in events.split(",") if kind.strip())
    wrong = [kind for kind in kinds if kind not in KINDS]
    if wrong or not kinds:
        message = f"{', '.join(wrong) or 'none'}: not valid. Valid: {', '.join(KINDS)}."
        raise InvalidRequestError.for_field("events", message, KINDS)
    rules = rules_for(private=services.settings.fetch_private_urls)
    check_url(url, rules)
    prepare_database(services.storage)
    hook = Outbox(services.storage.database).add(url, kinds)
    services.storage.audit.record("hooks add", hook.id)
    click.echo(f"{hook.id}\nSecret: {hook.secret}")


@hooks.command("list")
def list_hooks(services: Services) -> None:
    """List the addresses with what waits, was delivered and failed in seven days.

    Example: python -m chatbot hooks list"""
    outbox = Outbox(services.storage.database)
    for hook in outbox.hooks():
        counts = outbox.counts(hook)
        states = ", ".join(f"{count} {state}" for state, count in counts.items())
        click.echo(f"{hook.id}  {hook.url}  {','.join(hook.kinds)}  {states}")
        problem = outbox.last_problem(hook)
        if problem:
            click.echo(f"  {problem}")


@hooks.command("remove")
@click.argument("id")
def remove_hook(services: Services, id: str) -> None:
    """Tell an address no more; what waits for it is dropped.

    Example: python -m chatbot hooks remove hook_1f0c9ad27c3e5b60"""
    Outbox(services.storage.database).remove(id)
    services.storage.audit.record("hooks remove", id)
    click.echo("Removed.")
