"""`groups`: import, export and clear groups of countries."""

from dataclasses import asdict
from pathlib import Path

import click

from ...app.cli import Commands
from ...app.services import Services
from ...app.services.preparing import prepare_database
from ...app.web.files import csv_text
from ...domain.errors import InvalidRequestError
from ...domain.scope import CountryGroup
from ...language.countries import country_code
from ...language.groups import COLUMNS, SEPARATOR, split_words
from ...library.derived import rows_of_table

groups = Commands("groups")
NEEDED = ("name", "members")


@groups.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--replace", is_flag=True, help="Remove the groups that were imported before."
)
def import_groups(services: Services, file: Path, replace: bool) -> None:
    """Add the groups of a CSV table with the columns name, other_words, adjectives,
    members, source and date.

    Members are countries by ISO-3 code, separated by spaces. Words are separated by |.
    Adjectives mean the group beside a word for countries only ("African countries"). A
    group with the name of another one takes its place.

    Example: python -m chatbot groups import groups.csv
    """
    read = read_groups(file)
    prepare_database(services.storage)
    services.storage.groups.put(read, replace_all=replace)
    services.storage.audit.record("groups import", file.name)
    click.echo(f"{len(read)} groups imported.")


@groups.command("export")
def export_groups(services: Services) -> None:
    """Print all groups as a CSV table, which `groups import` reads: those that were
    imported, and those that come with the program.

    Example: python -m chatbot groups export > groups.csv"""
    separator = f" {SEPARATOR} "
    rows = []
    for group in services.storage.groups.groups():
        words = {
            "other_words": separator.join(group.other_words),
            "adjectives": separator.join(group.adjectives),
            "members": " ".join(group.members),
        }
        rows.append(asdict(group) | words)
    table = csv_text(rows, COLUMNS)
    click.echo(table.replace("\r\n", "\n"), nl=False)


@groups.command("clear")
def clear_groups(services: Services) -> None:
    """Remove the groups that were imported. Those of the program stay.

    Example: python -m chatbot groups clear"""
    count = services.storage.groups.clear()
    services.storage.audit.record("groups clear", str(count))
    services.storage.database.empty_log()
    click.echo(f"{count} groups removed.")


def read_groups(path: Path) -> list[CountryGroup]:
    """Return the groups of a CSV table with the columns COLUMNS; only NEEDED are
    required. Raises as `rows_of_table` does, and InvalidRequestError: a member is no
    country, or a name is there twice.
    """
    groups_read: dict[str, CountryGroup] = {}
    for line, row in rows_of_table(path, COLUMNS, NEEDED):
        members = tuple(dict.fromkeys(row["members"].upper().split()))
        wrong = [code for code in members if country_code(code) != code]
        problem = ""
        if wrong:
            problem = f"members: {wrong[0]!r} is no ISO-3 code of a country."
        elif row["name"].casefold() in groups_read:
            problem = f"name: {row['name']!r} is there twice."
        if problem:
            raise InvalidRequestError(f"{path.name}, row {line}, column {problem}")
        groups_read[row["name"].casefold()] = CountryGroup(
            row["name"],
            members,
            split_words(row["other_words"]),
            split_words(row["adjectives"]),
            row["source"],
            row["date"],
        )
    return list(groups_read.values())
