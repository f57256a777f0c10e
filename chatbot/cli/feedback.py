"""`feedback`: what people thought of answers, as a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..evaluation.dataset import COLUMNS, RATED, SEVERAL
from ..protocols import Catalog, Store
from ..repositories.feedback import Feedback
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
    table = list(_rows(storage.feedback.latest(), storage.documents, services.runtime.store, fields))
    text = csv_text(table, (*COLUMNS, *fields, *RATED))
    if path is None:
        click.echo(text, nl=False)
    else:
        write_text(path, text)
        click.echo(f"{len(table):,} answers were rated.", err=True)


def _rows(found: Iterable[Feedback], catalog: Catalog, store: Store, fields: Iterable[str]) -> Iterator[dict[str, Any]]:
    """A row for each. What was good says which reports answer the question; of the rest a person has to say it.

    Reports that are no longer there are left out; `evaluate` leaves out a row that expects none.
    """
    there, fields = {record.id for record in catalog.all()}, tuple(fields)
    for one in found:
        asked = one.asked
        documents = [chunk.document_id for chunk in store.get(asked.chunk_ids)]
        cited = [id for id in dict.fromkeys(documents) if id in there]
        is_good = one.rating == "up"
        yield {
            "question": " ".join(asked.question.split()),
            "expected_document": SEVERAL.join(cited) if is_good else "",
            "answerable": "no" if is_good and not asked.answered else "",
            **{field: SEVERAL.join(map(str, asked.values(field))) for field in fields},
            "rating": one.rating,
            "reason": one.reason,
            "comment": one.comment,
            "cited": SEVERAL.join(cited),
            "at": asked.at,
        }
