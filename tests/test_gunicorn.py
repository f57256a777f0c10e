"""gunicorn.conf.py: what `gunicorn app:app` begins with."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="gunicorn does not run on Windows")
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@pytest.mark.parametrize(
    ("said", "arguments", "workers"),
    [({}, [], min(CORES, 4)), ({"WEB_CONCURRENCY": "3"}, [], 3), ({"WEB_CONCURRENCY": "3"}, ["--workers", "5"], 5)],
    ids=["a worker for each core", "as set", "as said"],
)
def test_workers(tmp_path: Path, said: dict[str, str], arguments: list[str], workers: int) -> None:
    assert configured(tmp_path, said, *arguments)["workers"] == str(workers)


@pytest.mark.parametrize(
    ("host", "bind"), [("::1", "[::1]:8000"), ("[::]", "[::]:8000"), ("127.0.0.1", "127.0.0.1:8000")]
)
def test_addresses_of_either_kind(tmp_path: Path, host: str, bind: str) -> None:
    assert configured(tmp_path, {"HOST": host})["bind"] == f"['{bind}']"


def configured(folder: Path, said: dict[str, str], *arguments: str) -> dict[str, str]:
    """The configuration as gunicorn prints it."""
    environment = {name: value for name, value in os.environ.items() if name != "WEB_CONCURRENCY"}
    environment |= {"TMPDIR": str(folder), "DATA_DIR": str(folder), **said}
    command = [sys.executable, "-m", "gunicorn", "--print-config", *arguments, "app:app"]
    shown = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, check=True).stdout
    values = dict(line.split("=", 1) for line in shown.splitlines() if " = " in line)
    return {name.strip(): value.strip() for name, value in values.items()}
