"""`ask` and `chat`: ask questions on the command line and print their answers."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ...answering.conversation import Place, Saved
from ...checking.wording import NumberedStream
from ...domain import Answer, SourcesEvent, StepEvent, TokenEvent, Unsupported
from ...domain.access import ANYBODY
from ...domain.cancellation import Cancellation
from ...domain.chat import question_problem
from ...domain.errors import ChatbotError
from ...domain.json import to_json
from ...domain.validation import parse
from ...language import count_of
from ...search.scope import describe
from ..services import Services
from ..web.payloads import ChatRequest

ENDS = ("exit", "quit")
FILE = click.Path(dir_okay=False, path_type=Path)


def _question_text(context: click.Context, parameter: click.Parameter, text: str | None) -> str | None:
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
    click.option("--limit", type=click.IntRange(1, 50), help="Number of passages given to the model. Default: TOP_K."),
    click.option("--mode", help="direct, auto, deep, chain, compare or report. Default: MODE."),
    click.option("--retrieval-method", help="vector, bm25 or hybrid. Default: RETRIEVAL_METHOD."),
    click.option("--vector-weight", type=click.FloatRange(0, 1), help="Weight of the vectors in hybrid retrieval."),
    click.option("--no-reranking", is_flag=True, help="Keep the order of the search: RERANKER=none."),
    click.option("--no-metadata", is_flag=True, help="Give the model only the passages' text: CONTEXT_METADATA=off."),
    click.option("--preset", default="", help="adaptive, compression, hybrid, deep or deterministic."),
    click.option(
        "--auto-scope/--no-auto-scope",
        default=None,
        help="Use the countries and editions of the question as its scope. Default: AUTO_SCOPE.",
    ),
    click.option(
        "--query-expansion/--no-query-expansion",
        default=None,
        help="Mode deep: search for more terms.",
    ),
    click.option("--json", "as_json", is_flag=True, help="Print the /query response."),
)
Command = Callable[..., None]


def question_options(command: Command) -> Command:
    """Add the options of a question to a command."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


@click.command()
@click.argument("question", callback=_question_text, required=False)
@click.option("--from", "source", type=FILE, help="A CSV file with a column question, instead of QUESTION.")
@click.option("--to", "target", type=FILE, help="With --from: the file for the answers, .csv or .jsonl.")
@question_options
@click.pass_obj
def ask(services: Services, /, question: str | None, source: Path | None, target: Path | None, **options: Any) -> None:
    """Answer QUESTION from the reports, or the questions of a table.

    The columns country_name, year and so on of the table are the scope of each question; all columns are copied. Run
    an interrupted command again to continue: questions with an answer are not asked again.

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
    """Ask one question after the other, each with the ones before as context, until `exit`.

    Questions are read from standard input, one a line.

    Example: python -m chatbot chat --country Kenya
    """
    services, fields, as_json = _read(services, options)
    while (line := _line()) is not None:
        try:
            fields["conversation_id"] = _answer(services, {**fields, "query": line}, as_json=as_json)
        except ChatbotError as error:  # a failed question does not end the conversation
            click.secho(f"Error: {error.message}", fg="red", err=True)


def _line() -> str | None:
    """Return the next question that is not empty, None at the end."""
    while True:
        click.echo("> ", nl=False, err=True)
        line = sys.stdin.readline()
        if not line or line.strip().casefold() in ENDS:
            return None
        if line.strip():
            return line.strip()


def _read(services: Services, options: dict[str, Any]) -> tuple[Services, dict[str, Any], bool]:
    """Return services with the settings among the options, the fields of a request, and whether to print JSON."""
    names = {"country_name": "country", "year": "year", "type": "report_type"}
    filters = {name: values for name, option in names.items() if (values := list(options.pop(option)))}
    weight, as_json = options.pop("vector_weight"), options.pop("as_json")
    changed: dict[str, Any] = {} if weight is None else {"vector_weight": weight}
    if options.pop("no_reranking"):
        changed["reranker"] = "none"
    if options.pop("no_metadata"):
        changed["context_metadata"] = False
    if changed:
        services = click.get_current_context().with_resource(Services(services.settings.override(**changed)))
    return services, {"collections": list(options.pop("collection")) or None, "filters": filters, **options}, as_json


def _answer(services: Services, fields: dict[str, Any], *, as_json: bool) -> str:
    """Print the answer while it is written; return the conversation's id."""
    request, conversation_id, printed = parse(ChatRequest, fields), "", ""
    stream, numbered = services.answering.chat.stream, NumberedStream()
    question = request.to_question(services, ANYBODY.limit)
    for event in stream(question, place=Place(request.conversation_id), cancel=Cancellation()):
        # A pipe gets the checked answer, which may differ from what was streamed.
        if isinstance(event, TokenEvent) and not as_json and sys.stdout.isatty():
            printed += (text := numbered.feed(event.text))
            click.echo(text, nl=False)
        elif isinstance(event, SourcesEvent):
            numbered.known = [hit.rank for hit in event.hits]
        elif isinstance(event, StepEvent) and not as_json:
            print_step(event)
        elif isinstance(event, Saved):
            conversation_id = event.conversation_id or ""
            print_answer(event, printed, as_json=as_json)
    return conversation_id


