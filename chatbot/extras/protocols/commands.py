"""Serve agents that start this program."""

from ...app.cli import command
from ...app.services import Services


@command()
def mcp(services: Services) -> None:
    """Serve agents over stdin and stdout (Model Context Protocol).

    Example: python -m chatbot mcp"""
    from .toolbox import serve_stdio  # the SDK takes a second to import

    serve_stdio(services)
