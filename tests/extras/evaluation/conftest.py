"""Commands as a user types them, with this extra alone."""

from tests.app.cli.conftest import environment, kenya_file, loaded, run

__all__ = ("environment", "kenya_file", "loaded", "run")
