"""Commands of an administrator: the check of the installation, usage and its costs,
stored conversations, and who changed what.
"""

from dataclasses import asdict
from typing import Any

import click

from ...app.cli import Commands, command, print_json
from ...app.findings import Finding
from ...app.services import Services
from ...config.settings import Settings
from ...domain.costs import Sums, UsageReport, add_up_stages
from ...domain.json import to_json
from ...domain.tables import Texts
from ...language.counts import count_of
from .doctor import diagnose_settings

COLOURS = {"ok": "green", "warning": "yellow", "error": "red"}
COLUMNS = (
    "questions",
    "calls",
    "cached",
    "failed",
    "prompt",
    "completion",
    "embedding",
    "cost",
)
STAGE_COLUMNS = ("runs", "calls", "tokens", "embedding", "seconds")


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
@click.pass_obj
def doctor(settings: Settings, as_json: bool) -> None:
    """Check keys, server, collections, indexes and models; exit status 1 if something
    is wrong.

    Example: python -m chatbot doctor
    """
    findings: list[Finding] = []
    for finding in diagnose_settings(settings):
        findings.append(finding)
        if not as_json:
            label = click.style(f"{finding.severity:8}", fg=COLOURS[finding.severity])
            name = f"  [{finding.name}]" if finding.remedy else ""
            click.echo(f"{label}{finding.area:14}{finding.message}{name}")
            if finding.remedy:
                click.echo(f"{'':22}-> {finding.remedy}")
    if as_json:
        print_json([asdict(finding) for finding in findings])
    if any(finding.severity == "error" for finding in findings):
        raise SystemExit(1)


@command()
@click.option(
    "--days",
    type=click.IntRange(1, 366),
    default=30,
    show_default=True,
    help="How many, including today.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the /api/usage response.")
def usage(services: Services, days: int, as_json: bool) -> None:
    """Show questions, calls, tokens and costs by day (UTC); runs, calls, tokens and
    time by stage.

    Costs need MODEL_PRICES.

    Example: python -m chatbot usage --days 7
    """
    rows = services.storage.usage.days(days)
    if as_json:
        print_json(to_json(UsageReport.of(rows)))
        return
    if not rows:
        click.echo("No questions on these days.")
        return
    click.echo(_line("day", COLUMNS))
    for day in rows:
        click.echo(_line(day.day, _cells(day.sums)))
    total = Sums.total(day.sums for day in rows)
    click.echo(_line("total", _cells(total)))
    click.echo("\n" + _line("stage", STAGE_COLUMNS))
    for stage in add_up_stages(stage for day in rows for stage in day.stages):
        counts = (stage.runs, stage.calls, stage.tokens, stage.embedding_tokens)
        click.echo(
            _line(
                stage.stage,
                (*(f"{number:,}" for number in counts), f"{stage.ms / 1000:,.2f}"),
            )
        )
    if total.unpriced_tokens:
        click.echo(
            f"\n{total.unpriced_tokens:,} tokens have no price in MODEL_PRICES; "
            "the costs leave them out (+)."
        )


def _line(name: str, cells: Texts) -> str:
    return f"{name:18}" + "".join(f"{cell:>12}" for cell in cells)


def _cells(sums: Sums) -> Texts:
    usage = sums.usage
    counts = (sums.questions, usage.calls, usage.cached_calls, usage.failed_calls)
    tokens = (usage.prompt_tokens, usage.completion_tokens, usage.embedding_tokens)
    cost = f"{sums.cost:.6f}{'+' if sums.unpriced_tokens else ''}"
    unknown = sums.unpriced_tokens and not sums.cost
    return (
        *(f"{number:,}" for number in (*counts, *tokens)),
        "unknown" if unknown else cost,
    )


conversations = Commands("conversations")


@conversations.command("links")
def list_links(services: Services) -> None:
    """Show the shared conversations, whoever owns them.

    Example: python -m chatbot conversations links"""
    shared = services.storage.conversations.links()
    for owner, record in shared:
        click.echo(f"{record.id}  {record.title}  ({owner or 'none'})")
    click.echo(count_of(len(shared), "shared link"))


@conversations.command()
@click.argument(
    "conversation_ids", nargs=-1, required=True, metavar="CONVERSATION_ID..."
)
def unshare(services: Services, conversation_ids: Texts) -> None:
    """Revoke the links of shared conversations, named as `links` shows them.

    Example: python -m chatbot conversations unshare 5f0c1e"""
    owners = {
        record.id: owner for owner, record in services.storage.conversations.links()
    }
    for conversation_id in conversation_ids:
        services.storage.conversations.revoke(
            conversation_id, owners.get(conversation_id, "")
        )
        services.storage.audit.record("conversations unshare", conversation_id)
    click.echo(f"{len(conversation_ids)} revoked.")


@conversations.command("list")
def list_owners(services: Services) -> None:
    """Count them by owner: key:ID, visitor:ID (the page shows people theirs), or none.

    Example: python -m chatbot conversations list"""
    counts = services.storage.conversations.owners()
    for owner, count in counts.items():
        click.echo(f"{count:8}  {owner or '(none)'}")
    click.echo(count_of(sum(counts.values()), "conversation"))


@conversations.command()
@click.option(
    "--owner",
    required=True,
    help="key:ID or visitor:ID; none = conversations without an owner.",
)
@click.option(
    "--before",
    type=click.DateTime(["%Y-%m-%d"]),
    help="Only those without a message since this day.",
)
def delete(services: Services, owner: str, before: Any) -> None:
    """Delete all conversations of an owner, with their messages and every cached
    answer.

    Example: python -m chatbot conversations delete --owner
    visitor:4e1f0c6f5a7b4a3f8d2e6c1b9a7f5e3d
    """
    since = before.date().isoformat() if before else ""
    count = services.retention.delete_conversations(
        owner="" if owner == "none" else owner, before=since
    )
    services.storage.audit.record("conversations delete", f"{owner}: {count}")
    click.echo(f"{count} deleted.")


@command()
@click.option(
    "--limit",
    type=click.IntRange(1, 100_000),
    default=50,
    show_default=True,
    help="How many.",
)
def audit(services: Services, limit: int) -> None:
    """Show who changed what, the newest first.

    Example: python -m chatbot audit --limit 200"""
    for entry in services.storage.audit.latest(limit):
        click.echo(f"{entry.at}  {entry.actor}  {entry.action}  {entry.target}")
