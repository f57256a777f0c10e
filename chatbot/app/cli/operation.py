"""Run an installation: the server, and its keys."""

from typing import Any

import click

from ...config.settings import Settings, in_url
from ...domain.callers import KEY_ROLES, ApiKey, KeyRole
from ...domain.errors import InvalidRequestError
from ...domain.tables import Texts
from ...language.counts import count_of
from ..factory import close_app, create_app
from ..services import Services
from ..services.preparing import prepare_database
from ..web.admission import use_data_folder
from ..web.server import Server, listen
from . import Commands

WITHOUT_KEY = {
    "read": "Without a key, people can ask and look.",
    "keys": "Access without a key is off.",
}


@click.command()
@click.option("--host", help="Address to listen on. Default: HOST.")
@click.option(
    "--port", type=click.IntRange(0, 65535), help="Port to listen on. Default: PORT."
)
@click.pass_obj
def serve(settings: Settings, host: str | None, port: int | None) -> None:
    """Serve the chat page and the API.

    Example: python -m chatbot serve --port 8080"""
    if host:
        settings = settings.override(host=host)  # ACCESS=auto depends on it
    address = settings.host, settings.port if port is None else port
    app = create_app(settings)
    try:
        listening = listen(*address)
        click.echo(
            "Ask your reports: "
            f"http://{in_url(address[0])}:{listening.getsockname()[1]}  (Ctrl-C stops)"
        )
        if settings.rule != "open":
            click.echo(
                f"{WITHOUT_KEY[settings.rule]} Create a key: python -m chatbot keys "
                "create NAME --role admin"
            )
        use_data_folder(settings.data_dir)
        Server(app, settings).run([listening])
    finally:
        close_app(app)


keys = Commands("keys")


@keys.command()
@click.argument("name")
@click.option(
    "--role",
    type=click.Choice(KEY_ROLES),
    default="read",
    show_default=True,
    help="What it may do.",
)
@click.option(
    "--collection",
    "collections",
    multiple=True,
    help="It sees only this collection; repeat for several.",
)
@click.option(
    "--filter",
    "filters",
    multiple=True,
    help="It sees only FIELD=VALUE; repeat for several.",
)
@click.option(
    "--daily-tokens",
    type=click.IntRange(1),
    help="Tokens of the chat model in a day (UTC).",
)
@click.option(
    "--requests-per-minute",
    type=click.IntRange(1),
    help="Default: REQUESTS_PER_MINUTE.",
)
def create(
    services: Services,
    /,
    name: str,
    role: KeyRole,
    collections: Texts,
    filters: Texts,
    **most: Any,
) -> None:
    """Create a key and print it, this once: only a digest is stored. NAME says whose it
    is.

    Example: python -m chatbot keys create "Nairobi office" --role write --filter
    country_name=Kenya
    """
    chosen: dict[str, list[str]] = {}
    for each in filters:
        field, separator, value = each.partition("=")
        if not separator or not value.strip():
            raise InvalidRequestError.for_field(
                "--filter", f"{each!r} should be FIELD=VALUE."
            )
        chosen.setdefault(field.strip(), []).append(value.strip())
    scope = services.storage.scopes.resolve(
        chosen, None, collections or None, for_key=True
    )
    prepare_database(services.storage)
    key, secret = services.storage.keys.create(
        name, role, filters=scope.to_json(), collections=scope.collections, **most
    )
    services.storage.audit.record("keys create", f"{key.id} ({role})")
    click.echo(
        f"{key.id}: {_role_and_limits(key)}. Keep the key, it is shown this once:",
        err=True,
    )
    click.echo(secret)


def _role_and_limits(key: ApiKey) -> str:
    limits = [
        f"{name} {', '.join(map(str, values))}" for name, values in key.filters.items()
    ]
    limits += [f"collections {', '.join(key.collections)}"] if key.collections else []
    limits += [f"{key.daily_tokens:,} tokens a day"] if key.daily_tokens else []
    limits += (
        [f"{key.requests_per_minute} requests a minute"]
        if key.requests_per_minute
        else []
    )
    return "; ".join((key.role, *limits))


@keys.command("list")
def list_keys(services: Services) -> None:
    """Show the keys, without their secrets.

    Example: python -m chatbot keys list"""
    stored = services.storage.keys.all()
    for key in stored:
        state = (
            f"revoked {key.revoked_at}"
            if key.revoked_at
            else f"last used {key.used_at or 'never'}"
        )
        click.echo(
            f"{key.id}  {key.name}  ({_role_and_limits(key)}), created "
            f"{key.created_at}, {state}"
        )
    click.echo(count_of(len(stored), "key"))


@keys.command()
@click.argument("key_ids", nargs=-1, required=True, metavar="KEY_ID...")
@click.option(
    "--links", is_flag=True, help="Revoke the shared links of their conversations too."
)
def revoke(services: Services, key_ids: Texts, *, links: bool) -> None:
    """Revoke keys, named by the beginning that `list` shows. What was made with them
    stays, as their owner's.

    Example: python -m chatbot keys revoke rck_J5yWq2bX --links
    """
    storage = services.storage
    owners = set[str]()
    for key_id in key_ids:
        owners.add(storage.keys.revoke(key_id).owner)
        storage.audit.record("keys revoke", key_id)
    click.echo(f"{len(key_ids)} revoked.")
    shared = [
        (owner, record)
        for owner, record in storage.conversations.links()
        if owner in owners
    ]
    for owner, record in shared if links else ():
        storage.conversations.revoke(record.id, owner)
    if shared:
        done = (
            "revoked"
            if links
            else "still work; revoke them with: conversations unshare CONVERSATION_ID"
        )
        click.echo(f"{count_of(len(shared), 'shared link')} {done}.")
