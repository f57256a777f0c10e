"""What a piece of work consists of: milliseconds of each part, for the rows of the
README that are not reached.

    python -m benchmarks parts files|upload|question|facets|figures [--times 100]

- files: small files of four passages, ingested one after the other with the local
  model.
- upload: the same in one upload, with an embedding API that answers at once, by the
  worker of the application.
- question: questions about the sample reports, with a scripted chat model that answers
  at once.
- facets: `/api/facets` after a change, over 10,000 reports (`--reports`).
- figures: the statements of `/api/figures`, counted by SQLite, over the sample reports.

The work is done twice, each time in a process of its own. In the second every function
of every thread is timed by the processor time of its thread (cProfile), without those
that it calls, and counts for its room of the package or its library. Each part is shown
as its share of the first one's processor time.
"""

from __future__ import annotations

import argparse
import cProfile
import io
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType

from flask import Flask

from benchmarks.growth import library
from benchmarks.loaded import load_samples
from benchmarks.small_files import write_files
from chatbot.app.factory import close_app, create_app
from chatbot.config.settings import Settings
from chatbot.library.sources import folder_sources
from tests.fakes.openai_server import CHAT, FakeOpenAI, Reply

PACKAGE = str(Path(__file__).parents[1] / "chatbot") + "/"
SITE_PACKAGES = "/site-packages/"
SHOWN = 14
QUESTION = "What is the {topic} of {country}?"
TOPICS = (
    "population",
    "inflation rate",
    "life expectancy",
    "area",
    "literacy",
    "exports",
    "climate",
    "median age",
)
COUNTRIES = ("Kenya", "Somalia", "Mali", "Egypt", "Yemen")


class Profiles:
    """The profiles of this thread and of those that start later."""

    def __init__(self) -> None:
        self._all: list[cProfile.Profile] = []

    def begin(self) -> None:
        threading.setprofile(lambda *_: self._add())
        self._add()

    def _add(self) -> None:
        profile = cProfile.Profile(time.thread_time)
        self._all.append(profile)
        profile.enable()

    def parts(self) -> Counter[str]:
        """Return the seconds of each part until now."""
        found = Counter[str]()
        for profile in list(self._all):
            for entry in profile.getstats():
                found[part_of(entry.code)] += entry.inlinetime
        return found


def part_of(code: CodeType | str) -> str:
    if isinstance(code, str):  # of a library in C
        module = re.search(r"(?:of '|built-in method |<method '\w+' of ')_?(\w+)", code)
        return (
            module[1]
            if module and ("." in code or "onnx" in code)
            else "Python's own types"
        )
    name = code.co_filename
    if name.startswith(PACKAGE):
        return "chatbot/" + "/".join(
            name.removeprefix(PACKAGE).removesuffix(".py").split("/")[:2]
        )
    if SITE_PACKAGES in name:
        return name.partition(SITE_PACKAGES)[2].split("/")[0]
    return "standard library"


PROFILES = Profiles()


def begin() -> None:
    if "--profiled" in sys.argv:
        PROFILES.begin()


def show(name: str, count: int, work: Callable[[], object]) -> None:
    """Print the times of ``work``; with profiles only its parts, as JSON."""
    before, began = PROFILES.parts(), (time.perf_counter(), time.process_time())
    work()
    clock, processor = (
        one / count * 1000
        for one in (time.perf_counter() - began[0], time.process_time() - began[1])
    )
    if parts := PROFILES.parts() - before:
        print(json.dumps(parts))
        return
    child = [sys.executable, "-m", "benchmarks", "parts", *sys.argv[1:], "--profiled"]
    output = subprocess.run(child, check=True, stdout=subprocess.PIPE, text=True).stdout
    parts = Counter(json.loads(output.splitlines()[-1]))
    print(
        f"{name}: {count} times, {clock:.1f} ms by the clock, {processor:.1f} of processor each "  # noqa: E501
        f"(load {os.getloadavg()[0]:.0f})"
    )
    for part, seconds in parts.most_common(SHOWN):
        print(
            f"  {part:<32} {seconds / parts.total():5.1%} {processor * seconds / parts.total():7.2f} ms"  # noqa: E501
        )


