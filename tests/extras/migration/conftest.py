"""Commands as a user types them, with this extra alone."""

from pathlib import Path

from chatbot.app.location import Location
from chatbot.config.settings import Settings
from chatbot.database.core import Database
from tests.app.cli.conftest import (
    environment,
    kenya_file,
    loaded,
    process_environment,
    run,
)

__all__ = ("environment", "kenya_file", "loaded", "process_environment", "run")


def opened(place: str | Path) -> Database:
    settings = Settings.from_env({})
    return Location.parse(str(place), settings).open(settings)
