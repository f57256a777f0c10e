"""Rows that each route reads, and its calls to the database, in libraries of several
sizes: `python -m benchmarks growth --rows 1000 10000`.

The rows are synthetic. On a server the double counts the rows that a plan of MongoDB
would read; in the SQLite file the steps of its machine are counted.
"""

from __future__ import annotations

import io
import itertools
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from flask import Flask
from pydantic import TypeAdapter

from benchmarks.growth import passages, question, records
from chatbot.app.factory import close_app, create_app, stop_work
from chatbot.app.services import Services
from chatbot.app.services.preparing import ordinary_indexes
from chatbot.config.settings import Settings
from chatbot.database.changes import ANNOUNCED_KINDS
from chatbot.database.ordinary_indexes import build_indexes
from chatbot.database.repositories.documents import DocumentRepository
from chatbot.domain import DocumentRecord
from chatbot.stores.atlas.indexes import ensure_indexes
from chatbot.stores.chunks import chunk_to_json
from tests.fakes.counting import CountingFile, CountingServer
from tests.fakes.large_collection import LargeClient, Passages
from tests.fakes.mongomock_search import SearchClient
from tests.rows import outside

SERVER, FILE = "MongoDB double", "SQLite file"
DIMENSIONS = 8
BATCH = 500
LARGE = 100_000
"""Passages above which those of the double are made when they are read."""
REPORTS = "report_chatting"
REPORT = "# Mali: Country Report 2023\n\n## Tea exports\n\nTea was worth {} dollars.\n"
_RECORD = TypeAdapter(DocumentRecord)
Database = CountingFile | CountingServer


@dataclass(frozen=True)
class Cost:
    """Of one request: its calls, the rows that they read (steps of SQLite), and the
    vectors that the server's engine compares.
    """

    calls: int
    rows: int
    vectors: int = 0


class Library:
    """A library of so many reports, without threads that work beside requests."""

    def __init__(self, app: Flask, database: Database, reports: int) -> None:
        self.reports = reports
        self.client = app.test_client()
        self.services: Services = app.extensions["services"]
        self.database = database
        # The application's own one has threads, and is closed.
        self._worker = replace(self.services.ingesting.worker)
        self._numbers = itertools.count(1)
        self._uploaded: list[str] = []

    def cost(self, route: str) -> Cost:
        """Return what a request costs once everything that is built on the first one
        has been built. Sums over all threads.
        """
        request = ROUTES[route]
        request(self, next(self._numbers))
        self.database.counts.clear()
        request(self, next(self._numbers))
        counts = self.database.counts
        return Cost(counts.calls.total(), counts.rows.total(), counts.vectors.total())

    def post(self, path: str, body: dict[str, Any]) -> None:
        response = self.client.post(path, json=body)
        text = b"".join(response.response)  # a stream is read to its end
        assert response.status_code == 200, text

    def get(self, path: str) -> None:
        response = self.client.get(path)
        assert response.status_code == 200, response.get_data()

    def upload(self, number: int) -> None:
        """Send a file, and read it here."""
        name = f"new{number}.md"
        file = io.BytesIO(REPORT.format(number).encode())
        sent = self.client.post(
            "/api/documents",
            data={"files": (file, name), "country_name": "Mali", "year": "2023"},
            content_type="multipart/form-data",
        ).get_json()
        while self._worker.work_once():
            pass
        job = self.services.storage.ingestions.get(sent["ingestion_id"])
        assert job.state == "done", job
        self._uploaded.append(job.files[0].document_id)

    def start(self, number: int) -> None:
        """Read the catalogue, as each process does at its start."""
        settings = self.services.settings
        reports = DocumentRepository(self.database, settings.filter_fields)
        assert len(reports.all()) >= self.reports

    def delete(self, number: int) -> None:
        """Remove an uploaded file."""
        response = self.client.delete(f"/api/documents/{self._uploaded.pop()}")
        assert response.status_code == 204, response.get_data()


ROUTES: dict[str, Callable[[Library, int], None]] = {
    "question": lambda one, n: one.post("/query", question(n)),
    "stream": lambda one, n: one.post("/api/chat", question(n)),
    "search": lambda one, n: one.post(
        "/api/search", {**question(n), "filters": {"country_name": ["Angola"]}}
    ),
    "list": lambda one, n: one.get("/api/documents?limit=20"),
    "facets": lambda one, n: one.get("/api/facets?country_name=Angola"),
    "ready": lambda one, n: one.get("/readyz"),
    "upload of a file": Library.upload,
    "delete": Library.delete,
    "start": Library.start,
}


