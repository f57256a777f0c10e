"""`python -m chatbot mcp`: the reports for agents, over stdin and stdout."""

from __future__ import annotations

import click

from ..errors import MissingPackageError
from ..services import Services


@click.command()
@click.pass_obj
def mcp(services: Services) -> None:
    """Serve agents over stdin and stdout (Model Context Protocol).

    Example: python -m chatbot mcp
    """
    try:
        from ..mcp.stdio import serve
    except ModuleNotFoundError as error:
        raise MissingPackageError(
            f"This needs the Python package {error.name!r}.", remedy="Run pip install -r requirements-mcp.txt."
        ) from error
    serve(services)
