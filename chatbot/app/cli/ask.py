"""`ask` and `chat`: ask questions on the command line and print their answers; or
answer a table of questions.
"""

import csv
import io
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import click

from ...answering.conversation import Place, Saved
from ...domain import Answer, Citation, Event, Scope, StepEvent, TokenEvent
from ...domain.callers import ANYBODY
from ...domain.cancellation import Cancellation
from ...domain.chat import Unsupported, question_problem
from ...domain.errors import (
    BudgetExhaustedError,
    ChatbotError,
    LoadError,
    NotFoundError,
)
from ...domain.json import to_json
from ...domain.validation import parse
from ...language.counts import count_of
from ...library.loaders.records import read_table
from ...library.loaders.text import read_text
from ...search.scope import describe
from ..question_table import split_cell
from ..services import Services, build
from ..web.asking import ChatRequest
from ..web.files import csv_text
from . import command, progress_bar, resumable, write_text

ENDS = ("exit", "quit")
FILE = click.Path(dir_okay=False, path_type=Path)
Row = dict[str, Any]
QUESTION_COLUMNS = ("question", "query")
ANSWER_COLUMNS = ("response", "answered", "citations", "unsupported", "error")
NO_REPORTS = "There are no reports yet. Add some: python -m chatbot ingest FILES"


def _question_text(
    context: click.Context, parameter: click.Parameter, text: str | None
) -> str | None:
    if text is None:
        return None
    text = text.strip()
    problem = question_problem(text)
    if problem:
        raise click.BadParameter(problem)
    return text


