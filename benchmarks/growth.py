"""What growing costs: the same requests over 100 and over 10,000 reports, over HTTP, in
turn.

    python -m benchmarks growth [--large 10000] [--rounds 30] [--keep FOLDER]
    python -m benchmarks growth --rows 1000 10000 [--passages 3]

Each report has ten passages and a conversation; 200 countries. The rows go in through
the store and the repositories, as ingestion writes them (reading 10,000 files would
measure the reader), with the hashing embedder: what is timed is everything but the
model. One process serves both libraries, so that what else the machine does slows down
both.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pycountry

from benchmarks.compare import PersistentConnection
from chatbot.app.factory import close_app, create_app
from chatbot.app.services import Services
from chatbot.app.web.server import Server, listen
from chatbot.config.settings import Settings
from chatbot.domain import Chunk, DocumentRecord

SMALL, PASSAGES, COUNTRIES = 100, 10, 200
BATCH = 200
TOPICS = (
    "inflation",
    "unemployment",
    "maize harvest",
    "literacy",
    "life expectancy",
    "road network",
    "child mortality",
    "electricity",
    "exports",
    "public debt",
    "rainfall",
    "measles",
    "school enrolment",
    "tourism",
    "remittances",
)
WORDS = [
    f"{a}{b}{c}"
    for a in ("ba", "do", "ki", "lu", "mer", "ta")
    for b in ("lo", "nu", "ri", "se")
    for c in "mnst"
]
Ask = Callable[[int], tuple[str, object | None]]


def passages(rng: random.Random, record: DocumentRecord) -> list[Chunk]:
    """Of one report, as ingestion makes them."""
    found, start = [], 0
    for ordinal in range(record.chunks):
        topic, country = rng.choice(TOPICS), record.metadata["country_name"]
        text = (
            f"The {topic} of {country} was {rng.randrange(1, 900) / 10} percent in "
            f"{record.metadata['year']}. "
            f"It {' '.join(rng.choices(WORDS, k=40))}."
        )
        id, end = Chunk.make_id(record.id, record.version, ordinal), start + len(text)
        found.append(
            Chunk(
                id,
                record.id,
                record.name,
                record.title,
                text,
                topic.capitalize(),
                1 + ordinal // 3,
                ordinal,
                start,
                end,
                record.metadata,
                record.collection,
            )
        )
        start = end + 2
    return found


def records(count: int) -> Iterator[DocumentRecord]:
    names = sorted(country.name for country in pycountry.countries)[:COUNTRIES]
    for number in range(count):
        country, edition = names[number % COUNTRIES], 1975 + number // COUNTRIES % 50
        title = f"{country}: Country Report {edition}" + (
            f" ({number})" if count > COUNTRIES * 50 else ""
        )
        metadata = {"country_name": country, "year": edition, "type": "country_report"}
        yield DocumentRecord(
            f"r{number:06d}",
            title,
            title,
            f"{title}.md",
            "report_chatting",
            "ready",
            "v1",
            metadata,
            PASSAGES,
        )


def fill(services: Services, count: int) -> None:
    """Reports, passages with their vectors, and a conversation for each."""
    services.prepare()
    services.runtime.remember_embedder()
    rng, store, embedder, database = (
        random.Random(1),
        services.runtime.store,
        services.runtime.embedder,
        services.storage.database,
    )
    every = records(count)
    while batch := list(itertools.islice(every, BATCH)):
        chunks = [chunk for record in batch for chunk in passages(rng, record)]
        store.upsert(
            chunks, embedder.embed_documents([chunk.search_text for chunk in chunks])
        )
        for record in batch:
            services.storage.documents.put(record)
        said = [
            {"_id": f"c{record.id}", "title": record.title, "messages": 2}
            for record in batch
        ]
        database["conversations"].replace_many(said)
        rows = [
            {
                "_id": f"{one['_id']}-{n}",
                "conversation_id": one["_id"],
                "ordinal": n,
                "role": "user",
                "content": "Of it?",
            }
            for one in said
            for n in (1, 2)
        ]
        database["messages"].replace_many(rows)


@dataclass(frozen=True)
class Library:
    """A served library of so many reports."""

    count: int
    services: Services
    client: PersistentConnection
    seconds: float

    def request(self, path: str, body: object | None) -> tuple[float, float]:
        """Milliseconds until the whole answer is there, and those of them that this
        process computed.
        """
        started, computed = time.perf_counter(), time.process_time()
        status, answer = self.client.request(
            "GET" if body is None else "POST", path, body
        )
        assert status == 200, answer
        return (time.perf_counter() - started) * 1000, (
            time.process_time() - computed
        ) * 1000

    def change(self, number: int) -> None:
        """One report anew, with other figures."""
        record = next(itertools.islice(records(self.count), number % self.count, None))
        chunks = passages(random.Random(number), replace(record, version="v1"))
        store, embedder = self.services.runtime.store, self.services.runtime.embedder
        store.upsert(
            chunks, embedder.embed_documents([chunk.search_text for chunk in chunks])
        )
        self.services.storage.documents.put(record)


@contextmanager
def library(folder: Path, count: int) -> Iterator[Library]:
    settings = Settings(
        data_dir=folder, embedding_provider="hashing", sample_data="off"
    )
    app = create_app(settings)
    services: Services = app.extensions["services"]
    started = time.perf_counter()
    if services.storage.documents.all() == []:
        fill(services, count)
    seconds = time.perf_counter() - started
    listening = listen("127.0.0.1", 0)
    server = Server(app, settings)
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    with PersistentConnection(
        f"http://127.0.0.1:{listening.getsockname()[1]}"
    ) as client:
        yield Library(count, services, client, seconds)
    server.should_exit = server.force_exit = True
    thread.join()
    close_app(app)


def question(
    number: int, country: str = "Angola", *, named: bool = True
) -> dict[str, str]:
    """Each number asks in other words, so that nothing was answered before."""
    words = f"{WORDS[number % len(WORDS)]} {WORDS[number // len(WORDS) % len(WORDS)]}"
    return {
        "query": (
            "What was the "
            f"{TOPICS[number % len(TOPICS)]}{f' of {country}' if named else ''} with "
            f"{words}?"
        )
    }


REQUESTS: dict[str, Ask] = {
    "/query about a country": lambda n: ("/query", question(n)),
    "/query about all": lambda n: ("/query", question(n, named=False)),
    "/query in a conversation": lambda n: (
        "/query",
        {**question(n), "conversation_id": "cr000001"},
    ),
    "/api/search": lambda n: ("/api/search", question(n)),
    "/api/facets": lambda n: ("/api/facets", None),
    "/api/facets of a country": lambda n: ("/api/facets?country_name=Angola", None),
    "/api/facets, names searched": lambda n: (
        "/api/facets?field=document_name&q=angola&limit=50",
        None,
    ),
    "/api/reports": lambda n: ("/api/reports?limit=50", None),
    "/api/documents": lambda n: ("/api/documents?limit=50", None),
    "/api/documents searched": lambda n: ("/api/documents?limit=50&q=angola", None),
    "/": lambda n: ("/", None),
    "/documents": lambda n: ("/documents", None),
}


def measure(
    libraries: list[Library], rounds: int
) -> dict[str, list[list[tuple[float, float]]]]:
    """By request the milliseconds in each library; after the first rounds, which warm
    up.
    """
    times: dict[str, list[list[tuple[float, float]]]] = {
        name: [[] for _ in libraries] for name in (*REQUESTS, CHANGED)
    }
    for number in range(-3, rounds):
        for name, ask in REQUESTS.items():
            for place, one in enumerate(libraries):
                times[name][place].append(
                    one.request(*ask(number + 3 + 1000 * os.getpid()))
                )
        for place, one in enumerate(libraries):
            one.change(number)
            times[CHANGED][place].append(
                one.request("/query", question(number + 500 + 1000 * os.getpid()))
            )
    return {name: [found[3:] for found in both] for name, both in times.items()}


CHANGED = "/query after a change"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--large", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument(
        "--keep", type=Path, help="where the libraries stay for the next run"
    )
    parser.add_argument(
        "--rows",
        type=int,
        nargs="+",
        metavar="REPORTS",
        help="count calls and rows read in libraries of these sizes instead",
    )
    parser.add_argument(
        "--passages", type=int, default=3, help="of each report, for --rows"
    )
    asked = parser.parse_args()
    if asked.rows:
        from benchmarks import rows_read  # it imports the synthetic reports from here

        with tempfile.TemporaryDirectory() as scratch:
            rows_read.show(asked.rows, asked.passages, Path(scratch))
        return
    with ExitStack() as stack:
        folder = asked.keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        libraries = [
            stack.enter_context(library(folder / str(count), count))
            for count in (SMALL, asked.large)
        ]
        for one in libraries:
            print(
                f"{one.count:,} reports, {PASSAGES * one.count:,} passages: "
                f"written in {one.seconds:.1f} s"
            )
        print(f"load of the machine: {os.getloadavg()[0]:.1f}\n")
        print(
            f"| request | {SMALL}: ms | computed | {asked.large}: ms | computed | "
            "ratio |\n|---|---|---|---|---|---|"
        )
        for name, both in measure(libraries, asked.rounds).items():
            (small, own), (large, more) = (
                map(statistics.median, zip(*found, strict=True)) for found in both
            )
            print(
                (
                    f"| {name} | {small:.1f} | {own:.1f} | {large:.1f} | {more:.1f} | "
                    f"{more / own:.2f} |"
                ),
                flush=True,
            )


if __name__ == "__main__":
    main()
