"""`evaluate` and `calibrate`: measurements on questions with known answers."""

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import click
import numpy as np

from ...app.cli import command, print_json, progress_bar, write_text
from ...app.services import Services, build
from ...config import SAMPLE_DATA
from ...config.settings import Settings
from ...domain import RequestContext, Scope
from ...domain.documents import Calibration
from ...domain.errors import LoadError
from ...search.relevance import SHIPPED
from . import comparison, runner
from .dataset import Dataset, read_dataset, read_questions, register_reports

T = TypeVar("T")
LOGGED = (
    "preset",
    "retrieval_method",
    "vector_weight",
    "top_k",
    "threshold_start",
    "threshold_floor",
    "relevance_floor",
    "language",
    "chunk_strategy",
    "chunk_size",
    "chunk_overlap",
)
"""The settings that MLflow stores with a run."""
FILE = click.Path(dir_okay=False, path_type=Path)
QUESTIONS = SAMPLE_DATA / "questions.csv"
PERCENTILES = (0, 5, 25, 50, 75, 95, 100)
KINDS = {
    "answerable": "best hit, answerable",
    "unrelated": "best hit, unrelated",
    "relevant": "passage with the answer",
    "irrelevant": "passage of another report",
}


def list_of(
    kind: Callable[[str], T],
) -> Callable[[click.Context, click.Parameter, str | None], tuple[T, ...]]:
    """Return a click callback for an option that takes a list: "vector,bm25"."""

    def parse(
        context: click.Context, parameter: click.Parameter, value: str | None
    ) -> tuple[T, ...]:
        try:
            return tuple(
                kind(part.strip()) for part in (value or "").split(",") if part.strip()
            )
        except ValueError as error:
            raise click.BadParameter(str(error), context, parameter) from error

    return parse