def print_step(step: StepEvent) -> None:
    """Print a step and each of its items on a line of its own; a failed step in yellow."""
    passages = f": {count_of(len(step.hits), 'passage')}" if step.hits else ""
    colour = "yellow" if step.failed else None
    click.secho(f"{step.detail or step.name}{passages}", err=True, dim=not step.failed, fg=colour)
    for item in step.items:
        click.secho(f"  - {item}", err=True, dim=True)


def print_answer(saved: Saved, printed: str, *, as_json: bool) -> None:
    """Print the answer, except what was ``printed`` while it was written."""
    if as_json:
        click.echo(json.dumps(to_json(saved), indent=2, ensure_ascii=False))
        return
    answer = saved.answer
    if answer.response.startswith(printed):
        click.echo(answer.response[len(printed) :])
    else:
        click.echo(f"\n\nAfter the check:\n\n{answer.response}")
    # A report ends with its sources already.
    if answer.citations and not (answer.answered and answer.trace.mode == "report"):
        click.echo()
        for citation in sorted(answer.citations, key=lambda citation: citation.number):
            chunk = citation.hit.chunk
            place = ", ".join(filter(None, (citation.section, f"page {chunk.page}" if chunk.page is not None else "")))
            click.secho(f"[{citation.number}] {chunk.title}{f': {place}' if place else ''}", dim=True)
    for note in _notes(answer):
        click.secho(note, err=True, fg="yellow")


def _notes(answer: Answer) -> list[str]:
    """Return what the reader should know besides the text: unsupported clauses, an early end and the like."""
    notes = [_describe_doubt(sentence) for sentence in answer.unsupported]
    if scope := answer.scope.from_question:
        notes.append(f"Scope from the question: {describe(scope)} (--no-auto-scope searches all reports).")
    if answer.trace.stopped_by:
        notes.append(f"Stopped early ({answer.trace.stopped_by}): this is the best answer so far.")
    if answer.trace.truncated:
        notes.append("The answer was cut off at MAX_ANSWER_TOKENS.")
    return notes


def _describe_doubt(sentence: Unsupported) -> str:
    numbers = "".join(f"[{number}]" for number in sentence.numbers)
    missing = ", ".join([*sentence.figures, *sentence.names, *(f"“{text}”" for text in sentence.quotations)])
    unknown = "".join(f"[{number}]" for number in sentence.unknown)
    parts = (
        f"Not found in {numbers}: {missing}." if missing else "",
        f"Different in {numbers}: {', '.join(sentence.contradicted)}." if sentence.contradicted else "",
        f"There is no source {unknown}." if unknown else "",
        f"Without a source: {sentence.sentence}" if sentence.no_source else "",
    )
    return " ".join(filter(None, parts))
