"""`evaluate`: retrieval quality on questions with known answers."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from ..evaluation.comparison import (
    Compared,
    Configuration,
    configurations,
    read_baseline,
    regressions,
    require_mlflow,
    stage_times,
    table,
    track,
)
from ..evaluation.dataset import Dataset
from ..evaluation.injections import broken
from ..evaluation.injections import injections as cases_of
from ..evaluation.runner import (
    Answering,
    Ask,
    Measured,
    measure_abstention,
    measure_retrieval,
    with_auto_scope,
    with_filters,
    without_filters,
)
from ..protocols import Catalog
from ..request import RequestContext
from ..services import Services
from . import print_json, progress_bar
from .datasets import ingest_anew, open_dataset, throw_away_database, write_text

T = TypeVar("T")
LOGGED = (
    "preset", "retrieval_method", "vector_weight", "top_k", "threshold_start", "threshold_floor", "relevance_floor",
    "language", "chunk_strategy", "chunk_size", "chunk_overlap",
)  # fmt: skip
"""The settings that a run in MLflow is filed under."""
FILE = click.Path(dir_okay=False, path_type=Path)


def list_of(kind: Callable[[str], T]) -> Callable[[click.Context, click.Parameter, str | None], tuple[T, ...]]:
    """A click callback for options that take a list: "vector,bm25"."""

    def parse(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[T, ...]:
        try:
            return tuple(kind(part.strip()) for part in (value or "").split(",") if part.strip())
        except ValueError as error:
            raise click.BadParameter(str(error), context, parameter) from error

    return parse


@click.command()
@click.argument("dataset", type=click.Path(exists=True, path_type=Path), required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@click.option("--no-filters", is_flag=True, help="Ignore the filters of the questions.")
@click.option("--auto-scope", is_flag=True, help="Take the scope from the names in a question, not from its filters.")
@click.option("--methods", callback=list_of(str), help="Retrieval methods to compare: vector,bm25,hybrid.")
@click.option("--weights", callback=list_of(float), help="Weights of the vectors in hybrid retrieval: .4,.5,.6.")
@click.option(
    "--chunkers", callback=list_of(str), help="Ways to cut the texts: sections,recursive. They are embedded anew."
)
@click.option("--presets", callback=list_of(str), help="Presets, with the reports cut as they are: adaptive,hybrid.")
@click.option("--intervals", is_flag=True, help="Show 95 % bootstrap intervals.")
@click.option("--save-baseline", type=FILE, help="Keep the figures in a file, to compare later runs with.")
@click.option("--baseline", type=FILE, help="Compare with such a file; exit status 1 when a figure fell.")
@click.option("--tolerance", type=click.FloatRange(0, 1), default=0.01, show_default=True, help="How far it may fall.")
@click.option("--injections", is_flag=True, help="Instead: can documents that we ship leave their place in a prompt?")
@click.option("--answers", is_flag=True, help="Generate answers with CHAT_MODEL (this may cost); else they are quoted.")
@click.pass_obj
def evaluate(services: Services, /, dataset: Path | None, *, injections: bool, **options: Any) -> None:
    """Measure retrieval on DATASET: your own questions in a CSV file, or a folder in BEIR layout.

    The CSV has the columns question and expected_document (title, name, file name or id); page, answer (words that
    the passage must hold), answerable (yes or no), note and one for each filter field may follow. The questions are
    asked of the reports in the database; whether the product abstains where it should is measured with quoted
    answers, which cost nothing. A BEIR folder (corpus.jsonl, queries.jsonl, qrels/test.tsv) is loaded into a
    throw-away database.

    The first configuration is what /query itself would retrieve, with 10 passages; then come those to compare.

    Example: python -m chatbot evaluate sample_data/questions.csv --weights .4,.6
    """
    if injections == (dataset is not None):
        raise click.UsageError("Name a DATASET, or --injections.")
    if dataset is None:
        _try_injections(as_json=options["as_json"])
        return
    settings = services.settings
    chosen = EvaluateOptions(**options)
    if chosen.answers and dataset.is_dir():
        raise click.UsageError("--answers is for questions in a CSV file: only those tell what should not be answered.")
    plan = configurations(settings, chosen.compared)
    baseline = read_baseline(chosen.baseline) if chosen.baseline else None
    if settings.mlflow_tracking_uri:
        require_mlflow()
    with open_dataset(services, dataset) as (reports, data):
        measuring = Measuring(reports, data, ask=chosen.ask(reports.storage.documents), answers=chosen.answers)
        measured = [measuring.measure(configuration) for configuration in plan]
    report = {"dataset": data.name, "configurations": [m.to_json(intervals=chosen.intervals) for m in measured]}
    if chosen.save_baseline is not None:
        write_text(chosen.save_baseline, json.dumps(report, indent=2) + "\n")
    _print(report, as_json=chosen.as_json)
    if settings.mlflow_tracking_uri:
        parameters = {"embedder": measuring.model_id, **{name: getattr(settings, name) for name in LOGGED}}
        artefacts = {"report.json": json.dumps(report, indent=2)}
        track(settings.mlflow_tracking_uri.get_secret_value(), report, parameters=parameters, artefacts=artefacts)
    if baseline is not None and (sentences := regressions(report, baseline, tolerance=chosen.tolerance)):
        for sentence in sentences:
            click.secho(sentence, fg="red", err=True)
        raise SystemExit(1)


def _try_injections(*, as_json: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        failed = broken(Path(folder))
    count = len(cases_of("text"))
    if as_json:
        print_json({"cases": count, "held": count - len(failed), "broken": failed})
    else:
        click.echo(f"{count - len(failed)} of {count} cases held.")
        for name, problems in failed.items():
            click.secho(f"{name}: {'; '.join(problems)}", fg="red", err=True)
    if failed:
        raise SystemExit(1)


@dataclass(frozen=True)
class EvaluateOptions:
    """The flags, by name."""

    as_json: bool
    no_filters: bool
    auto_scope: bool
    methods: tuple[str, ...]
    weights: tuple[float, ...]
    chunkers: tuple[str, ...]
    presets: tuple[str, ...]
    intervals: bool
    save_baseline: Path | None
    baseline: Path | None
    tolerance: float
    answers: bool

    def __post_init__(self) -> None:
        if self.no_filters and self.auto_scope:
            raise click.UsageError("--no-filters and --auto-scope exclude each other.")

    def ask(self, catalog: Catalog) -> Ask:
        """How a question of the data set becomes one with a scope."""
        if self.auto_scope:
            return with_auto_scope(catalog)
        return without_filters if self.no_filters else with_filters

    @property
    def compared(self) -> Compared:
        """What is measured beside the configuration in use."""
        return Compared(self.methods, self.weights, self.chunkers, self.presets)


class Measuring:
    """One data set, asked in one configuration after the other."""

    def __init__(self, reports: Services, data: Dataset, *, ask: Ask, answers: bool) -> None:
        self._reports = reports
        self._data = data
        self._ask = ask
        self._answers = answers
        embedder = reports.runtime.embedder
        self.model_id, self._local = embedder.model_id, embedder.local

    def measure(self, configuration: Configuration) -> Measured:
        """Retrieval, and for own questions abstention too, in this configuration."""
        steps = len(self._data.answerable) + (0 if self._data.chunks else len(self._data.queries))
        with self._services(configuration) as services, progress_bar(configuration.name, steps) as bar:
            settings = services.settings
            measured = measure_retrieval(
                self._data,
                configuration.name,
                services.runtime.retriever,
                method=settings.retrieval_method,
                ask=self._ask,
                progress=bar.update,
            )
            if not self._data.chunks:
                measured.abstained = measure_abstention(
                    self._data,
                    _answering(services),
                    method=settings.retrieval_method,
                    top_k=settings.top_k,
                    ask=self._ask,
                    progress=bar.update,
                )
        return measured

    @contextmanager
    def _services(self, configuration: Configuration) -> Iterator[Services]:
        overrides = dict(configuration.overrides)
        if not self._answers:
            overrides["chat_model"] = "extractive"
        if self._local:
            overrides["cache_seconds"] = 0.0  # else only the first configuration would take its time to embed
        if configuration.cuts_anew:
            with throw_away_database(self._reports, **overrides) as scratch:
                ingest_anew(self._reports, scratch, self._data)
                yield scratch
        else:
            with Services(self._reports.settings.override(**overrides)) as services:
                yield services


def _answering(services: Services) -> Answering:
    """What /query does with a question, without a conversation that keeps it."""
    return lambda question, cancel: services.answering.understanding.run(
        services.runtime.agent(question.mode), question, request=RequestContext(cancel)
    )


def _print(report: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(report)
        return
    rows = report["configurations"]
    for line in table(rows):
        click.echo(line)
    click.echo(stage_times(rows[0]), err=True)
