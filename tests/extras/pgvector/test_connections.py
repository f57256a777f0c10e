"""PostgreSQL failing: typed errors with a remedy, in time, and recovery without a
restart. On a real server.
"""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from chatbot.domain import Chunk, Scope
from chatbot.domain.errors import SearchEngineError
from tests.extras.pgvector.conftest import NewStore
from tests.fakes import postgres

EVERYTHING = Scope()
SECRET = "hunter2-very-secret"
VECTOR = np.ones(8, dtype=np.float32)


@pytest.fixture
def scratch() -> Iterator[str]:
    """The connection string of a database of its own without the extension, owned by
    the user ``owner``.
    """
    postgres.empty_database()
    with postgres.connect() as connection:
        connection.execute("DROP DATABASE IF EXISTS scratch WITH (FORCE)")
        for role in ("owner", "guest"):
            connection.execute(f"DROP ROLE IF EXISTS {role}")
            connection.execute(f"CREATE ROLE {role} LOGIN")
        connection.execute("CREATE DATABASE scratch OWNER owner")
        yield postgres.uri().replace("/postgres?", "/scratch?")
        connection.execute("DROP DATABASE scratch WITH (FORCE)")
        connection.execute("DROP ROLE owner, guest")


def chunk(name: str = "a") -> Chunk:
    return Chunk(
        f"{name}-v1-00000",
        name,
        f"{name}.pdf",
        "",
        "Coffee.",
        collection="report_chatting",
    )


def failure(call: Any) -> SearchEngineError:
    """What the call raises; it must do so in time, and without the secret."""
    started = time.monotonic()
    with pytest.raises(SearchEngineError) as raised:
        call()
    assert time.monotonic() - started < 30
    assert SECRET not in str(raised.value)
    assert SECRET not in str(raised.value.__cause__)
    assert raised.value.remedy
    return raised.value


def test_a_server_that_stops_and_returns(new_store: NewStore) -> None:
    server = postgres.server()
    store = new_store()
    store.upsert([chunk()], VECTOR[None, :])
    with ThreadPoolExecutor(4) as pool:  # so that several connections lie idle
        list(
            pool.map(
                lambda _: store.vector_search(VECTOR, top_k=1, scope=EVERYTHING),
                range(20),
            )
        )
    server.stop()
    try:
        for call in (
            lambda: store.vector_search(VECTOR, top_k=1, scope=EVERYTHING),
            lambda: store.keyword_search("coffee", top_k=1, scope=EVERYTHING),
            lambda: store.upsert([chunk("b")], VECTOR[None, :]),
            store.ping,
        ):
            error = failure(call)
            assert (error.reason, error.retry_after, error.dependency) == (
                "away",
                5,
                "vector_search",
            )
            assert "POSTGRES_URI" in error.remedy
        late = new_store(postgres_uri := server.get_uri())
        assert failure(late.ping).reason == "away"
    finally:
        server.ensure_postgres_running()
    assert server.get_uri() == postgres_uri
    with ThreadPoolExecutor(4) as pool:
        found = list(
            pool.map(
                lambda _: store.vector_search(VECTOR, top_k=5, scope=EVERYTHING),
                range(8),
            )
        )
    assert [len(matches) for matches in found] == [1] * 8
    assert late.count(EVERYTHING) == 1


def test_connections_that_the_server_ends_are_replaced_unnoticed(
    new_store: NewStore,
) -> None:
    store = new_store()
    for _ in range(3):
        assert store.count(EVERYTHING) == 0
        with postgres.connect() as connection:
            ended = connection.execute(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
                "WHERE application_name = 'report-chat'"
            )
            assert ended.fetchone()[0] >= 1


def test_a_refused_password(new_store: NewStore) -> None:
    server = postgres.server()
    rules = server.pgdata / "pg_hba.conf"
    before = rules.read_text()
    with postgres.connect() as connection:
        connection.execute("DROP ROLE IF EXISTS reader")
        connection.execute("CREATE ROLE reader LOGIN PASSWORD 'right'")
        rules.write_text(f"local all reader scram-sha-256\n{before}")
        connection.execute("SELECT pg_reload_conf()")
        try:
            uri = server.get_uri().replace("postgres:@", f"reader:{SECRET}@")
            error = failure(new_store(uri).ping)
            assert (error.reason, error.retry_after) == ("auth_refused", None)
            assert "POSTGRES_URI" in error.remedy
        finally:
            rules.write_text(before)
            connection.execute("SELECT pg_reload_conf()")
            connection.execute("DROP ROLE reader")


