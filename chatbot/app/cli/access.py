"""`keys`, `conversations`, `audit` and `feedback`: who may ask, what is stored about them, and who changed what."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...domain.access import KEY_ROLES, ApiKey, KeyRole
from ...domain.errors import InvalidRequestError
from ...language import count_of
from ..evaluation import COLUMNS, RATED, SEVERAL
from ..web.files import csv_text
from . import write_text

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
    """Create a key and print it, this once: only a digest is stored. NAME says whose it is.

    Example: python -m chatbot keys create "Nairobi office" --role write --filter country_name=Kenya
    """
    chosen: dict[str, list[str]] = {}
    for each in filters:
        field, separator, value = each.partition("=")
        if not separator or not value.strip():
            raise InvalidRequestError.for_field("--filter", f"{each!r} should be FIELD=VALUE.")
        chosen.setdefault(field.strip(), []).append(value.strip())
    scope = services.storage.scopes.resolve(chosen, None, collections or None)
    services.storage.prepare()
    key, secret = services.storage.keys.create(
        name, role, filters=scope.to_json(), collections=scope.collections, **most
    )
    services.storage.audit.record("keys create", f"{key.id} ({role})")
    click.echo(f"{key.id}: {_describe(key)}. Keep the key, it is shown this once:", err=True)
    click.echo(secret)


def _describe(key: ApiKey) -> str:
    limits = [f"{name} {', '.join(map(str, values))}" for name, values in key.filters.items()]
    limits += [f"collections {', '.join(key.collections)}"] if key.collections else []
    limits += [f"{key.daily_tokens:,} tokens a day"] if key.daily_tokens else []
    limits += [f"{key.requests_per_minute} requests a minute"] if key.requests_per_minute else []
    return "; ".join((key.role, *limits))


@keys.command("list")
@click.pass_obj
def list_keys(services: Services) -> None:
    """Show the keys, without their secrets.

    Example: python -m chatbot keys list
    """
    stored = services.storage.keys.all()
    for key in stored:
        state = f"revoked {key.revoked_at}" if key.revoked_at else f"last used {key.used_at or 'never'}"
        click.echo(f"{key.id}  {key.name}  ({_describe(key)}), created {key.created_at}, {state}")
    click.echo(count_of(len(stored), "key"))


@keys.command()
@click.argument("key_ids", nargs=-1, required=True, metavar="KEY_ID...")
@click.pass_obj
def revoke(services: Services, key_ids: tuple[str, ...]) -> None:
    """Revoke keys, named by the beginning that `list` shows. What was made with them stays, as their owner's.

    Example: python -m chatbot keys revoke rck_J5yWq2bX
    """
    for key_id in key_ids:
        services.storage.keys.revoke(key_id)
        services.storage.audit.record("keys revoke", key_id)
    click.echo(f"{len(key_ids)} revoked.")


@click.group()
def conversations() -> None:
    """The stored conversations: list, delete."""


@conversations.command("list")
@click.pass_obj
def list_owners(services: Services) -> None:
    """Count them by owner: key:ID, visitor:ID (the page shows people theirs), or none.

    Example: python -m chatbot conversations list
    """
    counts = services.storage.conversations.owners()
    for owner, count in counts.items():
        click.echo(f"{count:8}  {owner or '(none)'}")
    click.echo(count_of(sum(counts.values()), "conversation"))


@conversations.command()
@click.option("--owner", required=True, help="key:ID or visitor:ID; none = conversations without an owner.")
@click.option("--before", type=click.DateTime(["%Y-%m-%d"]), help="Only those without a message since this day.")
@click.pass_obj
def delete(services: Services, owner: str, before: Any) -> None:
    """Delete all conversations of an owner, with their messages and every cached answer.

    Example: python -m chatbot conversations delete --owner visitor:4e1f0c6f5a7b4a3f8d2e6c1b9a7f5e3d
    """
    since = before.date().isoformat() if before else ""
    count = services.retention.conversations(owner="" if owner == "none" else owner, before=since)
    services.storage.audit.record("conversations delete", f"{owner}: {count}")
    click.echo(f"{count} deleted.")


@click.command()
@click.option("--limit", type=click.IntRange(1, 100_000), default=50, show_default=True, help="How many.")
@click.pass_obj
def audit(services: Services, limit: int) -> None:
    """Show who changed what, the newest first.

    Example: python -m chatbot audit --limit 200
    """
    for entry in services.storage.audit.latest(limit):
        click.echo(f"{entry.at}  {entry.actor}  {entry.action}  {entry.target}")


@click.group()
def feedback() -> None:
    """What people thought of answers: export."""


@feedback.command()
@click.option("--to", "path", type=click.Path(dir_okay=False, path_type=Path), help="Write to this file.")
@click.pass_obj
def export(services: Services, path: Path | None) -> None:
    """Print it as CSV, the newest first: question, scope, rating, reason, comment, reports cited.

    `evaluate` reads the file. For answers marked as good, the reports that they cite are the expected ones. For the
    others, fill in expected_document, or answerable = no, and they are measured too.

    Example: python -m chatbot feedback export --to feedback.csv
    """
    storage, fields = services.storage, services.settings.filter_fields
    existing = {record.id for record in storage.documents.all()}
    table = []
    for rated in storage.feedback.latest():
        question, is_good = rated.asked, rated.rating == "up"
        documents = dict.fromkeys(chunk.document_id for chunk in services.runtime.store.get(question.chunk_ids))
        cited = SEVERAL.join(id for id in documents if id in existing)
        table.append({
            "question": " ".join(question.question.split()),
            "expected_document": cited if is_good else "",
            "answerable": "no" if is_good and not question.answered else "",
            **{field: SEVERAL.join(map(str, question.values(field))) for field in fields},
            "rating": rated.rating,
            "reason": rated.reason,
            "comment": rated.comment,
            "cited": cited,
            "at": question.at,
        })  # fmt: skip
    text = csv_text(table, (*COLUMNS, *fields, *RATED))
    if path is None:
        click.echo(text, nl=False)
    else:
        write_text(path, text)
        click.echo(f"{len(table):,} answers were rated.", err=True)
