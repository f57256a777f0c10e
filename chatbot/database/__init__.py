"""PyMongo's API over MongoDB and over one embedded SQLite file. The only package that
imports either driver.
"""

from pathlib import Path
from typing import Protocol

from pydantic import SecretStr

from .core import Database

EMBEDDED_FILE = "report-chat.sqlite"


class DatabaseSettings(Protocol):
    """What this room needs of the settings. ``mongodb_timeout``: seconds of one call;
    ``threads``: those that use the database at the same time.
    """

    @property
    def mongodb_uri(self) -> SecretStr | None: ...

    @property
    def mongodb_db(self) -> str: ...

    @property
    def mongodb_timeout(self) -> float: ...

    @property
    def threads(self) -> int: ...

    @property
    def data_dir(self) -> Path: ...


def open_database(settings: DatabaseSettings) -> Database:
    """Return MongoDB where MONGODB_URI is set, else the embedded file in DATA_DIR. Does
    not connect yet.
    """
    if settings.mongodb_uri is None:
        return open_file(settings.data_dir / EMBEDDED_FILE)
    from .mongo import MongoDatabase

    return MongoDatabase.connect(
        settings.mongodb_uri.get_secret_value(),
        settings.mongodb_db,
        seconds=settings.mongodb_timeout,
        threads=settings.threads,
    )


def open_file(path: Path) -> Database:
    from .embedded import EmbeddedDatabase

    return EmbeddedDatabase(path)
