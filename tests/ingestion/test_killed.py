"""kill -9 in the middle of the sample reports, several times, then a start that is let finish."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from chatbot.factory import sample_reports
from chatbot.schema import SUMMARY_ORDINAL
from chatbot.services import Services
from chatbot.settings import Settings

ROOT = Path(__file__).parents[2]
LOAD = """
from chatbot.factory import sample_reports
from chatbot.services import Services
from chatbot.settings import Settings
with Services(Settings.from_env()) as services:
    sample_reports(services).load()
"""
KILLED_AT = (5, 22, 41)
"""Reports that are ready when the process is killed: it is then in the middle of a later one."""


def start_and_kill(folder: Path, services: Services, ready: int) -> None:
    environment = {**os.environ, "DATA_DIR": str(folder), "EMBEDDING_PROVIDER": "minilm"}
    process = subprocess.Popen([sys.executable, "-c", LOAD], cwd=ROOT, env=environment)
    deadline = time.monotonic() + 60
    while count_ready(services) < ready:
        assert process.poll() is None, "the loading ended by itself"
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()


def count_ready(services: Services) -> int:
    return sum(record.status == "ready" for record in services.documents.all())


@pytest.mark.slow
def test_killed_ingestion_leaves_nothing_twice_and_nothing_half(tmp_path: Path) -> None:
    with Services(Settings(data_dir=tmp_path, embedding_provider="minilm")) as services:
        for ready in KILLED_AT:
            start_and_kill(tmp_path, services, ready)
        assert count_ready(services) < 77, "the kills came too late to test anything"
        sample_reports(services).load()
        records = services.documents.all()
        rows = list(services.database["report_chatting"].find({}, {"document_id": 1, "ordinal": 1}))

    assert len(records) == 77
    assert {record.status for record in records} == {"ready"}
    places = Counter((row["document_id"], row["ordinal"]) for row in rows)
    assert max(places.values()) == 1
    per_document = Counter(row["document_id"] for row in rows)
    assert per_document == {record.id: record.chunks for record in records}
    assert all(
        places[(document_id, ordinal)]
        for document_id, count in per_document.items()
        for ordinal in (*range(count - 1), SUMMARY_ORDINAL)
    )
