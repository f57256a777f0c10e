"""Databases that are named on the command line."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..config.settings import Settings
from ..database import EMBEDDED_FILE, open_database, open_file
from ..database.core import Database
from ..domain.errors import InvalidRequestError

SQLITE_SUFFIXES = {".sqlite", ".sqlite3", ".db"}
_SERVER = re.compile(
    r"(?P<scheme>mongodb(?:\+srv)?|postgres(?:ql)?)://([^@/]*@)?(?P<hosts>[^/?]+)"
    r"(/(?P<db>[^?]*))?"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """A database named by a URI. ``name`` and ``server`` are without the password."""

    engine: Literal["MongoDB", "PostgreSQL", "SQLite"]
    name: str
    uri: str = ""
    server: str = ""
    """The URI without the database."""
    db: str = ""
    file: Path | None = None

    @classmethod
    def parse(cls, uri: str, settings: Settings) -> "Location":
        """Read `mongodb://...[/db]`, `mongodb+srv://...`, `postgresql://...`, or a data
        folder or SQLite file, with or without `sqlite:`. Raises InvalidRequestError:
        the URI has another form.
        """
        if match := _SERVER.match(uri):
            server = f"{match['scheme']}://{match['hosts']}"
            is_postgres = match["scheme"].startswith("postgres")
            db = match["db"] or ("" if is_postgres else settings.mongodb_db)
            return cls(
                engine="PostgreSQL" if is_postgres else "MongoDB",
                name=f"{server}/{db}",
                uri=uri,
                server=server,
                db=db,
            )
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
        file = file.resolve()
        return cls(engine="SQLite", name=f"sqlite:{file}", file=file)

    @property
    def exists(self) -> bool:
        """False for a file that opening would create. A server is not asked."""
        return self.file is None or self.file.is_file()

    def open(self, settings: Settings) -> Database:
        """Open the database. Raises SettingsError, DatabaseError; InvalidRequestError:
        it is PostgreSQL, which holds passages only.
        """
        if self.file is not None:
            return open_file(self.file)
        if self.engine == "PostgreSQL":
            raise InvalidRequestError(
                f"{self.name}: PostgreSQL holds passages only, no other collections. "
                "Name a MongoDB or a SQLite file."
            )
        return open_database(
            settings.override(mongodb_uri=self.uri, mongodb_db=self.db)
        )
