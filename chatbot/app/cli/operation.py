"""`serve`, `mcp`, `doctor` and `usage`: run an installation, check it, and show what its answers cost."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from ...config.settings import in_url
from ...domain.costs import Sums, UsageReport, add_up_stages
from ...domain.errors import SettingsError
from ...domain.json import to_json
from ..doctor import Finding, diagnose
from ..factory import close_app, create_app
from ..web.monitoring import configure_logging
from ..web.server import Server, listen
from . import print_json

if TYPE_CHECKING:
    from ..services import Services

FINDINGS = 1
WITHOUT_KEY = {"read": "Without a key, people can ask and look.", "keys": "Access without a key is off."}
COLOURS = {"ok": "green", "warning": "yellow", "error": "red"}
COLUMNS = ("questions", "calls", "cached", "failed", "prompt", "completion", "embedding", "cost")
STAGE_COLUMNS = ("runs", "calls", "tokens", "embedding", "seconds")


@click.command()
@click.option("--host", help="Address to listen on. Default: HOST.")
@click.option("--port", type=click.IntRange(0, 65535), help="Port to listen on. Default: PORT.")
@click.pass_obj
def serve(services: Services, host: str | None, port: int | None) -> None:
    """Serve the chat page and the API.

    Example: python -m chatbot serve --port 8080
    """
    settings = services.settings.override(host=host) if host else services.settings  # ACCESS=auto depends on it
    address = settings.host, settings.port if port is None else port
    app = create_app(settings)
    try:
        listening = listen(*address)
    except OSError as error:
        raise SettingsError(
            f"Cannot listen on {in_url(address[0])}:{address[1]}: {error.strerror}. Set HOST or PORT to a free address."
        ) from error
    click.echo(f"Ask your reports: http://{in_url(address[0])}:{listening.getsockname()[1]}  (Ctrl-C stops)")
    if settings.rule != "open":
        click.echo(f"{WITHOUT_KEY[settings.rule]} Create a key: python -m chatbot keys create NAME --role admin")
    configure_logging(settings.log_level)
    try:
        Server(app, settings).run([listening])
    finally:
        close_app(app)


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
@click.option("--recall", is_flag=True, help="Also compare approximate with exact search, and propose NUM_CANDIDATES.")
@click.pass_context
def doctor(context: click.Context, as_json: bool, recall: bool) -> None:
    """Check keys, server, collections, indexes and models; exit status 1 if something is wrong.

    Example: python -m chatbot doctor
    """
    services: Services = context.obj
    findings: list[Finding] = []
    for finding in diagnose(services, recall=recall):
        findings.append(finding)
        if not as_json:
            label = click.style(f"{finding.severity:8}", fg=COLOURS[finding.severity])
            name = f"  [{finding.name}]" if finding.remedy else ""
            click.echo(f"{label}{finding.area:14}{finding.message}{name}")
            if finding.remedy:
                click.echo(f"{'':22}-> {finding.remedy}")
    if as_json:
        print_json([asdict(finding) for finding in findings])
    context.exit(FINDINGS if any(finding.severity == "error" for finding in findings) else 0)


@click.command()
@click.option("--days", type=click.IntRange(1, 366), default=30, show_default=True, help="How many, including today.")
@click.option("--json", "as_json", is_flag=True, help="Print the /api/usage response.")
@click.pass_obj
def usage(services: Services, days: int, as_json: bool) -> None:
    """Show questions, calls, tokens and costs by day (UTC); runs, calls, tokens and time by stage.

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
        click.echo(_line(stage.stage, (*(f"{number:,}" for number in counts), f"{stage.ms / 1000:,.2f}")))
    if total.unpriced_tokens:
        click.echo(f"\n{total.unpriced_tokens:,} tokens have no price in MODEL_PRICES; the costs leave them out (+).")


def _line(name: str, cells: tuple[str, ...]) -> str:
    return f"{name:18}" + "".join(f"{cell:>12}" for cell in cells)


def _cells(sums: Sums) -> tuple[str, ...]:
    usage = sums.usage
    counts = (sums.questions, usage.calls, usage.cached_calls, usage.failed_calls)
    tokens = (usage.prompt_tokens, usage.completion_tokens, usage.embedding_tokens)
    cost = f"{sums.cost:.6f}{'+' if sums.unpriced_tokens else ''}"
    unknown = sums.unpriced_tokens and not sums.cost
    return (*(f"{number:,}" for number in (*counts, *tokens)), "unknown" if unknown else cost)


@click.command()
@click.pass_obj
def mcp(services: Services) -> None:
    """Serve agents over stdin and stdout (Model Context Protocol).

    Example: python -m chatbot mcp
    """
    from ..mcp import serve_stdio  # the SDK takes a second to import

    serve_stdio(services)
