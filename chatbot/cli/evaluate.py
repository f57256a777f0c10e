"""`evaluate`: retrieval quality on questions with known answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from ..errors import DependencyError
from ..evaluation.baseline import fallen, read_baseline
from ..evaluation.configurations import Compared, configurations
from ..evaluation.picture import picture as draw
from ..evaluation.runner import Ask, auto_scoped, with_filters, without_filters
from ..evaluation.table import stages, table
from ..evaluation.tracking import require_mlflow, track
from ..protocols import Catalog
from ..services import Services
from .measuring import Run
from .scratch import opened

T = TypeVar("T")
LOGGED = (
    "preset", "retrieval_method", "vector_weight", "top_k", "threshold_start", "threshold_floor", "relevance_floor",
    "language", "chunk_strategy", "chunk_size", "chunk_overlap",
)  # fmt: skip
"""The settings that a run in MLflow is filed under."""
FILE = click.Path(dir_okay=False, path_type=Path)


def several(kind: Callable[[str], T]) -> Callable[[click.Context, click.Parameter, str | None], tuple[T, ...]]:
    """For options that take a list: "vector,bm25"."""

    def parse(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[T, ...]:
        try:
            return tuple(kind(part.strip()) for part in (value or "").split(",") if part.strip())
        except ValueError as error:
            raise click.BadParameter(str(error), context, parameter) from error

    return parse


@click.command()
@click.argument("dataset", type=click.Path(exists=True, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@click.option("--no-filters", is_flag=True, help="Ignore the filters of the questions.")
@click.option("--auto-scope", is_flag=True, help="Take the scope from the names in a question, not from its filters.")
@click.option("--methods", callback=several(str), help="Retrieval methods to compare: vector,bm25,hybrid.")
@click.option("--weights", callback=several(float), help="Weights of the vectors in hybrid retrieval: .4,.5,.6.")
@click.option(
    "--chunkers", callback=several(str), help="Ways to cut the texts: sections,recursive. They are embedded anew."
)
@click.option("--presets", callback=several(str), help="Presets, with the reports cut as they are: adaptive,hybrid.")
@click.option("--intervals", is_flag=True, help="Show 95 % bootstrap intervals.")
@click.option("--picture", type=FILE, help="Draw the table: FILE.svg.")
@click.option("--save-baseline", type=FILE, help="Keep the figures in a file, to compare later runs with.")
@click.option("--baseline", type=FILE, help="Compare with such a file; exit status 1 when a figure fell.")
@click.option("--tolerance", type=click.FloatRange(0, 1), default=0.01, show_default=True, help="How far it may fall.")
@click.option("--answers", is_flag=True, help="Generate answers with CHAT_MODEL (this may cost); else they are quoted.")
@click.pass_obj
def evaluate(services: Services, /, dataset: Path, **options: Any) -> None:
    """Measure retrieval on DATASET: your own questions in a CSV file, or a folder in BEIR layout.

    The CSV has the columns question and expected_document (title, name, file name or id); page, answer (words that
    the passage must hold), answerable (yes or no), note and one for each filter field may follow. The questions are
    asked of the reports in the database; whether the product abstains where it should is measured with quoted
    answers, which cost nothing. A BEIR folder (corpus.jsonl, queries.jsonl, qrels/test.tsv) is loaded into a
    throw-away database.

    The first configuration is what /query itself would retrieve, with 10 passages; then come those to compare.

    Example: python -m chatbot evaluate sample_data/questions.csv --weights .4,.6 --picture quality.svg
    """
    settings = services.settings
    chosen = Options(**options)
    if chosen.answers and dataset.is_dir():
        raise click.UsageError("--answers is for questions in a CSV file: only those tell what should not be answered.")
    plan = configurations(settings, chosen.compared)
    baseline = read_baseline(chosen.baseline) if chosen.baseline else None
    if settings.mlflow_tracking_uri:
        require_mlflow()
    with opened(services, dataset) as (reports, data):
        run = Run(reports, data, ask=chosen.ask(reports.documents), answers=chosen.answers)
        measured = [run.measure(configuration) for configuration in plan]
    report = {"dataset": data.name, "configurations": [m.to_json(intervals=chosen.intervals) for m in measured]}
    drawn = draw(data.name, [m.to_json(intervals=True) for m in measured])
    for path, text in ((chosen.picture, drawn), (chosen.save_baseline, json.dumps(report, indent=2) + "\n")):
        if path is not None:
            _write(path, text)
    _print(report, as_json=chosen.as_json)
    if settings.mlflow_tracking_uri:
        parameters = {"embedder": run.model_id, **{name: getattr(settings, name) for name in LOGGED}}
        artefacts = {"report.json": json.dumps(report, indent=2), "report.svg": drawn}
        track(settings.mlflow_tracking_uri.get_secret_value(), report, parameters=parameters, artefacts=artefacts)
    sentences = fallen(report, baseline, tolerance=chosen.tolerance) if baseline is not None else []
    for sentence in sentences:
        click.secho(sentence, fg="red", err=True)
    if sentences:
        raise SystemExit(1)


@dataclass(frozen=True)
class Options:
    """The flags, by name."""

    as_json: bool
    no_filters: bool
    auto_scope: bool
    methods: tuple[str, ...]
    weights: tuple[float, ...]
    chunkers: tuple[str, ...]
    presets: tuple[str, ...]
    intervals: bool
    picture: Path | None
    save_baseline: Path | None
    baseline: Path | None
    tolerance: float
    answers: bool

    def __post_init__(self) -> None:
        if self.picture is not None and self.picture.suffix.lower() != ".svg":
            raise click.UsageError("--picture: the picture is an SVG; give the file a name that ends in .svg.")
        if self.no_filters and self.auto_scope:
            raise click.UsageError("--no-filters and --auto-scope exclude each other.")

    def ask(self, catalog: Catalog) -> Ask:
        if self.auto_scope:
            return auto_scoped(catalog)
        return without_filters if self.no_filters else with_filters

    @property
    def compared(self) -> Compared:
        return Compared(self.methods, self.weights, self.chunkers, self.presets)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise DependencyError(f"{path.name} cannot be written: {error.strerror}.") from error


def _print(report: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(report, indent=2))
        return
    rows = report["configurations"]
    for line in table(rows):
        click.echo(line)
    click.echo(stages(rows[0]), err=True)
