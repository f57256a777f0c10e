"""Where the processes of a scenario have their library: one SQLite file, a MongoDB
double in this process, or a server that speaks MongoDB's protocol.

    library = FileLibrary(folder)
    library.prepare(OPERATIONS["upload"].prepare)
    with library.copy() as copy:
        site = copy.open(Script())
"""

import copy
import itertools
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pymongo import MongoClient

from chatbot.app.services import Services, build
from chatbot.app.services.preparing import prepare_database
from chatbot.config.settings import Settings
from chatbot.database import EMBEDDED_FILE
from chatbot.database.core import Database
from chatbot.domain.errors import ChatbotError
from chatbot.stores.atlas.indexes import ensure_indexes
from tests.fakes.mongomock_search import SearchClient
from tests.faults.operations import Site
from tests.faults.scripts import (
    KILL,
    LOST_ANSWER,
    LOST_CALL,
    Script,
    ScriptedFile,
    ScriptedMongo,
)
from tests.library.helpers import KilledError

CACHE_SECONDS = 3600.0
Rows = dict[str, list[dict[str, Any]]]


class Library(ABC):
    """A library that is prepared once and copied for each run. ``folder`` has the
    files of the clients, at the same path in each run, and of each process its own.
    """

    name: str
    vector_search = "faiss"
    kinds: Sequence[str] = (KILL, LOST_CALL, LOST_ANSWER)
    """What can happen to a call here."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files = folder / "files"
        self._before = folder / "before"
        self._numbers = itertools.count()
        self._open: list[Services] = []

    def prepare(self, prepare: Callable[[Site], object]) -> None:
        """Make the state before the operation."""
        shutil.rmtree(self.files, ignore_errors=True)
        self.files.mkdir(parents=True)
        self._empty()
        site = self.open(Script())
        self._prepare(site)
        prepare(site)
        self._close()
        shutil.rmtree(self._before, ignore_errors=True)
        shutil.copytree(self.files, self._before)
        self._keep()

    def _prepare(self, site: Site) -> None:  # noqa: B027  # most need nothing
        """Make what a store needs before it is written."""

    @contextmanager
    def copy(self) -> Iterator[None]:
        """Make the state as it was after `prepare`, for the block."""
        shutil.rmtree(self.files, ignore_errors=True)
        shutil.copytree(self._before, self.files)
        self._restore()
        try:
            yield
        finally:
            self._close()

    def open(self, script: Script, *, cache: bool = True) -> Site:
        """Open another process over the library; ``cache``: it may repeat answers."""
        settings = Settings(
            data_dir=self._data_folder(),
            vector_search=self.vector_search,
            embedding_provider="hashing",
            chat_model="echo",
            sample_data="off",
            summaries="off",
            ingestion_workers=1,
            threads=2,
            cache_seconds=CACHE_SECONDS if cache else 0,
        )
        services = build(settings, database=self.database(script))
        self._open.append(services)
        return Site(services, self.files)

    def _data_folder(self) -> Path:
        """Return a machine's own folder: on a server, each process has another."""
        return self.folder / f"data {next(self._numbers)}"

    @abstractmethod
    def database(self, script: Script) -> Database:
        """Return the database as another process opens it."""

    @abstractmethod
    def _empty(self) -> None: ...

    @abstractmethod
    def _keep(self) -> None: ...

    @abstractmethod
    def _restore(self) -> None: ...

    def _close(self) -> None:
        for services in self._open:
            with suppress(KilledError, ChatbotError):  # a dead process closes nothing
                services.close()
        self._open.clear()
        for path in self.folder.glob("data *"):
            shutil.rmtree(path)


class FileLibrary(Library):
    """One SQLite file, which all processes open."""

    name = "file"
    kinds = (KILL, LOST_CALL)  # no network loses an answer

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.data = folder / "data"
        self._kept = folder / "kept"

    def database(self, script: Script) -> Database:
        return ScriptedFile(self.data / EMBEDDED_FILE, script)

    def _data_folder(self) -> Path:
        return self.data

    def _empty(self) -> None:
        shutil.rmtree(self.data, ignore_errors=True)

    def _keep(self) -> None:
        shutil.rmtree(self._kept, ignore_errors=True)
        shutil.copytree(self.data, self._kept)

    def _restore(self) -> None:
        self._empty()
        shutil.copytree(self._kept, self.data)


class DoubleLibrary(Library):
    """mongomock with search indexes of its own."""

    name = "mongodb"
    vector_search = "atlas"

    def database(self, script: Script) -> Database:
        return ScriptedMongo(self._client, "test", script)

    def _empty(self) -> None:
        self._client = SearchClient()
        self._client.engine.enabled = self.vector_search == "atlas"

    def _prepare(self, site: Site) -> None:
        if self._client.engine.enabled:
            prepare_database(site.services.storage)
            ensure_indexes(site.database, site.services.runtime.index_plans)

    def _keep(self) -> None:
        self._rows = rows_of(self._client["test"])
        self._indexes = copy.deepcopy(self._client.engine.indexes)

    def _restore(self) -> None:
        self._empty()
        put_rows(self._client["test"], self._rows)
        self._client.engine.indexes = copy.deepcopy(self._indexes)


class DoubleWithFaiss(DoubleLibrary):
    """mongomock without search indexes: the processes search by themselves."""

    name = "mongodb, faiss"
    vector_search = "faiss"


class ServerLibrary(Library):
    """A server that speaks MongoDB's protocol, at ``uri``."""

    name = "second server"

    def __init__(self, folder: Path, uri: str) -> None:
        super().__init__(folder)
        self.uri = uri
        self._client: MongoClient[Any] = MongoClient(uri)
        self._databases = itertools.count()
        self.database_name = ""

    def database(self, script: Script) -> Database:
        client: MongoClient[Any] = MongoClient(self.uri, timeoutMS=10_000)
        return ScriptedMongo(client, self.database_name, script)

    def _empty(self) -> None:
        self._client.drop_database(self.database_name or "kills")
        self.database_name = f"kills_{next(self._databases)}"

    def _keep(self) -> None:
        self._rows = rows_of(self._client[self.database_name])

    def _restore(self) -> None:
        self._empty()
        put_rows(self._client[self.database_name], self._rows)

    def close(self) -> None:
        self._client.drop_database(self.database_name or "kills")
        self._client.close()


def rows_of(database: Any) -> Rows:
    """Return all rows by collection."""
    return {
        name: list(database[name].find()) for name in database.list_collection_names()
    }


def put_rows(database: Any, rows: Rows) -> None:
    for name, documents in rows.items():
        if documents:
            database[name].insert_many(copy.deepcopy(documents))
        else:
            database.create_collection(name)
