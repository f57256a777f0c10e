"""The backends that the store contract runs over. Adding one = one function and one line in BACKENDS."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from chatbot.database import Database, open_database
from chatbot.database.mongo import MongoBackend
from chatbot.protocols import Store
from chatbot.repositories.changes import CorpusChanges
from chatbot.schema import Scope
from chatbot.settings import Settings
from chatbot.stores.atlas import AtlasStore
from chatbot.stores.faiss import FaissStore
from chatbot.stores.search_indexes import ensure_indexes, ensure_ordinary_indexes, plan_indexes
from tests.fakes import postgres
from tests.fakes.mongomock_search import SearchClient
from tests.fakes.nx_server import NxThread

DIMENSIONS = 8
GENERAL, REPORTS = "chatbot_data", "report_chatting"
COLLECTIONS = (GENERAL, REPORTS)
FILTER_FIELDS = ("country_name", "year", "document_name", "type")
LIVE_URI = os.environ.get("MONGODB_TEST_URI", "")


@dataclass(frozen=True)
class Harness:
    """One empty database under test. ``new_store`` opens another store over it, as another process would."""

    new_store: Callable[[], Store]
    settle: Callable[[], None]
    """Wait until what was written is searchable; only a real search engine needs it."""


def faiss_store(database: Database) -> Store:
    return FaissStore(
        database=database,
        changes=CorpusChanges(database),
        collections=COLLECTIONS,
        filter_fields=FILTER_FIELDS,
        dimensions=DIMENSIONS,
        language="english",
    )


def atlas_store(database: Database) -> Store:
    return AtlasStore(
        database=database,
        changes=CorpusChanges(database),
        collections=COLLECTIONS,
        filter_fields=FILTER_FIELDS,
        dimensions=DIMENSIONS,
    )


def pgvector_store(uri: str, database: Database) -> Store:
    from chatbot.stores.pgvector import PgvectorStore

    return PgvectorStore(
        uri=uri,
        changes=CorpusChanges(database),
        collections=COLLECTIONS,
        filter_fields=FILTER_FIELDS,
        dimensions=DIMENSIONS,
        language="english",
    )


def create_indexes(database: Database) -> None:
    ensure_ordinary_indexes(database, COLLECTIONS, FILTER_FIELDS)
    plans = plan_indexes(
        collections=COLLECTIONS, filter_fields=FILTER_FIELDS, dimensions=DIMENSIONS, language="english"
    )
    ensure_indexes(database, plans)


def neosqlite_faiss(path: Path) -> Iterator[Harness]:
    database = open_database(Settings.from_env({"DATA_DIR": str(path)}))
    yield Harness(lambda: faiss_store(database), lambda: None)
    database.close()


def mongomock_faiss(path: Path) -> Iterator[Harness]:
    """A plain MongoDB, as far as mongomock is one: no search engine, so the search runs in this process."""
    client = SearchClient()
    client.engine.enabled = False
    database = Database(MongoBackend(client, "contract"))
    yield Harness(lambda: faiss_store(database), lambda: None)
    database.close()


def nx27017_faiss(path: Path) -> Iterator[Harness]:
    """PyMongo over a socket, to a server that speaks MongoDB's protocol. Each store has a client of its own."""
    with NxThread(path / "nx") as server:
        databases: list[Database] = []

        def new_store() -> Store:
            databases.append(open_database(Settings.from_env({"MONGODB_URI": server.uri})))
            return faiss_store(databases[-1])

        yield Harness(new_store, lambda: None)
        for database in databases:
            database.close()


def mongomock_atlas(path: Path) -> Iterator[Harness]:
    database = Database(MongoBackend(SearchClient(), "contract"))
    create_indexes(database)
    yield Harness(lambda: atlas_store(database), lambda: None)
    database.close()


def live_atlas(path: Path) -> Iterator[Harness]:
    """A real deployment. Its indexes are kept between tests: building one takes up to a minute."""
    database = open_database(Settings.from_env({"MONGODB_URI": LIVE_URI, "MONGODB_DB": "report_chat_contract"}))
    create_indexes(database)
    for name in (*COLLECTIONS, "meta"):
        database[name].delete_many({})
    store = atlas_store(database)
    _settle(database, store)
    yield Harness(lambda: atlas_store(database), lambda: _settle(database, store))
    database.close()


def pgvector(path: Path) -> Iterator[Harness]:
    """A real PostgreSQL server for the passages; the change log is in the embedded database."""
    uri = postgres.empty_database()
    database = open_database(Settings.from_env({"DATA_DIR": str(path)}))
    opened: list[Store] = []

    def new_store() -> Store:
        opened.append(pgvector_store(uri, database))
        return opened[-1]

    yield Harness(new_store, lambda: None)
    for store in opened:
        store.close()
    database.close()


def _settle(database: Database, store: Store, seconds: float = 60.0) -> None:
    """Until the vector index holds exactly what the database holds, and a moment more for the text index."""
    probe = np.ones(DIMENSIONS, dtype=np.float32)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        stored = {str(row["_id"]) for name in COLLECTIONS for row in database[name].find({}, {"_id": 1})}
        if {match.chunk_id for match in store.vector_search(probe, top_k=5000, scope=Scope())} == stored:
            time.sleep(2)
            return
        time.sleep(0.5)
    pytest.fail(f"the search engine did not follow the writes within {seconds:.0f} s")


BACKENDS = [
    pytest.param(neosqlite_faiss, id="neosqlite+faiss"),
    pytest.param(mongomock_faiss, id="mongomock+faiss"),
    pytest.param(nx27017_faiss, id="nx27017+faiss"),
    pytest.param(mongomock_atlas, id="mongomock+atlas"),
    pytest.param(pgvector, id="pgvector"),
    pytest.param(
        live_atlas,
        id="live+atlas",
        marks=pytest.mark.skipif(not LIVE_URI, reason="set MONGODB_TEST_URI to run the contract on a real deployment"),
    ),
]


@pytest.fixture(params=BACKENDS)
def harness(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Harness]:
    yield from request.param(tmp_path)


@pytest.fixture
def store(harness: Harness) -> Iterator[Store]:
    opened = harness.new_store()
    yield opened
    opened.close()
