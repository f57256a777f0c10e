"""What PostgreSQL says when it refuses, and what that means for the person who has to mend it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg
from psycopg import errors

from ..errors import SearchEngineError

RETRY_AFTER = 5
"""Seconds: a server that restarts is back by then."""
_REFUSED = re.compile(
    r"authentication failed|no password supplied|no pg_hba\.conf entry|role .* (?:does not exist|is not permitted)",
    re.IGNORECASE,
)
_NO_DATABASE = re.compile(r"database .* does not exist", re.IGNORECASE)
_FULL = re.compile(r"too many (?:clients|connections)|remaining connection slots", re.IGNORECASE)


@contextmanager
def translated() -> Iterator[None]:
    """Turns the driver's errors into a SearchEngineError that says what to do, never with a secret."""
    try:
        yield
    except psycopg.Error as error:
        raise explain(error) from error


def explain(error: psycopg.Error) -> SearchEngineError:
    for kind, build in _RULES:
        if isinstance(error, kind):
            return build()
    if isinstance(error, psycopg.OperationalError):
        # What the server says before it lets anyone in carries no code, only this text.
        for pattern, build in _GREETINGS:
            if pattern.search(str(error)):
                return build()
        return _down()
    code = f", code {error.sqlstate}" if error.sqlstate else ""
    return SearchEngineError(f"PostgreSQL refused a command ({type(error).__name__}{code}).", reason="refused")


def busy() -> SearchEngineError:
    """The error for a process whose connections are all in use for longer than the time-out."""
    return SearchEngineError(
        "All connections of this process to PostgreSQL are in use.",
        remedy="Try again; if this stays, lower THREADS or give the server more to run on.",
        retry_after=2,
        reason="overloaded",
    )


def building() -> SearchEngineError:
    return SearchEngineError(
        "The PostgreSQL indexes are being built.",
        remedy="Try again when they are.",
        retry_after=RETRY_AFTER,
        reason="building",
    )


def old_extension(version: str) -> SearchEngineError:
    return SearchEngineError(
        f"The extension vector is version {version}; 0.8 or later is needed.",
        remedy="Install pgvector 0.8+ on the server, then run in the database: ALTER EXTENSION vector UPDATE",
        reason="extension_outdated",
    )


def no_extension() -> SearchEngineError:
    return SearchEngineError(
        "The extension vector (pgvector) is not there, and this user cannot create it.",
        remedy="Install pgvector 0.8+ on the server, then run in the database as a superuser: CREATE EXTENSION vector",
        reason="extension_missing",
    )


def _down() -> SearchEngineError:
    return SearchEngineError(
        "PostgreSQL does not answer.",
        remedy="Check that the server runs and POSTGRES_URI is right.",
        retry_after=RETRY_AFTER,
        reason="unreachable",
    )


def _auth_refused() -> SearchEngineError:
    return SearchEngineError(
        "PostgreSQL refused the user or password.",
        remedy="Check the credentials in POSTGRES_URI, and that pg_hba.conf lets this host in.",
        reason="auth_refused",
    )


def _no_database() -> SearchEngineError:
    return SearchEngineError(
        "PostgreSQL has no database of the name in POSTGRES_URI.",
        remedy="Create it (createdb NAME), or correct POSTGRES_URI.",
        reason="no_database",
    )


def _slow() -> SearchEngineError:
    return SearchEngineError(
        "PostgreSQL took longer than the time-out.",
        remedy="Try again; if this stays, raise MONGODB_TIMEOUT (it bounds this database too).",
        retry_after=RETRY_AFTER,
        reason="slow",
    )


def _full() -> SearchEngineError:
    return SearchEngineError(
        "PostgreSQL has no free connection.",
        remedy="Try again; if this stays, raise its max_connections or lower THREADS.",
        retry_after=RETRY_AFTER,
        reason="overloaded",
    )


def _no_rights() -> SearchEngineError:
    return SearchEngineError(
        "The PostgreSQL user lacks rights on the table or the schema.",
        remedy="Let the owner of the database start the app once, or grant this user CREATE on the schema.",
        reason="no_rights",
    )


def _no_table() -> SearchEngineError:
    return SearchEngineError(
        "The table of passages or one of its columns has vanished from PostgreSQL.",
        remedy="It is made anew at the next question; ingest the reports again.",
        retry_after=1,
        reason="table_missing",
    )


def _read_only() -> SearchEngineError:
    return SearchEngineError(
        "This PostgreSQL server is read-only: usually a replica.",
        remedy="Let POSTGRES_URI name the primary (target_session_attrs=read-write does with several hosts).",
        retry_after=RETRY_AFTER,
        reason="read_only",
    )


def _disk_full() -> SearchEngineError:
    return SearchEngineError("PostgreSQL has no disk space left.", remedy="Make room on the server.", reason="disk")


_RULES: tuple[tuple[type[psycopg.Error] | tuple[type[psycopg.Error], ...], Callable[[], SearchEngineError]], ...] = (
    ((errors.QueryCanceled, errors.LockNotAvailable), _slow),
    (errors.TooManyConnections, _full),
    (errors.InvalidAuthorizationSpecification, _auth_refused),
    (errors.InsufficientPrivilege, _no_rights),
    ((errors.UndefinedTable, errors.UndefinedColumn), _no_table),
    (errors.UndefinedObject, no_extension),
    (errors.ReadOnlySqlTransaction, _read_only),
    (errors.DiskFull, _disk_full),
)
_GREETINGS: tuple[tuple[re.Pattern[str], Callable[[], SearchEngineError]], ...] = (
    (_REFUSED, _auth_refused),
    (_NO_DATABASE, _no_database),
    (_FULL, _full),
)
