"""`feedback`: export what people say of answers."""

from pathlib import Path

import click

from ...app.cli import Commands, write_text
from ...app.question_table import EXPECTATION_COLUMNS, RATING_COLUMNS, SEVERAL
from ...app.services import Services
from ...app.web.files import csv_text

feedback = Commands("feedback")


@feedback.command()
@click.option(
    "--to",
    "path",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write to this file.",
)
def export(services: Services, path: Path | None) -> None:
    """Print it as CSV, the newest first: question, scope, rating, reason, comment,
    reports cited.

    `evaluate` reads the file. For answers marked as good, the reports that they cite
    are the expected ones. For the others, fill in expected_document, or answerable =
    no, and they are measured too.

    Example: python -m chatbot feedback export --to feedback.csv
    """
    storage = services.storage
    fields = services.settings.filter_fields
    existing = {record.id for record in storage.documents.all()}
    table = []
    for rated in storage.feedback.latest():
        question = rated.asked
        is_good = rated.rating == "up"
        documents = dict.fromkeys(
            chunk.document_id
            for chunk in services.runtime.store.get(question.chunk_ids)
        )
        cited = SEVERAL.join(id for id in documents if id in existing)
        table.append(
            {
                "question": " ".join(question.question.split()),
                "expected_document": cited if is_good else "",
                "answerable": "no" if is_good and not question.answered else "",
                **{
                    field: SEVERAL.join(map(str, question.values(field)))
                    for field in fields
                },
                "rating": rated.rating,
                "reason": rated.reason,
                "comment": rated.comment,
                "cited": cited,
                "at": question.at,
            }
        )
    text = csv_text(table, (*EXPECTATION_COLUMNS, *fields, *RATING_COLUMNS))
    if path is None:
        click.echo(text, nl=False)
    else:
        write_text(path, text)
        click.echo(f"{len(table):,} answers were rated.", err=True)