OPTIONS = (
    click.option(
        "--country",
        multiple=True,
        help="Country, by name, ISO code or alias; repeat for several.",
    ),
    click.option(
        "--group",
        multiple=True,
        help='Group of countries, as "Western Africa"; repeat for several.',
    ),
    click.option("--year", multiple=True, help="Year; repeat for several."),
    click.option(
        "--type", "report_type", multiple=True, help="Report type; repeat for several."
    ),
    click.option(
        "--collection",
        multiple=True,
        help="Collection to search; repeat for several. Default: all.",
    ),
    click.option(
        "--limit",
        type=click.IntRange(1, 50),
        help="Number of passages given to the model. Default: TOP_K.",
    ),
    click.option(
        "--mode", help="direct, auto, deep, chain, compare or report. Default: MODE."
    ),
    click.option(
        "--retrieval-method", help="vector, bm25 or hybrid. Default: RETRIEVAL_METHOD."
    ),
    click.option(
        "--vector-weight",
        type=click.FloatRange(0, 1),
        help="Weight of the vectors in hybrid retrieval.",
    ),
    click.option(
        "--no-reranking",
        is_flag=True,
        help="Keep the order of the search: RERANKER=none.",
    ),
    click.option(
        "--no-metadata",
        is_flag=True,
        help="Give the model only the passages' text: CONTEXT_METADATA=off.",
    ),
    click.option(
        "--preset",
        default="",
        help="adaptive, compression, hybrid, deep or deterministic.",
    ),
    click.option(
        "--auto-scope/--no-auto-scope",
        default=None,
        help=(
            "Use the countries and editions of the question as its scope. Default: "
            "AUTO_SCOPE."
        ),
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
    for option in reversed(OPTIONS):
        command = option(command)
    return command


@command()
@click.argument("question", callback=_question_text, required=False)
@click.option(
    "--from",
    "source",
    type=FILE,
    help="A CSV file with a column question, instead of QUESTION.",
)
@click.option(
    "--to",
    "target",
    type=FILE,
    help="With --from: the file for the answers, .csv or .jsonl.",
)
@question_options
def ask(
    services: Services,
    /,
    question: str | None,
    source: Path | None,
    target: Path | None,
    **options: Any,
) -> None:
    """Answer QUESTION from the reports, or the questions of a table.

    The columns country_name, year and so on of the table are the scope of each
    question; all columns are copied. Run an interrupted command again to continue:
    questions with an answer are not asked again.

    Example: python -m chatbot ask "What is the population growth rate?" --country KE
    --year 2023

    Example: python -m chatbot ask --from questions.csv --to answers.csv
    """
    as_json = options.pop("as_json")
    services = _with_settings(services, options)
    fields = _request_fields(options)
    if question is not None and source is None and target is None:
        _answer(services, {**fields, "query": question}, as_json=as_json)
    elif question is None and source is not None and target is not None:
        answer_table(services, fields, source, target)
    else:
        raise click.UsageError("Give a QUESTION, or --from and --to.")


@command()
@question_options
def chat(services: Services, /, **options: Any) -> None:
    """Ask one question after the other, each with the ones before as context, until
    `exit`.

    Questions are read from standard input, one a line.

    Example: python -m chatbot chat --country Kenya
    """
    as_json = options.pop("as_json")
    services = _with_settings(services, options)
    fields = _request_fields(options)
    click.echo("> ", nl=False, err=True)
    for line in sys.stdin:
        query = line.strip()
        if query.casefold() in ENDS:
            break
        try:
            if query:
                fields["query"] = query
                fields["conversation_id"] = _answer(services, fields, as_json=as_json)
        except ChatbotError as error:
            # A failed question does not end the conversation.
            click.secho(f"Error: {error.message}", fg="red", err=True)
        click.echo("> ", nl=False, err=True)


def _with_settings(services: Services, options: dict[str, Any]) -> Services:
    """Take the settings out of the options; return services with them."""
    changed: dict[str, Any] = {}
    weight = options.pop("vector_weight")
    if weight is not None:
        changed["vector_weight"] = weight
    if options.pop("no_reranking"):
        changed["reranker"] = "none"
    if options.pop("no_metadata"):
        changed["context_metadata"] = False
    if not changed:
        return services
    settings = services.settings.override(**changed)
    return click.get_current_context().with_resource(build(settings))


def _request_fields(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a request that the options give."""
    fields = dict(options)
    filters = {
        "country_name": list(fields.pop("country")),
        "group": list(fields.pop("group")),
        "year": list(fields.pop("year")),
        "type": list(fields.pop("report_type")),
    }
    fields["filters"] = {name: values for name, values in filters.items() if values}
    fields["collections"] = list(fields.pop("collection")) or None
    return fields


def _answer(services: Services, fields: dict[str, Any], *, as_json: bool) -> str:
    """Print the answer while it is written; return the conversation's id."""
    request = parse(ChatRequest, fields)
    question = request.to_question(services, ANYBODY.limit)
    printed: list[str] = []

    def send(event: Event) -> None:
        # A pipe gets the checked answer, which may differ from what was streamed.
        if isinstance(event, TokenEvent) and not as_json and sys.stdout.isatty():
            printed.append(event.text)
            click.echo(event.text, nl=False)
        elif isinstance(event, StepEvent) and not as_json:
            print_step(event)

    saved = services.chat.answer(
        question,
        send=send,
        place=Place(request.conversation_id),
        cancel=Cancellation(),
    )
    assert saved is not None, "nobody cancels it"
    print_answer(saved, "".join(printed), as_json=as_json)
    return saved.conversation_id or ""


def print_step(step: StepEvent) -> None:
    """Print a step and each of its items on a line of its own; a failed step in
    yellow.
    """
    passages = f": {count_of(len(step.hits), 'passage')}" if step.hits else ""
    colour = "yellow" if step.failed else None
    click.secho(
        f"{step.detail or step.name}{passages}",
        err=True,
        dim=not step.failed,
        fg=colour,
    )
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
            click.secho(_describe_source(citation), dim=True)
    for note in _notes(answer):
        click.secho(note, err=True, fg="yellow")


def _describe_source(citation: Citation) -> str:
    chunk = citation.hit.chunk
    place = []
    if citation.section:
        place.append(citation.section)
    if chunk.page is not None:
        place.append(f"page {chunk.page}")
    if chunk.confidence is not None:
        place.append(f"read by OCR, {int(100 * chunk.confidence)} %")
    title = f"[{citation.number}] {chunk.title}"
    if not place:
        return title
    return f"{title}: {', '.join(place)}"


def _notes(answer: Answer) -> list[str]:
    """Return what a person should know about an answer, a sentence each."""
    notes = [_describe_doubt(sentence) for sentence in answer.unsupported]
    scope = answer.scope.from_question
    if scope:
        notes.append(
            f"Scope from the question: {describe(scope)} (--no-auto-scope searches "
            "all reports)."
        )
    if answer.trace.stopped_by:
        notes.append(
            f"Stopped early ({answer.trace.stopped_by}): this is the best answer "
            "so far."
        )
    if answer.trace.truncated:
        notes.append("The answer was cut off at MAX_ANSWER_TOKENS.")
    return notes


def _describe_doubt(sentence: Unsupported) -> str:
    """Return what is doubtful about a sentence."""
    numbers = _bracketed(sentence.numbers)
    missing = [*sentence.figures, *sentence.names]
    missing += [f"“{text}”" for text in sentence.quotations]
    doubts = []
    if missing:
        doubts.append(f"Not found in {numbers}: {', '.join(missing)}.")
    if sentence.contradicted:
        doubts.append(f"Different in {numbers}: {', '.join(sentence.contradicted)}.")
    if sentence.unknown:
        doubts.append(f"There is no source {_bracketed(sentence.unknown)}.")
    if sentence.verdict == "contradicted":
        doubts.append(f"{numbers} says: “{sentence.words}”.")
    if sentence.verdict == "not_said":
        doubts.append(f"Not said in {numbers}: {sentence.sentence}")
    if sentence.no_source:
        doubts.append(f"Without a source: {sentence.sentence}")
    return " ".join(doubts)


def _bracketed(numbers: Iterable[int]) -> str:
    return "".join(f"[{number}]" for number in numbers)


def answer_table(
    services: Services, fields: dict[str, Any], source: Path, target: Path
) -> None:
    """Ask the questions that ``target`` has no answer to yet. ``fields`` of a request
    hold for all questions. A ``.csv`` gets the columns of the questions and
    `ANSWER_COLUMNS`; a ``.jsonl`` also the whole answer. Raises LoadError,
    NotFoundError: there is nothing to answer from; BudgetExhaustedError: the answers so
    far are kept.
    """
    if target.suffix.lower() not in {".csv", ".jsonl"}:
        raise click.UsageError(f"--to: {target.name} should end in .csv or .jsonl.")
    settings = services.settings
    questions = list(_questions(source, settings.filter_fields))
    holdings = services.storage.documents.holdings(Scope())
    if settings.on_empty != "general" and not holdings.documents:
        # Otherwise every row would say so, and be kept as answered.
        raise NotFoundError(NO_REPORTS)
    answers = AnswerFile(target, questions)
    count = answers.unanswered
    saved_at = time.monotonic()
    try:
        with (
            resumable("The answers so far are"),
            progress_bar(f"{count:,} of {len(questions):,} questions", count) as bar,
        ):
            for row in questions:
                if answers.take_earlier(row):
                    continue
                answers.rows.append(_answered(services, fields, row))
                bar.update(1)
                if time.monotonic() - saved_at > 5.0:
                    answers.save()
                    saved_at = time.monotonic()
    finally:
        answers.save()
    failed = len([row for row in answers.rows if row.get("error")])
    click.echo(f"{len(answers.rows) - failed:,} answered, {failed:,} failed.", err=True)
    if failed:
        raise SystemExit(1)


class AnswerFile:
    """The answers to a table of questions, in its order; those of an earlier run are
    kept. ``rows``: the answers of this run so far.
    """

    def __init__(self, path: Path, questions: Sequence[Row]) -> None:
        """Raises LoadError: the file is there and holds no answers."""
        self.rows: list[Row] = []
        self._path = path
        self._keys = [_key(row) for row in questions]
        self._earlier = {
            _key(row): row for row in _read_answers(path) if not row.get("error")
        }

    @property
    def unanswered(self) -> int:
        """The number of questions that the earlier run has not answered."""
        return len([key for key in self._keys if key not in self._earlier])

    def take_earlier(self, question: Row) -> bool:
        """Take the answer of the earlier run; False where there is none."""
        earlier = self._earlier.get(_key(question))
        if earlier is None:
            return False
        self.rows.append(earlier)
        return True

    def save(self) -> None:
        """Write the answers, with the earlier ones to the questions that follow. Raises
        DependencyError.
        """
        later = self._keys[len(self.rows) :]
        kept = [self._earlier[key] for key in later if key in self._earlier]
        write_answers(self._path, [*self.rows, *kept])


def _answered(services: Services, fields: dict[str, Any], row: Row) -> Row:
    """Ask the question of a row; return the row with its answer, or its error."""
    filters = dict(fields["filters"])
    for name in services.settings.filter_fields:
        if row.get(name):
            filters[name] = split_cell(row[name])
    request = {**fields, "query": _text(row), "filters": filters}
    cells: Row = {**row, **dict.fromkeys(ANSWER_COLUMNS), "answer": None}
    try:
        question = parse(ChatRequest, request).to_question(services, ANYBODY.limit)
        saved = services.chat.answer(question, cancel=Cancellation())
        assert saved is not None  # nobody cancels it
    except BudgetExhaustedError:
        raise  # it holds for all questions that are left
    except ChatbotError as error:
        cells["error"] = error.message
        return cells
    answer = to_json(saved)
    return {
        **cells,
        "response": answer["response"],
        "answered": "yes" if answer["answered"] else "no",
        "citations": "\n".join(_cited(answer["citations"])),
        "unsupported": len(answer["unsupported"]),
        "answer": answer,
    }


def _cited(citations: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a line for each source of an answer."""
    for citation in citations:
        title = citation["title"] or citation["document_name"]
        line = f"[{citation['number']}] {title}"
        if citation["page"]:
            line += f", page {citation['page']}"
        yield line


def _questions(path: Path, fields: tuple[str, ...]) -> Iterator[Row]:
    table = read_table(path)
    _, header = next(table, (0, list[str]()))
    if not any(name in QUESTION_COLUMNS for name in header):
        raise LoadError(
            f"{path.name}: the column question is missing. Optional columns: "
            f"{', '.join(fields)}."
        )
    for _, cells in table:
        row = dict(zip_longest(header, cells, fillvalue=""))
        if _text(row):
            yield row


def _text(row: Row) -> str:
    for name in QUESTION_COLUMNS:
        if row.get(name):
            return str(row[name]).strip()
    return ""


def _key(row: Row) -> str:
    """Identify a question in the results by its own fields, without the apostrophe that
    is put before formulas.
    """
    fields = []
    for name in _question_columns(row):
        value = row[name]
        if value not in (None, ""):
            fields.append((name, str(value).removeprefix("'")))
    return json.dumps(sorted(fields))


def _question_columns(row: Row) -> list[str]:
    return [name for name in row if name not in (*ANSWER_COLUMNS, "answer")]


def _read_answers(path: Path) -> list[Row]:
    if not path.exists():
        return []
    text = read_text(path)
    if path.suffix.lower() == ".csv":
        return [dict(row) for row in csv.DictReader(io.StringIO(text))]
    try:
        return [json.loads(line) for line in text.split("\n") if line.strip()]
    except ValueError as error:
        raise LoadError(f"{path.name} is not a JSON Lines file of answers.") from error


def write_answers(path: Path, rows: list[Row]) -> None:
    """Write all rows. Raises DependencyError."""
    if path.suffix.lower() == ".csv":
        columns = _question_columns(rows[0]) if rows else []
        text = csv_text(rows, [*columns, *ANSWER_COLUMNS])
    else:
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    write_text(path, text)
