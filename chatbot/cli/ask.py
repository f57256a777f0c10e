"""`ask`: one question on the command line."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from ..cancellation import Cancellation
from ..conversation.service import Saved
from ..schema import Question, StepEvent, TokenEvent, Unsupported
from ..serialization import answer_json
from ..services import Services
from ..text import counted


@click.command()
@click.argument("question")
@click.option("--country", multiple=True, help="Country, by name, ISO code or alias; repeat for several.")
@click.option("--year", multiple=True, help="Year; repeat for several.")
@click.option("--type", "report_type", multiple=True, help="Report type; repeat for several.")
@click.option("--collection", multiple=True, help="Collection to search; repeat for several. Default: all.")
@click.option("--limit", type=click.IntRange(1, 50), help="Passages the answer stands on. Default: TOP_K.")
@click.option("--mode", help="direct, auto, deep, chain, compare or report. Default: MODE.")
@click.option("--retrieval-method", help="vector, bm25 or hybrid. Default: RETRIEVAL_METHOD.")
@click.option("--vector-weight", type=click.FloatRange(0, 1), help="Weight of the vectors in hybrid retrieval.")
@click.option("--no-reranking", is_flag=True, help="Leave the hits in the order of the search: RERANKER=none.")
@click.option("--preset", default="", help="adaptive, compression, hybrid, deep or deterministic.")
@click.option(
    "--auto-scope/--no-auto-scope", default=None, help="Apply countries and years of the question. Default: AUTO_SCOPE."
)
@click.option("--json", "as_json", is_flag=True, help="Print the /query response.")
@click.pass_obj
def ask(
    services: Services,
    question: str,
    country: tuple[str, ...],
    year: tuple[str, ...],
    report_type: tuple[str, ...],
    collection: tuple[str, ...],
    limit: int | None,
    mode: str | None,
    retrieval_method: str | None,
    vector_weight: float | None,
    no_reranking: bool,
    preset: str,
    auto_scope: bool | None,
    as_json: bool,
) -> None:
    """Answer QUESTION from the reports.

    Example: python -m chatbot ask "What is the population growth rate?" --country KE --year 2023
    """
    changed: dict[str, Any] = {} if vector_weight is None else {"vector_weight": vector_weight}
    if no_reranking:
        changed["reranker"] = "none"
    if changed:
        services = click.get_current_context().with_resource(Services(services.settings.override(**changed)))
    chosen = {"country_name": country, "year": year, "type": report_type}
    filters: dict[str, Any] = {name: list(values) for name, values in chosen.items() if values}
    settings = services.query_settings(preset)
    method = retrieval_method or settings.retrieval_method
    services.retrieval_method(method)
    asked = Question(
        query=question,
        scope=services.scopes.resolve(filters, collections=collection or None),
        top_k=limit or settings.top_k,
        retrieval_method=method,
        mode=services.check_mode(mode, preset),
        budget=services.budget({}),
        preset=preset,
        auto_scope=services.settings.auto_scope if auto_scope is None else auto_scope,
    )
    shown = ""
    for event in services.chat.stream(asked, cancel=Cancellation()):
        if isinstance(event, TokenEvent) and _streams(as_json):
            shown += event.text
            click.echo(event.text, nl=False)
        elif isinstance(event, StepEvent) and not as_json:
            _show(event)
        elif isinstance(event, Saved):
            _finish(event, shown, as_json)


def _streams(as_json: bool) -> bool:
    """Somebody reads along; a pipe gets the finished answer, which may differ from what was streamed."""
    return not as_json and sys.stdout.isatty()


def _show(step: StepEvent) -> None:
    """On the error stream: what is piped on is the answer."""
    found = f": {counted(len(step.hits), 'passage')}" if step.hits else ""
    colour = "yellow" if step.failed else None
    click.secho(f"{step.detail or step.name}{found}", err=True, dim=not step.failed, fg=colour)
    for item in step.items:
        click.secho(f"  - {item}", err=True, dim=True)


def _finish(saved: Saved, shown: str, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(answer_json(saved), indent=2, ensure_ascii=False))
        return
    answer = saved.event.answer
    if answer.response.startswith(shown):
        click.echo(f"{answer.response[len(shown) :]}\n")
    else:
        click.echo(f"\n\nAs checked:\n\n{answer.response}\n")
    for citation in answer.citations:
        chunk = citation.hit.chunk
        page = f"page {chunk.page}" if chunk.page is not None else ""
        place = ", ".join(filter(None, (chunk.section, page)))
        click.secho(f"[{citation.number}] {chunk.title}{f': {place}' if place else ''}", dim=True)
    for sentence in answer.unsupported:
        click.secho(_doubt(sentence), fg="yellow")
    if answer.trace.stopped_by:
        click.secho(f"Stopped early ({answer.trace.stopped_by}): the best answer so far.", fg="yellow")
    if answer.trace.truncated:
        click.secho("The answer was cut off at MAX_ANSWER_TOKENS.", fg="yellow")


def _doubt(sentence: Unsupported) -> str:
    numbers = "".join(f"[{number}]" for number in sentence.numbers)
    missing = ", ".join([*sentence.figures, *(f"“{text}”" for text in sentence.quotations)])
    unknown = "".join(f"[{number}]" for number in sentence.unknown)
    return " ".join(
        part
        for part in (
            f"Not found in {numbers}: {missing}." if missing else "",
            f"There is no source {unknown}." if unknown else "",
        )
        if part
    )
