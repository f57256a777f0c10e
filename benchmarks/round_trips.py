"""Calls to MongoDB of a question, a search, a comparison, a deep question and an
upload, and how many wait for each other.

    python -m benchmarks round_trips [--delay 10]

Every call of the driver takes ``--delay`` milliseconds more, as over a network; the
server is the double of Atlas of the tests, in this process. ``in a row`` is the longest
chain of calls that began when the one before had ended: what a person waits for.
``before the model`` and ``after done`` are those of the chain before the chat model is
called, and after the event `done` has reached the client. The upload is of a report
with 300 passages, embedded by an API on this machine; it ends when the report is ready.
"""

from __future__ import annotations

import argparse
import io
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flask import Flask

from chatbot.app.factory import close_app, create_app, stop_work
from chatbot.app.services import Services
from chatbot.config.settings import Settings
from chatbot.database.mongo import MongoDatabase
from chatbot.stores.atlas.indexes import ensure_indexes
from tests.fakes.mongomock_search import SearchClient
from tests.fakes.openai_server import EMBEDDINGS, FakeOpenAI, Reply

REPORT = """# {country}: Country Report {year}

## People and Society

### Population growth rate

2.09% ({year} est.)

## Economy

### Exports

Tea exports of {country} were worth 1.4 billion dollars, those of flowers 0.6 billion.
"""
PASSAGES = 300
WORKERS = {f"ingestion-{number}" for number in range(16)}
"""Names of the threads that read files."""
QUESTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "question": (
        "/api/chat",
        {"query": "Why do the tea exports of Kenya matter, number {}?"},
    ),
    "search": (
        "/api/search",
        {"query": "tea exports {}", "filters": {"country_name": ["Kenya"]}},
    ),
    "comparison": (
        "/api/chat",
        {
            "query": "How do the tea exports of Kenya and Mali differ, number {}?",
            "mode": "compare",
        },
    ),
    "deep": (
        "/api/chat",
        {"query": "Why do the tea exports of Kenya matter, number {}?", "mode": "deep"},
    ),
}


@dataclass
class Calls:
    """When the calls of the driver began and ended, and when the model was asked."""

    made: list[tuple[float, float]] = field(default_factory=list)
    makers: list[str] = field(default_factory=list)
    """The thread of each call."""
    asked: list[float] = field(default_factory=list)

    def of_threads(self, names: Collection[str]) -> Calls:
        """Return the calls that these threads have made."""
        made = zip(self.made, self.makers, strict=True)
        return Calls([call for call, maker in made if maker in names])

    def in_a_row(self, *, since: float = 0.0, until: float = float("inf")) -> int:
        """The longest chain of calls of which each begins after the end of the one
        before.
        """
        chain, end = 0, 0.0
        for began, ended in sorted(self.made, key=lambda call: call[1]):
            if since <= began < until and began >= end:
                chain, end = chain + 1, ended
        return chain


@dataclass(frozen=True)
class Measured:
    calls: int
    in_a_row: int
    before_model: int
    after_done: int
    milliseconds: float


class DistantDatabase(MongoDatabase):
    """Each call takes a while more."""

    delay = 0.0
    calls = Calls()

    def raw(self, name: str) -> Any:
        began = time.monotonic()
        if self.delay:
            time.sleep(self.delay)
        self.calls.made.append((began, time.monotonic()))
        self.calls.makers.append(threading.current_thread().name)
        return super().raw(name)


@contextmanager
def application(
    **options: Any,
) -> Iterator[tuple[Flask, DistantDatabase]]:
    """A server over the double, without reports."""
    database = DistantDatabase(SearchClient(), "test")
    common = {"chat_model": "echo", "sample_data": "off", "summaries": "off"}
    with tempfile.TemporaryDirectory() as folder:
        app = create_app(
            Settings(
                data_dir=Path(folder), vector_search="atlas", **{**options, **common}
            ),
            database=database,
        )
        try:
            services: Services = app.extensions["services"]
            ensure_indexes(database, services.runtime.index_plans)
            yield app, database
        finally:
            close_app(app)


@contextmanager
def deployment() -> Iterator[Callable[[str, float], Measured]]:
    """A server over the double, with eight reports; asks a question of a kind with a
    delay in seconds.
    """
    with application(embedding_provider="hashing") as (app, database):
        services, client = app.extensions["services"], app.test_client()
        for country in ("Kenya", "Mali", "Chad", "Peru"):
            for year in (2022, 2023):
                text = REPORT.format(country=country, year=year)
                upload(client, database, {f"{country}{year}.md": text})
        stop_work(app)  # its threads look for files, which no question waits for
        time.sleep(1)
        model: Any = services.models.chat
        stream = model.stream

        def noted(*arguments: Any, **options: Any) -> Any:
            database.calls.asked.append(time.monotonic())
            return stream(*arguments, **options)

        model.stream = noted
        yield lambda kind, delay: measure(client, database, kind, delay)


