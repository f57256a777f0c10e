"""The commands of the engines' own tools."""

from pathlib import Path
from shlex import quote

from ...app.location import Location
from ...domain.errors import InvalidRequestError


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
