"""The command line with this extra alone."""

from tests.app.cli.conftest import environment, process_environment, run

__all__ = ("environment", "process_environment", "run")
