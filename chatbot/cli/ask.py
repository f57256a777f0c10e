"""`ask` and `chat`: questions on the command line, and how their answers are printed."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ..cancellation import Cancellation
from ..conversation.service import Place, Saved
from ..errors import ChatbotError
from ..grounding.wording import NumberedStream
from ..retrieval.scope import describe
from ..schema import Answer, SourcesEvent, StepEvent, TokenEvent, Unsupported
from ..schema.access import ANYBODY
from ..schema.chat import question_problem
from ..serialization import answer_json
from ..services import Services
from ..text import count_of
from ..validation import parse
from ..web.payloads import ChatRequest

ENDS = ("exit", "quit")
FILE = click.Path(dir_okay=False, path_type=Path)


def _question_text(context: click.Context, parameter: click.Parameter, text: str | None) -> str | None:
    """A question without the space around it. Raises BadParameter."""
    if text is None:
        return None
    text = text.strip()
    if problem := question_problem(text):
        raise click.BadParameter(problem)
    return text


OPTIONS = (
    click.option("--country", multiple=True, help="Country, by name, ISO code or alias; repeat for several."),
    click.option("--year", multiple=True, help="Year; repeat for several."),
    click.option("--type", "report_type", multiple=True, help="Report type; repeat for several."),
    click.option("--collection", multiple=True, help="Collection to search; repeat for several. Default: all."),
    click.option("--limit", type=click.IntRange(1, 50), help="Passages the answer stands on. Default: TOP_K."),
    click.option("--mode", help="direct, auto, deep, chain, compare or report. Default: MODE."),
    click.option("--retrieval-method", help="vector, bm25 or hybrid. Default: RETRIEVAL_METHOD."),
    click.option("--vector-weight", type=click.FloatRange(0, 1), help="Weight of the vectors in hybrid retrieval."),
    click.option("--no-reranking", is_flag=True, help="Leave the hits in the order of the search: RERANKER=none."),
    click.option("--no-metadata", is_flag=True, help="Give the model the passages' text alone: CONTEXT_METADATA=off."),
    click.option("--preset", default="", help="adaptive, compression, hybrid, deep or deterministic."),
    click.option(
        "--auto-scope/--no-auto-scope",
        default=None,
        help="Apply the countries and editions of the question. Default: AUTO_SCOPE.",
    ),
    click.option("--query-expansion/--no-query-expansion", default=None, help="Mode deep: search for more terms, too."),
    click.option("--json", "as_json", is_flag=True, help="Print the /query response."),
)
Command = Callable[..., None]


def question_options(command: Command) -> Command:
    """Gives a command the options of a question."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


@click.command()
@click.argument("question", callback=_question_text, required=False)
@click.option("--from", "source", type=FILE, help="Instead: a CSV file with a column question.")
@click.option("--to", "target", type=FILE, help="With --from: where the answers go, .csv or .jsonl.")
@question_options
@click.pass_obj
def ask(services: Services, /, question: str | None, source: Path | None, target: Path | None, **options: Any) -> None:
    """Answer QUESTION from the reports, or those of a table.

    The table's columns country_name, year and so on are the scope of each question; all columns are carried over.
    Broken off, the same command goes on: what was answered is not asked again.

    Example: python -m chatbot ask "What is the population growth rate?" --country KE --year 2023

    Example: python -m chatbot ask --from questions.csv --to answers.csv
    """
    if (question is None) != (source is not None) or (source is None) != (target is None):
        raise click.UsageError("Give a QUESTION, or --from and --to.")
    services, fields, as_json = _read(services, options)
    if question is None:
        from .bulk import answer_table

        assert source is not None
        assert target is not None
        answer_table(services, fields, source, target)
    else:
        _answer(services, {**fields, "query": question}, as_json=as_json)


@click.command()
@question_options
@click.pass_obj
def chat(services: Services, /, **options: Any) -> None:
    """Ask one question after the other, each understood with those before, until `exit`.

    Questions are read from standard input, a line each.

    Example: python -m chatbot chat --country Kenya
    """
    services, fields, as_json = _read(services, options)
    while (line := _line()) is not None:
        try:
            fields["conversation_id"] = _answer(services, {**fields, "query": line}, as_json=as_json)
        except ChatbotError as error:  # one question that went wrong does not end the talk
            click.secho(f"Error: {error.message}", fg="red", err=True)


def _line() -> str | None:
    """The next question that is not empty; None at its end."""
    while True:
        click.echo("> ", nl=False, err=True)
        line = sys.stdin.readline()
        if not line or line.strip().casefold() in ENDS:
            return None
        if line.strip():
            return line.strip()