@command()
@click.argument("dataset", type=click.Path(exists=True, path_type=Path), required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@click.option("--no-filters", is_flag=True, help="Ignore the filters of the questions.")
@click.option(
    "--auto-scope",
    is_flag=True,
    help="Take the scope from the names in a question, not from its filters.",
)
@click.option(
    "--methods",
    callback=list_of(str),
    help="Retrieval methods to compare: vector,bm25,hybrid.",
)
@click.option(
    "--weights",
    callback=list_of(float),
    help="Weights of the vectors in hybrid retrieval: .4,.5,.6.",
)
@click.option(
    "--presets",
    callback=list_of(str),
    help="Presets, with the reports split as they are: adaptive,hybrid.",
)
@click.option("--intervals", is_flag=True, help="Show 95 % bootstrap intervals.")
@click.option(
    "--save-baseline",
    type=FILE,
    help="Write the figures to a file, to compare later runs with.",
)
@click.option(
    "--baseline",
    type=FILE,
    help="Compare with such a file; exit status 1 if a figure fell.",
)
@click.option(
    "--tolerance",
    type=click.FloatRange(0, 1),
    default=0.01,
    show_default=True,
    help="How far it may fall.",
)
@click.option(
    "--injections",
    is_flag=True,
    help="Instead: can documents that we ship leave their place in a prompt?",
)
@click.option(
    "--answers",
    is_flag=True,
    help="Generate answers with CHAT_MODEL (this may cost); else they are quoted.",
)
def evaluate(
    services: Services,
    /,
    dataset: Path | None,
    *,
    as_json: bool,
    no_filters: bool,
    auto_scope: bool,
    intervals: bool,
    save_baseline: Path | None,
    baseline: Path | None,
    tolerance: float,
    injections: bool,
    answers: bool,
    **compared: Any,
) -> None:
    """Measure retrieval on DATASET: your own questions in a CSV file, or a folder in
    BEIR layout.

    The CSV has the columns question and expected_document (title, name, file name or
    id); page, answer (words that the passage must contain), answerable (yes or no),
    note and one for each filter field are optional. The questions are asked of the
    reports in the database. Quoted answers, which cost nothing, show whether the
    product abstains where it should. A BEIR folder (corpus.jsonl, queries.jsonl,
    qrels/test.tsv) is loaded into a throw-away database.

    The first configuration is what /query itself would retrieve, with 10 passages; the
    others follow.

    Example: python -m chatbot evaluate sample_data/questions.csv --weights .4,.6
    """
    if injections == (dataset is not None):
        raise click.UsageError("Name a DATASET, or --injections.")
    if no_filters and auto_scope:
        raise click.UsageError("--no-filters and --auto-scope exclude each other.")
    if dataset is None:
        _check_injections(as_json=as_json)
        return
    if answers and dataset.is_dir():
        raise click.UsageError(
            "--answers is for questions in a CSV file: only those tell what should "
            "not be answered."
        )
    settings = services.settings
    plan = comparison.configurations(settings, **compared)
    earlier = comparison.read_baseline(baseline) if baseline else None
    if settings.mlflow_tracking_uri:
        comparison.require_mlflow()
    with open_dataset(services, dataset) as (reports, data):
        scope_of = _scope_of(reports, no_filters=no_filters, auto_scope=auto_scope)
        # Quotations in place of the model's answers would measure something else.
        model = {"on_model_error": "error"}
        if not answers:
            model = {"chat_model": "extractive"}
        measured = [
            _measure(reports, data, name, {**changed, **model}, scope_of)
            for name, changed in plan.items()
        ]
        model_id = reports.runtime.embedder.model_id
    rows = [one.to_json(intervals=intervals) for one in measured]
    report = {"dataset": data.name, "configurations": rows}
    if save_baseline is not None:
        write_text(save_baseline, json.dumps(report, indent=2) + "\n")
    if as_json:
        print_json(report)
    else:
        _print_table(rows)
    _track(settings, report, model_id)
    if earlier is not None:
        _require_as_good(report, earlier, tolerance)


def _scope_of(
    reports: Services, *, no_filters: bool, auto_scope: bool
) -> runner.ScopeOf:
    """Return what gives the scope of a question."""
    if auto_scope:
        return partial(runner.with_auto_scope, reports.storage.documents)
    if no_filters:
        return lambda query: Scope()
    return runner.OWN_SCOPE


def _print_table(rows: Sequence[comparison.Report]) -> None:
    for line in comparison.table(rows):
        click.echo(line)
    times = ", ".join(
        f"{stage} {ms:g}" for stage, ms in rows[0]["ms"].items() if stage != "total"
    )
    click.echo(f"{rows[0]['name']}, median milliseconds: {times}", err=True)


def _track(settings: Settings, report: comparison.Report, model_id: str) -> None:
    """Store a run at the MLflow server, if there is one."""
    if not settings.mlflow_tracking_uri:
        return
    parameters = {name: getattr(settings, name) for name in LOGGED}
    comparison.track(
        settings.mlflow_tracking_uri.get_secret_value(),
        report,
        parameters={"embedder": model_id, **parameters},
    )


def _require_as_good(
    report: comparison.Report, earlier: comparison.Report, tolerance: float
) -> None:
    """Print what is worse than in an earlier report, and exit with 1 if anything is."""
    sentences = comparison.regressions(report, earlier, tolerance=tolerance)
    for sentence in sentences:
        click.secho(sentence, fg="red", err=True)
    if sentences:
        raise SystemExit(1)


def _check_injections(*, as_json: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        failed = runner.broken(Path(folder))
    count = len(runner.injection_cases("text"))
    if as_json:
        print_json({"cases": count, "held": count - len(failed), "broken": failed})
    else:
        click.echo(f"{count - len(failed)} of {count} cases held.")
        for name, problems in failed.items():
            click.secho(f"{name}: {'; '.join(problems)}", fg="red", err=True)
    if failed:
        raise SystemExit(1)


def _measure(
    reports: Services,
    data: Dataset,
    name: str,
    overrides: Mapping[str, Any],
    scope_of: runner.ScopeOf,
) -> runner.Measured:
    """Measure retrieval in one configuration; with questions about the reports,
    abstention too.
    """
    steps = len(data.answerable) + (0 if data.chunks else len(data.queries))
    # A cache of a local embedder would leave the first configuration alone with the
    # time of embedding.
    uncached = {"cache_seconds": 0.0} if reports.runtime.embedder.local else {}
    with build(reports.settings.override(**{**overrides, **uncached})) as services:
        settings = services.settings
        search = services.everything
        with progress_bar(name, steps) as bar:
            how = {
                "method": settings.retrieval_method,
                "scope_of": scope_of,
                "progress": bar.update,
            }
            measured = runner.measure_retrieval(data, name, search.retriever, **how)
            if not data.chunks:
                # As /query answers, without a conversation that stores it.
                answer = partial(
                    search.flow.answer, request=RequestContext(cache=False)
                )
                measured.abstained = runner.measure_abstention(
                    data, answer, top_k=settings.top_k, **how
                )
    return measured


@command()
@click.argument(
    "dataset", type=click.Path(exists=True, path_type=Path), default=QUESTIONS
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
@click.option("--dry-run", is_flag=True, help="Measure, but store nothing.")
@click.option(
    "--forget",
    is_flag=True,
    help="Delete what is stored for the model and use the shipped figures again.",
)
def calibrate(
    services: Services, dataset: Path, as_json: bool, dry_run: bool, forget: bool
) -> None:
    """Measure which scores mean something with the embedding model in use, and store
    the relevance floor.

    DATASET is what `evaluate` takes; without it, the questions about the sample
    reports. Needs no chat model. RELEVANCE_FLOOR=auto uses the stored floor at once, in
    all workers; THRESHOLD_START is only suggested.

    Example: python -m chatbot calibrate my_questions.csv
    """
    facts = services.storage.facts
    if forget:
        removed = facts.delete_calibration(services.runtime.embedder.model_id)
        click.echo(
            "The stored calibration is removed."
            if removed
            else "There is no stored calibration."
        )
        return
    scores, model_id = _collect_scores(services, dataset)
    calibration = scores.calibration(
        model_id, dataset=dataset.stem, date=datetime.now(UTC).date().isoformat()
    )
    before = facts.calibration(model_id) or SHIPPED.get(model_id)
    if not dry_run:
        facts.put_calibration(calibration)
    if as_json:
        print_json(asdict(calibration))
        return
    _print_tables(scores, calibration)
    earlier = (
        f"{before.floor:.2f} before ({before.origin}, {before.dataset})"
        if before
        else "none before"
    )
    click.echo(
        f"Relevance floor {calibration.floor:.2f}, {earlier}; "
        f"{'not stored' if dry_run else 'stored'}."
    )
    click.echo(f"Suggested: THRESHOLD_START={calibration.threshold:.2f}")


def _collect_scores(services: Services, dataset: Path) -> tuple[runner.Scores, str]:
    try:
        with (
            open_dataset(services, dataset) as (reports, data),
            progress_bar(
                "Asking", len(data.answerable) + len(runner.UNRELATED_QUESTIONS)
            ) as bar,
        ):
            return runner.collect_scores(
                reports, data, bar.update
            ), reports.runtime.embedder.model_id
    except LoadError as error:
        if dataset != QUESTIONS:
            raise
        raise LoadError(
            f"{error.message} These are questions about the sample reports, which "
            "the database does not have. Write "
            "some about yours and run: python -m chatbot calibrate my_questions.csv."
        ) from error


def _print_tables(scores: runner.Scores, calibration: Calibration) -> None:
    click.echo(f"Scores of {calibration.model_id}, percentiles")
    click.echo(" " * 34 + "".join(f"{percentile:>7}" for percentile in PERCENTILES))
    for kind, heading in KINDS.items():
        values = getattr(scores, kind)
        cells = (
            "".join(f"{value:7.3f}" for value in np.percentile(values, PERCENTILES))
            if values
            else "     none"
        )
        click.echo(f"{f'{heading} ({len(values)})':34}{cells}")
    click.echo("\nvalue   as floor: refused  accepted   as threshold: cut     kept")
    for rates in calibration.errors:
        chosen = {calibration.floor: " floor", calibration.threshold: " threshold"}.get(
            rates.value, ""
        )
        click.echo(
            f"{rates.value:5.2f}{rates.refused:>19.1%}{rates.accepted:>10.1%}{rates.cut:>20.1%}{rates.kept:>9.1%}{chosen}"
        )
    click.echo(
        "refused: questions with an answer; accepted: unrelated ones; cut: "
        "passages with the answer.\n"
    )


@contextmanager
def throw_away_database(services: Services) -> Iterator[Services]:
    """Yield services on an empty database in a temporary folder, everything else as
    configured.
    """
    with tempfile.TemporaryDirectory(prefix="report-chat-evaluate-") as folder:
        changed = {
            "data_dir": Path(folder),
            "mongodb_uri": None,
            "vector_search": "faiss",
            "sample_data": "off",
        }
        with build(services.settings.override(**changed)) as scratch:
            scratch.runtime.remember_embedder()
            yield scratch


@contextmanager
def open_dataset(services: Services, path: Path) -> Iterator[tuple[Services, Dataset]]:
    """Yield a data set and the services that its questions are asked of. A folder
    brings its own passages; a CSV file is about the reports in the database, or about
    the sample reports if an embedded database has none yet.
    """
    fields = services.settings.filter_fields
    if path.is_dir():
        data = read_dataset(path, fields)
        with throw_away_database(services) as scratch:
            label = (
                f"Embedding {len(data.chunks):,} passages with "
                f"{scratch.runtime.embedder.model_id}"
            )
            with progress_bar(label, len(data.chunks)) as bar:
                runner.load_chunks(
                    scratch.runtime.store,
                    scratch.runtime.embedder,
                    data.chunks,
                    bar.update,
                )
            register_reports(scratch.storage.documents, data.chunks)
            yield scratch, data
    elif services.storage.documents.all() or not services.storage.database.embedded:
        yield (
            services,
            read_questions(
                path, services.storage.documents, services.storage.scopes, fields
            ),
        )
    else:
        click.echo(
            (
                "There are no reports yet: the sample reports are loaded into a "
                "throw-away database."
            ),
            err=True,
        )
        with throw_away_database(services) as scratch:
            samples = scratch.ingesting.sample_reports()
            with progress_bar("Sample reports", len(samples.documents())) as bar:
                samples.load(lambda done, total: bar.update(done - bar.pos))
            yield (
                scratch,
                read_questions(
                    path, scratch.storage.documents, scratch.storage.scopes, fields
                ),
            )
