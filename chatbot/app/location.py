"""Databases that are named on the command line, and what copies one into another of its
kind.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
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


def vendor_command(source: Location, target: Location) -> str:
    """Return the command that copies a database into an empty one of the same engine.
    Of servers it lacks the user and the password: terminals keep what they show. Raises
    InvalidRequestError: the command would replace a file.
    """
    if source.file is not None and target.file is not None:
        return _sqlite_command(source.file, target.file)
    if source.engine == "PostgreSQL":
        return f"pg_dump {quote(source.name)} | psql {quote(target.name)}"
    dump = f"mongodump --uri={quote(source.name)} --archive"
    restore = f"mongorestore --uri={quote(target.server)} --archive"
    if source.db == target.db:
        return f"{dump} | {restore} --nsInclude={quote(f'{source.db}.*')}"
    return (
        f"{dump} | {restore} --nsFrom={quote(f'{source.db}.*')} "
        f"--nsTo={quote(f'{target.db}.*')}"
    )


def _sqlite_command(source: Path, target: Path) -> str:
    if target.exists():
        raise InvalidRequestError(
            f"Both are SQLite files, and {target} exists already: a copy would replace "
            "it. Name a new file or folder."
        )
    # SQLite's shell reads a text in double quotes as C does.
    escaped = str(target).replace("\\", "\\\\").replace('"', '\\"')
    backup = f'.backup "{escaped}"'
    command = f"sqlite3 {quote(str(source))} {quote(backup)}"
    if target.parent.is_dir():
        return command
    return f"mkdir -p {quote(str(target.parent))} && {command}"
