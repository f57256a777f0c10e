"""A few connections to PostgreSQL, each opened by the thread that needs it.

Not psycopg_pool: its connections are made by a background thread with a growing pause between attempts, so a
refused password reaches the caller as a plain time-out, and the first request after the server's return fails too.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from ..errors import MissingPackageError, SettingsError

try:
    import psycopg
except ImportError as missing:  # also "no pq wrapper available": psycopg without its binary part
    raise MissingPackageError(
        "The vector search 'pgvector' needs the Python package 'psycopg' with its binary part.",
        remedy="Install it: pip install -r requirements-pgvector.txt",
    ) from missing
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import TransactionStatus
from psycopg.sql import Composed

from .pg_errors import busy, translated

Connection = psycopg.Connection[tuple[Any, ...]]
Statement = Composed
Settings = Mapping[str, str | int]
"""Names and values of PostgreSQL's own settings."""
SET_LOCAL = "SELECT set_config(name, value, true) FROM unnest(%s::text[], %s::text[]) AS settings(name, value)"


class Connections:
    """At most ``size`` at a time; ``timeout`` (seconds) bounds connecting, waiting for one, and each statement."""

    def __init__(self, uri: str, *, size: int, timeout: float) -> None:
        """Opens nothing yet. Raises SettingsError: the connection string cannot be read; it is not shown."""
        try:
            given = conninfo_to_dict(uri)
        except psycopg.ProgrammingError:
            raise SettingsError("POSTGRES_URI cannot be used: it is no PostgreSQL connection string.") from None
        defaults: dict[str, Any] = {
            "application_name": "report-chat",
            "connect_timeout": max(2, math.ceil(timeout)),
            "keepalives_idle": 10,
            "tcp_user_timeout": int(1000 * timeout),
        }
        self._conninfo = make_conninfo(uri, **{name: defaults[name] for name in defaults if name not in given})
        self._timeout = timeout
        self._free = threading.BoundedSemaphore(size)
        self._lock = threading.Lock()
        self._idle: list[Connection] = []
        self._closed = False

    @contextmanager
    def transaction(self, settings: Settings | None = None) -> Iterator[Connection]:
        """A transaction, committed at the end; ``settings`` are PostgreSQL's own and hold for it alone.

        Set inside the transaction, not on the connection, so that a pooler between us and the server does no harm.

        Raises:
            SearchEngineError: the server is down, refuses, or takes too long.
        """
        values = {"statement_timeout": int(self._timeout * 1000), **(settings or {})}
        if not self._free.acquire(timeout=self._timeout):
            raise busy()
        try:
            with translated():
                connection = self._begin([list(values), [str(value) for value in values.values()]])
                try:
                    yield connection
                    connection.commit()
                finally:
                    self._give_back(connection)
        finally:
            self._free.release()

    def _begin(self, settings: list[list[str]]) -> Connection:
        """An idle connection that still works, else a new one."""
        if (idle := self._take_idle()) is not None:
            try:
                idle.execute(SET_LOCAL, settings)
                return idle
            except psycopg.OperationalError:
                idle.close()
                self._drop_idle()  # the server went away meanwhile; each of these could take a time-out to say so
        # Prepared statements get lost in poolers and would fix plans that should follow the scope.
        connection = psycopg.connect(self._conninfo, prepare_threshold=None)
        try:
            connection.execute(SET_LOCAL, settings)
        except psycopg.Error:
            connection.close()
            raise
        return connection

    def _take_idle(self) -> Connection | None:
        with self._lock:
            return self._idle.pop() if self._idle else None

    def _give_back(self, connection: Connection) -> None:
        with suppress(psycopg.Error):
            if connection.info.transaction_status != TransactionStatus.IDLE:
                connection.rollback()
        with self._lock:
            if not self._closed and connection.info.transaction_status == TransactionStatus.IDLE:
                self._idle.append(connection)
                return
        connection.close()

    def _drop_idle(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def close(self) -> None:
        """Close what is idle now, and what is in use when it comes back."""
        self._closed = True
        self._drop_idle()
