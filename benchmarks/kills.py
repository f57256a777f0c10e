"""Every database call of every operation, killed and failed in a run of its own.

    python -m benchmarks kills [--operation upload] [--library file] [--kind kill]

A run ends a process before one of its database calls, or fails that call. Afterwards,
and after the work was taken up again, every live process has to show what a process
shows that is started then, and nothing that was accepted may be lost. The exit status
is 1 if any run differs.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import cache
from multiprocessing import get_context
from pathlib import Path

from chatbot.app.services import runtime
from chatbot.models.caches import WarmCache
from tests.fakes.mongoeco_server import IS_INSTALLED, mongoeco
from tests.faults.enumeration import KINDS, Outcome, points, run, undisturbed
from tests.faults.libraries import (
    DoubleLibrary,
    DoubleWithFaiss,
    FileLibrary,
    Library,
    ServerLibrary,
)
from tests.faults.operations import OPERATIONS

IN_PROCESS: dict[str, type[Library]] = {
    library.name: library for library in (FileLibrary, DoubleLibrary, DoubleWithFaiss)
}
SECOND_SERVER = ServerLibrary.name
LIBRARIES = (*IN_PROCESS, SECOND_SERVER)
SLOW_OPERATIONS = ("upload", "delete")
"""Those that run on the second server, unless others are asked for."""


def main() -> int:
    chosen = arguments()
    began = time.monotonic()
    rows = chosen_rows(chosen)
    outcomes: list[Outcome] = []
    for (library, operation, *_), found in zip(rows, in_processes(rows), strict=True):
        differing = [outcome for outcome in found if outcome.problems]
        print(
            f"{library:<16} {operation:<12} {len(found):4} points, "
            f"{len(differing):3} that differ, "
            f"{count_staying(differing):3} of them after the retry",
            flush=True,
        )
        for outcome in differing:
            print(f"  {outcome if chosen.verbose else outcome.summary}", flush=True)
        outcomes += found
    differing = [outcome for outcome in outcomes if outcome.problems]
    seconds = time.monotonic() - began
    print(
        f"{len(outcomes)} points, {len(differing)} that differ "
        f"({count_staying(differing)} after the retry), {seconds:.0f} s"
    )
    return 1 if differing else 0


def count_staying(outcomes: Iterable[Outcome]) -> int:
    return sum(outcome.stays for outcome in outcomes)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks kills", description=__doc__.splitlines()[0]
    )
    parser.add_argument(
        "--operation", choices=OPERATIONS, nargs="+", default=OPERATIONS
    )
    parser.add_argument("--library", choices=LIBRARIES, nargs="+", default=LIBRARIES)
    parser.add_argument("--kind", choices=KINDS, nargs="+", default=KINDS)
    parser.add_argument("--every", type=int, default=1, help="run one point of so many")
    parser.add_argument("--offset", type=int, default=0, help="leave out so many first")
    parser.add_argument("--verbose", action="store_true", help="say what differs")
    return parser.parse_args()


Row = tuple[str, str, Sequence[str], slice]


def chosen_rows(chosen: argparse.Namespace) -> list[Row]:
    """Return each operation on each library. The second server is left out, visibly,
    where it is not installed.
    """
    rows = []
    part = slice(chosen.offset, None, chosen.every)
    for library in chosen.library:
        operations = chosen.operation or tuple(OPERATIONS)
        if library == SECOND_SERVER and not chosen.operation:
            operations = SLOW_OPERATIONS
        if library == SECOND_SERVER and not IS_INSTALLED:
            print("skipped: mongoeco is not installed: run .ci/mongoeco")
            continue
        for operation in operations:
            rows.append((library, operation, tuple(chosen.kind), part))
    return rows


def in_processes(rows: Sequence[Row]) -> Iterable[list[Outcome]]:
    """Yield the outcomes of each row. As many rows run at once as there are cores."""
    workers = max(1, min(len(rows), os.cpu_count() or 1))
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield from pool.map(run_row, rows)


def run_row(row: Row) -> list[Outcome]:
    name, operation_name, kinds, part = row
    # Each run opens six processes' services; the shipped vectors never change.
    runtime.WarmCache = cache(WarmCache)  # type: ignore[misc, assignment]
    operation = OPERATIONS[operation_name]
    with tempfile.TemporaryDirectory() as folder, opened(name, Path(folder)) as library:
        library.prepare(operation.prepare)
        expected = undisturbed(library, operation)
        chosen = list(points(library, operation, expected, kinds))[part]
        return [run(library, operation, expected, point) for point in chosen]


@contextmanager
def opened(name: str, folder: Path) -> Iterator[Library]:
    if name != SECOND_SERVER:
        yield IN_PROCESS[name](folder)
        return
    with mongoeco() as uri:
        library = ServerLibrary(folder, uri)
        yield library
        library.close()


if __name__ == "__main__":
    # Under its own name: other processes import what they run.
    from benchmarks.kills import main as run_by_name

    sys.exit(run_by_name())
