"""`calibrate`: what the scores of the embedding model mean on these reports."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np

from ..errors import LoadError
from ..evaluation.scores import ScoreCollector, Scores, unrelated_questions
from ..repositories.corpus import CalibrationRepository
from ..retrieval.ranking import calibration_of
from ..schema.documents import Calibration
from ..shipped import SAMPLE_DATA
from . import print_json, progress_bar
from .datasets import open_dataset

if TYPE_CHECKING:
    from ..services import Services

QUESTIONS = SAMPLE_DATA / "questions.csv"
PERCENTILES = (0, 5, 25, 50, 75, 95, 100)
KINDS = {
    "answerable": "best hit, answerable",
    "unrelated": "best hit, unrelated",
    "relevant": "passage with the answer",
    "irrelevant": "passage of another report",
}


@click.command()
@click.argument("dataset", type=click.Path(exists=True, path_type=Path), default=QUESTIONS)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
@click.option("--dry-run", is_flag=True, help="Measure, but store nothing.")
@click.option("--forget", is_flag=True, help="Remove what is stored for the model: back to the shipped figures.")
@click.pass_obj
def calibrate(services: Services, dataset: Path, as_json: bool, dry_run: bool, forget: bool) -> None:
    """Measure which scores mean something with the embedding model in use, and store the relevance floor.

    DATASET is what `evaluate` takes; without it, the questions about the sample reports. Needs no chat model.
    RELEVANCE_FLOOR=auto uses the stored floor at once, in all workers; THRESHOLD_START is only suggested.

    Example: python -m chatbot calibrate my_questions.csv
    """
    repository = CalibrationRepository(services.storage.database)
    if forget:
        removed = repository.delete(services.runtime.embedder.model_id)
        click.echo("The stored calibration is removed." if removed else "There is no stored calibration.")
        return
    scores, model_id = _measure(services, dataset)
    calibration = scores.calibration(model_id, dataset=dataset.stem, date=datetime.now(UTC).date().isoformat())
    before = calibration_of(model_id, repository.get(model_id))
    if not dry_run:
        repository.put(calibration)
    if as_json:
        print_json(asdict(calibration))
    else:
        _print(scores, calibration, before, stored=not dry_run)


def _measure(services: Services, dataset: Path) -> tuple[Scores, str]:
    try:
        with open_dataset(services, dataset) as (reports, data):
            collector = ScoreCollector(
                retriever=reports.runtime.retriever,
                store=reports.runtime.store,
                embedder=reports.runtime.embedder,
                reports={chunk.document_id: chunk.metadata for chunk in data.chunks}
                or {record.id: record.metadata for record in reports.storage.documents.all()},
                method=reports.settings.retrieval_method,
                top_k=reports.settings.top_k,
            )
            length = len(data.answerable) + len(unrelated_questions())
            with progress_bar("Asking", length) as bar:
                return collector.collect(data, bar.update), reports.runtime.embedder.model_id
    except LoadError as error:
        if dataset != QUESTIONS:
            raise
        raise LoadError(
            f"{error.message} These are questions about the sample reports, which the database does not have; write "
            "some about yours and run: python -m chatbot calibrate my_questions.csv."
        ) from error


def _print(scores: Scores, calibration: Calibration, before: Calibration | None, *, stored: bool) -> None:
    click.echo(f"Scores of {calibration.model_id}, percentiles")
    click.echo(" " * 34 + "".join(f"{percentile:>7}" for percentile in PERCENTILES))
    for kind, heading in KINDS.items():
        values = getattr(scores, kind)
        shown = "".join(f"{value:7.3f}" for value in np.percentile(values, PERCENTILES)) if values else "     none"
        click.echo(f"{f'{heading} ({len(values)})':34}{shown}")
    click.echo("\nvalue   as floor: refused  accepted   as threshold: cut     kept")
    for rates in calibration.errors:
        chosen = {calibration.floor: " floor", calibration.threshold: " threshold"}.get(rates.value, "")
        click.echo(
            f"{rates.value:5.2f}{rates.refused:>19.1%}{rates.accepted:>10.1%}{rates.cut:>20.1%}{rates.kept:>9.1%}{chosen}"
        )
    click.echo("refused: questions with an answer; accepted: unrelated ones; cut: passages with the answer.\n")
    known = f"{before.floor:.2f} before ({before.origin}, {before.dataset})" if before else "none before"
    click.echo(f"Relevance floor {calibration.floor:.2f}, {known}; {'stored' if stored else 'not stored'}.")
    click.echo(f"Suggested: THRESHOLD_START={calibration.threshold:.2f}")
