"""`evaluate`: retrieval quality on a data set with known answers."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from ..evaluation.dataset import read_dataset
from ..evaluation.runner import Configuration, load_chunks
from ..evaluation.runner import evaluate as evaluate_one
from ..retrieval import RETRIEVAL_METHODS
from ..services import Services


@click.command()
@click.argument("dataset", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@click.option("--no-filters", is_flag=True, help="Ignore the filters of the questions.")
@click.pass_obj
def evaluate(services: Services, dataset: Path, as_json: bool, no_filters: bool) -> None:
    """Measure retrieval on DATASET, a folder in BEIR layout.

    Configuration 0 is what /query itself would retrieve, with 10 passages; then come the alternatives.

    Example: python -m chatbot evaluate ../shared/data/bench/factbook_scoped_dev
    """
    data = read_dataset(dataset, services.settings.filter_fields)
    results: list[dict[str, Any]] = []
    with _throw_away(services) as scratch:
        with click.progressbar(length=len(data.chunks), label="Embedding", file=sys.stderr) as bar:
            load_chunks(scratch.store, scratch.embedder, data.chunks, bar.update)
        for configuration in _configurations(scratch):
            with click.progressbar(length=len(data.queries), label=configuration.name, file=sys.stderr) as bar:
                results.append(evaluate_one(data, configuration, filters=not no_filters, progress=bar.update))
    if as_json:
        click.echo(json.dumps({"dataset": data.name, "configurations": results}, indent=2))
    else:
        _print_table(results)


@contextmanager
def _throw_away(services: Services) -> Iterator[Services]:
    """Services on an empty database in a temporary folder, everything else as configured."""
    with tempfile.TemporaryDirectory(prefix="report-chat-evaluate-") as folder:
        settings = services.settings.override(
            data_dir=Path(folder), mongodb_uri=None, vector_search="faiss", sample_data="off"
        )
        with Services(settings) as scratch:
            scratch.remember_embedder()
            yield scratch


def _configurations(services: Services) -> list[Configuration]:
    own = services.settings.retrieval_method
    others = [name for name in RETRIEVAL_METHODS.names() if name != own]
    return [
        Configuration(f"{name} (as configured)" if name == own else name, name, services.retriever)
        for name in (own, *others)
    ]


def _print_table(results: list[dict[str, Any]]) -> None:
    columns = [name for name in results[0] if name not in {"name", "ms"}]
    click.echo(f"{'configuration':28}" + "".join(f"{column:>12}" for column in columns) + f"{'ms':>10}")
    for result in results:
        values = "".join(f"{result[column]:>12}" for column in columns)
        click.echo(f"{result['name']:28}{values}{result['ms']['total']:>10}")
