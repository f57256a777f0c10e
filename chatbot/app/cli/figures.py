"""`figures`: compute over the figures of the reports."""

import json
import shlex
from typing import Any

import click

from ...checking.tables import markdown_table
from ...domain.callers import ANYBODY
from ...domain.errors import InvalidRequestError
from ...domain.figure_query import FigureAnswer, FigureQuery
from ...domain.json import to_json
from ...domain.validation import parse
from ...language.words import in_english
from ..services import Services
from ..services.library import Library
from . import command

FLAGS = {"lowest", "percent", "negated"}
"""Fields of a step that stand for true without a value."""


def _step(text: str) -> dict[str, Any]:
    """Return a step as it is written: "rank lowest most=3", "convert unit='square
    miles'". Raises InvalidRequestError: a part is no field with its value.
    """
    name, *parts = shlex.split(text) or [""]
    fields: dict[str, Any] = {"op": name}
    for part in parts:
        field, sign, value = part.partition("=")
        if not sign and field in FLAGS:
            fields[field] = True
        elif sign:
            fields[field] = value
        else:
            message = f"{part!r} is no field with its value: most=3."
            raise InvalidRequestError.for_field("step", message)
    return fields


@command()
@click.argument("indicators", nargs=-1, required=True)
@click.option(
    "--subject", multiple=True, help="Country, group or row; repeat for several."
)
@click.option("--year", type=int, multiple=True, help="Year of the figures.")
@click.option("--edition", type=int, multiple=True, help="Year of the report.")
@click.option(
    "--step",
    multiple=True,
    help=(
        "What to do with the figures, in this order: convert unit=..., difference, "
        "ratio, change percent, share_of, mean, sum, min, max, rank lowest most=3, "
        "filter compare='>' value=20, count."
    ),
)
@click.option("--json", "as_json", is_flag=True, help="Print the table as JSON.")
def figures(
    services: Services,
    /,
    indicators: tuple[str, ...],
    subject: tuple[str, ...],
    year: tuple[int, ...],
    edition: tuple[int, ...],
    step: tuple[str, ...],
    as_json: bool,
) -> None:
    """Compute over the figures of the reports.

    INDICATORS are headings, their parts ("Median age: male") or terms of the glossary.

    Example: python -m chatbot figures Population --subject Kenya --subject Peru
    --step ratio
    """
    query = parse(
        FigureQuery,
        {
            "indicators": indicators,
            "subjects": subject,
            "years": year,
            "editions": edition,
            "steps": [_step(text) for text in step],
        },
    )
    library = Library(services, ANYBODY)
    scope = library.scopes.resolve({})
    answer = library.search.flow.tools.figures.answer(query, scope, in_english)
    if as_json:
        click.echo(json.dumps(to_json(answer), ensure_ascii=False, indent=2))
        return
    click.echo(f"{answer.text}\n\n{_table(answer)}\n")
    for citation in answer.citations:
        chunk = citation.chunk
        click.echo(f"[{citation.number}] {chunk.title}, {chunk.section}")


def _table(answer: FigureAnswer) -> str:
    head = [""]
    for column in answer.table.columns:
        head.append(f"{column.indicator} {column.year or ''}".strip())
    rows = []
    for row in answer.table.rows:
        cells = [cell.text if cell else "" for cell in row.cells]
        rows.append([row.subject, *cells])
    return markdown_table(head, rows)
