"""`keys`, `conversations` and `audit`: who may ask, what of them is kept, and who changed what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ..errors import InvalidRequestError
from ..schema.access import KEY_ROLES, ApiKey, KeyRole

if TYPE_CHECKING:
    from ..services import Services


@click.group()
def keys() -> None:
    """The API keys: create, list, revoke."""


@keys.command()
@click.argument("name")
@click.option("--role", type=click.Choice(KEY_ROLES), default="read", show_default=True, help="What it may do.")
@click.option("--collection", "collections", multiple=True, help="It sees only this collection; repeat for several.")
@click.option("--filter", "filters", multiple=True, help="It sees only FIELD=VALUE; repeat for several.")
@click.option("--daily-tokens", type=click.IntRange(1), help="Tokens of the chat model in a day (UTC).")
@click.option("--requests-per-minute", type=click.IntRange(1), help="Default: REQUESTS_PER_MINUTE.")
@click.pass_obj
def create(
    services: Services, /, name: str, role: KeyRole, collections: tuple[str, ...], filters: tuple[str, ...], **most: Any
) -> None:
    """Make a key and print it: this once, only a digest is kept. NAME says whose it is.

    Example: python -m chatbot keys create "Nairobi office" --role write --filter country_name=Kenya
    """
    scope = services.storage.scopes.resolve(_filters(filters), None, collections or None)
    services.storage.prepare()
    key, secret = services.storage.keys.create(
        name, role, filters=scope.to_json(), collections=scope.collections, **most
    )
    services.storage.audit.record("keys create", f"{key.id} ({role})")
    click.echo(f"{key.id}: {_about(key)}. Keep the key, it is shown this once:", err=True)
    click.echo(secret)


def _filters(given: tuple[str, ...]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for one in given:
        field, separator, value = one.partition("=")
        if not separator or not value.strip():
            raise InvalidRequestError.for_field("--filter", f"{one!r} should be FIELD=VALUE.")
        found.setdefault(field.strip(), []).append(value.strip())
    return found


def _about(key: ApiKey) -> str:
    limits = [f"{name} {', '.join(map(str, values))}" for name, values in key.filters.items()]
    limits += [f"collections {', '.join(key.collections)}"] if key.collections else []
    limits += [f"{key.daily_tokens:,} tokens a day"] if key.daily_tokens else []
    limits += [f"{key.requests_per_minute} requests a minute"] if key.requests_per_minute else []
    return "; ".join((key.role, *limits))


@keys.command("list")
@click.pass_obj
def list_keys(services: Services) -> None:
    """Show the keys, without what would open anything.

    Example: python -m chatbot keys list
    """
    found = services.storage.keys.all()
    for key in found:
        state = f"revoked {key.revoked_at}" if key.revoked_at else f"last used {key.used_at or 'never'}"
        click.echo(f"{key.id}  {key.name}  ({_about(key)}), created {key.created_at}, {state}")
    click.echo(f"{len(found)} keys")


@keys.command()
@click.argument("key_ids", nargs=-1, required=True, metavar="KEY_ID...")
@click.pass_obj
def revoke(services: Services, key_ids: tuple[str, ...]) -> None:
    """Close these keys, by the beginning that `list` shows. What was made with them stays, as their owner's.

    Example: python -m chatbot keys revoke rck_J5yWq2bX
    """
    for key_id in key_ids:
        services.storage.keys.revoke(key_id)
        services.storage.audit.record("keys revoke", key_id)
    click.echo(f"{len(key_ids)} revoked.")


@click.group()
def conversations() -> None:
    """The conversations that are kept."""


@conversations.command("list")
@click.pass_obj
def list_owners(services: Services) -> None:
    """Count them by owner: key:ID, visitor:ID (the page shows people theirs), or none.

    Example: python -m chatbot conversations list
    """
    counts = services.storage.conversations.owners()
    for owner, count in counts.items():
        click.echo(f"{count:8}  {owner or '(none)'}")
    click.echo(f"{sum(counts.values())} conversations")


@conversations.command()
@click.option("--owner", required=True, help="key:ID or visitor:ID; none = what belongs to nobody.")
@click.option("--before", type=click.DateTime(["%Y-%m-%d"]), help="Only those without a message since this day.")
@click.pass_obj
def delete(services: Services, owner: str, before: Any) -> None:
    """Delete all conversations of an owner, with their messages and every cached answer.

    Example: python -m chatbot conversations delete --owner visitor:4e1f0c6f5a7b4a3f8d2e6c1b9a7f5e3d
    """
    whose, since = "" if owner == "none" else owner, before.date().isoformat() if before else ""
    gone = services.retention.conversations(owner=whose, before=since)
    services.storage.audit.record("conversations delete", f"{owner}: {gone}")
    click.echo(f"{gone} deleted.")


@click.command()
@click.option("--limit", type=click.IntRange(1, 100_000), default=50, show_default=True, help="How many.")
@click.pass_obj
def audit(services: Services, limit: int) -> None:
    """Show who changed what, the newest first.

    Example: python -m chatbot audit --limit 200
    """
    for entry in services.storage.audit.latest(limit):
        click.echo(f"{entry.at}  {entry.actor}  {entry.action}  {entry.target}")
