"""A few connections to PostgreSQL, each opened by the thread that needs it, and the
server's errors with a remedy.

psycopg_pool 3.3.3 hides why a connection fails (down, refused, unknown database): after
its whole time-out of 5 s, measured, callers read "couldn't get a connection".
"""

import math
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from ...database.failures import SOON, Failures
from ...domain.errors import MissingPackageError, SearchEngineError, SettingsError
from ...domain.packages import install_command

try:
    import psycopg
    from pgvector.psycopg import register_vector
except ImportError as missing:
    # Also "no pq wrapper available": psycopg without its binary part.
    raise MissingPackageError(
        "The vector search 'pgvector' needs the Python packages 'psycopg', with its "
        "binary part, and 'pgvector'.",
        remedy=f"Install it: {install_command('pgvector')}",
    ) from missing
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import TransactionStatus

Connection = psycopg.Connection[tuple[Any, ...]]
failure = Failures("postgresql", SearchEngineError)
SET_LOCAL = (
    "SELECT set_config(name, value, true) FROM unnest(%s::text[], %s::text[]) AS "
    "settings(name, value)"
)


class Connections:
    """At most ``size`` at a time; ``timeout`` (seconds) bounds connecting, waiting for
    one, and each statement.
    """

    def __init__(self, uri: str, *, size: int, timeout: float) -> None:
        """Opens nothing yet. Raises SettingsError: the connection string cannot be
        read; it is not shown.
        """
        try:
            options = conninfo_to_dict(uri)
        except psycopg.ProgrammingError:
            raise SettingsError(
                "POSTGRES_URI cannot be used: it is no PostgreSQL connection string."
            ) from None
        defaults: dict[str, Any] = {
            "application_name": "report-chat",
            "connect_timeout": max(2, math.ceil(timeout)),  # libpq's smallest is 2
            "keepalives_idle": 10,
            "tcp_user_timeout": int(1000 * timeout),
        }
        self._conninfo = make_conninfo(uri, **{**defaults, **options})
        self._timeout = timeout
        self._free = threading.BoundedSemaphore(size)
        self._lock = threading.Lock()
        self._idle: list[Connection] = []
        self._closed = False

    @contextmanager
    def transaction(
        self, settings: Mapping[str, str | int] | None = None
    ) -> Iterator[Connection]:
        """Run a transaction and commit it. ``settings`` of PostgreSQL hold for it
        alone, because of poolers between us and the server. Raises SearchEngineError:
        the server is down, refuses, or takes too long.
        """
        values = {"statement_timeout": int(self._timeout * 1000), **(settings or {})}
        if not self._free.acquire(timeout=self._timeout):
            raise failure("throttled:here")
        try:
            connection = self._begin(
                [list(values), [str(value) for value in values.values()]]
            )
            try:
                yield connection
                connection.commit()
            finally:
                self._take_back(connection)
        except psycopg.Error as error:
            raise explain(error) from error
        finally:
            self._free.release()

    def _take_back(self, connection: Connection) -> None:
        """Roll back what was not committed, and keep a connection that still works."""
        with suppress(psycopg.Error):
            if connection.info.transaction_status != TransactionStatus.IDLE:
                connection.rollback()
        with self._lock:
            is_idle = connection.info.transaction_status == TransactionStatus.IDLE
            if is_idle and not self._closed:
                self._idle.append(connection)
                return
        connection.close()

    def _begin(self, settings: list[list[str]]) -> Connection:
        """Return an idle connection that still works, else a new one. ``settings``: the
        names and the values of PostgreSQL's settings.
        """
        with self._lock:
            idle = self._idle.pop() if self._idle else None
        if idle is not None:
            try:
                idle.execute(SET_LOCAL, settings)
                return idle
            except psycopg.OperationalError:
                idle.close()
                # The server went away meanwhile; each of these could take a time-out to
                # say so.
                self.drop_idle()
        # Prepared statements get lost in poolers and would fix plans that should follow
        # the scope.
        connection = psycopg.connect(self._conninfo, prepare_threshold=None)
        try:
            connection.execute(SET_LOCAL, settings)
        except psycopg.Error:
            connection.close()
            raise
        return connection

    def drop_idle(self) -> None:
        """Close the connections that are not in use."""
        with self._lock:
            idle = self._idle
            self._idle = []
        for connection in idle:
            connection.close()

    def close(self) -> None:
        """Close what is idle now, and what is in use when it comes back."""
        self._closed = True
        self.drop_idle()


def know_vectors(connection: Connection) -> None:
    """Send and receive vectors in binary form over this connection; the extension must
    exist.
    """
    if connection.adapters.types.get("vector") is None:
        register_vector(connection)


def explain(error: psycopg.Error) -> SearchEngineError:
    """Return an error that says what to do, without secrets."""
    code = error.sqlstate
    if code is None:
        # Errors before the connection is accepted have no code, only a text.
        row = failure.read(str(error))
        name = row.name if row else "away"
        return failure(name)
    problem = f"{type(error).__name__}, code {code}"
    # The first two characters of a SQLSTATE are its class.
    row = failure.find(code, code[:2])
    if row is not None:
        return failure(row.name, problem=problem)
    return SearchEngineError(
        f"PostgreSQL failed ({problem}).",
        remedy="Try again; if this stays, look at the server's log.",
        retry_after=SOON,
    )
