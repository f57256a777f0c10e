"""`feedback`: what people thought of answers, as a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..evaluation.feedback import columns, rows
from ..serialization import csv_text
from .datasets import write_text

if TYPE_CHECKING:
    from ..services import Services


@click.group()
def feedback() -> None:
    """What people thought of answers: export."""


@feedback.command()
@click.option("--to", "path", type=click.Path(dir_okay=False, path_type=Path), help="Write a file, not to the output.")
@click.pass_obj
def export(services: Services, path: Path | None) -> None:
    """Write it as CSV, the newest first: question, scope, rating, reason, comment, reports cited.

    `evaluate` reads the file: of each answer that somebody found good, the reports that it cited are those expected.
    Of the others fill in expected_document, or answerable = no, and they are measured, too.

    Example: python -m chatbot feedback export --to feedback.csv
    """
    storage, fields = services.storage, services.settings.filter_fields
    table = list(rows(storage.feedback.latest(), storage.documents, services.vectors.store, fields))
    text = csv_text(table, columns(fields))
    if path is None:
        click.echo(text, nl=False)
    else:
        write_text(path, text)
        click.echo(f"{len(table):,} answers were rated.", err=True)
