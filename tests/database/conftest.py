"""The databases that the repositories' tests run over."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from chatbot.config.settings import Settings
from chatbot.database import open_database
from chatbot.database.core import Database
from chatbot.database.mongo import MongoDatabase
from tests.fakes.mongomock_search import SearchClient
from tests.fakes.nx_server import NxThread


def embedded(path: Path) -> Iterator[Database]:
    database = open_database(Settings.from_env({"DATA_DIR": str(path)}))
    yield database
    database.close()


def mongomock(path: Path) -> Iterator[Database]:
    database = MongoDatabase(SearchClient(), "repositories")
    yield database
    database.close()


def nx27017(path: Path) -> Iterator[Database]:
    with NxThread(path / "nx") as server:
        database = open_database(Settings.from_env({"MONGODB_URI": server.uri}))
        yield database
        database.close()


# By day MongoDB is a server, over a socket; at night also mongomock, whose collections
# are compared every day (`test_collection.py`).
@pytest.fixture(
    params=[embedded, pytest.param(mongomock, marks=pytest.mark.nightly), nx27017],
    ids=lambda build: build.__name__,
)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """Empty, one for each kind the product speaks to."""
    yield from request.param(tmp_path)
