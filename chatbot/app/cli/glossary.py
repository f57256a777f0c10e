"""`glossary`: import, export, list and clear the terms of the library."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...domain.figures import SAMPLE_GLOSSARY
from ...library.glossary import COLUMNS, SEPARATOR, read_glossary
from ..web.files import csv_text

if TYPE_CHECKING:
    from ..services import Services


@click.group()
def glossary() -> None:
    """The terms of the library: import, export, list, clear."""


@glossary.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--replace", is_flag=True, help="Remove the terms that were imported before.")
@click.pass_obj
def import_terms(services: Services, file: Path, replace: bool) -> None:
    """Add the terms of a CSV table with the columns term, meaning, other_words, heading and label.

    Other words are separated by |. Heading and label are those of the figures that a term stands for, as the reports
    write them. A term with the same heading and label is replaced.

    Example: python -m chatbot glossary import terms.csv
    """
    entries = read_glossary(file)
    services.storage.prepare()
    services.storage.glossary.put("", entries, replace_all=replace)
    services.storage.audit.record("glossary import", file.name)
    click.echo(f"{len(entries)} terms imported.")


@glossary.command("export")
@click.pass_obj
def export_terms(services: Services) -> None:
    """Print all terms as a CSV table, which `glossary import` reads.

    Example: python -m chatbot glossary export > terms.csv
    """
    rows = map(asdict, services.storage.glossary.entries())
    table = csv_text(({**row, "other_words": f" {SEPARATOR} ".join(row["other_words"])} for row in rows), COLUMNS)
    click.echo(table.replace("\r\n", "\n"), nl=False)


@glossary.command("list")
@click.pass_obj
def list_terms(services: Services) -> None:
    """List the terms with their meanings.

    Example: python -m chatbot glossary list
    """
    entries = services.storage.glossary.entries()
    for entry in entries:
        click.echo(f"{entry.term}: {entry.meaning}")
    click.echo(f"{len(entries)} terms")


@glossary.command("clear")
@click.pass_obj
def clear_terms(services: Services) -> None:
    """Remove all terms. Those of the sample reports do not come back at the next start.

    Example: python -m chatbot glossary clear
    """
    services.storage.facts.dismiss_sample(SAMPLE_GLOSSARY)
    count = services.storage.glossary.clear()
    services.storage.audit.record("glossary clear", str(count))
    services.storage.database.empty_log()
    click.echo(f"{count} terms removed.")