@contextmanager
def library(
    kind: str,
    folder: Path,
    reports: int,
    passages_each: int = 3,
    *,
    large: bool = False,
    dimensions: int = DIMENSIONS,
    chat_model: str = "echo",
) -> Iterator[Library]:
    """Serve a library on the server's double, or in the SQLite file. ``large``: the
    passages on the double have no vectors, and are made when they are read.
    """
    folder.mkdir(parents=True, exist_ok=True)
    database: Database
    if kind == SERVER:
        client = SearchClient()
        if large:
            client = LargeClient(
                REPORTS, Passages(list(_facts(reports)), passages_each)
            )
        database = CountingServer(client)
    else:
        database = CountingFile(folder / "report-chat.sqlite")
    app = create_app(
        Settings(
            data_dir=folder,
            vector_search="atlas" if kind == SERVER else "faiss",
            embedding_provider="hashing",
            embedding_model=str(dimensions),
            chat_model=chat_model,
            sample_data="off",
            summaries="off",
        ),
        database=database,
    )
    try:
        services: Services = app.extensions["services"]
        services.prepare()
        build_indexes(database, ordinary_indexes(services.storage), lambda text: None)
        services.runtime.remember_embedder()
        if kind == SERVER:
            ensure_indexes(database, services.runtime.index_plans)
        fill(services, reports, passages_each, rows=not (large and kind == SERVER))
        stop_work(app)
        time.sleep(0.5)
        yield Library(app, database, reports)
    finally:
        close_app(app)


def _facts(reports: int) -> Iterator[dict[str, Any]]:
    """Yield what the passages of a report have in common."""
    for record in records(reports):
        yield {
            "document_id": record.id,
            "version": record.version,
            "document_name": record.name,
            "report_title": record.title,
            **record.metadata,
        }


def fill(
    services: Services, reports: int, passages_each: int, *, rows: bool = True
) -> None:
    """Write rows of reports, and those of their passages where ``rows`` says so, past
    the product.
    """
    database, settings = services.storage.database, services.settings
    dice = random.Random(1)
    every = records(reports)
    while batch := [
        replace(one, chunks=passages_each) for one in itertools.islice(every, BATCH)
    ]:
        registered = [
            {"_id": one.id, **_RECORD.dump_python(one, mode="json", exclude={"id"})}
            for one in batch
        ]
        _write(database, "documents", registered)
        chunks = []
        for record in batch if rows else ():
            for chunk in passages(dice, record):
                vector = [dice.uniform(-1, 1) for _ in range(DIMENSIONS)]
                row = chunk_to_json(chunk, settings.filter_fields)
                row["data_embedding"] = database.encode_vector(vector)  # type: ignore[arg-type]
                chunks.append(row)
        _write(database, settings.report_collection, chunks)
    services.storage.changes.announce(None, *ANNOUNCED_KINDS)


def _write(database: Any, name: str, rows: list[dict[str, Any]]) -> None:
    """Add rows past the product. The double replaces rows by looking at all."""
    if rows and database.embedded:
        outside(database, name).replace_many(rows)
    elif rows:
        database.raw(name).insert_many(rows)


def measured(
    kind: str,
    folder: Path,
    sizes: Sequence[int],
    passages_each: int = 3,
    *,
    large: bool = False,
    routes: Sequence[str] = tuple(ROUTES),
) -> dict[str, list[Cost]]:
    """Return the cost of each route in each size of library. ``large``: see
    `library`.
    """
    costs: dict[str, list[Cost]] = {route: [] for route in routes}
    for size in sizes:
        place = folder / f"{kind}-{size}"
        with library(kind, place, size, passages_each, large=large) as one:
            for route in routes:
                costs[route].append(one.cost(route))
    return costs


def show(sizes: Sequence[int], passages_each: int, folder: Path) -> None:
    """Print the costs of all routes on both kinds of database."""
    for kind in (SERVER, FILE):
        print(f"\n{kind}, {passages_each} passages a report")
        heads = "".join(
            f"{f'{size:,}: calls':>18}{'rows':>10}{'vectors':>9}" for size in sizes
        )
        print(f"{'route':<18}{heads}")
        costs_of = measured(
            kind, folder, sizes, passages_each, large=max(sizes) * passages_each > LARGE
        )
        for route, costs in costs_of.items():
            figures = "".join(
                f"{one.calls:>18,}{one.rows:>10,}{one.vectors:>9,}" for one in costs
            )
            print(f"{route:<18}{figures}", flush=True)
