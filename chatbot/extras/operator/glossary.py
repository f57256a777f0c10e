"""`glossary`: import, export and clear the terms of the library."""

from dataclasses import asdict
from pathlib import Path

import click

from ...app.cli import Commands
from ...app.services import Services
from ...app.services.preparing import prepare_database
from ...app.web.files import csv_text
from ...domain.figures import SAMPLE_GLOSSARY
from ...language.groups import SEPARATOR
from ...library.derived import COLUMNS, LANGUAGE_COLUMNS, read_glossary

glossary = Commands("glossary")


@glossary.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--replace", is_flag=True, help="Remove the terms that were imported before."
)
def import_terms(services: Services, file: Path, replace: bool) -> None:
    """Add the terms of a CSV table with the columns term, meaning, other_words, heading
    and label, and a column for each other language (es, fr, pt, ar, ...).

    Words are separated by |. Heading and label are those of the figures that a
    term stands for, as the reports write them. A term with the same heading and label
    is replaced.

    Example: python -m chatbot glossary import terms.csv
    """
    entries = read_glossary(file)
    prepare_database(services.storage)
    services.storage.glossary.put("", entries, replace_all=replace)
    services.storage.audit.record("glossary import", file.name)
    click.echo(f"{len(entries)} terms imported.")


@glossary.command("export")
def export_terms(services: Services) -> None:
    """Print all terms as a CSV table, which `glossary import` reads.

    Example: python -m chatbot glossary export > terms.csv"""
    rows = []
    for row in map(asdict, services.storage.glossary.entries()):
        words = {"other_words": row["other_words"], **row["translations"]}
        cells = {name: f" {SEPARATOR} ".join(said) for name, said in words.items()}
        rows.append({**row, **cells})
    table = csv_text(rows, COLUMNS + LANGUAGE_COLUMNS)
    click.echo(table.replace("\r\n", "\n"), nl=False)


@glossary.command("clear")
def clear_terms(services: Services) -> None:
    """Remove all terms. Those of the sample reports do not come back at the next start.

    Example: python -m chatbot glossary clear"""
    services.storage.facts.dismiss_sample(SAMPLE_GLOSSARY)
    count = services.storage.glossary.clear()
    services.storage.audit.record("glossary clear", str(count))
    services.storage.database.empty_log()
    click.echo(f"{count} terms removed.")
