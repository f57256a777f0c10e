"""The first moments of a server, and what runs beside its requests."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from flask import Flask

from chatbot.app.web.server import Startup
from chatbot.domain import Document
from chatbot.library.derived import NONE
from chatbot.library.loaders import loader_for
from chatbot.library.pipeline import Registration
from chatbot.library.samples import SampleReports
from tests.answering.agents.conftest import MALI_2021
from tests.conftest import KENYA_2023, write_report


def test_supervised_work_runs_once_however_often_and_from_wherever_it_is_asked_for() -> None:
    """Two uploads at the same moment must not start two threads over one worker."""
    startup, running, end = Startup(lambda: None), threading.Semaphore(0), threading.Event()

    def work() -> None:
        running.release()
        assert end.wait(60)

    askers = [threading.Thread(target=startup.supervise, args=("ingestion", work)) for _ in range(8)]
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


@pytest.mark.parametrize("path", ["/query", "/api/chat", "/api/search"])
def test_questions_wait_until_all_sample_reports_are_known(app: Flask, tmp_path: Path, path: str) -> None:
    """Else one would be told that there is no report on the country of the next one."""
    registered, go_on, services = threading.Event(), threading.Event(), app.extensions["services"]
    folder = write_report(tmp_path / "samples", KENYA_2023, "kenya").parent
    write_report(folder, MALI_2021, "mali")
    real = services.ingesting.ingestor

    def register(document: Document, about: Registration) -> bool:
        if registered.is_set():
            assert go_on.wait(60)
        found: bool = real.register(document, about)
        registered.set()
        return found

    slow = SimpleNamespace(register=register, overrides=real.overrides, ingest=real.ingest)
    samples = app.extensions["samples"] = SampleReports(
        folder, ingestor=lambda: slow, loader=loader_for, leases=services.storage.facts, summary=NONE
    )
    samples.start()
    question = {"query": "What is the population growth rate of Mali?"}
    try:
        assert registered.wait(30)
        refused = app.test_client().post(path, json=question)
        assert (refused.status_code, refused.get_json()["error"]["code"]) == (503, "ingesting")
        assert refused.headers["Retry-After"]
    finally:
        go_on.set()
        while samples.running:
            time.sleep(0.02)
    assert app.test_client().post(path, json=question).status_code == 200
    assert app.test_client().post("/query", json=question).get_json()["answered"]
