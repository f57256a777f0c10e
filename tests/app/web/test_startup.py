"""The first moments of a server, and what runs beside its requests."""

import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from flask import Flask

from chatbot.app.web.server import Startup
from chatbot.domain import Document
from chatbot.domain.errors import DatabaseError
from chatbot.library.derived import NONE
from chatbot.library.pipeline import Registration
from chatbot.library.samples import SampleReports
from tests.answering.modes.conftest import MALI_2021
from tests.conftest import KENYA_2023, write_report
from tests.library.helpers import until


def test_supervised_work_runs_once_however_often_and_from_wherever_it_is_asked_for() -> (  # noqa: E501
    None
):
    """Two uploads at the same moment must not start two threads over one worker."""
    startup, running, end = (
        Startup(lambda: None),
        threading.Semaphore(0),
        threading.Event(),
    )

    def work() -> None:
        running.release()
        assert end.wait(60)

    askers = [
        threading.Thread(target=startup.supervise, args=("ingestion", work))
        for _ in range(8)
    ]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join()
    try:
        assert running.acquire(timeout=30)
        assert not running.acquire(timeout=0.2)
    finally:
        end.set()
        startup.close()


def test_background_work_that_meets_a_bug_is_started_again() -> None:
    startup, has_recovered = Startup(lambda: None), threading.Event()
    bugs = [RuntimeError("a bug")]

    def work(stop: threading.Event) -> None:
        if bugs:
            raise bugs.pop()
        has_recovered.set()

    startup.background("retention", work)
    try:
        assert has_recovered.wait(10)
    finally:
        startup.close()


def test_a_start_that_meets_a_bug_while_it_is_tried_again_is_tried_once_more() -> None:
    is_ready = threading.Event()
    failures: list[Exception] = [
        RuntimeError("a bug"),
        DatabaseError("The database is away.", retry_after=1),
    ]

    def start() -> None:
        if failures:
            raise failures.pop()
        is_ready.set()

    startup = Startup(start)
    startup.run()
    try:
        assert is_ready.wait(10)
    finally:
        startup.close()


def test_a_start_that_is_tried_again_begins_its_background_work_once() -> None:
    is_ready, runs = threading.Event(), []
    failures = [DatabaseError("The database is away.", retry_after=1)]

    def start() -> None:
        startup.background("search-indexes", lambda stop: runs.append("started"))
        if failures:
            raise failures.pop()
        is_ready.set()

    startup = Startup(start)
    startup.run()
    try:
        assert is_ready.wait(10)
    finally:
        startup.close()
    assert runs == ["started"]


@pytest.mark.parametrize("path", ["/query", "/api/chat", "/api/search"])
def test_questions_wait_until_all_sample_reports_are_searchable(
    app: Flask, tmp_path: Path, path: str
) -> None:
    """Else one would be told that there is no report on the country of the next one.
    Until then `/ready` is 503.
    """
    registered, go_on, may_ingest = (
        threading.Event(),
        threading.Event(),
        threading.Event(),
    )
    client, services = app.test_client(), app.extensions["services"]
    folder = write_report(tmp_path / "samples", KENYA_2023, "kenya").parent
    write_report(folder, MALI_2021, "mali")
    real = services.ingesting.ingestor

    def register(document: Document, about: Registration) -> bool:
        if registered.is_set():
            assert go_on.wait(60)
        found: bool = real.register(document, about)
        registered.set()
        return found

    def ingest(document: Document, about: Registration) -> None:
        assert may_ingest.wait(60)
        real.ingest(document, about)

    slow = SimpleNamespace(
        register=register,
        overrides=real.overrides,
        ingest=ingest,
        deleted_ids=real.deleted_ids,
    )
    samples = app.extensions["samples"] = SampleReports(
        folder, ingestor=lambda: slow, leases=services.storage.facts, summary=NONE
    )
    samples.start()
    question = {"query": "What is the population growth rate of Mali?"}
    try:
        assert registered.wait(30)
        refused = client.post(path, json=question)
        assert (refused.status_code, refused.get_json()["error"]["code"]) == (
            503,
            "ingesting",
        )
        assert refused.headers["Retry-After"]
        for step in (go_on, may_ingest):
            assert (
                client.get("/ready").status_code,
                client.get("/livez").status_code,
            ) == (503, 200)
            step.set()
            until(lambda: not samples.unknown)
    finally:
        go_on.set()
        may_ingest.set()
        until(lambda: not samples.running)
    assert client.get("/ready").status_code == 200
    assert client.post(path, json=question).status_code == 200
    assert client.post("/query", json=question).get_json()["answered"]
