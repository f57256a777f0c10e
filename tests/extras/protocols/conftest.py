"""The application with this extra alone."""

from tests.app.web.conftest import app, client, services

__all__ = ("app", "client", "services")
