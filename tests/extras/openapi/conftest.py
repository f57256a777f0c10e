"""The application, whose extras a file names."""

from tests.app.web.conftest import app, client, services

__all__ = ("app", "client", "services")