def _read(services: Services, options: dict[str, Any]) -> tuple[Services, dict[str, Any], bool]:
    """The services that settings among the options ask for, the fields of a request, and whether to print JSON."""
    names = {"country_name": "country", "year": "year", "type": "report_type"}
    chosen = {name: list(options.pop(option)) for name, option in names.items()}
    weight, as_json = options.pop("vector_weight"), options.pop("as_json")
    changed: dict[str, Any] = {} if weight is None else {"vector_weight": weight}
    if options.pop("no_reranking"):
        changed["reranker"] = "none"
    if options.pop("no_metadata"):
        changed["context_metadata"] = False
    if changed:
        services = click.get_current_context().with_resource(Services(services.settings.override(**changed)))
    filters = {name: values for name, values in chosen.items() if values}
    return services, {"collections": list(options.pop("collection")) or None, "filters": filters, **options}, as_json


def _answer(services: Services, fields: dict[str, Any], *, as_json: bool) -> str:
    """Print the answer while it comes; returns the conversation's id."""
    request, conversation_id, shown = parse(ChatRequest, fields), "", ""
    stream, numbered = services.answering.chat.stream, NumberedStream()
    asked = request.to_question(services, ANYBODY.limit)
    for event in stream(asked, place=Place(request.conversation_id), cancel=Cancellation()):
        if isinstance(event, TokenEvent) and is_read_along(as_json=as_json):
            shown += (text := numbered.feed(event.text))
            click.echo(text, nl=False)
        elif isinstance(event, SourcesEvent):
            numbered.known = [hit.rank for hit in event.hits]
        elif isinstance(event, StepEvent) and not as_json:
            print_step(event)
        elif isinstance(event, Saved):
            conversation_id = event.conversation_id or ""
            print_answer(event, shown, as_json=as_json)
    return conversation_id


def is_read_along(*, as_json: bool) -> bool:
    """Whether somebody reads along; a pipe gets the finished answer, which may differ from what was streamed."""
    return not as_json and sys.stdout.isatty()


def print_step(step: StepEvent) -> None:
    """Print a step on a line, and each of its items on one more; failed steps stand out."""
    found = f": {count_of(len(step.hits), 'passage')}" if step.hits else ""
    colour = "yellow" if step.failed else None
    click.secho(f"{step.detail or step.name}{found}", err=True, dim=not step.failed, fg=colour)
    for item in step.items:
        click.secho(f"  - {item}", err=True, dim=True)


def print_answer(saved: Saved, shown: str, *, as_json: bool) -> None:
    """``shown`` is what was printed of it while it was written."""
    if as_json:
        click.echo(json.dumps(answer_json(saved), indent=2, ensure_ascii=False))
        return
    answer = saved.event.answer
    if answer.response.startswith(shown):
        click.echo(answer.response[len(shown) :])
    else:
        click.echo(f"\n\nAs checked:\n\n{answer.response}")
    # A report ends with its sources: they are part of what is kept of it.
    if answer.citations and not (answer.answered and answer.trace.mode == "report"):
        click.echo()
        for citation in sorted(answer.citations, key=lambda citation: citation.number):
            chunk = citation.hit.chunk
            place = ", ".join(filter(None, (citation.section, f"page {chunk.page}" if chunk.page is not None else "")))
            click.secho(f"[{citation.number}] {chunk.title}{f': {place}' if place else ''}", dim=True)
    for note in _notes(answer):
        click.secho(note, err=True, fg="yellow")


def _notes(answer: Answer) -> list[str]:
    """What to know of an answer besides its text: that it ended early, has unsupported clauses and the like."""
    notes = [_doubt(sentence) for sentence in answer.unsupported]
    if taken := answer.scope.from_question:
        notes.append(f"Scope from the question: {describe(taken)} (--no-auto-scope searches all reports).")
    if answer.trace.stopped_by:
        notes.append(f"Stopped early ({answer.trace.stopped_by}): the best answer so far.")
    if answer.trace.truncated:
        notes.append("The answer was cut off at MAX_ANSWER_TOKENS.")
    return notes


def _doubt(sentence: Unsupported) -> str:
    numbers = "".join(f"[{number}]" for number in sentence.numbers)
    missing = ", ".join([*sentence.figures, *sentence.names, *(f"“{text}”" for text in sentence.quotations)])
    unknown = "".join(f"[{number}]" for number in sentence.unknown)
    parts = (
        f"Not found in {numbers}: {missing}." if missing else "",
        f"Otherwise in {numbers}: {', '.join(sentence.contradicted)}." if sentence.contradicted else "",
        f"There is no source {unknown}." if unknown else "",
        f"No source is given: {sentence.sentence}" if sentence.no_source else "",
    )
    return " ".join(filter(None, parts))
