"""kill -9 in the middle of an ingestion, many times, then a start that is let
finish.
"""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from chatbot.app.services import Services, build
from chatbot.config.settings import Settings
from chatbot.database.rows import decode_vector
from tests.campaigns import times
from tests.library.helpers import end_leases

ROOT = Path(__file__).parents[2]
KILLS = times("KILLS", 2)
REPORTS = 12


def count_ready(services: Services) -> int:
    return sum(record.status == "ready" for record in services.storage.documents.all())


def command(folder: Path) -> subprocess.Popen[bytes]:
    environment = {
        **os.environ,
        "DATA_DIR": str(folder),
        "EMBEDDING_PROVIDER": "hashing",
        "CHAT_MODEL": "echo",
        "SUMMARIES": "extractive",
    }
    arguments = [
        sys.executable,
        "-m",
        "chatbot",
        "ingest",
        "sample_data",
        "--glob",
        "country_reports/[a-d]*.md",
    ]
    return subprocess.Popen(
        arguments,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def finish(folder: Path) -> None:
    assert command(folder).wait(120) == 0


def moments(chosen: random.Random) -> list[tuple[int, float | None]]:
    """(reports that are there, seconds after that; None: as soon as a report is being
    written): all over the run.
    """
    starts = [(0, chosen.uniform(0, 1.0)) for _ in range(KILLS // 3)]
    later = sorted(chosen.choices(range(1, REPORTS - 2), k=KILLS - len(starts)))
    return starts + [
        (ready, None if place % 4 else chosen.uniform(0, 0.1))
        for place, ready in enumerate(later)
    ]


def kill_at(
    folder: Path, services: Services, ready: int, seconds: float | None
) -> bool:
    """Whether the process was still there to be killed."""
    process = command(folder)
    documents = services.storage.database["documents"]
    deadline = time.monotonic() + 120
    while count_ready(services) < ready and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.005)
    while (
        seconds is None
        and process.poll() is None
        and not documents.count({"status": {"$ne": "ready"}})
    ):
        assert time.monotonic() < deadline
        process.send_signal(signal.SIGCONT)
        time.sleep(0.001)
        process.send_signal(
            signal.SIGSTOP
        )  # so that the report is still being written when the process is killed
    time.sleep(seconds or 0)
    there = process.poll() is None
    process.kill()
    process.wait()
    return there


def contents(settings: Settings) -> dict[str, Any]:
    """All of a database that does not depend on when it was written."""
    with build(settings) as services:
        database = services.storage.database
        services.storage.facts.prune_leases()
        documents = {
            row.pop("_id"): row for row in map(dict, database["documents"].find())
        }
        assert all(
            row.pop("updated_at") and row.pop("upload_number") and row.pop("writer")
            for row in documents.values()
        )
        chunks = {}
        for name in services.settings.chunk_collections:
            for row in database[name].find():
                chunks[name, row["_id"]] = {
                    **row,
                    "data_embedding": decode_vector(row["data_embedding"]).tobytes(),
                }
        others = sorted(row["_id"] for row in database["meta"].find())
        return {"documents": documents, "chunks": chunks, "meta": others}


@pytest.mark.nightly
def test_what_kills_leave_is_what_an_undisturbed_run_leaves(tmp_path: Path) -> None:
    disturbed, calm = (
        Settings(
            data_dir=tmp_path / name,
            embedding_provider="hashing",
            chat_model="echo",
            sample_data="off",
        )
        for name in ("disturbed", "calm")
    )
    killed = leases = half = 0
    with build(disturbed) as services:
        for ready, seconds in moments(random.Random(20261122)):
            killed += kill_at(disturbed.data_dir, services, ready, seconds)
            half += bool(services.storage.documents.unsettled())
            leases += end_leases(services.storage.database)
        assert killed >= max(1, KILLS - 2), "the kills came too late to test anything"
        assert min(leases, half) >= max(1, KILLS // 4), (
            "no kill met a report in the middle"
        )
        finish(disturbed.data_dir)
        assert count_ready(services) == REPORTS
        assert services.storage.documents.unsettled() == {}
    finish(calm.data_dir)
    found, expected = contents(disturbed), contents(calm)
    assert found["meta"] == expected["meta"], "a lease was left"
    assert found["documents"] == expected["documents"]
    assert found["chunks"].keys() == expected["chunks"].keys()
    assert found["chunks"] == expected["chunks"]
    assert len(found["documents"]) == REPORTS
