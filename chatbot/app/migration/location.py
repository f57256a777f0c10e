"""A database that is named on the command line."""

import re
from dataclasses import dataclass
from pathlib import Path

from ...config.settings import Settings
from ...database import EMBEDDED_FILE, open_database, open_file
from ...database.core import Database
from ...domain.errors import InvalidRequestError

SQLITE_SUFFIXES = {".sqlite", ".sqlite3", ".db"}
_MONGODB = re.compile(
    r"(?P<scheme>mongodb(\+srv)?)://([^@/]*@)?(?P<hosts>[^/?]+)(/(?P<db>[^?]*))?"
)


@dataclass(frozen=True, slots=True)
class Location:
    """A database named by a URI. ``name`` identifies it without the password."""

    name: str
    uri: str = ""
    mongodb_db: str = ""
    file: Path | None = None

    @classmethod
    def parse(cls, uri: str, settings: Settings) -> "Location":
        """Read `mongodb://...[/db]`, `mongodb+srv://...`, or a data folder or SQLite
        file, with or without `sqlite:`. Raises InvalidRequestError: the URI has another
        form.
        """
        if match := _MONGODB.match(uri):
            db = match["db"] or settings.mongodb_db
            return cls(f"{match['scheme']}://{match['hosts']}/{db}", uri, db)
        scheme, separator, rest = uri.partition(":")
        path = rest.removeprefix("//") if separator and scheme == "sqlite" else uri
        if not path or (path is uri and "://" in uri):
            raise InvalidRequestError(
                "A database is mongodb://HOST[/DB], mongodb+srv://HOST[/DB], or a "
                "data folder or .sqlite file."
            )
        file = Path(path).expanduser()
        if file.suffix not in SQLITE_SUFFIXES and not file.is_file():
            file /= EMBEDDED_FILE
        return cls(f"sqlite:{file.resolve()}", file=file)

    @property
    def exists(self) -> bool:
        """False for a file that opening would create. A server is not asked."""
        return self.file is None or self.file.is_file()

    def open(self, settings: Settings) -> Database:
        """Open the database. Raises SettingsError, DatabaseError."""
        if self.file is not None:
            return open_file(self.file)
        return open_database(
            settings.override(mongodb_uri=self.uri, mongodb_db=self.mongodb_db)
        )
