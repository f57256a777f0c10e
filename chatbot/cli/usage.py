"""`usage`: what the answers of the last days took and cost."""

from __future__ import annotations

import json

import click

from ..schema.sums import StageSums, Sums, added_up, days_json
from ..services import Services

COLUMNS = ("questions", "calls", "cached", "failed", "prompt", "completion", "embedding", "cost")
STAGE_COLUMNS = ("runs", "calls", "tokens", "embedding", "seconds")


@click.command()
@click.option("--days", type=click.IntRange(1, 366), default=30, show_default=True, help="How many, with today.")
@click.option("--json", "as_json", is_flag=True, help="Print the /api/usage response.")
@click.pass_obj
def usage(services: Services, days: int, as_json: bool) -> None:
    """Show questions, calls, tokens and costs by day (UTC); runs, calls, tokens and time by stage.

    Costs need MODEL_PRICES. Example: python -m chatbot usage --days 7
    """
    found = services.usage.days(days)
    if as_json:
        click.echo(json.dumps(days_json(found), indent=2))
        return
    if not found:
        click.echo("Nothing was asked on these days.")
        return
    click.echo(_line("day", COLUMNS))
    for day in found:
        click.echo(_line(day.day, _cells(day.sums)))
    total = Sums.total(day.sums for day in found)
    click.echo(_line("total", _cells(total)))
    click.echo("\n" + _line("stage", STAGE_COLUMNS))
    for stage in added_up(stage for day in found for stage in day.stages):
        click.echo(_line(stage.stage, _stage_cells(stage)))
    if total.unpriced_tokens:
        click.echo(f"\n{total.unpriced_tokens:,} tokens have no price in MODEL_PRICES; no cost holds them (+).")


def _line(name: str, cells: tuple[str, ...]) -> str:
    return f"{name:18}" + "".join(f"{cell:>12}" for cell in cells)


def _cells(sums: Sums) -> tuple[str, ...]:
    usage = sums.usage
    counts = (sums.questions, usage.calls, usage.cached_calls, usage.failed_calls)
    tokens = (usage.prompt_tokens, usage.completion_tokens, usage.embedding_tokens)
    return (*(f"{number:,}" for number in (*counts, *tokens)), _cost(sums))


def _cost(sums: Sums) -> str:
    if sums.unpriced_tokens and not sums.cost:
        return "unknown"
    return f"{sums.cost:.6f}{'+' if sums.unpriced_tokens else ''}"


def _stage_cells(stage: StageSums) -> tuple[str, ...]:
    counts = (stage.runs, stage.calls, stage.tokens, stage.embedding_tokens)
    return (*(f"{number:,}" for number in counts), f"{stage.ms / 1000:,.2f}")
