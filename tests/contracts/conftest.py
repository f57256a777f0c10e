"""The stores of the registry and the databases that the contract runs them over."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pymongo import MongoClient

from chatbot.config.settings import Settings
from chatbot.database import open_database
from chatbot.database.core import Database
from chatbot.database.mongo import MongoDatabase
from chatbot.database.ordinary_indexes import create_missing
from chatbot.domain import Scope, Store
from chatbot.extras import with_extras
from chatbot.stores import STORES, store_traits
from chatbot.stores.atlas.indexes import ensure_indexes, index_plans
from chatbot.stores.chunks import ordinary_indexes
from tests.fakes import postgres
from tests.fakes.mongoeco_server import NEEDS_MONGOECO, mongoeco
from tests.fakes.mongomock_search import SearchClient
from tests.fakes.nx_server import NxThread
from tests.rows import outside

DIMENSIONS = 8
ALL_STORES = with_extras(STORES, Settings())
GENERAL, REPORTS = "chatbot_data", "report_chatting"
COLLECTIONS = (GENERAL, REPORTS)
FILTER_FIELDS = ("country_name", "year", "document_name", "type")
LIVE_URI, LIVE_DB = os.environ.get("MONGODB_TEST_URI", ""), "report_chat_contract"


@dataclass(frozen=True)
class Harness:
    """One empty database under test. ``new_store`` opens another store over it, as
    another process would.
    """

    new_store: Callable[[], Store]
    settle: Callable[[], None] = lambda: None
    """Wait until what was written is searchable; only a real search engine needs it."""


def build_store(name: str, database: Database, settings: Settings) -> Store:
    """As the services build it."""
    build = ALL_STORES.builder(name)
    return build(
        settings=settings,
        database=database,
        changes=database.changes,
        dimensions=DIMENSIONS,
    )


def settings_of(path: Path, **environment: str) -> Settings:
    settings = Settings.from_env({"DATA_DIR": str(path), **environment})
    assert (settings.chunk_collections, settings.filter_fields) == (
        COLLECTIONS,
        FILTER_FIELDS,
    )
    return settings


def create_indexes(database: Database, settings: Settings) -> None:
    create_missing(database, ordinary_indexes(COLLECTIONS, FILTER_FIELDS))
    ensure_indexes(database, index_plans(settings, {"": DIMENSIONS}))


def embedded(name: str, path: Path) -> Iterator[Harness]:
    """The embedded database: what any store runs on that needs nothing else."""
    settings = settings_of(path)
    database = open_database(settings)
    yield Harness(lambda: build_store(name, database, settings))
    database.close()


def mongomock(name: str, path: Path) -> Iterator[Harness]:
    """A MongoDB, as far as mongomock is one; with a search engine for the store that
    searches by it.
    """
    client, settings = SearchClient(), settings_of(path)
    client.engine.enabled = store_traits(name, ALL_STORES).has_search_indexes
    database = MongoDatabase(client, "contract")
    if client.engine.enabled:
        create_indexes(database, settings)
    yield Harness(lambda: build_store(name, database, settings))
    database.close()


def nx27017(name: str, path: Path) -> Iterator[Harness]:
    """PyMongo over a socket, to a server that speaks MongoDB's protocol. Each store has
    a client of its own.
    """
    with NxThread(path / "nx") as server:
        settings, databases = (
            settings_of(path, MONGODB_URI=server.uri),
            list[Database](),
        )

        def new_store() -> Store:
            databases.append(open_database(settings))
            return build_store(name, databases[-1], settings)

        yield Harness(new_store)
        for database in databases:
            database.close()


def second_server(name: str, path: Path) -> Iterator[Harness]:
    """PyMongo over a socket, to a server that nobody here wrote."""
    with mongoeco() as uri:
        settings, databases = settings_of(path, MONGODB_URI=uri), list[Database]()

        def new_store() -> Store:
            databases.append(open_database(settings))
            return build_store(name, databases[-1], settings)

        yield Harness(new_store)
        for database in databases:
            database.close()


def live(name: str, path: Path) -> Iterator[Harness]:
    """A real deployment. Its indexes are kept between tests: building one takes up to a
    minute.
    """
    settings = settings_of(path, MONGODB_URI=LIVE_URI, MONGODB_DB=LIVE_DB)
    database = open_database(settings)
    create_indexes(database, settings)
    for collection in (*COLLECTIONS, "meta"):
        outside(database, collection).delete_many({})
    store = build_store(name, database, settings)
    _settle(database, store)
    yield Harness(
        lambda: build_store(name, database, settings), lambda: _settle(database, store)
    )
    database.close()


@pytest.fixture(scope="session", autouse=True)
def leave_nothing_behind() -> Iterator[None]:
    """On the real deployment: its search indexes and the database go at the end."""
    yield
    if LIVE_URI:
        with MongoClient[Any](LIVE_URI) as client:
            for collection in client[LIVE_DB].list_collections():
                found = client[LIVE_DB][collection["name"]]
                for index in found.list_search_indexes():
                    found.drop_search_index(index["name"])
            client.drop_database(LIVE_DB)


def postgresql(name: str, path: Path) -> Iterator[Harness]:
    """A real PostgreSQL server for the passages; the change log is in the embedded
    database.
    """
    settings = settings_of(path, POSTGRES_URI=postgres.empty_database())
    database = open_database(settings)
    opened: list[Store] = []

    def new_store() -> Store:
        opened.append(build_store(name, database, settings))
        return opened[-1]

    yield Harness(new_store)
    for store in opened:
        store.close()
    database.close()


def _settle(database: Database, store: Store, seconds: float = 60.0) -> None:
    """Until the vector index holds exactly what the database holds, and a moment more
    for the text index.
    """
    probe = np.ones(DIMENSIONS, dtype=np.float32)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        stored = {
            str(row["_id"])
            for name in COLLECTIONS
            for row in database[name].find({}, {"_id": 1})
        }
        if {
            match.chunk_id
            for match in store.vector_search(probe, top_k=5000, scope=Scope())
        } == stored:
            time.sleep(2)
            return
        time.sleep(0.5)
    pytest.fail(f"the search engine did not follow the writes within {seconds:.0f} s")


Marks = Sequence[pytest.MarkDecorator]
Backend = Callable[[str, Path], Iterator[Harness]]
PLACES: dict[str, tuple[Backend, ...]] = {
    "atlas": (mongomock, live),
    "faiss": (embedded, mongomock, nx27017, second_server),
    "pgvector": (postgresql,),
}
"""Where a store's passages may be, if not in the embedded database alone."""
NEEDS_SERVER = pytest.mark.skipif(
    not LIVE_URI, reason="set MONGODB_TEST_URI to run the contract on a real deployment"
)
# What this store writes to a MongoDB goes over a socket every day, to nx27017; at night
# also to a server of another maker.
MARKS: dict[tuple[str, str], Marks] = {
    ("atlas", "live"): [NEEDS_SERVER],
    ("faiss", "mongomock"): [pytest.mark.nightly],
    ("faiss", "second_server"): [pytest.mark.nightly, NEEDS_MONGOECO],
}
BACKENDS = [
    pytest.param(
        (name, place),
        id=f"{place.__name__}+{name}",
        marks=MARKS.get((name, place.__name__), []),
    )
    for name in ALL_STORES.names()
    for place in PLACES.get(name, (embedded,))
]


WITH_PING = {"test_what_another_store_deletes_is_never_found_again"}
"""Tests that ask the server for its version."""


@pytest.fixture(params=BACKENDS)
def harness(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Harness]:
    name, place = request.param
    if place is second_server and request.node.originalname in WITH_PING:
        pytest.skip("mongoeco has no `buildinfo`, which PyMongo asks for a ping")
    yield from place(name, tmp_path)


@pytest.fixture
def store(harness: Harness) -> Iterator[Store]:
    opened = harness.new_store()
    yield opened
    opened.close()
