"""`python -m chatbot mcp`: the reports for agents, over stdin and stdout."""

from __future__ import annotations

import click

from ..services import Services


@click.command()
@click.pass_obj
def mcp(services: Services) -> None:
    """Serve agents over stdin and stdout (Model Context Protocol).

    Example: python -m chatbot mcp
    """
    from ..mcp.server import serve_stdio  # the SDK takes a second to import

    serve_stdio(services)
