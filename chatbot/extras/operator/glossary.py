"""`glossary`: import, export and clear the terms of the library."""

from dataclasses import asdict, replace
from pathlib import Path

import click

from ...app.cli import Commands
from ...app.services import Services
from ...app.services.preparing import prepare_database
from ...app.web.files import csv_text
from ...domain.figures import DEFAULT_GLOSSARY
from ...language.groups import SEPARATOR
from ...library.derived import COLUMNS, LANGUAGE_COLUMNS, SOURCE, read_glossary

glossary = Commands("glossary")


@glossary.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--replace",
    "replace_all",
    is_flag=True,
    help="Remove the terms that were imported before.",
)
def import_terms(services: Services, file: Path, replace_all: bool) -> None:
    """Add the terms of a CSV table with the columns term, meaning, other_words, heading
    and label, and a column for each other language (es, fr, pt, ar, ...).

    Words are separated by |. Heading and label are those of the figures that a
    term stands for, as the reports write them. A term with the same heading and label
    is replaced, and stands before one of the program.

    Example: python -m chatbot glossary import terms.csv
    """
    prepare_database(services.storage)
    shipped = {
        replace(entry, source="")
        for entry in services.storage.glossary.entries()
        if entry.source == DEFAULT_GLOSSARY
    }
    # An exported table has the shipped terms, too: those that were edited are imported.
    entries = [entry for entry in read_glossary(file) if entry not in shipped]
    services.storage.glossary.put("", entries, replace_all=replace_all)
    services.storage.audit.record("glossary import", file.name)
    click.echo(f"{len(entries)} terms imported.")


@glossary.command("export")
def export_terms(services: Services) -> None:
    """Print all terms that count as a CSV table, which `glossary import` reads. Source
    says where each comes from: "default" is the glossary of the program, the id of a
    report its own list of terms, nothing an imported table.

    Example: python -m chatbot glossary export > terms.csv"""
    rows = []
    for row in map(asdict, services.readers.everything().glossary_entries()):
        words = {"other_words": row["other_words"], **row["translations"]}
        cells = {name: f" {SEPARATOR} ".join(said) for name, said in words.items()}
        rows.append({**row, **cells})
    table = csv_text(rows, COLUMNS + LANGUAGE_COLUMNS + (SOURCE,))
    click.echo(table.replace("\r\n", "\n"), nl=False)


@glossary.command("clear")
def clear_terms(services: Services) -> None:
    """Remove all terms, and use the program's own no more.

    Example: python -m chatbot glossary clear"""
    count = services.storage.glossary.clear()
    services.storage.audit.record("glossary clear", str(count))
    services.storage.database.empty_log()
    click.echo(f"{count} terms removed.")
