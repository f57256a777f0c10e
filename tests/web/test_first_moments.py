"""A first start, before the sample reports are even registered: "not found" would be wrong."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
from flask import Flask

from chatbot.ingestion.samples import SampleReports
from chatbot.ingestion.summary import NONE
from chatbot.loaders import loader_for
from chatbot.protocols import Loader
from chatbot.services import Services
from tests.conftest import KENYA_2023, write_report


@pytest.mark.parametrize("path", ["/query", "/api/chat", "/api/search"])
def test_questions_wait_until_the_sample_reports_are_known(app: Flask, tmp_path: Path, path: str) -> None:
    read, services = threading.Event(), app.extensions["services"]
    samples = slow_samples(services, write_report(tmp_path / "samples", KENYA_2023, "kenya").parent, read)
    app.extensions["samples"] = samples
    samples.start()
    question = {"query": "What is the population?"}
    try:
        refused = app.test_client().post(path, json=question)
        assert (refused.status_code, refused.get_json()["error"]["code"]) == (503, "ingesting")
        assert refused.headers["Retry-After"]
    finally:
        read.set()
        while samples.running:
            time.sleep(0.02)
    assert app.test_client().post(path, json=question).status_code == 200


def slow_samples(services: Services, folder: Path, read: threading.Event) -> SampleReports:
    def loader(path: Path) -> Loader:
        assert read.wait(20)
        return loader_for(path)

    return SampleReports(folder, ingestor=lambda: services.ingestor, loader=loader, leases=services.facts, summary=NONE)
