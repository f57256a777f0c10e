"""PyMongo's API over MongoDB and over one embedded SQLite file. The only package that
imports either driver.
"""

from pathlib import Path

from ..config.settings import Settings
from .core import Database

EMBEDDED_FILE = "report-chat.sqlite"


def open_database(settings: Settings) -> Database:
    """Return MongoDB where MONGODB_URI is set, else the embedded file in DATA_DIR. Does
    not connect yet.
    """
    if settings.mongodb_uri is None:
        return open_file(settings.data_dir / EMBEDDED_FILE)
    from .mongo import MongoDatabase

    return MongoDatabase.from_settings(settings)


def open_file(path: Path) -> Database:
    from .embedded import EmbeddedDatabase

    return EmbeddedDatabase(path)
