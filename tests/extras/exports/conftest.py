"""The application with this extra alone."""

from tests.app.web.conftest import app, client, query, services

__all__ = ("app", "client", "query", "services")
