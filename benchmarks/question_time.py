"""Processor and wall time of a question beside another checkout.

    python -m benchmarks question_time BASE FOLDER [--every N] [--model]

Two servers start as a person starts them: this checkout and BASE, without a key and
with all caches off. Each question of FOLDER (the JSON files of the `wordings`, every
Nth; of a conversation the first turn) goes to both, one after the other, the order
changing. The processor time is that of the server's process in the kernel's clock of 10
ms, summed over all questions; of the wall times the median ratio of the pairs is
printed, and how many questions a second each answers to eight clients. ``--model``:
both ask a scripted chat model over HTTP, and the answers are streamed.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from benchmarks.recorded_client import fetch, server
from benchmarks.recorded_requests import Request
from tests.fakes.openai_server import FakeOpenAI

ROOT = Path(__file__).parents[1]
OFF = {
    "CACHE_SECONDS": "0",
    "EMBEDDING_PROVIDER": "minilm",
    "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
}
CLIENTS, ROUNDS = 8, 3
TICKS = os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("base", type=Path, help="the other checkout")
    parser.add_argument("folder", type=Path, help="a folder of question sets")
    parser.add_argument("--every", type=int, default=2, help="ask every Nth question")
    parser.add_argument(
        "--model", action="store_true", help="with a scripted chat model"
    )
    chosen = parser.parse_args()
    with ExitStack() as stack:
        model = stack.enter_context(FakeOpenAI()) if chosen.model else None
        settings = OFF | (model.as_environment if model else {})
        urls = [
            stack.enter_context(server(root, settings))
            for root in (ROOT, chosen.base.resolve())
        ]
        processes, path = children(), "/api/chat" if chosen.model else "/query"
        for url in urls:
            ask(url, path, "What is the population of Kenya?")
        spent, ratios = defaultdict[str, list[tuple[float, float]]](list), list[float]()
        texts: list[str] = []
        for file in sorted(chosen.folder.glob("*.json")):
            for number, item in enumerate(
                json.loads(file.read_text(encoding="utf-8"))[:: chosen.every]
            ):
                text = item["question"] if "question" in item else item["turns"][0]
                texts.append(text)
                times: dict[int, tuple[float, float]] = {}
                for place in (0, 1) if number % 2 else (1, 0):
                    before, started = (
                        processor_seconds(processes[place]),
                        time.perf_counter(),
                    )
                    ask(urls[place], path, text)
                    wall = time.perf_counter() - started
                    times[place] = processor_seconds(processes[place]) - before, wall
                spent[file.stem].append((times[0][0], times[1][0]))
                ratios.append(times[0][1] / times[1][1])
        speeds = [[throughput(url, path, texts) for url in urls] for _ in range(ROUNDS)]
    spent["all"] = [pair for of_set in spent.values() for pair in of_set]
    print(
        "milliseconds of processor time a question, here and in the base, and "
        "their ratio"
    )
    for name, pairs in spent.items():
        now, before = (
            sum(column) / len(pairs) * 1000 for column in zip(*pairs, strict=True)
        )
        print(
            f"{name}: {now:.1f}, {before:.1f}: {now / before:.2f} ({len(pairs)} "
            "questions)"
        )
    print(f"wall time, median of {len(ratios)} ratios: {statistics.median(ratios):.2f}")
    own, base = (statistics.median(column) for column in zip(*speeds, strict=True))
    print(
        f"questions a second of {CLIENTS} clients: {own:.0f}, {base:.0f}: "
        f"{own / base:.2f}"
    )


def throughput(url: str, path: str, texts: list[str]) -> float:
    started = time.perf_counter()
    with ThreadPoolExecutor(CLIENTS) as clients:
        list(clients.map(partial(ask, url, path), texts))
    return len(texts) / (time.perf_counter() - started)


def ask(url: str, path: str, text: str) -> None:
    reply = fetch(
        url, Request("question", "POST", path, {"query": text, "cache": False})
    )
    if reply["status"] != 200:
        raise SystemExit(f"{text}: {reply['status']} {reply['json']}")


def children() -> list[int]:
    """Return the processes that this one started, oldest first."""
    return [
        int(one)
        for one in Path(f"/proc/self/task/{os.getpid()}/children")
        .read_text(encoding="ascii")
        .split()
    ]


def processor_seconds(process: int) -> float:
    fields = (
        Path(f"/proc/{process}/stat")
        .read_text(encoding="utf-8")
        .rpartition(")")[2]
        .split()
    )
    return (int(fields[11]) + int(fields[12])) / TICKS


if __name__ == "__main__":
    main()