def upload(client: Any, database: DistantDatabase, texts: dict[str, str]) -> None:
    """Upload files and wait until they are read. Looking whether they are is not
    counted.
    """
    files = [(io.BytesIO(text.encode()), name) for name, text in texts.items()]
    sent = client.post(
        "/api/documents",
        data={"files": files, "country_name": "Kenya"},
        content_type="multipart/form-data",
    ).get_json()
    job = {"ingestion_id": sent["ingestion_id"]}
    items = MongoDatabase.raw(database, "ingestion_items")
    while not all(item["state"] in ENDED for item in list(items.find(job))):
        time.sleep(0.005)
    failed = [item["error"] for item in items.find(job) if item["state"] != "done"]
    assert failed == []


def long_report(name: str, passages: int) -> str:
    """Return a report of so many passages, each with a figure."""
    sentence = "Tea exports of region {} were worth {}.4 billion dollars in 2023. "
    sections = (
        f"## Section {number}\n\n" + 8 * sentence.format(number, number)
        for number in range(passages)
    )
    return "\n\n".join([f"# {name}: Country Report 2023", *sections])


@contextmanager
def library_with_api(
    embedding_seconds: float = 0.0,
) -> Iterator[tuple[Any, DistantDatabase]]:
    """A server whose embeddings come from an API, over the double; yields a client and
    the database.
    """
    with FakeOpenAI(dimensions=64) as server:
        slow = Reply(silent_before=embedding_seconds)
        server.default[EMBEDDINGS] = slow
        options = {
            **server.as_settings,
            "embedding_provider": "openai",
            "embedding_model": "text-embedding-3-small",
            "embedding_dimensions": 64,
        }
        with application(**options) as (app, database):
            client = app.test_client()
            upload(client, database, {"first.md": long_report("Kenya", 3)})
            time.sleep(1)
            yield client, database


@dataclass(frozen=True)
class UploadMeasured:
    """Calls in a row of the request, which ends before the file is read, and of the
    thread that reads it, from claiming it to its end.
    """

    calls: int
    request: int
    reading: int
    milliseconds: float


def measure_upload(delay: float, passages: int = PASSAGES) -> UploadMeasured:
    """Upload a report to a library that is in use."""
    with library_with_api() as (client, database):
        database.delay, database.calls = delay, Calls()
        began = time.monotonic()
        upload(client, database, {"second.md": long_report("Mali", passages)})
        ended = time.monotonic()
        calls, database.delay = database.calls, 0.0
        documents = MongoDatabase.raw(database, "documents")
        stored = documents.find_one({"name": {"$regex": "Mali"}})
        assert stored["chunks"] == passages
    of_request = calls.of_threads({threading.current_thread().name})
    # The file is there before the last two calls: its lease is given back, and the
    # audit log written.
    *_, (queued, _), _ = of_request.made
    of_workers = [name for name in calls.makers if name in WORKERS]
    reader, _ = Counter(of_workers).most_common(1)[0]
    return UploadMeasured(
        calls=sum(call[1] <= ended for call in calls.made),
        request=of_request.in_a_row(until=ended),
        reading=calls.of_threads({reader}).in_a_row(since=queued, until=ended),
        milliseconds=1000 * (ended - began),
    )


ENDED = {"done", "failed", "cancelled"}


def measure(
    client: Any, database: DistantDatabase, kind: str, delay: float
) -> Measured:
    """Ask once without a delay, so that everything is built, and then once more."""
    path, body = QUESTIONS[kind]
    for pause in (0.0, delay):
        database.delay, database.calls = pause, Calls()
        began, done = time.monotonic(), float("inf")
        response = client.post(
            path, json={**body, "query": body["query"].format(time.monotonic_ns())}
        )
        assert response.status_code == 200, response.get_data()
        for piece in response.response:
            if b"event: done" in piece:
                done = time.monotonic()
        took = time.monotonic() - began
        response.close()
        time.sleep(0.2)
        database.delay = 0.0
    calls = database.calls
    before = calls.in_a_row(until=calls.asked[-1]) if calls.asked else calls.in_a_row()
    return Measured(
        len(calls.made),
        calls.in_a_row(),
        before,
        calls.in_a_row(since=done),
        took * 1000,
    )


def main(arguments: Iterable[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--delay",
        type=float,
        default=10.0,
        help="milliseconds of each call (default: 10)",
    )
    options = parser.parse_args(arguments if arguments is None else list(arguments))
    with deployment() as ask:
        print(
            f"{'kind':<12}{'calls':>7}{'in a row':>10}{'before the model':>18}{'after done':>12}{'ms':>8}"  # noqa: E501
        )
        for kind in QUESTIONS:
            one = ask(kind, options.delay / 1000)
            row = f"{kind:<12}{one.calls:>7}{one.in_a_row:>10}{one.before_model:>18}{one.after_done:>12}"  # noqa: E501
            print(f"{row}{one.milliseconds:>8.0f}")
    one = measure_upload(options.delay / 1000)
    print(
        f"upload of {PASSAGES} passages: {one.calls} calls, in a row {one.request} of "
        f"the request and {one.reading} of the reading, {one.milliseconds:.0f} ms"
    )


if __name__ == "__main__":
    main()
