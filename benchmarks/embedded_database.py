"""The embedded database against NeoSQLite, which it was before: the same rows, in turn, in one process.

    python -m benchmarks.embedded_database [--rows 100000]

NeoSQLite writes within BEGIN IMMEDIATE here: without it, it loses updates. The tests' requirements install it.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

import neosqlite
import numpy as np

from chatbot.database.core import Database
from chatbot.database.embedded import EmbeddedBackend
from chatbot.database.rows import decode_vector, encode_payload

GROUP, BATCH, READ, ROUNDS = 14, 64, 20_000, 7
PROCESSES, THREADS, INCREMENTS = 2, 4, 250
TEXT = "The maize harvest of the northern districts fell by 12 per cent. " * 18
Row = dict[str, Any]


class Side(Protocol):
    """What is measured; ``trace`` gets the text of every statement."""

    def __init__(self, path: Path) -> None: ...
    def index(self) -> None: ...
    def write(self, rows: Sequence[Row]) -> None: ...
    def find(self, filter: Row) -> list[Row]: ...
    def increment(self, id: str) -> None: ...
    def trace(self, seen: Callable[[str], None] | None) -> None: ...


class Ours:
    def __init__(self, path: Path) -> None:
        self._backend = EmbeddedBackend(path)
        self._rows = Database(self._backend)["rows"]

    def index(self) -> None:
        self._rows.create_index([("document_id", 1), ("ordinal", 1)])

    def write(self, rows: Sequence[Row]) -> None:
        self._rows.replace_many(rows)

    def find(self, filter: Row) -> list[Row]:
        return list(self._rows.find(filter, sort=[("ordinal", 1)] if filter else None, limit=0 if filter else READ))

    def increment(self, id: str) -> None:
        self._rows.find_one_and_update({"_id": id}, {"$inc": {"n": 1}}, upsert=True)

    def trace(self, seen: Callable[[str], None] | None) -> None:
        for connection in (self._backend._reader(), self._backend._get_writer().connection):
            connection.set_trace_callback(seen)


class NeoSqlite:
    def __init__(self, path: Path) -> None:
        self._connection = neosqlite.Connection(str(path), timeout=60.0, check_same_thread=False)
        self._rows = self._connection["rows"]

    def index(self) -> None:
        self._rows.create_index([("document_id", 1), ("ordinal", 1)])

    def _atomic(self, call: Callable[[], Any]) -> None:
        self._connection.db.execute("BEGIN IMMEDIATE")
        call()
        self._connection.db.commit()

    def write(self, rows: Sequence[Row]) -> None:
        self._atomic(lambda: self._rows.insert_many([_with_binary(row) for row in rows]))

    def find(self, filter: Row) -> list[Row]:
        options = {"sort": [("ordinal", 1)]} if filter else {"limit": READ}
        return list(self._rows.find(filter, **options))

    def increment(self, id: str) -> None:
        self._atomic(lambda: self._rows.find_one_and_update({"_id": id}, {"$inc": {"n": 1}}, upsert=True))

    def trace(self, seen: Callable[[str], None] | None) -> None:
        self._connection.db.set_trace_callback(seen)


def _with_binary(row: Row) -> Row:
    return {name: neosqlite.Binary(value, 9) if isinstance(value, bytes) else value for name, value in row.items()}


SIDES: dict[str, type[Side]] = {"ours": Ours, "NeoSQLite": NeoSqlite}


def rows(start: int, count: int) -> list[Row]:
    """Passages with vectors of 384 dimensions, as they are stored."""
    vectors = np.random.default_rng(start).standard_normal((count, 384)).astype(np.float32)
    return [
        {
            "_id": f"d{number // GROUP}-{number % GROUP}",
            "document_id": f"d{number // GROUP}",
            "ordinal": number % GROUP,
            "country_name": "Kenya",
            "year": 2000 + number % 25,
            "data": TEXT,
            "data_embedding": encode_payload(vectors[number - start]),
        }
        for number in range(start, start + count)
    ]


def milliseconds(call: Callable[[], Any]) -> float:
    began = time.perf_counter()
    call()
    return (time.perf_counter() - began) * 1000


def write(side: Side, start: int, count: int) -> float:
    made = rows(start, count)
    return milliseconds(lambda: side.write(made))


def measures(total: int) -> dict[str, Callable[[Side, int], Any]]:
    """Each is one call; the second argument counts the rounds."""

    def read(side: Side, turn: int) -> None:
        for row in side.find({}):
            decode_vector(row["data_embedding"])

    return {
        f"look-up of one document in {total:,} rows": lambda side, turn: side.find(
            {"document_id": f"d{turn * 997 % (total // GROUP)}"}
        ),
        f"{READ:,} rows with their vectors": read,
        f"{BATCH} new rows with vectors": lambda side, turn: side.write(rows(10 * total + turn * BATCH, BATCH)),
        "a counter": lambda side, turn: side.increment("counter"),
    }


def interleaved(sides: dict[str, Side], measure: Callable[[Side, int], Any]) -> Iterator[tuple[str, float, int]]:
    """Per side: the median in ms, and the statements of one call."""
    taken: dict[str, list[float]] = {name: [] for name in sides}
    statements: dict[str, list[str]] = {name: [] for name in sides}
    for turn in range(ROUNDS):
        for name, side in sides.items():
            side.trace(statements[name].append if turn == 0 else None)
            spent = milliseconds(lambda side=side, turn=turn: measure(side, turn))  # type: ignore[misc]
            if turn:
                taken[name].append(spent)
    for name, all_taken in taken.items():
        yield name, statistics.median(all_taken), len(statements[name])


def count_up(kind: str, path: Path) -> None:
    """One process: its threads write rows of their own and increase one counter."""

    def work(thread: int) -> None:
        side = shared if kind == "ours" else SIDES[kind](path)  # NeoSQLite: a connection for each thread
        for number in range(INCREMENTS):
            side.increment("all")
            side.write([{"_id": f"{os.getpid()}-{thread}-{number}"}])

    shared = SIDES[kind](path)
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(work, range(THREADS)))


def together(kind: str, path: Path) -> tuple[float, int, int]:
    """Writes a second of all processes, and how many counts and rows are there in the end, of 100 %."""
    SIDES[kind](path).increment("all")
    spawn = multiprocessing.get_context("spawn")
    workers = [spawn.Process(target=count_up, args=(kind, path)) for _ in range(PROCESSES)]
    began = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    found = SIDES[kind](path).find({"_id": "all"})[0]["n"] - 1
    everything = len(SIDES[kind](path).find({})) - 1
    return 2 * found / (time.perf_counter() - began), found, everything


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    total = parser.parse_args().rows
    with tempfile.TemporaryDirectory() as folder:
        sides: dict[str, Side] = {name: make(Path(folder) / f"{name}.sqlite") for name, make in SIDES.items()}
        for name, side in sides.items():
            side.index()
            spent = sum(write(side, start, 1000) for start in range(0, total, 1000))
            size = (Path(folder) / f"{name}.sqlite").stat().st_size
            print(f"{name}: {total / spent * 1000:.0f} rows/s written, {size / total:.0f} bytes a row")
        for what, measure in measures(total).items():
            for name, spent, statements in interleaved(sides, measure):
                print(f"{what}: {name} {spent:.3f} ms, {statements} statements")
        for name in SIDES:
            speed, counted, there = together(name, Path(folder) / f"{name}-together.sqlite")
            wanted = PROCESSES * THREADS * INCREMENTS
            print(f"{PROCESSES} x {THREADS} writers: {name} {speed:.0f}/s, kept {counted} and {there} of {wanted}")
    print("load", os.getloadavg())


if __name__ == "__main__":
    main()
