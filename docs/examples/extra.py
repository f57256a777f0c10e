"""An extra of an installed package: an address and a command that count the reports.
See docs/extending.md.
"""

import click

from chatbot.app.cli import command
from chatbot.app.services import Services
from chatbot.app.web.access import library
from chatbot.app.web.routes import Views, answer_type
from chatbot.database.core import Json
from chatbot.extras import Extra

views = Views("acme", __name__)


def build() -> Extra:
    return Extra(
        name="acme",
        blueprints=("acme:views",),
        commands={"count": ("acme:count", "Print how many reports there are.")},
    )


@views.get("/api/count", need="read", returns=answer_type("Count", reports=int))
def get_count() -> Json:
    """Count the reports that the caller may see."""
    return {"reports": len(library().reader.documents.all())}


@command()
def count(services: Services) -> None:
    """Print how many reports there are.

    Example: python -m chatbot count
    """
    click.echo(len(services.storage.documents.all()))
