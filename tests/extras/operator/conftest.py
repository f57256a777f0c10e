"""The application and the command line with this extra alone."""

from tests.app.cli.conftest import environment, kenya_file, loaded, run
from tests.app.web.conftest import app, client, query, services

__all__ = (
    "app",
    "client",
    "environment",
    "kenya_file",
    "loaded",
    "query",
    "run",
    "services",
)
