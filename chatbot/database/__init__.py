"""One API, PyMongo's, over MongoDB and one embedded SQLite file. The only package that imports either driver.

Here: where a database is, and opening it: the one of the settings, and those that `copy` is told by a URI.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from ..errors import InvalidRequestError
from ..settings import Settings
from .core import Database

EMBEDDED_FILE = "report-chat.sqlite"
SQLITE_SUFFIXES = {".sqlite", ".sqlite3", ".db"}
_MONGODB = re.compile(r"(?P<scheme>mongodb(\+srv)?)://([^@/]*@)?(?P<hosts>[^/?]+)(/(?P<db>[^?]*))?")


def open_database(settings: Settings) -> Database:
    """MongoDB where MONGODB_URI is set, else the embedded file in DATA_DIR. Opens no connection to a server yet."""
    if settings.mongodb_uri is None:
        return _open_file(settings.data_dir / EMBEDDED_FILE)
    from .mongo import MongoBackend

    return Database(MongoBackend.from_settings(settings))


def _open_file(path: Path) -> Database:
    from .embedded import EmbeddedBackend

    return Database(EmbeddedBackend(path))


@dataclass(frozen=True, slots=True)
class Location:
    """A database named by a URI. ``name`` tells it from others and shows no password."""

    name: str
    uri: str = ""
    mongodb_db: str = ""
    file: Path | None = None

    @classmethod
    def parse(cls, uri: str, settings: Settings) -> Location:
        """`mongodb://...[/db]`, `mongodb+srv://...`, or a data folder or SQLite file with or without `sqlite:`.

        Raises:
            InvalidRequestError: something else.
        """
        if found := _MONGODB.match(uri):
            db = found["db"] or settings.mongodb_db
            return cls(f"{found['scheme']}://{found['hosts']}/{db}", uri, db)
        scheme, separator, rest = uri.partition(":")
        path = rest.removeprefix("//") if separator and scheme == "sqlite" else uri
        if not path or (path is uri and "://" in uri):
            raise InvalidRequestError(
                "A database is mongodb://HOST[/DB], mongodb+srv://HOST[/DB], or a data folder or .sqlite file."
            )
        file = Path(path).expanduser()
        if file.suffix not in SQLITE_SUFFIXES and not file.is_file():
            file /= EMBEDDED_FILE
        return cls(f"sqlite:{file.resolve()}", file=file)

    @property
    def exists(self) -> bool:
        """False for a file that opening would create; a server is not asked."""
        return self.file is None or self.file.is_file()

    def open(self, settings: Settings) -> Database:
        """Connect to it. Raises SettingsError, DatabaseError."""
        if self.file is not None:
            return _open_file(self.file)
        return open_database(settings.override(mongodb_uri=self.uri, mongodb_db=self.mongodb_db))