def test_an_unknown_user_and_an_unknown_database(new_store: NewStore) -> None:
    uri = postgres.uri()
    assert (
        failure(new_store(uri.replace("postgres:@", f"nobody:{SECRET}@")).ping).reason
        == "auth_refused"
    )
    assert (
        failure(new_store(uri.replace("/postgres?", "/no_such_database?")).ping).reason
        == "no_database"
    )


def test_nobody_listens_at_that_address(new_store: NewStore) -> None:
    error = failure(new_store(f"postgresql://user:{SECRET}@127.0.0.1:1/reports").ping)
    assert (error.reason, error.retry_after) == ("away", 5)


def test_users_with_few_rights_are_told_what_is_missing(
    new_store: NewStore, scratch: str
) -> None:
    import psycopg

    owner, guest = (
        new_store(scratch.replace("postgres:@", f"{role}:@"))
        for role in ("owner", "guest")
    )
    error = failure(owner.ping)
    assert error.reason == "extension_missing"
    assert "CREATE EXTENSION vector" in error.remedy
    with psycopg.connect(scratch, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION vector")
    assert failure(guest.ping).reason == "no_rights"
    assert "pgvector" in owner.ping()
    assert failure(guest.ping).reason == "no_rights"
    with psycopg.connect(scratch, autocommit=True) as connection:
        connection.execute("GRANT SELECT ON chunks TO guest")
    assert guest.vector_search(VECTOR, top_k=1, scope=EVERYTHING) == []


def test_an_old_extension(new_store: NewStore, scratch: str) -> None:
    import psycopg

    with psycopg.connect(scratch, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION vector")
        connection.execute(
            "UPDATE pg_extension SET extversion = '0.7.4' WHERE extname = 'vector'"
        )
    error = failure(new_store(scratch).ping)
    assert error.reason == "extension_outdated"
    assert "0.7.4" in error.message
    assert "ALTER EXTENSION vector UPDATE" in error.remedy


def test_a_read_only_server(new_store: NewStore) -> None:
    new_store().prepare()
    replica = new_store(
        f"{postgres.uri()}&options=-cdefault_transaction_read_only%3Don"
    )
    assert replica.vector_search(VECTOR, top_k=1, scope=EVERYTHING) == []
    assert (
        failure(lambda: replica.upsert([chunk()], VECTOR[None, :])).reason
        == "read_only"
    )


def test_a_statement_that_takes_too_long(new_store: NewStore) -> None:
    store = new_store(mongodb_timeout=0.3)
    store.prepare()
    with postgres.connect() as connection, connection.transaction():
        connection.execute("LOCK TABLE chunks IN ACCESS EXCLUSIVE MODE")
        error = failure(lambda: store.count(EVERYTHING))
    assert (error.reason, error.retry_after) == ("slow", 5)
    assert store.count(EVERYTHING) == 0


def test_more_threads_than_connections() -> None:
    from chatbot.extras.pgvector.connections import Connections

    connections = Connections(postgres.uri(), size=1, timeout=0.3)
    with connections.transaction():
        assert (
            failure(lambda: connections.transaction().__enter__()).reason == "throttled"
        )
    with connections.transaction() as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    connections.close()


def test_a_failed_transaction_leaves_nothing_and_frees_its_connection(
    new_store: NewStore,
) -> None:
    """R-E6: a write is done whole or not at all."""
    store = new_store(threads=1)
    rows = np.asarray([VECTOR, np.full(8, np.nan, dtype=np.float32)])
    for _ in range(3):
        with pytest.raises(SearchEngineError, match="refused a command"):
            store.upsert([chunk("a"), chunk("b")], rows)
    assert store.count(EVERYTHING) == 0