@contextmanager
def application(**settings: object) -> Iterator[Flask]:
    with tempfile.TemporaryDirectory() as folder:
        base = {
            "data_dir": Path(folder),
            "sample_data": "off",
            "chat_model": "extractive",
            "summaries": "off",
        }
        app = create_app(Settings(**base | {"cache_seconds": 0} | settings))
        try:
            yield app
        finally:
            close_app(app)


def files(times: int) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        application(embedding_provider="minilm") as app,
    ):
        begin()
        write_files(Path(folder), times)
        service = app.extensions["services"].ingesting.service
        (first,), rest = (
            folder_sources(Path(folder, name)) for name in ("first", "rest")
        )
        service.ingest(first)
        show(
            "a file of four passages, the local model",
            times,
            lambda: list(map(service.ingest, rest)),
        )


def upload(times: int) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        FakeOpenAI(dimensions=1536) as endpoint,
    ):
        write_files(Path(folder), times)
        begin()
        with application(
            embedding_provider="openai", **endpoint.as_settings | {"chat_model": "echo"}
        ) as app:
            client = app.test_client()

            def send(name: str) -> None:
                paths = sorted(Path(folder, name).iterdir())
                sent = [(io.BytesIO(path.read_bytes()), path.name) for path in paths]
                job = client.post("/api/documents", data={"files": sent}).get_json()[
                    "ingestion_id"
                ]
                while client.get(f"/api/ingestions/{job}").get_json()["state"] in {
                    "queued",
                    "running",
                }:
                    time.sleep(0.25)

            send("first")
            show(
                "an uploaded file of four passages, an embedding API",
                times,
                lambda: send("rest"),
            )


def question(times: int) -> None:
    with FakeOpenAI() as model:
        model.always(CHAT, Reply(["It is ", "as the report says ", "[1]."]))
        with application(**model.as_settings | {"embedding_provider": "minilm"}) as app:
            load_samples(app.extensions["services"])
            begin()
            client = app.test_client()

            def ask(number: int) -> None:
                topic, country = (
                    TOPICS[number % len(TOPICS)],
                    COUNTRIES[number // len(TOPICS) % len(COUNTRIES)],
                )
                text = QUESTION.format(topic=topic, country=country)
                answer = client.post(
                    "/api/chat", json={"query": text, "mode": "direct"}
                )
                assert b"event: done" in answer.data, answer.data[-500:]

            for number in range(10):
                ask(number)
            show(
                "a question with a chat model, streamed",
                times,
                lambda: [ask(n) for n in range(times)],
            )


def facets(times: int, reports: int) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        library(Path(folder), reports) as made,
    ):
        made.request("/api/facets", None)

        def change(number: int) -> float:
            made.change(number)
            return made.request("/api/facets", None)[1]

        middle = sorted(map(change, range(times)))[times // 2]
        print(
            f"/api/facets after a change, {reports:,} reports, median of {times}: {middle:.1f} ms of processor "  # noqa: E501
            f"(load {os.getloadavg()[0]:.0f})"
        )


def figures(times: int) -> None:
    statements = Counter[str]()
    connect = sqlite3.connect

    def traced(*given: object, **named: object) -> sqlite3.Connection:
        connection = connect(*given, **named)  # type: ignore[arg-type]
        connection.set_trace_callback(lambda text: statements.update([text.split()[0]]))
        return connection

    sqlite3.connect = traced  # type: ignore[assignment]
    with application(embedding_provider="minilm") as app:
        load_samples(app.extensions["services"])
        begin()
        client = app.test_client()
        client.get("/api/figures?limit=50")
        statements.clear()
        answer = client.get("/api/figures?limit=50").get_json()
        print(
            f"/api/figures: {len(answer['figures'])} figures of {answer['total']:,}, statements {dict(statements)}"  # noqa: E501
        )
        show(
            "/api/figures",
            times,
            lambda: [client.get("/api/figures?limit=50") for _ in range(times)],
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "what", choices=("files", "upload", "question", "facets", "figures")
    )
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("--reports", type=int, default=10_000, help="for facets")
    parser.add_argument("--profiled", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.what == "facets":
        facets(chosen.times, chosen.reports)
    else:
        {"files": files, "upload": upload, "question": question, "figures": figures}[
            chosen.what
        ](chosen.times)


if __name__ == "__main__":
    main()
